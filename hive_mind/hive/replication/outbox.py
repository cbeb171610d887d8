"""The outbox: this node's writes that others must keep, sent again until they confirm them.

A batch names dots, not contents: assertions are looked up when sent, so a fact retracted meanwhile is sent as retracted.
Its journal record is written together with the assertions themselves, before anything is sent.

Assertions that were taken back while they were still under way to a holder are sent all the same, with the proof that they are
gone: only a node that knows both can remember that a dot was seen, and prove to others that it is gone. Kept until every batch
that names the dot has arrived.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from hive_mind.hive import Chance
from hive_mind.hive.effects import Delete, Held, Put, Record, Send, Taken
from hive_mind.hive.replication.exchange_steps import heads_of, size_of
from hive_mind.hive.replication.partition_replica import PartitionReplica
from hive_mind.hive.replication.reliable_channels import FIRST_RETRY_MS, retry_ms
from hive_mind.model.decoding import msgpack_decoder
from hive_mind.model.evidence import Assertion, Dot, Sealed
from hive_mind.model.messages import Changes, Replicate

OUTBOX = "outbox"

_encode = msgspec.msgpack.Encoder().encode

# A dot of which only the proof is left that it is gone; that of many names more of them.
_GONE_BYTES = 256

Items = tuple[tuple[str, tuple[Dot, ...]], ...]
"""Dots by partition."""
Holders = Callable[[str], Sequence[str]]
"""The holders of a partition."""

UNDELIVERED = "undelivered"

_decode = msgpack_decoder(Sealed)

Place = tuple[str, Dot]
"""A partition and a dot in it."""


@dataclass(frozen=True, slots=True)
class DeliverySettings:
    """`first_retry_ms`: raise it and a lost message is noticed later, lower it and slow members get things twice.
    `retries_max` counts only once a holder has it: from then on the members' own exchanges carry it further.
    `batch_bytes_max`: size of a batch in a message, about; one too large for a bus would be sent again for ever.
    """

    first_retry_ms: int = FIRST_RETRY_MS
    last_retry_ms: int = 60_000
    retries_max: int = 60
    batch_dots_max: int = 512
    batch_bytes_max: int = 4 << 20


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
    """Batches by id. Lookups of what a dot is go to the node's shares."""

    def __init__(
        self,
        settings: DeliverySettings,
        chance: Chance,
        share_of: Callable[[str], PartitionReplica],
        is_erased: Callable[[Assertion], bool] = lambda _: False,
    ) -> None:
        self._settings, self._chance, self._share_of = settings, chance, share_of
        self._batches: dict[str, Batch] = {}
        self.undelivered = Undelivered(is_erased)
        self._next_due_ms: int | None = None

    def __len__(self) -> int:
        return len(self._batches)

    def post(self, to: Iterable[str], items: Items, mono_ms: int) -> tuple[list[Record], list[Send]]:
        """Take responsibility for dots until each of these nodes has them: records to persist, and what to send afterwards."""
        waiting = set(to)
        if not waiting:
            return [], []
        records: list[Record] = []
        sends: list[Send] = []
        for chunk in self._cut(items):
            batch = Batch(f"{self._chance.getrandbits(64):016x}", chunk, set(waiting))
            self._keep(batch)
            records.append(_record(batch))
            sends.append(self._sent(batch, mono_ms))
        return records, sends

    def deliver(
        self, changed: Mapping[str, Taken], holders: Holders, node_here: str, mono_ms: int
    ) -> tuple[list[Record], list[Send]]:
        """Batches of what changed, for the other holders; partitions with the same holders travel together."""
        by_holders: dict[tuple[str, ...], list[tuple[str, tuple[Dot, ...]]]] = {}
        for partition, share in changed.items():
            to = tuple(node for node in holders(partition) if node != node_here)
            dots = tuple(
                dict.fromkeys([add.dot for add in share.adds] + [dot for removal in share.removals for dot in removal.dots])
            )
            if to and dots:
                by_holders.setdefault(to, []).append((partition, dots))
        records = self.undelivered.keep(changed)
        sends: list[Send] = []
        for to, items in by_holders.items():
            posted, sent = self.post(to, tuple(items), mono_ms)
            records += posted
            sends += sent
        return [*records, *self.undelivered.keep(changed, only_new=True)], sends

    def received(self, node: str, batch_id: str) -> tuple[list[Record], list[str]]:
        """A node has a batch: records to persist, and the facts that now are kept elsewhere for the first time."""
        batch = self._batches.get(batch_id)
        if batch is None or node not in batch.waiting:
            return [], []
        batch.waiting.discard(node)
        facts = [] if batch.is_kept else self._facts_of(batch)
        batch.is_kept = True
        if batch.waiting:
            return [_record(batch)], facts
        return self._done(batch), facts

    def due(
        self, mono_ms: int, holders: Holders, node_here: str, silent: Collection[str] = ()
    ) -> tuple[list[Record], list[Send]]:
        """Messages to send again. Members that left are not waited for; new holders are.

        Nothing to a `silent` member until it is heard: a broker keeps messages to an absent one, and another copy every minute
        would fill it.
        """
        if self._next_due_ms is None or mono_ms < self._next_due_ms:
            return [], []
        records: list[Record] = []
        sends: list[Send] = []
        for batch in [batch for batch in self._batches.values() if batch.due_ms <= mono_ms]:
            now_holding = {node for partition, _ in batch.items for node in holders(partition)} - {node_here}
            batch.waiting &= now_holding
            if not batch.is_kept and not batch.waiting:
                batch.waiting = now_holding
            has_tried = batch.is_kept and batch.attempts >= self._settings.retries_max
            if not batch.waiting or has_tried:
                records += self._done(batch)
            else:
                sent = self._sent(batch, mono_ms)
                sends += [Send(to, sent.message)] if (to := tuple(node for node in sent.to if node not in silent)) else []
        self._next_due_ms = min((batch.due_ms for batch in self._batches.values()), default=None)
        return records, sends

    def hasten(self, mono_ms: int) -> None:
        """Send everything again soon, as if for the first time."""
        for batch in self._batches.values():
            batch.attempts, batch.due_ms = 0, mono_ms
        self._next_due_ms = mono_ms if self._batches else None

    def wake_at_ms(self) -> int | None:
        """When something is to be sent again, monotonic."""
        return self._next_due_ms

    def load(self, value: bytes, mono_ms: int) -> None:
        """Take back one journal record: it is sent again soon."""
        batch = msgpack_decoder(Batch)(value)
        batch.attempts, batch.due_ms = 0, mono_ms
        self._keep(batch)
        self._next_due_ms = mono_ms

    def noted(self, outcomes: Sequence[Held], shares: Mapping[str, Taken]) -> tuple[Held, ...]:
        """Promoted facts, of which `shares` is new. Facts not new that have reached a holder since are noted as shared."""
        fresh = {add.assertion.fact_id for share in shares.values() for add in share.adds}
        fact_ids = {
            outcome.fact_id for outcome in outcomes if not (outcome.is_shared or outcome.refused or outcome.fact_id in fresh)
        }
        arrived = fact_ids - self.is_waiting_for() if fact_ids else fact_ids
        return tuple(replace(outcome, is_shared=True) if outcome.fact_id in arrived else outcome for outcome in outcomes)

    def is_waiting_for(self) -> frozenset[str]:
        unkept = (batch for batch in self._batches.values() if not batch.is_kept)
        return frozenset(fact for batch in unkept for fact in self._facts_of(batch))

    def has_unkept(self) -> bool:
        return any(not batch.is_kept for batch in self._batches.values())

    def _sent(self, batch: Batch, mono_ms: int) -> Send:
        settings = self._settings
        batch.due_ms = mono_ms + retry_ms(batch.attempts, settings.first_retry_ms, settings.last_retry_ms, self._chance)
        batch.attempts += 1
        self._next_due_ms = batch.due_ms if self._next_due_ms is None else min(self._next_due_ms, batch.due_ms)
        changes = tuple(self._changes(partition, dots) for partition, dots in batch.items)
        return Send(tuple(sorted(batch.waiting)), Replicate(batch.id, changes))

    def _changes(self, partition: str, dots: Iterable[Dot]) -> Changes:
        share = self._share_of(partition)
        known_dots = list(dots)
        assertions = (share.sealed(dot) or self.undelivered.get(partition, dot) for dot in known_dots)
        adds = {assertion.dot: assertion for assertion in assertions if assertion is not None}
        removals = {id(proof): proof for dot in known_dots if (proof := share.proof(dot)) is not None}
        adds.update((successor.dot, successor) for successor in share.successors(removals.values()))
        # Without the head of its writer nobody takes an assertion that is handed on.
        heads = dict.fromkeys([*share.own_heads(), *heads_of(adds, share)])
        return Changes(partition, tuple(adds.values()), tuple(removals.values()), tuple(heads))

    def _cut(self, items: Items) -> list[Items]:
        """Items in batches of bounded size; one dot that is larger goes alone."""
        batches: list[dict[str, list[Dot]]] = []
        dots_left = bytes_left = 0
        for partition, dot in ((partition, dot) for partition, dots in items for dot in dots):
            assertion = self._share_of(partition).sealed(dot) or self.undelivered.get(partition, dot)
            size = size_of(assertion) if assertion is not None else _GONE_BYTES
            if not dots_left or size > bytes_left:
                batches.append({})
                dots_left, bytes_left = self._settings.batch_dots_max, self._settings.batch_bytes_max
            batches[-1].setdefault(partition, []).append(dot)
            dots_left, bytes_left = dots_left - 1, bytes_left - size
        return [tuple((name, tuple(dots)) for name, dots in batch.items()) for batch in batches]

    def _facts_of(self, batch: Batch) -> list[str]:
        shares = ((self._share_of(partition), dots) for partition, dots in batch.items)
        return [sealed.assertion.fact_id for share, dots in shares for dot in dots if (sealed := share.sealed(dot)) is not None]

    def _keep(self, batch: Batch) -> None:
        self._batches[batch.id] = batch
        self.undelivered.posted(_places(batch))

    def _done(self, batch: Batch) -> list[Record]:
        del self._batches[batch.id]
        return [Delete(OUTBOX, batch.id.encode()), *self.undelivered.arrived(_places(batch))]


