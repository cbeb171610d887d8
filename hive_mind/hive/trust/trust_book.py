"""How far each agent is believed: T in [0, 2], 1.0 until rated or pinned.

Each agent writes only its own ratings, and they are read from the registry, so all members compute the same.

Beta reputation (Jøsang and Ismail 2002): T = 2 (1 + r) / (2 + r + s) from good (r) and bad (s) experience that others report, 1.0
without any. Ratings fade (half of them counts after 30 days), no pair counts for more than 20, and a rater weighs as much as it
is believed itself. Nobody rates itself, nor those that came by the same voucher. A moderator's pin overrides all ratings. Only
moderators rate moderators. In a hive too small for EigenTrust, raters that no moderator found good count once more than a third
of the hive has rated that agent: a ring of up to a third can neither silence anybody nor make itself believed.

In a large hive a rater's word counts by trust that flows from moderators along good experience (Kamvar et al. 2003). A ring of
agents that praise each other gets none unless somebody inside the flow praises one of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from hive_mind.hive.policy.admission import rater_of, subject_of
from hive_mind.hive.policy.registry import Registry
from hive_mind.hive.trust.contradiction import individually
from hive_mind.model.bounds import Setting
from hive_mind.model.evidence import Assertion, Provenance
from hive_mind.ranking.pipeline import TRUST_MAX

TRUST_DEFAULT = 1.0
Floats = NDArray[np.float64]
Places = NDArray[np.int64]

# How often the flow starts again at the moderators: the paper's value. Higher trusts those near to them more.
RESTART = 0.2
# The rest shrinks by 1 − RESTART each time: after 50 less than 2 in 100,000 is undecided.
ITERATIONS = 50


@dataclass(frozen=True)
class TrustSettings:
    """How ratings become trust."""

    half_life_days: Annotated[float, Setting(gt=0, le=3660)] = 30.0
    """Half-life of a rating. Lower it and agents recover, and fall, sooner; experience is then worth less."""
    pair_evidence_max: float = 20.0
    """Most one rater can say about one agent. Raise it and few raters can say more: for the good and for the bad."""
    eigentrust_agents_min: int = 51
    """From this many agents on, raters weigh by EigenTrust; smaller hives have too few ratings for it."""
    quarantine_trust: Annotated[float, Setting("quarantine_below", ge=0, le=2)] = 0.6
    """Trust (0 to 2) below which what an agent says is not found, once enough experience of two raters or a moderator says so."""
    quarantine_evidence: float = 5.0
    refresh_ms: int = 3_600_000
    """Trust is computed as of the last full hour: everywhere the same, and not anew for every fact. An hour fades 0.1 %."""


@dataclass(frozen=True, slots=True, order=True)
class Rating:
    """Experience of `rater` with `subject`, as it stood at `at_ms`."""

    rater: str
    subject: str
    good: float
    bad: float
    at_ms: int


@dataclass(frozen=True, slots=True)
class Reputation:
    """An agent's trust, and how much experience it stands on: weighted, and by how many raters (a moderator counts as two)."""

    trust: float = TRUST_DEFAULT
    good: float = 0.0
    bad: float = 0.0
    raters: int = 0

    @property
    def evidence(self) -> float:
        return self.good + self.bad


@dataclass(frozen=True, slots=True)
class Hive:
    """Roles that trust depends on: moderators, pinned trust, and each agent's voucher (default: itself)."""

    moderators: frozenset[str] = frozenset()
    pinned: Mapping[str, float] = field(default_factory=dict)
    vouchers: Mapping[str, str] = field(default_factory=dict)
    agents: int = 0
    """How many there are, besides those that rate and are rated."""


NOBODY = Reputation()


def beta_trust(good: float, bad: float) -> float:
    """T in [0, 2]; exactly 1.0 without experience."""
    return 2.0 * (1.0 + good) / (2.0 + good + bad)


