"""One partition of a hub: a log of events, found again by number, offset or time, of which the oldest are dropped."""

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from hive_mind.devbroker.amqp.encoding import encode
from hive_mind.devbroker.amqp.error import INVALID_FIELD, AmqpError
from hive_mind.devbroker.amqp.sections import Message
from hive_mind.devbroker.amqp.types import Symbol, Timestamp

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
        """The sequence number of the next event."""
        return self.begin + len(self._events) - self._gone

    def event(self, sequence: int) -> bytes:
        """An event with its annotations, ready for a receiver."""
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
        self._drop_oldest()

    def start(self, selector: str) -> int:
        """The sequence number of the first event for a receiver with this filter. Raises `AmqpError`."""
        # Matching takes time in proportion to the square of the length.
        match = _SELECTOR.fullmatch(selector) if len(selector) <= _SELECTOR_LENGTH_MAX else None
        if match is None:
            raise AmqpError(INVALID_FIELD, f"unsupported selector: {selector[:_SELECTOR_LENGTH_MAX]!r}")
        what, is_inclusive, value = match[1], match[2] == ">=", match[3] or match[4] or ""
        if value == "@latest":
            return self.end
        if not _WHOLE.fullmatch(value):
            raise AmqpError(INVALID_FIELD, f"a position must be a whole number, not {value!r}")
        number = int(value)
        match what:
            case "x-opt-offset":
                return self._after_offset(number, is_inclusive=is_inclusive)
            case "x-opt-sequence-number":
                return max(self.begin, min(self.end, number if is_inclusive else number + 1))
            case "x-opt-enqueued-time":
                return self._search(self._times_ms, number, is_inclusive=is_inclusive)
        raise AmqpError(INVALID_FIELD, f"events can't be looked up by {what!r}")

    def _after_offset(self, offset: int, *, is_inclusive: bool) -> int:
        if offset > self._next_offset:
            raise AmqpError(
                "com.microsoft:argument-error", f"the supplied offset '{offset}' is invalid; the last one is '{self.last.offset}'"
            )
        return self._search(self._offsets, offset, is_inclusive=is_inclusive)

    def _search(self, values: list[int], value: int, *, is_inclusive: bool) -> int:
        search = bisect_left if is_inclusive else bisect_right
        return self.begin - self._gone + search(values, value, lo=self._gone)

    def _drop_oldest(self) -> None:
        while len(self._events) - self._gone > self._retention.events_max or self._bytes > self._retention.bytes_max:
            self._bytes -= len(self._events[self._gone])
            self._events[self._gone] = b""
            self._gone += 1
            self.begin += 1
        if self._gone > len(self._events) // 2:
            del self._events[: self._gone], self._offsets[: self._gone], self._times_ms[: self._gone]
            self._gone = 0
