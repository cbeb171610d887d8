"""How far each agent is believed: T in [0, 2], 1.0 until rated or pinned.

Each agent writes only its own ratings, and they are read from the registry, so all members compute the same (`ratings` says how).
Also here: the worth of further sources of a fact, by their agents.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from hive_mind.hive.policy.registry import Registry
from hive_mind.hive.policy.rights import rater_of, subject_of
from hive_mind.hive.trust.ratings import NOBODY, TRUST_DEFAULT, Hive, Rating, Reputation, TrustSettings, faded, reputations
from hive_mind.hive.trust.voting import individually
from hive_mind.model.evidence import Assertion, Provenance

__all__ = ["TrustBook", "TrustSettings", "k_eff", "rating_value"]

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
        """T of an agent, by hive time."""
        if self._versions_seen != (self._registry.version, now_ms // self._settings.refresh_ms):
            self._refresh(now_ms)
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

    def _refresh(self, now_ms: int) -> None:
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