def faded(at_ms: float, now_ms: int, settings: TrustSettings) -> float:
    """The share of an experience that still counts; one from the future counts whole."""
    days = max(0.0, now_ms - at_ms) / 86_400_000
    return float(0.5 ** (days / settings.half_life_days))


def reputations(ratings: Iterable[Rating], hive: Hive, now_ms: int, settings: TrustSettings) -> dict[str, Reputation]:
    """For rated and pinned agents; others have the default."""
    rows = sorted({(row.rater, row.subject): row for row in ratings if _is_heard(row, hive)}.values())
    found_reputations = _rated(rows, hive, now_ms, settings) if rows else {}
    for agent, trust in hive.pinned.items():
        found_reputations[agent] = replace(found_reputations.get(agent, NOBODY), trust=min(max(trust, 0.0), TRUST_MAX))
    return found_reputations


def _is_heard(row: Rating, hive: Hive) -> bool:
    if row.rater == row.subject or row.good + row.bad <= 0:
        return False
    if row.subject in hive.moderators and row.rater not in hive.moderators:
        return False
    voucher = hive.vouchers.get(row.rater)
    return voucher is None or voucher != hive.vouchers.get(row.subject)


@dataclass(frozen=True, slots=True)
class _Table:
    """Ratings as columns: rater, subject, good, bad, and number of raters per voucher."""

    names: list[str]
    rater: Places
    subject: Places
    good: Floats
    bad: Floats
    voices: Floats

    def only(self, rows: NDArray[np.bool_]) -> "_Table":
        rater, subject, voices = self.rater[rows], self.subject[rows], self.voices[rows]
        return _Table(self.names, rater, subject, self.good[rows], self.bad[rows], voices)

    def sums(self, weights: Floats) -> tuple[Floats, Floats]:
        """Good and bad of each subject, raters weighed."""
        weight, size = weights[self.rater] / self.voices, len(self.names)
        good = np.bincount(self.subject, weight * self.good, size).astype(np.float64)
        return good, np.bincount(self.subject, weight * self.bad, size).astype(np.float64)


def _rated(rows: Sequence[Rating], hive: Hive, now_ms: int, settings: TrustSettings) -> dict[str, Reputation]:
    table = _table(rows, hive, now_ms, settings)
    weights = _weights(table, hive, settings)
    if not _is_large(table, hive, settings):
        table = table.only(_is_enough(table, hive))
    good, bad = table.sums(weights)
    counted = np.where(np.isin(table.rater, _places(table, hive.moderators)), 2, 1)
    # A voucher's agents are one rater, however many of them speak.
    raters = np.bincount(table.subject, counted / table.voices, len(table.names))
    # As Python's own numbers: a fact says how much its agents are trusted, and numpy's can't travel.
    columns = zip(table.names, good.tolist(), bad.tolist(), raters.tolist(), strict=True)
    return {name: Reputation(beta_trust(r, s), r, s, round(count)) for name, r, s, count in columns if count}


def _table(rows: Sequence[Rating], hive: Hive, now_ms: int, settings: TrustSettings) -> _Table:
    names = sorted({row.rater for row in rows} | {row.subject for row in rows} | hive.moderators)
    place = {name: n for n, name in enumerate(names)}
    fading = np.array([faded(row.at_ms, now_ms, settings) for row in rows])
    good = fading * np.array([row.good for row in rows], dtype=np.float64)
    bad = fading * np.array([row.bad for row in rows], dtype=np.float64)
    capped = np.minimum(1.0, settings.pair_evidence_max / np.maximum(good + bad, 1e-9))
    voices: dict[tuple[str, str], int] = {}
    keys = [(hive.vouchers.get(row.rater, row.rater), row.subject) for row in rows]
    for key in keys:
        voices[key] = voices.get(key, 0) + 1
    return _Table(
        names=names,
        rater=np.array([place[row.rater] for row in rows], dtype=np.int64),
        subject=np.array([place[row.subject] for row in rows], dtype=np.int64),
        good=good * capped,
        bad=bad * capped,
        voices=np.array([voices[key] for key in keys], dtype=np.float64),
    )


