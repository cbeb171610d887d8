"""A node's policy: permissions, trust and hive time. Partition replicas and the replica ask it about assertions.

Everything here follows from the registry (which all members share), the hive's clock and the settings. `NodePolicy.at` sets the
time of an event, so that one event is judged by one time.

Forgetting, too: facts fade with age and are dropped when they are too old; off unless a hive turns it on. The node turns that
into effects; the stored confidence is never changed, so asking twice can't make a fact fade twice. When an assertion expires is
part of it and never changes: a refresh is a new assertion, which the removal of the old one does not touch.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Annotated, NamedTuple

from hive_mind.crdt import DRIFT_MS
from hive_mind.hive.effects import Now
from hive_mind.hive.heartbeats import HiveClock
from hive_mind.hive.policy import Seal
from hive_mind.hive.policy.admission import subject_of
from hive_mind.hive.policy.registry import ENTRIES_OF_ONE_MAX, Registry
from hive_mind.hive.trust.trust_book import TrustBook, TrustSettings
from hive_mind.model.bounds import SHARE, Setting
from hive_mind.model.erasure import Erasures, looked_through, read_key
from hive_mind.model.evidence import Assertion, Dot, HiveFact, Sealed, Stamp
from hive_mind.model.ids import DEFAULT_TENANT

HOUR_MS = 3_600_000
DECAY_PER_HOUR = 0.01
MAX_AGE_HOURS = 24.0
# A year. Longer means "never" to any reader, and sums with it stay far from any limit.
TTL_MAX_MS = 366 * 24 * HOUR_MS


@dataclass(frozen=True)
class ExpirySettings:
    """Whether and how fast a hive forgets. Off by default: a day would take a fleet's knowledge with it."""

    is_on: Annotated[bool, Setting("forget")] = False
    """Whether facts fade and expire at all. Times to live are kept in any case, for when it is turned on."""
    max_age_hours: Annotated[float, Setting("ttl_hours", gt=0, le=TTL_MAX_MS // HOUR_MS)] = MAX_AGE_HOURS
    """How long a fact that names no time of its own is found."""
    decay_per_hour: Annotated[float, SHARE] = DECAY_PER_HOUR
    """How fast confidence fades: 0.01 leaves 79 % after a day."""
    grace_ms: int = 900_000
    """Between expired (not found any more) and collected: a refresh under way is not taken for a new fact, and clocks of
    members may differ by as much. Raise it for members that exchange rarely; costs the space of what is expired."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Expiry fields of an assertion, by its author: how long, and until when in hive time (0: it had no trusted clock)."""

    ttl_ms: int = 0
    expires_ms: int = 0


@dataclass(frozen=True, slots=True)
class FactTTL:
    """004's record of one fact's age: fading and expiry from when it was created, by the hive's clock."""

    created_ms: int
    max_age_hours: float = MAX_AGE_HOURS
    decay_per_hour: float = DECAY_PER_HOUR

    def confidence(self, original: float, now_ms: int) -> float:
        """The rest of the confidence it was created with."""
        return decayed(original, self.age_hours(now_ms), self.decay_per_hour)

    def age_hours(self, now_ms: int) -> float:
        """Never negative: a fact from the future is new."""
        return max(0, now_ms - self.created_ms) / HOUR_MS

    def is_expired(self, now_ms: int) -> bool:
        return self.age_hours(now_ms) >= self.max_age_hours


def decayed(confidence: float, age_hours: float, rate_per_hour: float = DECAY_PER_HOUR) -> float:
    """The confidence left at an age; a negative age counts as 0."""
    return confidence * exp(-rate_per_hour * max(0.0, age_hours))


def confidence_now(confidence: float, stamp: Stamp, hive_now_ms: int | None, settings: ExpirySettings) -> float:
    """Confidence as it is shown now. Without a trusted clock nothing fades."""
    if not settings.is_on or hive_now_ms is None:
        return confidence
    return decayed(confidence, (hive_now_ms - stamp.ms) / HOUR_MS, settings.decay_per_hour)


def lifetime(ttl_ms: int, hive_now_ms: int | None, settings: ExpirySettings) -> Lifetime:
    """The expiry fields of a new assertion: its own time to live, else the hive's where that is on."""
    if ttl_ms <= 0:
        ttl_ms = round(settings.max_age_hours * HOUR_MS) if settings.is_on else 0
    ttl_ms = min(ttl_ms, TTL_MAX_MS)
    return Lifetime(ttl_ms, hive_now_ms + ttl_ms if ttl_ms and hive_now_ms is not None else 0)


def is_expired(assertion: Assertion, first_seen_mono_ms: int, hive_now_ms: int | None, now: Now, grace_ms: int = 0) -> bool:
    """Whether an assertion's time has passed, and `grace_ms` more; the hive's settings for forgetting play no part.

    By the author's moment where both it and this node have a trusted clock (`hive_now_ms`); otherwise by its time to live,
    counted on the monotonic clock from when this replica first saw it. That is later, never earlier.
    """
    if assertion.expires_ms > 0 and hive_now_ms is not None:
        return assertion.expires_ms + grace_ms <= hive_now_ms
    return 0 < assertion.ttl_ms <= now.mono_ms - first_seen_mono_ms - grace_ms


def is_hidden(assertion: Assertion, first_seen_mono_ms: int, hive_now_ms: int | None, now: Now, settings: ExpirySettings) -> bool:
    return settings.is_on and is_expired(assertion, first_seen_mono_ms, hive_now_ms, now)


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """Roles and limits. `moderators` are configured; the registry can name more."""

    tenant: str = DEFAULT_TENANT
    moderators: tuple[str, ...] = ()
    quota_per_agent: int = 1_000_000
    """Live assertions of one agent in one partition; the newest stay. Lower it against floods, raise it for archives."""
    entries_per_agent: int = ENTRIES_OF_ONE_MAX
    """Entries of the registry that an agent writes by its own right; the newest stay. Entries written by moderators in office are
    kept."""
    removals_per_agent: int = 250_000
    """Removals by one agent that a partition remembers; the newest stay."""
    boots_per_node: int = 1_000
    """Boots of one node of which nothing is live that a partition remembers."""
    expiry: ExpirySettings = field(default_factory=ExpirySettings)
    trust: TrustSettings = field(default_factory=TrustSettings)


# No assertion is later than this.
_FOR_EVER = Stamp(1 << 62)


class _Withdrawal(NamedTuple):
    """Assertions up to a time are taken back; and when that was written."""

    until: Stamp
    written: Stamp


class NodePolicy:
    """Permissions, trust and visibility at a node: partition replicas and their index ask for them.

    It judges by the time that `at` was last given.
    """

    now = Now(0, 0)

    def __init__(self, settings: PolicySettings, seal: Seal, registry: Registry, time: HiveClock) -> None:
        self.settings, self.seal, self.registry, self.time = settings, seal, registry, time
        self.first_seen: dict[tuple[str, Dot], int] = {}
        """When an assertion that counts its time from here came, monotonic; for those alone."""
        self._book = TrustBook(registry, settings.trust, settings.moderators)
        self._withdrawn: dict[str, dict[str, _Withdrawal]] = {}
        self._erasures = Erasures(tenant=settings.tenant)
        self._erased_since = _FOR_EVER
        self._quarantined: frozenset[str] = frozenset()
        self._seen_version = self._read_version = self._judged_version = -1
        self._version = 0

    @property
    def tenant(self) -> str:
        return self.settings.tenant

    @property
    def quota(self) -> int:
        return self.settings.quota_per_agent

    @property
    def removals_max(self) -> int:
        """Removals by one agent that a partition remembers."""
        return self.settings.removals_per_agent

    @property
    def boots_max(self) -> int:
        return self.settings.boots_per_node

    @property
    def version(self) -> int:
        if self._judged_version != self.registry.version:
            self._judged_version = self.registry.version
            self._version = self.registry.version_of("trust", "rating", "agent", "quarantine", "retracted", "redacted", "erasure")
        return self._version

    def at(self, now: Now) -> "NodePolicy":
        """The same, from now on at this time."""
        self.now = now
        return self

    def hive_ms(self) -> int:
        """Hive time, or the best guess: stamps from before the certificate's start are refused by all."""
        return max(self.time.now_ms(self.now), self.seal.since_ms)

    def trusted_ms(self) -> int | None:
        return self.time.trusted_ms(self.now)

    def is_moderator(self, name: str) -> bool:
        return name in self.registry.moderators

    def is_withdrawn(self, assertion: Assertion) -> bool:
        """Whether a retraction or redaction that everybody knows covers it, and surely so: it may be removed for good.

        An entry from beyond hive time will be written again with a sane stamp or forgotten, so until then it only hides.
        """
        hive_ms = self.trusted_ms()
        return hive_ms is not None and any(stamp.ms <= hive_ms + DRIFT_MS for stamp in self.covering(assertion))

    def is_moderated(self, fact_id: str) -> bool:
        """Whether a moderator took back what was said of it until some moment."""
        self._read()
        return "" in self._withdrawn.get(fact_id, {})

    def is_taken_back(self, assertion: Assertion) -> bool:
        """Whether such an entry covers it, whatever the time may be."""
        return any(True for _ in self.covering(assertion))

    def covering(self, assertion: Assertion) -> Iterator[Stamp]:
        """When the retractions and redactions that cover it were written."""
        self._read()
        if self._withdrawn and (by := self._withdrawn.get(assertion.fact_id)) is not None:
            for withdrawal in (by.get(""), by.get(assertion.agent)):
                if withdrawal is not None and withdrawal.until >= assertion.stamp:
                    yield withdrawal.written

        if self.is_erased(assertion):
            yield self._erased_since

    def is_erased(self, assertion: Assertion) -> bool:
        if not self._has_erasures():
            return False
        words = [assertion.root, *looked_through(assertion.statement), assertion.statement.before]
        return self._is_erased(assertion.fact_id, [assertion.agent], [assertion.root], words)

    def is_to_be_shown(self, fact: HiveFact) -> bool:
        """Whether no erasure means a fact that another node shows: one that was away may not know of it yet."""
        if not self._has_erasures():
            return True
        agents, roots = [provenance.agent for provenance in fact.provenance], [provenance.root for provenance in fact.provenance]
        return not self._is_erased(fact.id, agents, roots, [*looked_through(fact.statement), fact.statement.before])

    def erasures(self) -> Mapping[str, Stamp]:
        return {subject_of(key): stamp for key, stamp in self.registry.in_force("erasure").items()}

    def _has_erasures(self) -> bool:
        self._read()
        return bool(self._erasures)

    def _is_erased(self, fact_id: str, agents: Sequence[str], roots: Sequence[str], texts: Iterable[str]) -> bool:
        erasures = self._erasures
        is_said_by_others = not all(map(erasures.covers_agent, agents)) and not all(map(erasures.covers_source, roots))
        return not is_said_by_others or erasures.covers_fact(fact_id, texts)

    def withdrawn(self) -> Mapping[str, object]:
        self._read()
        return self._withdrawn

    def is_expired(self, assertion: Sealed) -> bool:
        """Whether its time, and the grace, are over by this node's own clock."""
        expiry, now = self.settings.expiry, self.now
        first_ms = self.first_seen.get((assertion.assertion.fact_id, assertion.dot), now.mono_ms)
        return expiry.is_on and is_expired(assertion.assertion, first_ms, self.trusted_ms(), now, expiry.grace_ms)

    def is_visible(self, assertion: Sealed) -> bool:
        """Whether it counts: neither expired nor taken back nor by an agent under quarantine."""
        self._read()
        if self.settings.expiry.is_on:
            first_ms = self.first_seen.get((assertion.assertion.fact_id, assertion.dot), self.now.mono_ms)
            if is_hidden(assertion.assertion, first_ms, self.trusted_ms(), self.now, self.settings.expiry):
                return False
        # Erased facts are dropped as soon as the time is known, and nothing of them comes in then.
        if (self._withdrawn or not self.time.is_synced) and self.is_taken_back(assertion.assertion):
            return False
        return not self._book.is_quarantined(assertion.assertion.agent, self.hive_ms())

    def is_quarantined(self, fact_id: str) -> bool:
        self._read()
        return fact_id in self._quarantined

    def note_first_seen(self, news: Iterable[Sealed]) -> None:
        """A time to live without an end counts from here."""
        for assertion in news:
            if assertion.assertion.ttl_ms and not assertion.assertion.expires_ms:
                self.first_seen.setdefault((assertion.assertion.fact_id, assertion.dot), self.now.mono_ms)

    def forget_first_seen(self, live: Iterable[Sealed]) -> None:
        """Keep it for what is live. A dot may be live in several partitions, so its removal from one says nothing."""
        if self.first_seen:
            still = {(assertion.assertion.fact_id, assertion.dot) for assertion in live}
            self.first_seen = {key: ms for key, ms in self.first_seen.items() if key in still}

    def trust(self, agent: str) -> float:
        return self._book.of(agent, self.hive_ms())

    def voucher(self, agent: str) -> str:
        """The voucher of an agent; its own name where it has none. See `TrustBook.voucher`."""
        self.trust(agent)
        return self._book.voucher(agent)

    def faded(self, confidence: float, stamp: Stamp) -> float:
        return confidence_now(confidence, stamp, self.trusted_ms(), self.settings.expiry)

    def may_expire(self) -> bool:
        return self.settings.expiry.is_on

    def _read(self) -> None:
        """Bring up to date what is asked for every assertion."""
        if self._seen_version == self.registry.version:
            return
        self._seen_version = self.registry.version
        version = self.registry.version_of("quarantine", "retracted", "redacted", "erasure")
        if self._read_version == version:
            return
        self._read_version = version
        self._quarantined = frozenset(subject_of(key) for key, value in self.registry.with_prefix("quarantine/").items() if value)
        self._withdrawn = {}
        for key, stamp in self.registry.in_force("retracted").items():
            fact_id, _, agent = subject_of(key).partition("/")
            self._withdrawn.setdefault(fact_id, {})[agent] = _Withdrawal(stamp, stamp)
        erasures = {erasure: stamp for key, stamp in self.erasures().items() if (erasure := read_key(key)) is not None}
        self._erasures = Erasures(erasures, self.settings.tenant)
        self._erased_since = min(erasures.values(), default=_FOR_EVER)
        for key, stamp in self.registry.in_force("redacted").items():
            self._withdrawn.setdefault(subject_of(key), {})[""] = _Withdrawal(_FOR_EVER, stamp)
