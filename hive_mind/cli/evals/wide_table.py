"""Tables wider than the terminal: in parts, one under the other, each beginning with the first column.

Columns that are cut off or squeezed to two characters tell nobody anything. For a pipe a line stays a line.
"""

import sys
import textwrap
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console

from hive_mind.cli.output import Cell, show, show_table

_GAP = 2
# A name that is longer goes on below: figures need the room.
_NAME_COLUMNS = 30


def show_wide_table(titles: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """A table of names and figures, in as many parts as fit the terminal's width."""
    if not sys.stdout.isatty():
        show_table(titles, rows, right=range(1, len(titles)))
        return
    widths = [_width(titles, rows, number) for number in range(len(titles))]
    room = Console().width
    if sum(widths) + _GAP * (len(widths) - 1) <= room:
        show_table(titles, rows, right=range(1, len(titles)))
        return
    rows = [(_folded(row[0]), *row[1:]) for row in rows]
    for number, part in enumerate(_parts([min(widths[0], _NAME_COLUMNS), *widths[1:]], room)):
        if number:
            show()
        shown = [[row[column] for column in (0, *part)] for row in rows]
        show_table([titles[column] for column in (0, *part)], shown, right=range(1, len(part) + 1))


def _parts(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    """Numbers of the columns that stand side by side, after the first, which is always there."""
    part: list[int] = []
    taken = widths[0]
    for column in range(1, len(widths)):
        if part and taken + _GAP + widths[column] > room:
            yield part
            part, taken = [], widths[0]
        part.append(column)
        taken += _GAP + widths[column]
    if part:
        yield part


def _width(titles: Sequence[str], rows: Sequence[Sequence[Cell]], column: int) -> int:
    return max(map(cell_len, (titles[column], *(str(row[column]) for row in rows))))


def _folded(name: Cell) -> str:
    return "\n".join(textwrap.wrap(str(name), _NAME_COLUMNS)) or str(name)
