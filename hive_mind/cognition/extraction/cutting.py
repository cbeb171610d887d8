"""Cutting: blocks into the pieces that may become facts: a sentence, an utterance, a row, a block of code."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hive_mind.cognition.extraction.blocks import Block, Layout
from hive_mind.cognition.extraction.sentences import grouped, pieces, sentences

CODE_CHARS_MAX = 4000
"""Half a command is another command: code stays whole while it can be read at a glance, and longer code is cut between lines."""

# A row or a log line is a statement, however few words it has, and separate from the text around it.
STATED = (Layout.RECORD, Layout.LOG)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text that may become a candidate. It is kept when one of its `sentences` is a statement.

    `is_reply`: it holds a question and its answer, and is kept however short that is. `is_told`: another piece holds it.
    `note` is said of it besides, such as how often it occurs.
    """

    text: str
    block: Block
    sentences: tuple[str, ...]
    is_reply: bool = False
    is_told: bool = False
    note: str = ""


def cut(layout: Iterable[Block], sentence_chars_max: int, utterance_chars_max: int) -> Iterator[Piece]:
    """The pieces of all blocks in their order; none is longer than it may be."""
    for block in layout:
        if block.layout is Layout.CODE:
            parts = list(_code(block.text))
        elif block.layout in (Layout.ROW, *STATED):
            parts = list(pieces(block.text, sentence_chars_max))
        else:
            parts = sentences(block.text, sentence_chars_max)
        if block.layout is not Layout.UTTERANCE:
            yield from (Piece(part, block, (part,)) for part in parts)
            continue
        for group in grouped(parts, utterance_chars_max):
            yield Piece(group, block, tuple(sentences(group, sentence_chars_max)))


def _code(text: str) -> Iterator[str]:
    lines: list[str] = []
    for line in text.split("\n"):
        if lines and sum(map(len, lines)) + len(lines) + len(line) > CODE_CHARS_MAX:
            yield "\n".join(lines)
            lines = []
        if len(line) > CODE_CHARS_MAX:
            # No line that anybody wrote.
            yield from pieces(line, CODE_CHARS_MAX)
        else:
            lines.append(line)
    if any(map(str.strip, lines)):
        yield "\n".join(lines)
