"""Which of several statements is right, by the agents behind each: log-odds votes (Dong, Berti-Équille and Srivastava 2009).

One vote per provenance root, one per voucher, one per agent (what it said last). And what agreement tells about agents: who is
found right when voices are fused is believed more. That alone can be bought, because ten agents that always agree with each
other look like a majority. So agreement counts only on questions where somebody speaks of whom more good than bad was
reported, or who was trusted beforehand; without such an anchor it changes nothing, and nobody gets above 1.0 by it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import NamedTuple

from hive_mind.hive.trust.ratings import beta_trust
from hive_mind.hive.trust.trust_book import individually
from hive_mind.model.evidence import Stamp


@dataclass(frozen=True, slots=True)
class VotingSettings:
    """How votes are weighed."""

    alternatives: int = 4
    """How many wrong answers there are beside the right one. With more, agreement by chance is rarer, and each vote says more."""
    voucher_vote_max: float = 1.0
    """What all agents of one voucher weigh together; one unknown agent weighs ln 4 = 1.39."""
    reliability_min: float = 0.05
    """And 1 minus it at the most: nobody is always right or always wrong."""
    agreement_weight: float = 0.25
    """What being found right by others is worth beside reported experience."""
    rounds: int = 6
    """Of fusing and judging in turn; more change little."""
    trusted_good: float = 8.0
    trusted_bad: float = 2.0
    """What agents trusted beforehand begin with: right in three of four cases, as an honest agent is."""


DEFAULT = VotingSettings()


class Claim(NamedTuple):
    """An agent says that `value` is right, and has it from `root`."""

    agent: str
    value: str
    root: str
    confidence: float = 1.0
    stamp: Stamp = Stamp(0)


def vote(trust: float, confidence: float, settings: VotingSettings) -> float:
    """What a voice weighs: ln(n τ / (1 − τ)), τ = T / 2, pulled towards 1/2 as its author is less sure."""
    reliability = min(max(trust / 2.0, settings.reliability_min), 1.0 - settings.reliability_min)
    # Only downwards: a liar that is unsure is still a liar.
    if reliability > 0.5:
        reliability = 0.5 + min(max(confidence, 0.0), 1.0) * (reliability - 0.5)
    return log(settings.alternatives * reliability / (1.0 - reliability))


def fused(
    claims: Iterable[Claim],
    trust: Callable[[str], float],
    voucher: Callable[[str], str] = individually,
    settings: VotingSettings = DEFAULT,
) -> dict[str, float]:
    """The sum of votes for each value.

    A vote below 0, of an agent known to be wrong, tells against what it says. All such votes together weigh at most as much as
    one voucher: otherwise liars could sink what is right by saying it.
    """
    sums: dict[str, float] = {}
    for value, votes in _voices(claims, trust, voucher, settings).items():
        # Sorted: sums of floats depend on their order, and all members must agree.
        ordered = sorted(votes)
        against = sum(vote for vote in ordered if vote < 0)
        sums[value] = sum(vote for vote in ordered if vote > 0) + max(against, -settings.voucher_vote_max)
    return sums


def _voices(
    claims: Iterable[Claim], trust: Callable[[str], float], voucher: Callable[[str], str], settings: VotingSettings
) -> dict[str, list[float]]:
    """Each value's votes: the best of each root, and of those the best of each voucher."""
    by_root: dict[tuple[str, str], tuple[float, str]] = {}
    for claim in _last_words(claims):
        voice = (vote(trust(claim.agent), claim.confidence, settings), claim.agent)
        key = (claim.value, claim.root)
        by_root[key] = max(by_root.get(key, voice), voice)
    by_voucher: dict[tuple[str, str], float] = {}
    for (value, _), (weight, agent) in by_root.items():
        group = voucher(agent)
        heard = weight if group == agent else min(weight, settings.voucher_vote_max)
        by_voucher[value, group] = max(by_voucher.get((value, group), heard), heard)
    voices: dict[str, list[float]] = {}
    for (value, _), weight in by_voucher.items():
        voices.setdefault(value, []).append(weight)
    return voices


def shares(votes: Mapping[str, float]) -> dict[str, float]:
    """Votes as probabilities that add up to 1; alike where nobody has a vote."""
    if not votes:
        return {}
    most = max(votes.values())
    weights = {value: exp(votes[value] - most) for value in sorted(votes)}
    total = sum(weights.values())
    return {value: weight / total for value, weight in weights.items()}


Evidence = Mapping[str, tuple[float, float]]
"""Good and bad experience that was reported of each agent."""


def agreed(
    questions: Sequence[Sequence[Claim]],
    evidence: Evidence,
    trusted: Collection[str] = (),
    voucher: Callable[[str], str] = individually,
    settings: VotingSettings = DEFAULT,
) -> dict[str, float]:
    """Trust of everybody who claims something: by reported experience, and by agreement on questions nobody has answered yet.

    `trusted` are moderators. Questions without an anchor say nothing about anybody.
    """
    known = {claim.agent: evidence.get(claim.agent, (0.0, 0.0)) for claims in questions for claim in claims}
    for agent in known.keys() & set(trusted):
        good, bad = known[agent]
        known[agent] = (good + settings.trusted_good, bad + settings.trusted_bad)
    anchors = {agent for agent, (good, bad) in known.items() if good > bad}
    anchored = [claims for claims in questions if any(claim.agent in anchors for claim in claims)]
    trust = {agent: beta_trust(*counts) for agent, counts in known.items()}
    for _ in range(settings.rounds if anchored else 0):
        trust = _judged(anchored, known, trust, voucher, settings)
    return trust


def _judged(
    questions: Sequence[Sequence[Claim]],
    known: Evidence,
    trust: Mapping[str, float],
    voucher: Callable[[str], str],
    settings: VotingSettings,
) -> dict[str, float]:
    """Trust after everybody was judged by how likely what it says is."""
    found = {agent: [*counts] for agent, counts in known.items()}
    for claims in questions:
        likely = shares(fused(claims, trust.__getitem__, voucher, settings))
        for claim in claims:
            right = likely.get(claim.value, 0.0)
            found[claim.agent][0] += settings.agreement_weight * right
            found[claim.agent][1] += settings.agreement_weight * (1.0 - right)
    return {agent: beta_trust(good, bad) for agent, (good, bad) in found.items()}


def _last_words(claims: Iterable[Claim]) -> list[Claim]:
    """An agent that says two things is counted for what it said last."""
    last: dict[str, Claim] = {}
    for claim in sorted(claims, key=lambda claim: (claim.stamp, claim.value, claim.root)):
        last[claim.agent] = claim
    return [last[agent] for agent in sorted(last)]
