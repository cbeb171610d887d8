"""All dots a replica has ever seen, live or gone, in a few bytes: the causal context of a set.

Per actor the counter up to which everything was seen, and single dots beyond where something before them is still missing.
Removed dots need no tombstone: a dot that is in the context and not live is one that was removed. Only data, without a lock: it
belongs to the set that has one.

Dots that one actor wrote in a row cost about three bytes together, single ones one or two each: per actor its 8 bytes, the number
of its runs, then per run how many counters were left out before it and how long it is. A set of dots has exactly one such text,
so nothing can hide in how it is written, and equal sets are equal bytes.
"""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import filterfalse, groupby, islice
from operator import itemgetter
from types import MappingProxyType
from typing import Any, TypeVar

from hive_mind.model.evidence import ACTOR_BYTES, COUNTER_BYTES, Actor, Dot, actor_of, counter_of
from hive_mind.model.evidence import dot as dot_of

E = TypeVar("E")

DOT_BYTES = ACTOR_BYTES + COUNTER_BYTES
COUNTER_MAX = (1 << 8 * COUNTER_BYTES) - 1


class Context:
    """A growing set of dots. Two that cover the same dots are equal, in whatever order they came to know them."""

    # Per actor the last dot of its gapless beginning: comparing bytes is several times faster than decoding counters.
    __slots__ = ("_beyond", "_last")

    def __init__(self, up_to: Mapping[Actor, int] | None = None, beyond: Iterable[Dot] = ()) -> None:
        self._last: dict[Actor, Dot] = {actor: checked_dot(actor, n) for actor, n in (up_to or {}).items() if n > 0}
        self._beyond: set[Dot] = set()
        self.add_all(beyond)

    @property
    def up_to(self) -> Mapping[Actor, int]:
        """Actor → the highest counter with no gap below it. A view, which follows the context."""
        return _Counters(self._last)

    @property
    def last(self) -> Mapping[Actor, Dot]:
        """`up_to` as dots. A view."""
        return MappingProxyType(self._last)

    @property
    def beyond(self) -> frozenset[Dot]:
        return frozenset(self._beyond)

    def covers(self, dot: Dot) -> bool:
        return dot <= self._last.get(dot[:ACTOR_BYTES], b"") or dot in self._beyond

    def seen(self, dots: Iterable[Dot]) -> list[Dot]:
        last, beyond = self._last.get, self._beyond
        return [dot for dot in dots if dot <= last(dot[:ACTOR_BYTES], b"") or dot in beyond]

    def unseen(self, dots: Iterable[Dot]) -> list[Dot]:
        last, beyond = self._last.get, self._beyond
        return [dot for dot in dots if dot > last(dot[:ACTOR_BYTES], b"") and dot not in beyond]

    def next_counter(self, actor: Actor) -> int:
        """The counter of the actor's next write, if this is all it wrote."""
        return self.up_to.get(actor, 0) + 1

    def add(self, dot: Dot) -> bool:
        """Cover a dot; False if it was covered."""
        if self.covers(dot):
            return False
        actor = actor_of(dot)
        if counter_of(dot) == self.next_counter(actor):
            self._last[actor] = dot
            self._close_gap(actor)
        else:
            self._beyond.add(dot)
        return True

    def add_all(self, dots: Iterable[Dot]) -> bool:
        """Cover dots; False if all were covered."""
        new = self.unseen(dots)
        for dot in new:
            self.add(dot)
        return bool(new)

    def join(self, context: "Context") -> bool:
        """Cover what the other covers; False if that was nothing new."""
        return self.join_all(tuple(context.last.values()), context.beyond)

    def join_all(self, last: Iterable[Dot], beyond: Iterable[Dot]) -> bool:
        """Cover everything up to each of `last`, and the single dots `beyond`; False if that was nothing new."""
        ahead = [dot for dot in last if dot > self._last.get(dot[:ACTOR_BYTES], b"")]
        for dot in ahead:
            self._last[actor_of(dot)] = dot
        if ahead and self._beyond:
            self._beyond = {dot for dot in self._beyond if dot > self._last.get(dot[:ACTOR_BYTES], b"")}
            for dot in ahead:
                self._close_gap(actor_of(dot))
        # `add_all` must run whatever `ahead` is.
        return self.add_all(beyond) or bool(ahead)

    def within(self, heads: Mapping[Actor, int]) -> "Context":
        """The part of this that is no more than the actors say they have written: no replica can have seen more."""
        bounded = {actor: min(n, heads.get(actor, 0)) for actor, n in self.up_to.items()}
        return Context(bounded, [dot for dot in self._beyond if counter_of(dot) <= heads.get(actor_of(dot), 0)])

    def copy(self) -> "Context":
        twin = Context()
        twin._last, twin._beyond = self._last.copy(), self._beyond.copy()
        return twin

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and self._last == other._last and self._beyond == other._beyond

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Context({ {actor.hex(): n for actor, n in sorted(self.up_to.items())} }, beyond={len(self._beyond)})"

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it; equal contexts give equal text."""
        return {
            "up_to": {actor.hex(): n for actor, n in sorted(self.up_to.items())},
            "beyond": [dot.hex() for dot in sorted(self._beyond)],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Context":
        """The context of `to_dict`. ValueError for dots that can't be."""
        up_to = {bytes.fromhex(actor): n for actor, n in data["up_to"].items()}
        return cls(up_to, [dot_from_hex(text) for text in data["beyond"]])

    def _close_gap(self, actor: Actor) -> None:
        counter = first = counter_of(self._last[actor])
        while self._beyond and (following := dot_of(actor, counter + 1)) in self._beyond:
            self._beyond.remove(following)
            counter += 1
        if counter > first:
            self._last[actor] = dot_of(actor, counter)


