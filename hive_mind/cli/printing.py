"""Printing for a pipe, and for a terminal with Rich, loaded for that alone: lines that fit it, tables, colours and bars."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Protocol

from hive_mind.counted import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

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


# No line of ours is longer, and Rich makes no line of a pipe shorter.
_PIPE_COLUMNS = 100_000


def print_styled(text: str, style: str, *, stderr: bool) -> None:
    """A line; that of a result is wrapped between words."""
    from rich.text import Text

    console = _console(stderr=stderr)
    console.print(Text(printable(text), style=style), soft_wrap=stderr or not sys.stdout.isatty())


def columns() -> int:
    """How wide standard output is."""
    return _console().width


def print_indented(text: str, style: str, lead: str) -> None:
    """Print a text; the part that does not fit the terminal goes on under its beginning."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=0)
    table.add_column(width=INDENT)
    table.add_column(overflow="fold")
    for number, line in enumerate(text.splitlines()):
        table.add_row("" if number else lead, Text(printable(line), style=style))
    _show_renderable(table)


def print_table(titles: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: Iterable[int] = ()) -> None:
    """See `output.show_table`."""
    _show_renderable(table_of(titles, rows, right=right))


def table_of(titles: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: Iterable[int] = ()) -> "Table":
    """A table as `output.show_table` shows it, to be put on a screen with other things."""
    from rich.table import Table

    aligned = frozenset(right)
    table = Table(box=None, padding=(0, COLUMN_GAP, 0, 0), show_header=any(titles), header_style="bold", pad_edge=False)
    for number, title in enumerate(titles):
        is_last = number == len(titles) - 1
        table.add_column(title, justify="right" if number in aligned else "left", no_wrap=not is_last, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(cell) for cell in row))
    return table


@contextmanager
def progress(unit: str, line: ProgressPrinter) -> Iterator[ProgressPrinter]:
    """A bar on stderr that goes away when it is done; `line` prints where that takes no bar."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.text import Text

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn(unit))
    console = _console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)

        def report(done: float, total: int, what: str = "") -> None:
            if not console.is_terminal:
                line(done, total, what)
            bar.update(task, completed=done, total=total or None, description=Text(printable(what)).plain)

        yield report


def _console(*, stderr: bool = False) -> "Console":
    from rich.console import Console

    class OurConsole(Console):
        """Rich would end the process when our reader goes away; that is decided in `running`."""

        def on_broken_pipe(self) -> None:
            """Let the error through."""
            raise BrokenPipeError

    # Made anew each time: tests and pipes exchange the streams under us.
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _PIPE_COLUMNS
    return OurConsole(file=stream, width=width, highlight=False, markup=False, emoji=False)


def _show_renderable(table: "Table") -> None:
    from rich.text import Text

    console = _console()
    lines = console.render_lines(table, pad=False)
    for line in lines:
        text = Text.assemble(*((segment.text, segment.style or "") for segment in line))
        text.rstrip()
        console.print(text, soft_wrap=True)


def _cell(cell: Cell) -> "Text":
    from rich.text import Text

    return Text(plain_cell(cell), style=cell.style if isinstance(cell, Styled) else "")
