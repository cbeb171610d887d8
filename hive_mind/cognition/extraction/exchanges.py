"""Pieces that say nothing alone: a question and its answer become one, and of a long log a few lines stand for all.

"Leon" is no fact, and a question is none either; "who brings the straps? Jonas: Leon" is one. So is "Where? It is at home." A
longer answer of a list of questions stands under its question: "Q: Are dogs allowed? A: Yes, on a lead, except at noon."

A log of fifty thousand lines says a few hundred things. The lines kept are verbatim: of each pattern the first ones that differ,
and the last one, each with the number of occurrences and the time of the last.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from hive_mind.cognition.extraction.blocks import Block, Layout
from hive_mind.cognition.extraction.logs import message_of
from hive_mind.cognition.extraction.messages import ANSWER_LABELS
from hive_mind.cognition.extraction.sentences import Piece
from hive_mind.cognition.extraction.statements import is_polite, is_question, is_statement
from hive_mind.counted import counted
from hive_mind.regex import regex

_SPOKEN = (Layout.UTTERANCE, Layout.PROSE)
# A longer answer stands by itself, unless it opens with a word for what was asked about.
_WORDS_MAX, _WORDS_MAX_REFERRING = 8, 25
_REFERRING = regex(
    r"(?:me|i|it|he|she|they|this|that|these|those|there|because|es|er|ich|weil|il|elle|c['’]est|parce|est[áa]|porque)\b",
    re.IGNORECASE,
)
_YES_OR_NO = regex(r"(?:yes|yeah|yep|no|nope|not (?:yet|really)|of course|sure|ja|nein|doch|oui|non|sí|si)\b", re.IGNORECASE)
_OPEN = regex(r"\b(?:who|whom|whose|what|when|where|which|how|why)\b", re.IGNORECASE)

_LABEL = regex(r"(?P<label>[^\W\d_]{1,10})\s?\d{0,3}[:.)]\s+(?P<text>\S.*)", re.DOTALL)


def exchanged(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces in their order; where an answer needs its question, both together stand for the answer."""
    question_piece: Piece | None = None
    for piece in _below_their_questions(pieces):
        if question_piece is not None and _answers(piece, question_piece):
            # Other words said with the question are kept as ever.
            yield replace(
                question_piece,
                is_covered=not any(is_statement(sentence) and not is_question(sentence) for sentence in question_piece.sentences),
            )
            yield _together(question_piece, piece)
            question_piece = None
            continue
        if question_piece is not None:
            yield question_piece
        question_piece = piece if piece.block.layout in _SPOKEN and is_question(piece.sentences[-1]) else None
        if question_piece is None:
            yield piece
    if question_piece is not None:
        yield question_piece


def _below_their_questions(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces, those of a labelled answer with its question as their topic."""
    last: Piece | None = None
    answer: Block | None = None
    topic = ""
    for piece in pieces:
        if piece.block is not answer:
            # The question right above a piece that is labelled as its answer.
            question_match, answer_match = (_LABEL.match(labelled.text) if labelled else None for labelled in (last, piece))
            topic = ""
            if question_match and answer_match and is_question(question_match["text"]):
                answers = ANSWER_LABELS.get(question_match["label"].casefold(), "").split()
                topic = question_match["text"] if answer_match["label"].casefold() in answers else ""
            answer = piece.block if topic else None
        last = piece
        yield replace(piece, block=replace(piece.block, topic=topic)) if topic else piece


def _answers(piece: Piece, question_piece: Piece) -> bool:
    block = piece.block
    if block.layout is not question_piece.block.layout or block.headings != question_piece.block.headings:
        return False
    # Writers of a text answer their own questions; speakers wait for somebody else.
    if (block.layout is Layout.UTTERANCE) == (block.speaker == question_piece.block.speaker):
        return False
    words_max = _WORDS_MAX_REFERRING if _REFERRING.match(piece.text) else _WORDS_MAX
    if is_question(piece.sentences[-1]) or len(piece.text.split()) > words_max:
        return False
    if _YES_OR_NO.match(piece.text):
        return not (is_polite(piece.text) and _OPEN.search(question_piece.sentences[-1]))
    return any(map(str.isalnum, piece.text)) and not is_polite(piece.text)


def _together(piece: Piece, answer: Piece) -> Piece:
    block = replace(answer.block, speaker=piece.block.speaker)
    spoken_answer = f"{answer.block.speaker}: {answer.text}" if answer.block.layout is Layout.UTTERANCE else answer.text
    return Piece(f"{piece.sentences[-1]} {spoken_answer}", block, (answer.text,), is_reply=True)


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