def _weights(table: _Table, hive: Hive, settings: TrustSettings) -> Floats:
    """How much each rater's word counts, in [0, 1]: moderators fully, others by what is known of them."""
    trusted = _places(table, hive.moderators)
    if _is_large(table, hive, settings):
        weights = eigentrust(table.rater, table.subject, table.good - table.bad, len(table.names), trusted)
    else:
        # By what moderators have experienced with a rater, or all raters where there are no moderators; unknown ones
        # count fully.
        voice = np.ones(len(table.names))
        if len(trusted):
            voice = np.zeros(len(table.names))
            voice[trusted] = 1.0
        good, bad = table.sums(voice)
        weights = np.minimum(1.0, 2.0 * (1.0 + good) / (2.0 + good + bad))
    for agent, trust in hive.pinned.items():
        if len(places := _places(table, (agent,))):
            weights[places[0]] = min(max(trust, 0.0), 1.0)
    weights[trusted] = 1.0
    return weights


def _is_large(table: _Table, hive: Hive, settings: TrustSettings) -> bool:
    return bool(hive.moderators) and max(len(table.names), hive.agents) >= settings.eigentrust_agents_min


def _is_enough(table: _Table, hive: Hive) -> NDArray[np.bool_]:
    """Which rows count: by raters that moderators know, and of subjects that more than a third of the hive rated."""
    size, trusted = len(table.names), _places(table, hive.moderators)
    voice = np.zeros(size)
    voice[trusted] = 1.0
    good, bad = table.sums(voice)
    is_known = good > bad
    is_known[trusted] = True
    raters = np.bincount(table.subject, 1.0 / table.voices, size)
    quorum = max(size, hive.agents) // 3 + 1
    # Thirds of a voice add up to a little less than one.
    return is_known[table.rater] | (raters[table.subject] > quorum - 0.5 / size)


def _places(table: _Table, names: Iterable[str]) -> Places:
    names_wanted = set(names)
    return np.array([n for n, name in enumerate(table.names) if name in names_wanted], dtype=np.int64)


def eigentrust(rater: Places, subject: Places, balance: Floats, size: int, trusted: Places) -> Floats:
    """Weights in [0, 1] of `size` agents, from rows (rater, subject, good − bad experience) and those trusted beforehand.

    The agents that receive most, half of the flow between them, weigh 1; others less in proportion. Half of the flow, not of the
    agents: a ring is many agents with little flow.
    """
    start = np.zeros(size)
    start[trusted] = 1.0 / len(trusted)
    praise = np.maximum(balance, 0.0)
    praise_given = np.bincount(rater, praise, size)
    share = praise / np.maximum(praise_given[rater], 1e-12)
    silent = praise_given <= 0
    flow = start
    for _ in range(ITERATIONS):
        # An agent without praise for others passes its part back to where it came from.
        arrived = np.bincount(subject, share * flow[rater], size) + flow[silent].sum() * start
        flow = (1.0 - RESTART) * arrived + RESTART * start
    received = np.sort(flow)[::-1]
    enough = received[np.searchsorted(np.cumsum(received), received.sum() / 2)]
    weights: Floats = np.minimum(1.0, flow / enough)
    return weights


DEFAULT = TrustSettings()
Voiced = Provenance | Assertion
"""Either has an author, a source and a time."""


def rating_value(earlier: Mapping[str, float] | None, is_good: bool, now_ms: int, settings: TrustSettings = DEFAULT) -> str:
    """The registry value of a rating after one more experience; the earlier rating has faded until now."""
    fading = faded(earlier["at_ms"], now_ms, settings) if earlier else 0.0
    good, bad = (earlier["good"] * fading, earlier["bad"] * fading) if earlier else (0.0, 0.0)
    value = {"good": good + is_good, "bad": bad + (not is_good), "at_ms": now_ms}
    return msgspec.json.encode(value).decode()


