"""One partition of a hub: a log of events, found again by number, offset or time, of which the oldest are dropped.

Event Hubs: a hub is some partitions; senders append to them, and each receiver reads one from a position of its own.

Nothing is acknowledged here: a receiver keeps its position itself. Receivers of one consumer group share a partition, up to five
of them, unless one comes with an epoch, which then has it alone until a receiver with a higher epoch comes.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from hive_mind.devbroker.amqp import (
    INVALID_FIELD,
    NOT_ALLOWED,
    NOT_FOUND,
    RESOURCE_LIMIT,
    AmqpError,
    Array,
    Int,
    Symbol,
    Timestamp,
    encode,
)
from hive_mind.devbroker.amqp.entity import (
    BATCH_FORMAT,
    DELIVERY_ANNOTATIONS,
    DeliveryOutcome,
    EntityHost,
    Link,
    ManagementReply,
    Message,
    annotations_section,
    messages_of,
    split,
)

_SEQUENCE, _OFFSET = encode(Symbol("x-opt-sequence-number")), encode(Symbol("x-opt-offset"))
_TIME, _KEY = encode(Symbol("x-opt-enqueued-time")), encode(Symbol("x-opt-partition-key"))

_SELECTOR = re.compile(r"\s*amqp\.annotation\.(x-opt-[a-z-]+)\s*(>=?)\s*(?:'([^']*+)'|([^'\s]*+))\s*")
_SELECTOR_LENGTH_MAX = 200
_WHOLE = re.compile(r"-?[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class Retention:
    """How much a partition keeps. The oldest event goes first, whether it was read or not."""

    events_max: int = 200_000
    bytes_max: int = 128 << 20


@dataclass(frozen=True, slots=True)
class EventPosition:
    """Where an event is. Before the first one: -1, "-1" and 0."""

    sequence: int
    offset: str
    time_ms: int


class Partition:
    """A log. Sequence numbers count events from 0; offsets count bytes."""

    def __init__(self, number: int, retention: Retention) -> None:
        self.number, self._retention = number, retention
        # The sequence number of the oldest event that is kept.
        self.begin = 0
        self._events: list[bytes] = []
        self._offsets: list[int] = []
        self._times_ms: list[int] = []
        self._next_offset = self._bytes = 0
        self.last = EventPosition(-1, "-1", 0)
        # Events at the front of the lists that are gone; they are cut off together, because a cut costs as much as what stays.
        self._gone = 0

    @property
    def end(self) -> int:
        return self.begin + len(self._events) - self._gone

    def event(self, sequence: int) -> bytes:
        return self._events[sequence - self.begin + self._gone]

    def append(self, message: Message, key: str | None, now: float) -> None:
        # A clock that is set back must not put events out of order: they are searched by time.
        now_ms = max(int(now * 1000), self.last.time_ms)
        noted = [(_SEQUENCE, encode(self.end)), (_OFFSET, encode(str(self._next_offset))), (_TIME, encode(Timestamp(now_ms)))]
        if key is not None:
            noted.append((_KEY, encode(key)))
        event = message.encoded(annotations=noted)
        self.last = EventPosition(self.end, str(self._next_offset), now_ms)
        self._events.append(event)
        self._offsets.append(self._next_offset)
        self._times_ms.append(now_ms)
        self._next_offset += len(event)
        self._bytes += len(event)
        while len(self._events) - self._gone > self._retention.events_max or self._bytes > self._retention.bytes_max:
            self._bytes -= len(self._events[self._gone])
            self._events[self._gone] = b""
            self._gone += 1
            self.begin += 1
        if self._gone > len(self._events) // 2:
            del self._events[: self._gone], self._offsets[: self._gone], self._times_ms[: self._gone]
            self._gone = 0

    def start(self, selector: str) -> int:
        """The sequence number of the first event for a receiver with this filter. Raises `AmqpError`."""
        # Matching takes time in proportion to the square of the length.
        match = _SELECTOR.fullmatch(selector) if len(selector) <= _SELECTOR_LENGTH_MAX else None
        if match is None:
            raise AmqpError(INVALID_FIELD, f"unsupported selector: {selector[:_SELECTOR_LENGTH_MAX]!r}")
        field_name, is_inclusive, value = match[1], match[2] == ">=", match[3] or match[4] or ""
        if value == "@latest":
            return self.end
        if not _WHOLE.fullmatch(value):
            raise AmqpError(INVALID_FIELD, f"a position must be a whole number, not {value!r}")
        number = int(value)
        match field_name:
            case "x-opt-offset":
                if number > self._next_offset:
                    raise AmqpError(
                        "com.microsoft:argument-error",
                        f"the supplied offset '{number}' is invalid; the last one is '{self.last.offset}'",
                    )
                return self._search(self._offsets, number, is_inclusive=is_inclusive)
            case "x-opt-sequence-number":
                return max(self.begin, min(self.end, number if is_inclusive else number + 1))
            case "x-opt-enqueued-time":
                return self._search(self._times_ms, number, is_inclusive=is_inclusive)
        raise AmqpError(INVALID_FIELD, f"events can't be looked up by {field_name!r}")

    def _search(self, values: list[int], value: int, *, is_inclusive: bool) -> int:
        search = bisect_left if is_inclusive else bisect_right
        return self.begin - self._gone + search(values, value, lo=self._gone)


# The service's own limit, per partition and consumer group.
READERS_MAX = 5

DEFAULT_GROUP = "$default"

_PATH = re.compile(r"(?P<hub>[^/]+)(?:/consumergroups/(?P<group>[^/]+))?(?:/partitions/(?P<partition>[^/]+))?", re.IGNORECASE)
_SELECTOR_FILTER = "apache.org:selector-filter:string"
_METRICS = "com.microsoft:enable-receiver-runtime-metric"
_EPOCH = "com.microsoft:epoch"


@dataclass(slots=True)
class _Reader:
    """A receiving link: where it is in its partition, and under which epoch."""

    partition: Partition
    group: str
    position: int
    epoch: int | None
    has_metrics: bool


class EventHub:
    """See `amqp.entity.Entity`. With `groups` None every consumer group exists."""

    def __init__(
        self, host: EntityHost, name: str, partitions: int, groups: Sequence[str] | None = (), retention: Retention | None = None
    ) -> None:
        self._host, self.name = host, name
        self.partitions = [Partition(number, retention or Retention()) for number in range(partitions)]
        self._groups = None if groups is None else {DEFAULT_GROUP, *map(str.lower, groups)}
        self._created_ms = int(host.now() * 1000)
        self._senders: dict[Link, int | None] = {}
        self._readers: dict[Link, _Reader] = {}
        self._next_partition = 0
        self._pumps: set[int] = set()

    def on_attach(self, link: Link) -> None:
        """A sender, bound to a partition or not; or a receiver of one partition."""
        match = _PATH.fullmatch(link.address)
        if match is None:
            raise AmqpError(NOT_FOUND, f"the messaging entity '{link.address}' could not be found")
        if link.is_sender:
            self._attach_reader(link, match["group"], match["partition"])
        else:
            self._senders[link] = None if match["partition"] is None else self._partition(match["partition"]).number

    def on_detach(self, link: Link) -> None:
        self._senders.pop(link, None)
        self._readers.pop(link, None)

    def settle(self, link: Link, held: Any, outcome: DeliveryOutcome) -> None:
        """Events are sent settled."""

    def on_message(self, link: Link, payload: bytes, fmt: int) -> None:
        """Events for a partition: the sender's, that of their key, or the next in turn."""
        outer = split(payload)
        noted = outer.annotation_map.get("x-opt-partition-key")
        key, bound = None if noted is None else str(noted), self._senders[link]
        if bound is not None and key is not None:
            raise AmqpError(NOT_ALLOWED, "a partition key on a link that is bound to a partition")
        messages = messages_of(outer, fmt)
        partition = self.partitions[self._choice(key) if bound is None else bound]
        # Only a batch is annotated once for all: a single event has its key among its own annotations.
        noted_key = key if fmt == BATCH_FORMAT else None
        for message in messages:
            partition.append(message, noted_key, self._host.now())
        self._host.count("events", len(messages))
        # Once per turn of the loop, however many events came in it.
        if partition.number not in self._pumps:
            self._pumps.add(partition.number)
            self._host.call_soon(lambda: self._pump_all(partition))

    def _choice(self, key: str | None) -> int:
        if key is not None:
            # Equal keys meet in one partition; in which, the service decides by a hash of its own.
            return crc32(key.encode()) % len(self.partitions)
        self._next_partition = (self._next_partition + 1) % len(self.partitions)
        return self._next_partition

    def _attach_reader(self, link: Link, group: str | None, number: str | None) -> None:
        if group is None or number is None:
            raise AmqpError(NOT_ALLOWED, "a receiver needs a consumer group and a partition")
        if self._groups is not None and group.lower() not in self._groups:
            raise AmqpError(NOT_FOUND, f"the messaging entity '{self.name}~{group}' could not be found")
        partition = self._partition(number)
        epoch = link.properties.get(_EPOCH)
        if not isinstance(epoch, int | None):
            raise AmqpError("amqp:invalid-field", "an epoch is a whole number")
        peers = {peer: reader for peer, reader in self._readers.items() if _is_place(reader, partition, group.lower())}
        owner = next((reader.epoch for reader in peers.values() if reader.epoch is not None), None)
        if epoch is None and owner is not None:
            raise AmqpError("amqp:link:stolen", f"there is a receiver with epoch '{owner}', so one without is not allowed")
        if epoch is None and len(peers) >= READERS_MAX:
            raise AmqpError(RESOURCE_LIMIT, f"more than {READERS_MAX} receivers per partition in a consumer group")
        if epoch is not None and owner is not None and owner > epoch:
            raise AmqpError("amqp:link:stolen", f"there is a receiver with the higher epoch '{owner}'")
        selector = link.filters.get(_SELECTOR_FILTER)
        position = partition.begin if selector is None else partition.start(str(selector))
        if epoch is not None:
            for peer in peers:
                peer.detach(AmqpError("amqp:link:stolen", f"a receiver with epoch '{epoch}' takes the partition"))
        self._readers[link] = _Reader(partition, group.lower(), position, epoch, _METRICS in link.capabilities)

    def pump(self, link: Link) -> None:
        reader = self._readers.get(link)
        if reader is None:
            return
        partition = reader.partition
        reader.position = max(reader.position, partition.begin)
        while reader.position < partition.end and link.can_send:
            event = partition.event(reader.position)
            metrics = self._metrics(partition) if reader.has_metrics else b""
            link.send(metrics + event, reader.position.to_bytes(8))
            reader.position += 1

    def _pump_all(self, partition: Partition) -> None:
        self._pumps.discard(partition.number)
        for link in [link for link, reader in self._readers.items() if reader.partition is partition]:
            self.pump(link)

    def _metrics(self, partition: Partition) -> bytes:
        last = partition.last
        metrics = {
            Symbol("last_enqueued_sequence_number"): last.sequence,
            Symbol("last_enqueued_offset"): last.offset,
            Symbol("last_enqueued_time_utc"): Timestamp(last.time_ms),
            Symbol("runtime_info_retrieval_time_utc"): Timestamp(int(self._host.now() * 1000)),
        }
        return annotations_section(DELIVERY_ANNOTATIONS, metrics)

    def manage(self, request: Message) -> ManagementReply:
        application = request.application_map
        match application.get("type"):
            case "com.microsoft:eventhub":
                return ManagementReply(200, "OK", self._description())
            case "com.microsoft:partition":
                partition = self._partition(str(application.get("partition")))
                last = partition.last
                return ManagementReply(
                    200,
                    "OK",
                    {
                        "name": self.name,
                        "type": "com.microsoft:partition",
                        "partition": str(partition.number),
                        "begin_sequence_number": partition.begin,
                        "last_enqueued_sequence_number": last.sequence,
                        "last_enqueued_offset": last.offset,
                        "last_enqueued_time_utc": Timestamp(last.time_ms),
                        "is_partition_empty": partition.begin == partition.end,
                    },
                )
        return ManagementReply(400, "only hubs and partitions can be read", {})

    def _description(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": "com.microsoft:eventhub",
            "created_at": Timestamp(self._created_ms),
            "partition_count": Int(len(self.partitions)),
            "georeplication_factor": Int(1),
            "partition_ids": Array(str(partition.number) for partition in self.partitions),
        }

    def _partition(self, text: str) -> Partition:
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else len(self.partitions)
        if number >= len(self.partitions):
            raise AmqpError(
                "com.microsoft:argument-out-of-range",
                f"the specified partition is invalid; it should be between 0 and {len(self.partitions) - 1}",
            )
        return self.partitions[number]


def is_hub_path(path: str) -> bool:
    match = _PATH.fullmatch(path)
    return match is not None and match["partition"] is not None


def _is_place(reader: _Reader, partition: Partition, group: str) -> bool:
    return reader.partition is partition and reader.group == group
