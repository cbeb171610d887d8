"""The knowledge all members share: agents, ratings, pinned trust, moderators, quarantine, redactions, shared values.

A map, last writer wins by stamp.

Every writer has its own slot under a key, and rights are checked when reading: of the slots of entitled writers, the latest
counts. So replicas that hold the same entries agree in whatever order they came, and no writer can shadow a moderator by
writing later. A moderator's entries in office stay in force afterwards. `admission` says which values and writers are good.

A journal keeps one record per slot: `record_key(entry)`. Of one writer the newest entries stay, in a number that no honest one
comes to; so a writer that floods the hive loses its own. Moderators redact and erase for ever, and may write any number. Entries
by an appointed moderator carry the appointment, so that any node can verify and keep them, also before it gets the appointment,
in whatever order they come. Each such entry has a slot of its own, as has each that appoints or dismisses: an entry stamped after
a dismissal is void, and must not have replaced an earlier decision, whichever of them arrives first.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from hashlib import blake2b
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import msgspec

from hive_mind.crdt import DRIFT_MS
from hive_mind.errors import InvalidInput
from hive_mind.hive.policy import APPOINTED, UNSEALED, Seal, admission, sealed_entry
from hive_mind.hive.policy.admission import kind_of, subject_of
from hive_mind.model.evidence import Stamp
from hive_mind.model.messages import Appointment, RegistryEntry

ENTRIES_OF_ONE_MAX = 20_000
"""Of one writer, beside what it writes as a moderator: ratings of all, and values that its runs share. At most some 100 MB."""
_DIGEST_BYTES = 32
_DIGESTS = 1 << (8 * _DIGEST_BYTES)

# Entries that were replaced lie in a heap until it has this many more than there are.
_REPLACED_MAX = 64

_Order = tuple[Stamp, bytes]
_Writer = tuple[str, bytes]
_encode = msgspec.msgpack.Encoder().encode


class _Slot(NamedTuple):
    entry: RegistryEntry
    value: Any
    """None for an entry that was deleted."""
    order: _Order
    is_counted: bool
    """Whether it counts against its writer's limit."""


class _Office(NamedTuple):
    """`until`: None in office, otherwise since when no more. `ended`: when it ever did. `last`: the last appointment."""

    until: Stamp | None
    ended: tuple[Stamp, ...]
    last: Appointment | None


def slot_of(entry: RegistryEntry) -> tuple[str, str, bytes]:
    """Its key and writer, of which the last one stays; decisions in office, and about moderators in office, all stay."""
    is_kept_apart = entry.appointment is not None or kind_of(entry.key) == "moderator"
    return entry.key, entry.by, _digest_of(entry) if is_kept_apart else b""


def record_key(entry: RegistryEntry) -> bytes:
    """Where a journal keeps an entry: one record per slot."""
    key, by, digest = slot_of(entry)
    return _encode((key, by, digest) if digest else (key, by))


