"""The outbox: what this node wrote and others must keep, sent again until they say that they do.

A parcel names dots, not contents: what is sent is looked up when it is sent, so a fact retracted meanwhile is sent as retracted.
Its journal record is written together with the assertions themselves, before anything is sent.

Assertions that were taken back while they were still under way to somebody are sent all the same, with the proof that they are
gone: only who knows both can remember that a dot was seen, and prove to others that it is gone. Kept until every parcel that
names the dot has arrived.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from hive_mind.hive.chance import Chance
from hive_mind.hive.effects import Delete, Held, Put, Record, Send
from hive_mind.hive.replication.exchange_steps import heads_of, size_of
from hive_mind.hive.replication.partition_replica import PartitionReplica, Taken
from hive_mind.model.evidence import Assertion, Dot, Sealed
from hive_mind.model.messages import Changes, Replicate

OUTBOX = "outbox"

_encode = msgspec.msgpack.Encoder().encode

# A dot of which only the proof is left that it is gone; that of many names more of them.
_GONE_BYTES = 256

Items = tuple[tuple[str, tuple[Dot, ...]], ...]
"""Dots by partition."""
Holders = Callable[[str], Sequence[str]]
"""Who holds a partition."""

UNDELIVERED = "undelivered"

_decode = msgspec.msgpack.Decoder(Sealed).decode

Place = tuple[str, Dot]
"""A partition and a dot in it."""


@dataclass(frozen=True, slots=True)
class DeliverySettings:
    """`first_retry_ms`: raise it and a lost message is noticed later, lower it and slow members get things twice.
    `retries_max` counts only once somebody has it: from then on the members' own exchanges carry it further.
    `parcel_bytes_max`: what a parcel takes in a message, about; what is too large for a bus would be sent again for ever.
    """

    first_retry_ms: int = 2_000
    last_retry_ms: int = 60_000
    retries_max: int = 60
    parcel_dots_max: int = 512
    parcel_bytes_max: int = 4 << 20


class Batch(msgspec.Struct):
    """Dots on their way to some nodes. `waiting` have not confirmed them yet."""

    id: str
    items: Items
    waiting: set[str]
    is_kept: bool = False
    """Whether anybody has it."""
    attempts: int = 0
    due_ms: int = 0


class Outbox:
    """Parcels by id. Lookups of what a dot is go to the node's shares."""

    def __init__(
        self,
        settings: DeliverySettings,
        chance: Chance,
        share_of: Callable[[str], PartitionReplica],
        is_erased: Callable[[Assertion], bool] = lambda _: False,
    ) -> None:
        self._settings, self._chance, self._share_of = settings, chance, share_of
        self._parcels: dict[str, Batch] = {}
        self.undelivered = Undelivered(is_erased)
        self._next_due_ms: int | None = None

    def __len__(self) -> int:
        """How many parcels somebody has not confirmed yet."""
        return len(self._parcels)

    def post(self, to: Iterable[str], items: Items, mono_ms: int) -> tuple[list[Record], list[Send]]:
        """Take responsibility for dots until each of these nodes has them: records to persist, and what to send afterwards."""
        waiting = set(to)
        if not waiting:
            return [], []
        records: list[Record] = []
        sends: list[Send] = []
        for some in self._cut(items):
            parcel = Batch(f"{self._chance.getrandbits(64):016x}", some, set(waiting))
            self._keep(parcel)
            records.append(_record(parcel))
            sends.append(self._sent(parcel, mono_ms))
        return records, sends

    def deliver(self, changed: Mapping[str, Taken], holders: Holders, here: str, mono_ms: int) -> tuple[list[Record], list[Send]]:
        """Parcels of what changed, for the other holders; partitions with the same holders travel together."""
        by_holders: dict[tuple[str, ...], list[tuple[str, tuple[Dot, ...]]]] = {}
        for partition, some in changed.items():
            to = tuple(node for node in holders(partition) if node != here)
            dots = tuple(dict.fromkeys([given.dot for given in some.adds] + [dot for one in some.removals for dot in one.dots]))
            if to and dots:
                by_holders.setdefault(to, []).append((partition, dots))
        records = self.undelivered.keep(changed)
        sends: list[Send] = []
        for to, items in by_holders.items():
            posted, sent = self.post(to, tuple(items), mono_ms)
            records += posted
            sends += sent
        return [*records, *self.undelivered.keep(changed, only_new=True)], sends

    def received(self, node: str, parcel_id: str) -> tuple[list[Record], list[str]]:
        """A node has a parcel: records to persist, and the facts that now are kept elsewhere for the first time."""
        parcel = self._parcels.get(parcel_id)
        if parcel is None or node not in parcel.waiting:
            return [], []
        parcel.waiting.discard(node)
        facts = [] if parcel.is_kept else self._facts_of(parcel)
        parcel.is_kept = True
        if parcel.waiting:
            return [_record(parcel)], facts
        return self._done(parcel), facts

    def due(self, mono_ms: int, holders: Holders, here: str, silent: Collection[str] = ()) -> tuple[list[Record], list[Send]]:
        """What to send again. Members that left are not waited for; new holders are.

        Nothing to a `silent` member until it is heard: a broker keeps messages to an absent one, and another copy every minute
        would fill it.
        """
        if self._next_due_ms is None or mono_ms < self._next_due_ms:
            return [], []
        records: list[Record] = []
        sends: list[Send] = []
        for parcel in [parcel for parcel in self._parcels.values() if parcel.due_ms <= mono_ms]:
            now_holding = {node for partition, _ in parcel.items for node in holders(partition)} - {here}
            parcel.waiting &= now_holding
            if not parcel.is_kept and not parcel.waiting:
                parcel.waiting = now_holding
            has_tried = parcel.is_kept and parcel.attempts >= self._settings.retries_max
            if not parcel.waiting or has_tried:
                records += self._done(parcel)
            else:
                sent = self._sent(parcel, mono_ms)
                sends += [Send(to, sent.message)] if (to := tuple(node for node in sent.to if node not in silent)) else []
        self._next_due_ms = min((parcel.due_ms for parcel in self._parcels.values()), default=None)
        return records, sends

    def hasten(self, mono_ms: int) -> None:
        """Send everything again soon, as if for the first time."""
        for parcel in self._parcels.values():
            parcel.attempts, parcel.due_ms = 0, mono_ms
        self._next_due_ms = mono_ms if self._parcels else None

    def wake_at_ms(self) -> int | None:
        """When something is to be sent again, monotonic."""
        return self._next_due_ms

    def load(self, value: bytes, mono_ms: int) -> None:
        """Take back one journal record: it is sent again soon."""
        parcel = msgspec.msgpack.decode(value, type=Batch)
        parcel.attempts, parcel.due_ms = 0, mono_ms
        self._keep(parcel)
        self._next_due_ms = mono_ms

    def noted(self, held: Sequence[Held], taken: Mapping[str, Taken]) -> tuple[Held, ...]:
        """What was promoted, of which `taken` is new. What is not, and has reached a holder since, is noted as shared."""
        fresh = {given.assertion.fact_id for some in taken.values() for given in some.adds}
        again = {one.fact_id for one in held if not (one.is_shared or one.refused or one.fact_id in fresh)}
        arrived = again - self.is_waiting_for() if again else again
        return tuple(replace(one, is_shared=True) if one.fact_id in arrived else one for one in held)

    def is_waiting_for(self) -> frozenset[str]:
        """Facts that nobody else is known to have."""
        unkept = (parcel for parcel in self._parcels.values() if not parcel.is_kept)
        return frozenset(fact for parcel in unkept for fact in self._facts_of(parcel))

    def has_unkept(self) -> bool:
        """Whether nobody else is known to have something of what this node wrote."""
        return any(not parcel.is_kept for parcel in self._parcels.values())

    def _sent(self, parcel: Batch, mono_ms: int) -> Send:
        step = min(self._settings.first_retry_ms << min(parcel.attempts, 16), self._settings.last_retry_ms)
        # Half of it by chance, so that members that missed the same message don't all ask at once.
        parcel.due_ms = mono_ms + step // 2 + self._chance.randrange(max(step // 2, 1))
        parcel.attempts += 1
        self._next_due_ms = parcel.due_ms if self._next_due_ms is None else min(self._next_due_ms, parcel.due_ms)
        changes = tuple(self._changes(partition, dots) for partition, dots in parcel.items)
        return Send(tuple(sorted(parcel.waiting)), Replicate(parcel.id, changes))

    def _changes(self, partition: str, dots: Iterable[Dot]) -> Changes:
        share = self._share_of(partition)
        known = list(dots)
        found = (share.sealed(dot) or self.undelivered.get(partition, dot) for dot in known)
        adds = {given.dot: given for given in found if given is not None}
        removals = {id(proof): proof for dot in known if (proof := share.proof(dot)) is not None}
        adds.update((given.dot, given) for given in share.successors(removals.values()))
        # Without the head of its writer nobody takes an assertion that is handed on.
        heads = dict.fromkeys([*share.own_heads(), *heads_of(adds, share)])
        return Changes(partition, tuple(adds.values()), tuple(removals.values()), tuple(heads))

    def _cut(self, items: Items) -> list[Items]:
        """Items in parcels of bounded size; one dot that is larger goes alone."""
        parcels: list[dict[str, list[Dot]]] = []
        dots_left = bytes_left = 0
        for partition, dot in ((partition, dot) for partition, dots in items for dot in dots):
            size = self._size_of(partition, dot)
            if not dots_left or size > bytes_left:
                parcels.append({})
                dots_left, bytes_left = self._settings.parcel_dots_max, self._settings.parcel_bytes_max
            parcels[-1].setdefault(partition, []).append(dot)
            dots_left, bytes_left = dots_left - 1, bytes_left - size
        return [tuple((name, tuple(dots)) for name, dots in parcel.items()) for parcel in parcels]

    def _size_of(self, partition: str, dot: Dot) -> int:
        given = self._share_of(partition).sealed(dot) or self.undelivered.get(partition, dot)
        return size_of(given) if given is not None else _GONE_BYTES

    def _facts_of(self, parcel: Batch) -> list[str]:
        shares = ((self._share_of(partition), dots) for partition, dots in parcel.items)
        return [given.assertion.fact_id for share, dots in shares for dot in dots if (given := share.sealed(dot)) is not None]

    def _keep(self, parcel: Batch) -> None:
        self._parcels[parcel.id] = parcel
        self.undelivered.posted(_places(parcel))

    def _done(self, parcel: Batch) -> list[Record]:
        del self._parcels[parcel.id]
        return [Delete(OUTBOX, parcel.id.encode()), *self.undelivered.arrived(_places(parcel))]


