"""Finding what two sets of dots don't have in common by telling little: range-based set reconciliation (Meyer, arXiv 2212.13567).

Both sides sort their dots. One tells fingerprints of ranges; the other answers, for those that differ, fingerprints of smaller
ranges or, where dots are few, the dots. Dots sort by actor and counter, so what is new lies together and costs little. Nothing is
remembered between steps. Two equal sets are known to be equal after 16 bytes; a fingerprint that agrees by chance hides a
difference until the next session, which has another key.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hive_mind.crdt.context import DOT_BYTES, DOTS_MAX, pack_sorted, unpack
from hive_mind.model.evidence import COUNTER_BYTES, Dot
from hive_mind.model.messages import Span

ROOT_BYTES = 16
# A piece only decides whether to look closer: 64 keyed bits miss a difference once in 10^19 looks, and then for one session.
PIECE_BYTES = 8
# Fewer pieces mean more messages, more of them more bytes: 1 M dots take three steps down to a list of dots.
PIECES = 16
# Where naming the dots costs about as much as telling pieces, it saves a step. The number of dots bounds the work of finding out.
LISTED_BYTES_MAX, LISTED_DOTS_MAX = 256, 1024
# A dot as numpy reads it: 40 bits of counter are a byte and a word.
_DOT = np.dtype([("actor", ">u8"), ("high", "u1"), ("low", ">u4")])
_COUNTER_BITS, _LOW_BITS = np.uint64(8 * COUNTER_BYTES), np.uint64(32)
# Below this numpy's fixed cost is more than sorting in Python takes.
SMALL = 250


@dataclass(frozen=True, slots=True)
class Round:
    """One step's result: spans to ask back, and dots now known to be on one side only."""

    spans: tuple[Span, ...] = ()
    only_here: tuple[Dot, ...] = ()
    only_there: tuple[Dot, ...] = ()


