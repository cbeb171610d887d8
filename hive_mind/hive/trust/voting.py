"""Which of several statements is right, by the agents behind each: log-odds votes (Dong, Berti-Équille and Srivastava 2009).

One vote per provenance root, one per voucher, one per agent (what it said last). That an agent agrees with others changes
nothing about its trust: ten agents that always agree with each other would look like a majority.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import log

from hive_mind.model.evidence import Stamp


@dataclass(frozen=True, slots=True)
class VotingSettings:
    """How votes are weighed."""

    alternatives: int = 4
    """How many wrong answers there are beside the right one. With more, agreement by chance is rarer, and each vote says more."""
    voucher_vote_max: float = 1.0
    """Weight of all agents of one voucher together; one unknown agent weighs ln 4 = 1.39."""
    reliability_min: float = 0.05
    """And 1 minus it at the most: nobody is always right or always wrong."""


DEFAULT = VotingSettings()


_NO_STAMP = Stamp(0)


@dataclass(frozen=True, slots=True)
class Claim:
    """An agent says that `value` is right, and has it from `root`."""

    agent: str
    value: str
    root: str
    confidence: float = 1.0
    stamp: Stamp = _NO_STAMP


def individually(agent: str) -> str:
    """Everybody came by its own voucher."""
    return agent


def vote(trust: float, confidence: float, settings: VotingSettings) -> float:
    """Weight of a voice: ln(n τ / (1 − τ)), τ = T / 2, pulled towards 1/2 as its author is less sure."""
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
        weight_heard = weight if group == agent else min(weight, settings.voucher_vote_max)
        by_voucher[value, group] = max(by_voucher.get((value, group), weight_heard), weight_heard)
    voices: dict[str, list[float]] = {}
    for (value, _), weight in by_voucher.items():
        voices.setdefault(value, []).append(weight)
    return voices


def _last_words(claims: Iterable[Claim]) -> list[Claim]:
    """An agent that says two things is counted for what it said last."""
    last: dict[str, Claim] = {}
    for claim in sorted(claims, key=lambda claim: (claim.stamp, claim.value, claim.root)):
        last[claim.agent] = claim
    return [last[agent] for agent in sorted(last)]