class Registry:
    """One node's copy. `moderators` are those the hive was set up with; they, and only they, appoint and dismiss others.

    What is written here goes under `seal`, which also knows the keys that nobody believes any more.
    """

    def __init__(
        self,
        moderators: Iterable[str] = (),
        entries_of_one_max: int = ENTRIES_OF_ONE_MAX,
        seal: Seal = UNSEALED,
    ) -> None:
        self.founders, self._entries_of_one_max, self._seal = frozenset(moderators), entries_of_one_max, seal
        self._overflown: list[RegistryEntry] = []
        self._oldest: dict[str, list[tuple[_Order, str, bytes]]] = {}
        """By writer, a heap of its entries that count; also some that were replaced since."""
        self._numbers: Counter[str] = Counter()
        self.version = 0
        """Grows with every change."""
        self._slots: dict[str, dict[str, dict[_Writer, _Slot]]] = {kind: {} for kind in admission.KINDS}
        self._versions = dict.fromkeys(admission.KINDS, 0)
        self._digest = 0
        self._count = 0
        self._entries: tuple[int, tuple[RegistryEntry, ...]] = 0, ()
        # No entry's stamp is later. Spares `sweep`, which runs at every tick, from looking at each.
        self._latest_ms = 0
        self._ranked: dict[str, list[tuple[_Order, _Writer]]] = {}
        """By key, its slots from the oldest: a moderator may have thousands under one."""
        self._offices: dict[str, _Office] = {}
        """Of everybody ever appointed or dismissed by a founder."""
        # Entries in force by kind, and the keys where that has to be looked at again.
        self._views: dict[str, dict[str, _Slot]] = {kind: {} for kind in admission.KINDS}
        self._stale: dict[str, set[str]] = {kind: set() for kind in admission.KINDS}

    def __len__(self) -> int:
        return self._count

    def get(self, key: str) -> Any:
        """The value; None if absent, or written without the right to."""
        slot = self._winner(key)
        return slot.value if slot else None

    def with_prefix(self, prefix: str) -> Mapping[str, Any]:
        """Values in force (neither deleted nor false) by key, sorted, of one kind ("rating/") or of a narrower prefix."""
        kind = kind_of(prefix)
        slots = self._view(kind)
        return {key: slot.value for key, slot in slots.items() if prefix == f"{kind}/" or key.startswith(prefix)}

    def in_force(self, kind: str) -> Mapping[str, Stamp]:
        """When each value in force of a kind was written, by key."""
        return {key: slot.entry.stamp for key, slot in self._view(kind).items()}

    @property
    def moderators(self) -> frozenset[str]:
        return self.founders | {name for name, office in self._offices.items() if office.until is None}

    def version_of(self, *kinds: str) -> int:
        """Grows with every change that can change what these kinds say."""
        versions = self._versions
        return versions["moderator"] + sum([versions[kind] for kind in kinds if kind != "moderator"])

    def entries(self) -> tuple[RegistryEntry, ...]:
        version, entries = self._entries
        if version != self.version:
            entries = tuple(sorted(self._unsorted(), key=slot_of))
            self._entries = self.version, entries
        return entries

    def _unsorted(self) -> Iterator[RegistryEntry]:
        return (slot.entry for keys in self._slots.values() for writers in keys.values() for slot in writers.values())

    def has(self, entry: RegistryEntry) -> bool:
        writers = self._slots.get(kind_of(entry.key), {}).get(entry.key)
        slot = writers.get(_writer(entry)) if writers else None
        return slot is not None and slot.entry == entry

    def is_after_dismissal(self, entry: RegistryEntry) -> bool:
        """Whether its writer had been appointed, and was dismissed before: it is void, also after a new appointment."""
        if (appointment := entry.appointment) is None or (office := self._offices.get(entry.by)) is None:
            return False
        return any(appointment.stamp < ended <= entry.stamp for ended in office.ended)

    def fingerprint(self, key: bytes) -> bytes:
        """16 bytes, the same for the same entries under the same session key. Costs the same however many there are."""
        state = self._digest.to_bytes(_DIGEST_BYTES, "big") + self._count.to_bytes(8, "big")
        return blake2b(state + key, digest_size=16).digest()

    def may_write(self, key: str, by: str, moderators: Collection[str] | None = None) -> str:
        """ "" if this writer's entry would count now, otherwise why not."""
        return admission.may_write(key, by, self.moderators if moderators is None else moderators, self.founders)

    def refusal(self, key: str, value: str, by: str) -> str:
        return admission.problem_with_name(key, by) or admission.problem_with_value(key, value) or self.may_write(key, by)

    def write(self, key: str, value: str, by: str, stamp: Stamp) -> RegistryEntry:
        """Write JSON ("": delete) for `by`; trust is clamped to [0, 2]. Raises `InvalidInput` with the reason `refusal` gives."""
        if reason := self.refusal(key, value, by):
            raise InvalidInput(reason)
        office = None if self._is_its_own(key, by) else self._offices.get(by)
        entry = RegistryEntry(key, admission.clamped(key, value), stamp, by, appointment=office and office.last)
        entry = sealed_entry(self._seal, entry)
        self.take((entry,), None)
        return entry

    def write_again(self, entry: RegistryEntry, stamp: Stamp) -> RegistryEntry:
        """An own entry that `sweep` forgot, with a sane stamp. Whether its writer still has the right is judged when reading."""
        rewritten = sealed_entry(self._seal, msgspec.structs.replace(entry, stamp=stamp, seal=b""))
        self.take((rewritten,), None)
        return rewritten

    def take(self, entries: Iterable[RegistryEntry], hive_now_ms: int | None) -> tuple[RegistryEntry, ...]:
        """Take others' entries; those that changed something. Malformed ones and ones from beyond hive time are passed over.

        An entry that is taken need not count: that its writer has the right is for `get` and its kin to say.
        `hive_now_ms` None: no trusted clock; `sweep` will judge them when there is one.
        """
        latest_ms = None if hive_now_ms is None else hive_now_ms + DRIFT_MS
        return tuple(entry for entry in entries if self._take(entry, latest_ms))

    def sweep(self, hive_now_ms: int, is_own: Callable[[RegistryEntry], bool]) -> list[RegistryEntry]:
        """Forget what is stamped beyond hive time; what of it is this node's own, to be written again with a sane stamp.

        An author that did not write its own again would be alone with them.
        """
        latest_ms = hive_now_ms + DRIFT_MS
        if self._latest_ms <= latest_ms:
            return []
        beyond = [entry for entry in self.entries() if entry.stamp.ms > latest_ms]
        for entry in beyond:
            self._forget(entry)
        self._latest_ms = latest_ms
        return [entry for entry in beyond if is_own(entry)]

    def disown(self) -> list[RegistryEntry]:
        """Forget entries of revoked keys; returns the forgotten ones.

        Entries in office of a moderator that such a key appointed count from then on as written by its own right.
        """
        revoked = [entry for entry in self.entries() if self._seal.is_revoked(entry.seal, entry.stamp.ms)]
        for entry in revoked:
            self._forget(entry)
        for entry in [entry for entry in self.entries() if entry.appointment is not None]:
            writers, writer = self._slots[kind_of(entry.key)].get(entry.key, {}), _writer(entry)
            slot = writers.get(writer)
            if slot is not None and self._is_counted(entry) and not slot.is_counted:
                writers[writer] = slot._replace(is_counted=True)
                self._numbers[entry.by] += 1
                revoked += [] if self._make_room(entry, slot.order) else [entry]
        return [*revoked, *self.take_overflown()]

    def take_overflown(self) -> list[RegistryEntry]:
        """Entries forgotten because their writer wrote too much, or after its dismissal, since this was last asked."""
        overflown, self._overflown = self._overflown, []
        return overflown

    def _take(self, entry: RegistryEntry, latest_ms: int | None) -> bool:
        is_too_late = latest_ms is not None and entry.stamp.ms > latest_ms
        if admission.problem_with(entry) or is_too_late or self.is_after_dismissal(entry):
            return False
        kind = kind_of(entry.key)
        writers = self._slots[kind].setdefault(entry.key, {})
        writer = _writer(entry)
        old = writers.get(writer)
        # Honest stamps are never equal. For two that are, any order will do that is the same everywhere and prefers no value.
        order = (entry.stamp, _digest_of(entry))
        if old is not None and order <= old.order:
            return False
        is_counted = self._is_counted(entry)
        writers[writer] = _Slot(entry, admission.value_of(entry), order, is_counted)
        self._latest_ms = max(self._latest_ms, entry.stamp.ms)
        self._numbers[entry.by] += is_counted - (old is not None and old.is_counted)
        self._changed(entry, order, old)
        if kind == "moderator" and entry.by in self.founders:
            self._forget_after_dismissal(subject_of(entry.key))
        return not is_counted or self._make_room(entry, order)

    def _forget_after_dismissal(self, by: str) -> None:
        if (office := self._offices.get(by)) is None or not office.ended:
            return
        late_entries = sorted(
            (entry_found for entry_found in self._unsorted() if entry_found.by == by and self.is_after_dismissal(entry_found)),
            key=slot_of,
        )
        for entry in late_entries:
            self._forget(entry)
        self._overflown += late_entries

    def _is_counted(self, entry: RegistryEntry) -> bool:
        """Whether it counts against its writer's limit: not entries of a founder, nor of a moderator that a founder appointed."""
        slot = entry.appointment
        is_appointed = slot is not None and slot.by in self.founders and not self._seal.is_revoked(slot.seal, slot.stamp.ms)
        return entry.by not in self.founders and not is_appointed

    def _make_room(self, entry: RegistryEntry, order: _Order) -> bool:
        """Forget the oldest of a writer with too many; whether this one stays. In whatever order they come it ends alike."""
        heap = self._oldest.setdefault(entry.by, [])
        heappush(heap, (order, *slot_of(entry)[::2]))
        while self._numbers[entry.by] > self._entries_of_one_max:
            oldest, key, digest = heappop(heap)
            if self._is_last((entry.by, digest), oldest, key):
                displaced = self._slots[kind_of(key)][key][entry.by, digest].entry
                self._forget(displaced)
                if displaced is entry:
                    return False
                self._overflown.append(displaced)
        if len(heap) > 2 * self._numbers[entry.by] + _REPLACED_MAX:
            heap[:] = [place for place in heap if self._is_last((entry.by, place[2]), *place[:2])]
            heapify(heap)
        return True

    def _is_last(self, writer: _Writer, order: _Order, key: str) -> bool:
        slot = self._slots[kind_of(key)].get(key, {}).get(writer)
        return slot is not None and slot.order == order

    def _forget(self, entry: RegistryEntry) -> None:
        kind = kind_of(entry.key)
        writers = self._slots[kind][entry.key]
        old = writers.pop(_writer(entry))
        self._numbers[entry.by] -= old.is_counted
        if not writers:
            del self._slots[kind][entry.key]
        self._changed(entry, None, old)

    def _changed(self, entry: RegistryEntry, order: _Order | None, old: _Slot | None) -> None:
        kind, key = kind_of(entry.key), entry.key
        self._rank(key, _writer(entry), order, old)
        self.version += 1
        if kind != "moderator" or entry.by in self.founders:
            self._versions[kind] += 1
            self._stale[kind].add(key)
        if kind == "moderator" and entry.by in self.founders:
            by, offices = subject_of(key), [slot for slot in self._latest_first(key) if slot.entry.by in self.founders]
            self._offices.pop(by, None)
            if offices:
                ended = tuple(slot.entry.stamp for slot in offices if not slot.value)
                appointed = (slot.entry for slot in offices if slot.entry.value == APPOINTED)
                last = next((Appointment(entry.stamp, entry.by, entry.seal) for entry in appointed), None)
                self._offices[by] = _Office(None if offices[0].value else offices[0].entry.stamp, ended, last)
            # They decide which other entries count.
            for other_kind, keys in self._slots.items():
                self._stale[other_kind].update(keys)
        self._count += (order is not None) - (old is not None)
        for sign, digest in ((1, order and order[1]), (-1, old and old.order[1])):
            if digest:
                self._digest = (self._digest + sign * int.from_bytes(digest, "big")) % _DIGESTS

    def _rank(self, key: str, writer: _Writer, order: _Order | None, old: _Slot | None) -> None:
        ranked = self._ranked.setdefault(key, [])
        if old is not None:
            del ranked[bisect_left(ranked, (old.order, writer))]
        if order is not None:
            insort(ranked, (order, writer))
        if not ranked:
            del self._ranked[key]

    def _latest_first(self, key: str) -> Iterator[_Slot]:
        slots = self._slots.get(kind_of(key), {}).get(key, {})
        return (slots[writer] for _, writer in reversed(self._ranked.get(key, ())))

    def _winner(self, key: str) -> _Slot | None:
        return next((slot for slot in self._latest_first(key) if self._is_entitled(slot.entry)), None)

    def _is_entitled(self, entry: RegistryEntry) -> bool:
        key, by = entry.key, entry.by
        if self._is_its_own(key, by):
            return True
        office = self._offices.get(by)
        return kind_of(key) != "moderator" and office is not None and (office.until is None or entry.stamp < office.until)

    def _is_its_own(self, key: str, by: str) -> bool:
        """Whether it needs no appointment to write this. (`take` lets nobody write what another alone may.)"""
        return by in self.founders or kind_of(key) in admission.OWN or not admission.may_write(key, by, (), self.founders)

    def _view(self, kind: str) -> Mapping[str, _Slot]:
        """Entries in force, sorted by key; brought up to date where something changed."""
        stale, view = self._stale.get(kind), self._views.get(kind, {})
        if stale:
            is_new = False
            for key in stale:
                slot = self._winner(key)
                if slot is None or slot.value is None or slot.value is False:
                    view.pop(key, None)
                else:
                    is_new = is_new or key not in view
                    view[key] = slot
            self._stale[kind] = set()
            if is_new:
                view = self._views[kind] = dict(sorted(view.items()))
        return view


def _digest_of(entry: RegistryEntry) -> bytes:
    # An entry without appointment has the digest that members of an earlier version give it.
    fields = (entry.key, entry.value, entry.stamp, entry.by, entry.seal)
    encoded = _encode(fields if entry.appointment is None else entry)
    return blake2b(encoded, digest_size=_DIGEST_BYTES).digest()


def _writer(entry: RegistryEntry) -> _Writer:
    """The slot it takes under its key."""
    return slot_of(entry)[1:]