class DotIndex:
    """Dots in order, with keyed fingerprints of any range. A range goes from `low` up to but without `high`; b"": no bound."""

    def __init__(self, dots: "Iterable[Dot] | DotIndex", key: bytes) -> None:
        self.packed: memoryview = dots.packed if isinstance(dots, DotIndex) else memoryview(_sorted(dots))
        """The dots in order, 13 bytes each."""
        self._key = key

    def keyed(self, key: bytes) -> "DotIndex":
        """The same dots with the fingerprints of another session, without sorting again."""
        return DotIndex(self, key)

    def __len__(self) -> int:
        return len(self.packed) // DOT_BYTES

    def fingerprint(self, low: bytes = b"", high: bytes = b"") -> bytes:
        """16 bytes that are equal for equal ranges of dots, and as good as never for others."""
        start, end = self.range(low, high)
        return blake2b(self.packed[start * DOT_BYTES : end * DOT_BYTES], key=self._key, digest_size=ROOT_BYTES).digest()

    def dots(self, low: bytes = b"", high: bytes = b"") -> tuple[Dot, ...]:
        return tuple([self._at(position) for position in range(*self.range(low, high))])

    def split(self, low: bytes, high: bytes, parts: int = PIECES) -> list[tuple[bytes, bytes]]:
        """The range as at most `parts` ranges of about as many dots each."""
        start, end = self.range(low, high)
        parts = max(min(parts, end - start), 1)
        inner = [self._bound(start + (end - start) * part // parts) for part in range(1, parts)]
        return list(zip([low, *inner], [*inner, high], strict=True))

    def range(self, low: bytes, high: bytes) -> tuple[int, int]:
        end = self._position(high) if high else len(self)
        return min(self._position(low), end), end

    def _position(self, bound: bytes) -> int:
        return bisect_left(range(len(self)), bound, key=self._at) if bound else 0

    def _at(self, position: int) -> Dot:
        return bytes(self.packed[position * DOT_BYTES : (position + 1) * DOT_BYTES])

    def _bound(self, position: int) -> bytes:
        """As little of a dot as sorts behind the dot before it."""
        bound = self._at(position)
        return bound[: _shared(self._at(position - 1), bound) + 1]


def whole(index: DotIndex) -> tuple[Span, ...]:
    """How a reconciliation begins, once it is known that something differs."""
    return (_cheapest_span(index, b"", b""),)


def reconcile(index: DotIndex, spans: Sequence[Span]) -> Round:
    """Answer the other side's spans. No spans in the answer: everything that differs in them is known.

    ValueError for spans that no other side can have meant. Those that overlap are among them: each costs the work of its range.
    """
    asked_spans: list[Span] = []
    only_here: list[Dot] = []
    only_there: list[Dot] = []
    end, left = b"", DOTS_MAX
    for number, span in enumerate(spans):
        if not _is_range(span.low, span.high) or (number and (not end or span.low < end)):
            raise ValueError("spans overlap or are out of order")
        end = span.high
        if span.dots is None:
            asked_spans += [_cheapest_span(index, low, high) for low, high in _unlike(index, span)]
            continue
        theirs = listed(span, left)
        left -= len(theirs)
        own_dots = index.dots(span.low, span.high)
        only_here += sorted(set(own_dots).difference(theirs))
        only_there += sorted(set(theirs).difference(own_dots))
    return Round(tuple(asked_spans), tuple(only_here), tuple(only_there))


def listing(low: bytes, high: bytes, dots: Iterable[Dot]) -> Span:
    return Span(low, high, dots=pack_sorted(sorted(dots)))


def listed(span: Span, dots_max: int = DOTS_MAX) -> tuple[Dot, ...]:
    """The dots a span names, sorted. ValueError if they are malformed, too many, or not within it."""
    dots = unpack(span.dots or b"", dots_max)
    if dots and (dots[0] < span.low or not _is_range(dots[-1], span.high)):
        raise ValueError("dots outside their span")
    return dots


def _cheapest_span(index: DotIndex, low: bytes, high: bytes) -> Span:
    """A range in the way that costs least: its dots where they are few, otherwise its pieces."""
    start, end = index.range(low, high)
    if end - start <= LISTED_DOTS_MAX:
        packed = pack_sorted(index.dots(low, high))
        # One dot can't be cut further; what `low` and `high` let through always ends here.
        if len(packed) <= LISTED_BYTES_MAX or end - start == 1:
            return Span(low, high, dots=packed)
    pieces = index.split(low, high)
    fingerprints = b"".join([index.fingerprint(*piece)[:PIECE_BYTES] for piece in pieces])
    # Each bound but the first: how many bytes it shares with the one before and how many follow, in half a byte each, then those.
    cuts = bytearray()
    for before, bound in pairwise([piece[0] for piece in pieces]):
        shared = _shared(before, bound)
        cuts.append(shared << 4 | len(bound) - shared)
        cuts += bound[shared:]
    return Span(low, high, fingerprints, cuts=bytes(cuts))


def _unlike(index: DotIndex, span: Span) -> Iterator[tuple[bytes, bytes]]:
    """The pieces of a span that are not the same here."""
    bounds = [*_bounds(span.low, span.cuts), span.high]
    size = PIECE_BYTES if span.cuts else ROOT_BYTES
    if len(span.fingerprint) != size * (len(bounds) - 1):
        raise ValueError("not one fingerprint for each piece")
    for number, (low, high) in enumerate(pairwise(bounds)):
        if not _is_range(low, high):
            raise ValueError("pieces out of order")
        if index.fingerprint(low, high)[:size] != span.fingerprint[size * number : size * (number + 1)]:
            yield low, high


def _bounds(first: bytes, packed: bytes) -> list[bytes]:
    bounds, position = [first], 0
    while position < len(packed):
        shared, extra = divmod(packed[position], 16)
        end = position + 1 + extra
        if not extra or end > len(packed) or shared + extra > DOT_BYTES or shared > len(bounds[-1]):
            raise ValueError("malformed bounds")
        bounds.append(bounds[-1][:shared] + packed[position + 1 : end])
        position = end
    return bounds


def _is_range(low: bytes, high: bytes) -> bool:
    return not high or low < high


def _shared(a_bytes: bytes, b_bytes: bytes) -> int:
    """How many bytes they have in common at the beginning."""
    return next(
        (number for number, (a, b) in enumerate(zip(a_bytes, b_bytes, strict=False)) if a != b), min(len(a_bytes), len(b_bytes))
    )


def _sorted(dots: Iterable[Dot]) -> bytes:
    """Distinct dots in order, one after the other."""
    dot_list = dots if isinstance(dots, Sequence) else tuple(dots)
    return b"".join(sorted(set(dot_list))) if len(dot_list) < SMALL else _sorted_many(b"".join(dot_list))


def _sorted_many(joined: bytes) -> bytes:
    """The same by numpy: a dot becomes the number of its actor and its counter in 64 bits, which sort ten times as fast."""
    rows = np.frombuffer(joined, _DOT)
    actors = rows["actor"].astype(np.uint64)
    actors_known = _distinct(actors)
    numbers = np.searchsorted(actors_known, actors).astype(np.uint64) << _COUNTER_BITS
    numbers = _distinct(numbers | rows["high"].astype(np.uint64) << _LOW_BITS | rows["low"])
    result = np.empty(len(numbers), _DOT)
    result["actor"] = actors_known[numbers >> _COUNTER_BITS]
    result["high"] = numbers >> _LOW_BITS & np.uint64(0xFF)
    result["low"] = numbers & np.uint64(0xFFFFFFFF)
    return result.tobytes()


def _distinct(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Sorted, each once. `np.unique` takes thirty times as long."""
    ordered = np.sort(numbers)
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))]
