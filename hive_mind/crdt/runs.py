"""Many dots in few bytes. Dots that one actor wrote in a row cost about three bytes together, single ones one or two each.

Per actor its 8 bytes, the number of its runs, then per run how many counters were left out before it and how long it is. A set of
dots has exactly one such text, so nothing can hide in how it is written, and equal sets are equal bytes.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter

from hive_mind.crdt.context import COUNTER_MAX
from hive_mind.model.evidence import ACTOR_BYTES, COUNTER_BYTES, Actor, Dot

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