def _places(parcel: Batch) -> Iterator[Place]:
    return ((partition, dot) for partition, dots in parcel.items for dot in dots)


def _record(parcel: Batch) -> Record:
    return Put(OUTBOX, parcel.id.encode(), _encode(parcel))


class Undelivered:
    """Which dots are in parcels, and what they stood for."""

    def __init__(self, is_erased: Callable[[Assertion], bool] = lambda _: False) -> None:
        self._is_erased = is_erased
        self._parcels: Counter[Place] = Counter()
        self._kept: dict[Place, Sealed] = {}

    def get(self, partition: str, dot: Dot) -> Sealed | None:
        """What a dot stood for that is live no more."""
        return self._kept.get((partition, dot))

    def posted(self, places: Iterable[Place]) -> None:
        self._parcels.update(places)

    def arrived(self, places: Iterable[Place]) -> list[Record]:
        """A parcel that named these has come to everybody it was for."""
        records: list[Record] = []
        for place in places:
            self._parcels[place] -= 1
            if self._parcels[place] <= 0:
                del self._parcels[place]
                if self._kept.pop(place, None) is not None:
                    records.append(Delete(UNDELIVERED, _key(place)))
        return records

    def keep(self, changed: Mapping[str, Taken], *, only_new: bool = False) -> list[Record]:
        """Keep what was just taken back of what is under way; `only_new`: of what came and went in this very change."""
        records: list[Record] = []
        for partition, some in changed.items():
            new = {given.dot for given in some.adds} if only_new and some.gone else None
            for given in some.gone:
                if new is not None and given.dot not in new:
                    continue
                place = (partition, given.dot)
                # Of what is erased the proof alone is sent: who never sees it learns of its dot by the next exchange.
                if place in self._parcels and not self._is_erased(given.assertion):
                    self._kept[place] = given
                    records.append(Put(UNDELIVERED, _key(place), _encode(given)))
        return records

    def erase(self) -> list[Record]:
        """Let go of what was kept before it was to be erased."""
        gone = [place for place, given in self._kept.items() if self._is_erased(given.assertion)]
        for place in gone:
            del self._kept[place]
        return [Delete(UNDELIVERED, _key(place)) for place in gone]

    def load(self, key: bytes, value: bytes) -> None:
        """Take back one journal record."""
        partition, _, dot = key.partition(b"\0")
        self._kept[partition.decode(), dot] = _decode(value)


def _key(place: Place) -> bytes:
    return place[0].encode() + b"\0" + place[1]
