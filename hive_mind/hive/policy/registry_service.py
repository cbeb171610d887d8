"""The members' common decisions: agents, ratings, trust, moderators, quarantine, and facts taken back for all members.

Writes registry entries for agents of this node and takes in those of others, each sealed by its writer; and lets go of what an
entry takes back. Records and removals are returned; the node persists and sends.

Entries travel in as many messages as it takes, each of a size that every broker carries.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace

import msgspec
from msgspec import structs

from hive_mind.crdt import DRIFT_MS, HybridClock
from hive_mind.errors import InvalidInput
from hive_mind.hive.effects import Delete, Put, Record, Retract, Retracted, Taken, by_partition, merged
from hive_mind.hive.policy import (
    AFTER_DISMISSAL,
    TOO_MANY_ENTRIES,
    Seal,
    appointing,
    is_appointment,
    is_sealed_entry,
    sealed_entry,
)
from hive_mind.hive.policy.admission import can_travel, kind_of, subject_of
from hive_mind.hive.policy.node_policy import NodePolicy
from hive_mind.hive.policy.registry import Registry, record_key
from hive_mind.hive.replication.partition_replica import PartitionReplica
from hive_mind.hive.replication.partitions import Partitions
from hive_mind.model.decoding import msgpack_decoder
from hive_mind.model.evidence import OWN_REASONS, Actor, Assertion, Dot, Sealed, Stamp
from hive_mind.model.messages import Announce, RegistryEntry
from hive_mind.remembered import forget_texts

REGISTRY = "registry"
_TAKING_BACK = frozenset({"retracted", "redacted"})

# Bytes of an entry besides its texts, and of an appointment: stamp and lengths.
ENTRY_BYTES = 64


class RegistryService:
    """The registry as this node writes and reads it. `own_actors` are all boots of this node."""

    def __init__(self, registry: Registry, policy: NodePolicy, partitions: Partitions, clock: HybridClock) -> None:
        self._registry, self._policy, self._partitions, self._clock = registry, policy, partitions, clock
        self.own_actors: set[Actor] = set()
        self._erased: set[str] = set()
        """Keys of erasures for which everything here was looked through, in this boot."""
        self._written_ms: dict[Stamp, int] = {}
        """When (monotonic) what may be stamped ahead of the time was written, in this boot."""

    def write(self, entries: Iterable[tuple[str, str]], by: str, at: NodePolicy) -> tuple[list[RegistryEntry], list[str]]:
        entries_written: list[RegistryEntry] = []
        reasons: list[str] = []
        for key, value in entries:
            try:
                entries_written.append(self._write(key, value, by, self._clock.tick(at.hive_ms()), at))
                reasons.append("")
            except InvalidInput as error:
                reasons.append(str(error))
        return entries_written, reasons

    def retract(self, event: Retract, at: NodePolicy) -> tuple[list[Retracted], dict[str, Taken], list[RegistryEntry]]:
        """Retract facts: those held here, and the registry entries that retract other members' copies."""
        changes: list[dict[str, Taken]] = []
        outcomes: list[Retracted] = []
        entries: list[RegistryEntry] = []
        is_for_all = event.why not in OWN_REASONS and self._policy.is_moderator(event.by)
        for fact_id in event.fact_ids:
            stamp = self._clock.tick(at.hive_ms())
            outcome, shares = self._partitions.retract(fact_id, event.by, stamp, at, is_for_all=is_for_all)
            changes.append(shares)
            # Also what was asserted before this node lost its memory.
            if is_for_all or not (outcome.removed or outcome.refused):
                retractions, reason = self._take_back(fact_id, "" if is_for_all else event.by, event.by, event.why, stamp, at)
                entries += retractions
                outcome = replace(outcome, refused=reason)
            outcomes.append(outcome)
        return outcomes, merged(*changes), entries

    def _take_back(
        self, fact_id: str, agent: str, by: str, why: str, stamp: Stamp, at: NodePolicy
    ) -> tuple[list[RegistryEntry], str]:
        """Tell everybody that what was asserted of a fact until now counts no more: by an agent, or ("") by anybody.

        The entry; none, and why not, for what can't be written.
        """
        if not can_travel(why):
            return [], "text contains an unpaired surrogate"
        key = f"retracted/{fact_id}/{agent}" if agent else f"retracted/{fact_id}"
        value = msgspec.json.encode({"why": why}).decode()
        if reason := self._registry.refusal(key, value, by):
            return [], reason
        return [self._write(key, value, by, stamp, at)], ""

    def take(self, entries: Iterable[RegistryEntry], at: NodePolicy) -> tuple[tuple[RegistryEntry, ...], Counter[str]]:
        """Entries of others that change something, and what was refused, counted by reason."""
        seal, genuine, refused = self._policy.seal, [], Counter[str]()
        latest_ms = at.hive_ms() + DRIFT_MS
        for entry in entries:
            if self._registry.has(entry):
                continue
            if entry.stamp.actor in self.own_actors and entry.stamp.ms > latest_ms:
                # This node's own, of when its clock was wrong: it has written it again, and a second time would be later than
                # what its agents asserted since. If only the guess of now is wrong, it comes again.
                continue
            reason = self._problem_with_seals(seal, entry) or (
                AFTER_DISMISSAL if self._registry.is_after_dismissal(entry) else ""
            )
            if reason:
                refused[reason] += 1
            else:
                genuine.append(entry)
        changed = self._registry.take(genuine, at.trusted_ms())
        for entry in changed:
            self._clock.take(entry.stamp, at.hive_ms())
        return changed, refused

    def _problem_with_seals(self, seal: Seal, entry: RegistryEntry) -> str:
        if not is_sealed_entry(seal, entry):
            return "a registry entry that its writer did not seal"
        office = appointing(entry)
        is_known = office is None or self._registry.has(office) or is_appointment(seal, office)
        return "" if is_known else "a registry entry with an appointment that no founder sealed"

    def take_overflown(self) -> tuple[list[Record], Counter[str]]:
        """Records of what was forgotten because its writer wrote too much, or after its dismissal; counted by reason."""
        overflown, is_after_dismissal = self._registry.take_overflown(), self._registry.is_after_dismissal
        refused = Counter(AFTER_DISMISSAL if is_after_dismissal(entry) else TOO_MANY_ENTRIES for entry in overflown)
        return [Delete(REGISTRY, record_key(entry)) for entry in overflown], refused

    def apply(self, entries: Iterable[RegistryEntry], at: NodePolicy, *, are_just_written: bool = False) -> dict[str, Taken]:
        """Drop what these entries retract, and what earlier entries of a newly known moderator retract."""
        return merged(*[self._applied(entry, at, is_just_written=are_just_written) for entry in entries])

    def _applied(self, entry: RegistryEntry, at: NodePolicy, *, is_just_written: bool) -> dict[str, Taken]:
        kind, by, stamp = kind_of(entry.key), entry.by, entry.stamp
        if kind in _TAKING_BACK:
            return self._partitions.withdraw(facts_taken_back([entry]), by, stamp, at, is_just_written=is_just_written)
        if kind == "erasure":
            return self._erase(by, stamp, at, is_just_written=is_just_written)
        return self._let_go(by, stamp, at) if kind == "moderator" else {}

    def apply_all(self, at: NodePolicy) -> dict[str, Taken]:
        """Let go of whatever is known to be taken back."""
        return self._let_go(self._partitions.node, self._clock.tick(at.hive_ms()), at)

    def _let_go(self, by: str, stamp: Stamp, at: NodePolicy) -> dict[str, Taken]:
        return merged(self._partitions.withdraw(self._policy.withdrawn(), by, stamp, at), self._erase(by, stamp, at))

    def _erase(self, by: str, stamp: Stamp, at: NodePolicy, *, is_just_written: bool = False) -> dict[str, Taken]:
        """Let go of what is to be erased. Everything is looked through once for each erasure: nothing of it comes in later."""
        is_time_known = at.trusted_ms() is not None
        keys = self._policy.erasures().keys()
        if keys <= self._erased or not (is_time_known or is_just_written):
            return {}
        shares = self._partitions.withdraw(self._partitions.erased(), by, stamp, at, is_just_written=is_just_written)
        forget_texts()
        self._erased.update(keys if is_time_known else ())
        return shares

    def disown(self) -> list[Record]:
        """Drop entries of revoked keys; the records to persist."""
        return [Delete(REGISTRY, record_key(entry)) for entry in self._registry.disown()]

    def mend(self, hive_ms: int, at: NodePolicy) -> list[RegistryEntry]:
        """Forget entries stamped beyond hive time; those this node has to keep are written again, or they would be lost."""
        own_entries = self._registry.sweep(hive_ms, self._is_to_keep)
        rewritten = [self._registry.write_again(entry, self._sane_stamp(entry, hive_ms, at)) for entry in own_entries]
        # The stamps of all others were right.
        self._written_ms.clear()
        return [entry for entry in rewritten if self._registry.has(entry)]

    def _is_to_keep(self, entry: RegistryEntry) -> bool:
        """Entries this node wrote; and permanent ones, if it holds the writer's key: the writer may have forgotten them since.

        No others: only a redaction or an erasure means the same whenever and by any node it is repeated.
        """
        if entry.stamp.actor in self.own_actors:
            return True
        seal = self._policy.seal
        return kind_of(entry.key) in ("redacted", "erasure") and is_sealed_entry(seal, sealed_entry(seal, entry))

    def _sane_stamp(self, entry: RegistryEntry, hive_ms: int, at: NodePolicy) -> Stamp:
        """When it was written, or it would take back what was said since. Where nobody knows that any more: now, but an agent's
        retraction stays before what the agent has said again."""
        if (written_ms := self._written_ms.get(entry.stamp)) is not None:
            since_ms = at.now.mono_ms - written_ms
            return Stamp(max(hive_ms - since_ms, 0), 0, entry.stamp.actor)
        fact_id, _, agent = subject_of(entry.key).partition("/")
        since = self._partitions.first_said(fact_id, agent) if kind_of(entry.key) == "retracted" and agent else None
        now = self._clock.tick(hive_ms)
        return now if since is None or since > now else Stamp(max(since.ms - 1, 0), 0, now.actor)

    def load(self, value: bytes) -> None:
        self._registry.take([msgpack_decoder(RegistryEntry)(value)], None)

    def _write(self, key: str, value: str, by: str, stamp: Stamp, at: NodePolicy) -> RegistryEntry:
        hive_ms = at.trusted_ms()
        if hive_ms is None or stamp.ms > hive_ms + DRIFT_MS:
            self._written_ms[stamp] = at.now.mono_ms
        return self._registry.write(key, value, by, stamp)


