"""Long logs: a few lines stand for all that differ in their numbers only, with their count.

A log of fifty thousand lines says a few hundred things. The lines kept are verbatim: of each pattern the first ones that differ,
and the last one, each with the number of occurrences and the time of the last.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from hive_mind.cognition.extraction.blocks import Layout
from hive_mind.cognition.extraction.logs import message_of
from hive_mind.cognition.extraction.sentences import Piece
from hive_mind.counted import counted
from hive_mind.regex import regex

# A short log is kept line by line.
_LINES_MIN = 50
_KEPT_EACH = 5

_VARIABLE = regex(r"0[xX][0-9a-fA-F]+|\b[0-9a-fA-F]{8,}\b|\d+")
_NOTE = regex(r"[\d,]+ lines? like it\b")


@dataclass(slots=True)
class _Pattern:
    """Lines of one pattern: places of those that are kept, by message, and of the last."""

    first: dict[str, int] = field(default_factory=dict)
    last: int = 0
    lines: int = 0


def summed_up(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces in their order. Lines that others stand for are marked so."""
    lines = [(place, message_of(piece.text)) for place, piece in enumerate(pieces) if piece.block.layout is Layout.LOG]
    if len(lines) < _LINES_MIN:
        yield from pieces
        return
    patterns: dict[str, _Pattern] = {}
    for place, message in lines:
        pattern = patterns.setdefault(_VARIABLE.sub("#", message), _Pattern())
        pattern.lines += 1
        pattern.last = place
        if message not in pattern.first and len(pattern.first) < _KEPT_EACH:
            pattern.first[message] = place
    notes, places_kept = _kept(pieces, patterns.values())
    for place, piece in enumerate(pieces):
        if piece.block.layout is not Layout.LOG or place in places_kept:
            yield replace(piece, note=notes[place]) if place in notes else piece
        else:
            # As many as the log has lines: much faster than `replace`.
            yield Piece(piece.text, piece.block, piece.sentences, is_reply=piece.is_reply, is_covered=True, note=piece.note)


def is_note(label: str) -> bool:
    """Whether a label says how often a line occurs."""
    return _NOTE.match(label) is not None


def _kept(pieces: Sequence[Piece], patterns: Iterable[_Pattern]) -> tuple[dict[int, str], set[int]]:
    """The notes, and the lines that stay, by place."""
    notes: dict[int, str] = {}
    places_kept: set[int] = set()
    for pattern in patterns:
        places = [*pattern.first.values()]
        # The same message again adds nothing; one that differs shows how it went on.
        if len(pattern.first) > 1 and pattern.last not in places:
            places.append(pattern.last)
        places_kept.update(places)
        if further := pattern.lines - len(places):
            stamp = pieces[pattern.last].block.stamp
            # On each of them: nobody knows which will be found.
            notes |= dict.fromkeys(places, f"{counted(further, 'line')} like it, the last at {stamp}")
    return notes, places_kept