def k_eff(provenance: Sequence[Voiced], trust: Callable[[str], float], voucher: Callable[[str], str] = individually) -> float:
    """Confirmations by weight: trust summed over further roots, the most trusted agent of each; the count where all T are 1.

    Agents of one voucher confirm once, and not what one of them said first.
    """
    if not provenance:
        return 0.0
    first = min(provenance, key=lambda row: (row.stamp, row.agent))
    by_root: dict[str, tuple[float, str]] = {}
    for row in provenance:
        if row.root != first.root and voucher(row.agent) != voucher(first.agent):
            by_root[row.root] = max(by_root.get(row.root, (0.0, "")), (trust(row.agent), voucher(row.agent)))
    by_voucher: dict[str, float] = {}
    for weight, group in by_root.values():
        by_voucher[group] = max(by_voucher.get(group, 0.0), weight)
    return sum(by_voucher[group] for group in sorted(by_voucher))


class TrustBook:
    """Trust as the registry says, looked up in no time while nothing changed. `moderators`: besides those of the registry."""

    def __init__(self, registry: Registry, settings: TrustSettings = DEFAULT, moderators: Iterable[str] = ()) -> None:
        self._registry, self._settings, self._moderators = registry, settings, frozenset(moderators)
        self._reputations: dict[str, Reputation] = {}
        self._vouchers: dict[str, str] = {}
        self._versions_seen = (-1, -1)
        self._version_read = (-1, -1)

    def of(self, agent: str, now_ms: int) -> float:
        if self._versions_seen != (self._registry.version, now_ms // self._settings.refresh_ms):
            registry, hour = self._registry, now_ms // self._settings.refresh_ms
            version = (registry.version_of("rating", "trust", "agent"), hour)
            if self._version_read != version:
                self._version_read, self._vouchers = version, _vouchers_in(registry)
                hive = Hive(
                    moderators=registry.moderators | self._moderators,
                    pinned={subject_of(key): trust for key, trust in registry.with_prefix("trust/").items()},
                    vouchers=self._vouchers,
                    agents=len(registry.with_prefix("agent/")),
                )
                self._reputations = reputations(_ratings_in(registry), hive, hour * self._settings.refresh_ms, self._settings)
            self._versions_seen = (registry.version, hour)
        reputation = self._reputations.get(agent)
        return TRUST_DEFAULT if reputation is None else reputation.trust

    def is_quarantined(self, agent: str, now_ms: int) -> bool:
        """Whether enough is known against an agent to keep what it says from searches.

        One rater alone can't do that to another, however often it complains; pinning trust doesn't either; and a moderator
        is silenced by nobody.
        """
        if self.of(agent, now_ms) >= self._settings.quarantine_trust or agent in self._registry.moderators | self._moderators:
            return False
        reputation = self._reputations.get(agent, NOBODY)
        return reputation.raters >= 2 and reputation.evidence >= self._settings.quarantine_evidence

    def voucher(self, agent: str) -> str:
        """The voucher of an agent: agents of one voucher have one voice together. Its own name where it has none.

        As of the last `of`. An agent with enough good experience by others has a voice of its own.
        """
        reputation = self._reputations.get(agent, NOBODY)
        is_proven = reputation.trust >= TRUST_DEFAULT and reputation.evidence >= self._settings.quarantine_evidence
        return agent if is_proven else self._vouchers.get(agent, agent)


def _ratings_in(registry: Registry) -> list[Rating]:
    stamps = registry.in_force("rating")
    return [
        # A rating that claims to be later than its own stamp would never fade.
        Rating(rater_of(key), subject_of(key), value["good"], value["bad"], min(int(value["at_ms"]), stamps[key].ms))
        for key, value in registry.with_prefix("rating/").items()
    ]


def _vouchers_in(registry: Registry) -> dict[str, str]:
    vouchers = ((subject_of(key), value.get("voucher")) for key, value in registry.with_prefix("agent/").items())
    # Another name space than agents' own names, or a voucher called like an agent would speak with its voice.
    return {agent: f"voucher/{voucher}" for agent, voucher in vouchers if isinstance(voucher, str) and voucher}