def facts_taken_back(entries: Iterable[RegistryEntry]) -> list[str]:
    """The facts that these entries take back, for good or until somebody says them again."""
    return [subject_of(entry.key).partition("/")[0] for entry in entries if kind_of(entry.key) in _TAKING_BACK]


def has_erasure(entries: Iterable[RegistryEntry]) -> bool:
    return any(kind_of(entry.key) == "erasure" for entry in entries)


def record_of(entry: RegistryEntry) -> Put:
    return Put(REGISTRY, record_key(entry), msgspec.msgpack.encode(entry))


def announced(entries: Iterable[RegistryEntry], bytes_max: int) -> tuple[Announce, ...]:
    """Messages that tell these; one entry that is larger goes alone."""
    parts: list[list[RegistryEntry]] = []
    left = 0
    for entry in entries:
        size = size_of(entry)
        if not parts or size > left:
            parts.append([])
            left = bytes_max
        parts[-1].append(entry)
        left -= size
    return tuple([Announce(tuple(part)) for part in parts])


def size_of(entry: RegistryEntry) -> int:
    """About how many bytes it takes, rather too many than too few."""
    size = ENTRY_BYTES + _bytes_in(entry.key, entry.value, entry.by) + len(entry.stamp.actor) + len(entry.seal)
    if (appointment := entry.appointment) is not None:
        size += ENTRY_BYTES + _bytes_in(appointment.by) + len(appointment.stamp.actor) + len(appointment.seal)
    return size


