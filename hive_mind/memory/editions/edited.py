"""Which statement took the place of which, between a source's former and present text. Pure.

A place is the text after the same statement that stayed, under the same heading: sections may move, and statements in them keep
their place. Within a place the statements that share most words belong together; statements moved as well are found by their
words under their heading, those under another heading by their words in their place. The rest are paired in order, first for
first.
"""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from typing import NamedTuple

from hive_mind.model.fact import Fact
from hive_mind.model.ids import canonical
from hive_mind.ranking.tokens import tokenize

# Half the words of both: an edit of a number or of a name leaves more, another sentence about the same thing mostly fewer.
_ALIKE_MIN = 0.5
# Each is compared with this many at about the same position: a chapter written anew is not compared with all of itself.
_COMPARED_MAX = 40


class _Stood(NamedTuple):
    """A statement of only one of the two texts: the common statement before it, and its heading."""

    fact: Fact
    after: str
    heading: str


_Key = Callable[[_Stood], tuple[str, ...]]


def successors(before: Sequence[Fact], now: Sequence[Fact]) -> dict[str, str]:
    """By id, the successor of each dropped statement; those without a successor are left out. Both in order."""
    gone, new = _unshared(before, now), _unshared(now, before)
    pairs: dict[str, str] = {}
    for match, key in _STEPS:
        here, there = _grouped(gone, pairs, key), _grouped(new, frozenset(pairs.values()), key)
        for name, facts in here.items():
            pairs |= match(facts, there.get(name, ()))
    return pairs


def _unshared(these: Sequence[Fact], others: Iterable[Fact]) -> list[_Stood]:
    both = {fact.id for fact in others}
    after, found = "", list[_Stood]()
    for fact in these:
        if fact.id in both:
            after = fact.id
        else:
            found.append(_Stood(fact, after, canonical(fact.concept).casefold()))
    return found


def _grouped(these: Iterable[_Stood], taken: Container[str], key: _Key) -> dict[tuple[str, ...], list[Fact]]:
    found = defaultdict[tuple[str, ...], list[Fact]](list)
    for one in these:
        if one.fact.id not in taken:
            found[key(one)].append(one.fact)
    return found


def _alike(gone: Sequence[Fact], new: Sequence[Fact]) -> dict[str, str]:
    """Those that share most words, the most alike first."""
    ahead = [frozenset(tokenize(fact.content)) for fact in new]
    ranked = sorted(
        (-share, abs(row - column), row, column)
        for row, fact in enumerate(gone)
        for words in (frozenset(tokenize(fact.content)),)
        for column in _about(row, len(gone), len(new))
        if (share := _shared(words, ahead[column])) >= _ALIKE_MIN
    )
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for *_, row, column in ranked:
        if row not in pairs and column not in taken:
            pairs[row] = column
            taken.add(column)
    return {gone[row].id: new[column].id for row, column in pairs.items()}


def _about(row: int, rows: int, columns: int) -> range:
    """Positions about as far down."""
    middle = row * columns // rows
    return range(max(0, middle - _COMPARED_MAX // 2), min(columns, middle + _COMPARED_MAX // 2))


def _shared(some: frozenset[str], others: frozenset[str]) -> float:
    return 2 * len(some & others) / max(1, len(some) + len(others))


def _in_order(gone: Sequence[Fact], new: Sequence[Fact]) -> dict[str, str]:
    return {fact.id: one.id for fact, one in zip(gone, new, strict=False)}


_STEPS: tuple[tuple[Callable[[Sequence[Fact], Sequence[Fact]], dict[str, str]], _Key], ...] = (
    (_alike, lambda one: (one.after, one.heading)),
    (_alike, lambda one: (one.heading,)),
    (_alike, lambda one: (one.after,)),
    (_in_order, lambda one: (one.after, one.heading)),
)