class _Counters(Mapping[Actor, int]):
    """Last dots, read as counters."""

    __slots__ = ("_last",)

    def __init__(self, last: Mapping[Actor, Dot]) -> None:
        self._last = last

    def __getitem__(self, actor: Actor) -> int:
        return counter_of(self._last[actor])

    def __iter__(self) -> Iterator[Actor]:
        return iter(self._last)

    def __len__(self) -> int:
        return len(self._last)

    def __repr__(self) -> str:
        return repr(dict(self))


def actor_named(actor: str | Actor) -> Actor:
    if isinstance(actor, str):
        return blake2b(actor.encode(), digest_size=ACTOR_BYTES).digest()
    if len(actor) != ACTOR_BYTES:
        raise ValueError(f"an actor has {ACTOR_BYTES} bytes, not {len(actor)}")
    return actor


def checked_dot(actor: Actor, counter: int) -> Dot:
    """A dot of what came from elsewhere; ValueError if there can't be such a dot."""
    if len(actor) != ACTOR_BYTES or not 1 <= counter <= COUNTER_MAX:
        raise ValueError(f"invalid dot: actor of {len(actor)} bytes, counter {counter}")
    return dot_of(actor, counter)


def dot_from_hex(text: str) -> Dot:
    """A dot written as hexadecimal. Raises `ValueError` for any other text."""
    raw = bytes.fromhex(text)
    return checked_dot(actor_of(raw), counter_of(raw))


def differing(here: dict[Dot, E], there: dict[Dot, E]) -> tuple[list[Dot], list[Dot]]:
    """The dots that only one side has, in an order that depends on what was written and not on how this process hashes bytes."""
    if here.keys().isdisjoint(there):
        return list(here), list(there)
    if len(here) == len(there) and here.keys() == there.keys():
        return [], []
    only_here = list(filterfalse(there.__contains__, here))
    only_there = len(there) - (len(here) - len(only_here))
    # New dots lie last in a dict. Sought from its end and counted, they are found without looking at all the rest.
    newest_first = list(islice(filterfalse(here.__contains__, reversed(there)), only_there))
    return only_here, newest_first[::-1]