def _places(batch: Batch) -> Iterator[Place]:
    return ((partition, dot) for partition, dots in batch.items for dot in dots)


def _record(batch: Batch) -> Record:
    return Put(OUTBOX, batch.id.encode(), _encode(batch))


class Undelivered:
    """Which dots are in batches, and what they stood for."""

    def __init__(self, is_erased: Callable[[Assertion], bool] = lambda _: False) -> None:
        self._is_erased = is_erased
        self._batches: Counter[Place] = Counter()
        self._sealed: dict[Place, Sealed] = {}

    def get(self, partition: str, dot: Dot) -> Sealed | None:
        """The assertion of a dot that is live no more."""
        return self._sealed.get((partition, dot))

    def posted(self, places: Iterable[Place]) -> None:
        self._batches.update(places)

    def arrived(self, places: Iterable[Place]) -> list[Record]:
        """A batch that named these has come to everybody it was for."""
        records: list[Record] = []
        for place in places:
            self._batches[place] -= 1
            if self._batches[place] <= 0:
                del self._batches[place]
                if self._sealed.pop(place, None) is not None:
                    records.append(Delete(UNDELIVERED, _key(place)))
        return records

    def keep(self, changed: Mapping[str, Taken], *, only_new: bool = False) -> list[Record]:
        """Keep what was just taken back of what is under way; `only_new`: of what came and went in this very change."""
        records: list[Record] = []
        for partition, share in changed.items():
            new = {add.dot for add in share.adds} if only_new and share.gone else None
            for assertion in share.gone:
                if new is not None and assertion.dot not in new:
                    continue
                place = (partition, assertion.dot)
                # Of erased assertions only the proof is sent: a node that misses it learns of its dot by the next exchange.
                if place in self._batches and not self._is_erased(assertion.assertion):
                    self._sealed[place] = assertion
                    records.append(Put(UNDELIVERED, _key(place), _encode(assertion)))
        return records

    def erase(self) -> list[Record]:
        """Let go of what was kept before it was to be erased."""
        places = [place for place, assertion in self._sealed.items() if self._is_erased(assertion.assertion)]
        for place in places:
            del self._sealed[place]
        return [Delete(UNDELIVERED, _key(place)) for place in places]

    def load(self, key: bytes, value: bytes) -> None:
        partition, _, dot = key.partition(b"\0")
        self._sealed[partition.decode(), dot] = _decode(value)


def _key(place: Place) -> bytes:
    return place[0].encode() + b"\0" + place[1]