def _bytes_in(*texts: str) -> int:
    return sum(len(text) if text.isascii() else 4 * len(text) for text in texts)


class ClockSkewRetraction:
    """Assertions made in this boot while its clock ran ahead, and since taken back by a moderator elsewhere.

    A retraction covers assertions made until then, by their stamps; a stamp from a clock that ran ahead is later than any. Only
    the author can tell the real time, by its monotonic clock. So it takes such assertions back itself, which is proof enough for
    all. For earlier boots the real time is lost. Assertions taken back on this node were dropped at once: those held are later.
    """

    def __init__(
        self, policy: NodePolicy, shares: Mapping[str, PartitionReplica], clock: HybridClock, own_actors: Container[Actor]
    ) -> None:
        self._policy, self._shares, self._clock, self._own_actors = policy, shares, clock, own_actors
        self._said_ms: dict[tuple[str, Dot], int] = {}
        """When, monotonic."""

    def note(self, shares: Mapping[str, Taken], at: NodePolicy) -> None:
        """These were just said. Without a trusted clock, or where earlier stamps were ahead, theirs may be wrong."""
        hive_ms = at.trusted_ms()
        for partition, share in shares.items():
            for add in share.adds:
                if hive_ms is None or _is_ahead(add, hive_ms):
                    self._said_ms[partition, add.dot] = at.now.mono_ms

    def concede(self, at: NodePolicy) -> dict[str, Taken]:
        """Take back what was said before a retraction that everybody knows and that does not cover it by its stamp."""
        hive_ms = at.trusted_ms() if self._said_ms else None
        if hive_ms is None or self._policy.time.is_disputed(at.now):
            return {}
        ahead = list(self._ahead(hive_ms))
        self._said_ms = {(partition, assertion.dot): said_ms for partition, assertion, said_ms in ahead}
        return by_partition(
            (partition, self._retracted(partition, assertion, hive_ms, at))
            for partition, assertion, said_ms in ahead
            if self._was_taken_back_since(assertion.assertion, hive_ms, hive_ms - (at.now.mono_ms - said_ms))
        )

    def _retracted(self, partition: str, assertion: Sealed, hive_ms: int, at: NodePolicy) -> Taken:
        fact_id, agent = assertion.assertion.fact_id, assertion.assertion.agent
        return self._shares[partition].remove(fact_id, [assertion.dot], agent, "retracted", self._clock.tick(hive_ms), at)

    def _was_taken_back_since(self, assertion: Assertion, hive_ms: int, said_ms: int) -> bool:
        """Whether somebody elsewhere surely took it back after `said_ms`, in hive time."""
        truly = structs.replace(assertion, stamp=Stamp(max(said_ms, 0), 0, assertion.stamp.actor))
        stamps = (stamp for stamp in self._policy.covering(truly) if stamp.actor not in self._own_actors)
        return any(stamp.ms <= hive_ms + DRIFT_MS for stamp in stamps)

    def _ahead(self, hive_ms: int) -> Iterator[tuple[str, Sealed, int]]:
        """Those that are live and still ahead: of the others the stamp is right, or nobody asks any more."""
        for (partition, dot), said_ms in self._said_ms.items():
            assertion = self._shares[partition].sealed(dot)
            if assertion is not None and _is_ahead(assertion, hive_ms):
                yield partition, assertion, said_ms


def _is_ahead(assertion: Sealed, hive_ms: int) -> bool:
    return assertion.assertion.stamp.ms > hive_ms + DRIFT_MS