# A run of a million dots is a few bytes on the wire: the unpacked form needs a bound of its own. More never travels at once.
DOTS_MAX = 1 << 20

# Of a 40-bit number, and of one shifted by the bit that says whether a length follows.
_VARINT_BYTES_MAX = 6

_actor_of = itemgetter(slice(ACTOR_BYTES))

Run = tuple[int, int]
"""First counter, how many."""


def pack(dots: Iterable[Dot]) -> bytes:
    """The dots as bytes; order and repetitions don't matter. More than DOTS_MAX could not be read again, and are a ValueError."""
    chosen = sorted(set(dots))
    if len(chosen) > DOTS_MAX:
        raise ValueError(f"{len(chosen)} dots are too many for one message")
    return pack_sorted(chosen)


def pack_sorted(dots: Iterable[Dot]) -> bytes:
    """`pack` for dots that are sorted and distinct already."""
    packed = bytearray()
    for actor, group in groupby(dots, _actor_of):
        runs = list(runs_of(int.from_bytes(dot[ACTOR_BYTES:], "big") for dot in group))
        packed += actor
        _write(packed, len(runs))
        end = 1
        for first, length in runs:
            # Most runs in a set with holes are short: the lowest bit saves single dots the byte of their length.
            _write(packed, (first - end) << 1 | (length > 1))
            if length > 1:
                _write(packed, length - 2)
            end = first + length
    return bytes(packed)


def runs_of(counters: Iterable[int]) -> Iterator[Run]:
    first = following = 0
    for counter in counters:
        if counter != following:
            if following > first:
                yield first, following - first
            first = counter
        following = counter + 1
    if following > first:
        yield first, following - first


def unpack(data: bytes, dots_max: int = DOTS_MAX) -> tuple[Dot, ...]:
    """The dots that were packed, sorted. ValueError for what `pack` can't have given or what is more than `dots_max`."""
    dots: list[Dot] = []
    for actor, first, length in _read_runs(data):
        if len(dots) + length > dots_max:
            raise ValueError(f"more than {dots_max} dots")
        dots += [actor + counter.to_bytes(COUNTER_BYTES, "big") for counter in range(first, first + length)]
    return tuple(dots)


def _read_runs(data: bytes) -> Iterator[tuple[Actor, int, int]]:
    position, previous = 0, b""
    while position < len(data):
        actor, position = data[position : position + ACTOR_BYTES], position + ACTOR_BYTES
        if actor <= previous or position > len(data):
            raise ValueError("actors out of order, or cut off")
        previous = actor
        count, position = _read(data, position)
        if not count:
            raise ValueError("an actor without dots")
        end = 1
        for number in range(count):
            first, length, position = _read_run(data, position, end, is_first=not number)
            yield actor, first, length
            end = first + length


def _read_run(data: bytes, position: int, end: int, *, is_first: bool) -> tuple[int, int, int]:
    """First counter, length, and where the next run begins; `end` is the first counter after the run before."""
    head, position = _read(data, position)
    gap, length = head >> 1, 1
    if head & 1:
        extra, position = _read(data, position)
        length = extra + 2
    if not gap and not is_first:
        raise ValueError("adjacent runs must be merged")
    if end + gap + length - 1 > COUNTER_MAX:
        raise ValueError("a counter beyond 40 bits")
    return end + gap, length, position


def _write(packed: bytearray, number: int) -> None:
    """Seven bits a byte, the lowest first; the highest bit says that more follow."""
    while number > 0x7F:
        packed.append(number & 0x7F | 0x80)
        number >>= 7
    packed.append(number)


def _read(data: bytes, position: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 7 * _VARINT_BYTES_MAX, 7):
        if position >= len(data):
            raise ValueError("cut off")
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            if not byte and shift:
                raise ValueError("non-minimal varint")
            return number, position
    raise ValueError("a number too large")
