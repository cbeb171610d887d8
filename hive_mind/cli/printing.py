"""The common parts of printing, for a terminal or a pipe."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Protocol

from hive_mind.counted import printable

INDENT = 5
"""Columns before what belongs to a line above."""
COLUMN_GAP = 2
"""Columns between those of a table."""


class ProgressPrinter(Protocol):
    """Takes how much is done of how much (0: nobody knows), with a word on what is under way."""

    def __call__(self, done: float, total: int, what: str = "") -> None: ...


@dataclass(frozen=True, slots=True)
class Styled:
    """A word in a style of its own, which a pipe does not show."""

    text: str
    style: str


Cell = str | Styled


def plain_cell(cell: Cell) -> str:
    """The text of a cell, without control characters."""
    return printable(cell if isinstance(cell, str) else cell.text)


def table_lines(titles: Sequence[str], rows: Iterable[Sequence[Cell]], right: Iterable[int]) -> Iterator[str]:
    """A table for a pipe: columns as wide as their widest cell, lines without trailing space."""
    head = [tuple(titles)] if any(titles) else []
    cells = [[plain_cell(cell).expandtabs().split("\n") for cell in row] for row in (*head, *rows)]
    widths = [max((_width(line) for cell in column for line in cell), default=0) for column in zip(*cells, strict=True)]
    aligned = frozenset(right)
    for row in cells:
        for line in zip_longest(*row, fillvalue=""):
            padded = (
                _padded(text, width, is_right=number in aligned)
                for number, (text, width) in enumerate(zip(line, widths, strict=True))
            )
            yield (" " * COLUMN_GAP).join(padded).rstrip()


def _padded(text: str, width: int, *, is_right: bool) -> str:
    text = text.rstrip() if is_right else text
    space = " " * (width - _width(text))
    return space + text if is_right else text + space


def _width(text: str) -> int:
    """Columns on a screen: some letters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
