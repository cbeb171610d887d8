"""Printing: results on stdout, everything else on stderr, and never a control character of somebody's text.

For a terminal lines fit its width; for a pipe they are as long as they are, so that `grep` sees one fact a line.
"""

import sys
import textwrap
import time
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Protocol

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

# No line of ours is longer, and Rich makes no line of a pipe shorter.
_PIPE_COLUMNS = 100_000

_PROSE_COLUMNS = 100

_INDENT = 5
# Of what takes long, where nobody sees a bar.
_TOLD_EVERY_S = 10.0

_SHORT_ID = 8

# What makes a terminal write backwards, and what ends it.
_TURNS = frozenset("LRE RLE LRO RLO PDF LRI RLI FSI PDI".split())


# A word in a style of its own is handed over as it is.
Cell = str | Text


class Report(Protocol):
    """Takes how much is done of how much (0: nobody knows), with a word on what is under way."""

    def __call__(self, done: float, total: int, what: str = "") -> None:
        """Show it."""
        ...


def spell_out_unknown_characters() -> None:
    """A terminal that lacks a character gets a question mark for it, instead of our end."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def say(message: str, style: str = "") -> None:
    """A message for a person, on stderr."""
    _console(stderr=True).print(Text(printable(message), style=style), soft_wrap=True)


def show(text: str = "", style: str = "") -> None:
    """A line of the result, on stdout."""
    _console().print(Text(printable(text), style=style), soft_wrap=not sys.stdout.isatty())


def show_prose(text: str, style: str = "") -> None:
    """A paragraph of the result, on stdout, in lines of a readable length also where there is no terminal."""
    width = min(_console().width, _PROSE_COLUMNS)
    show("\n".join(textwrap.fill(line, width) for line in text.splitlines()), style)


def show_indented(text: str, style: str = "", lead: str = "") -> None:
    """Lines of the result, set in, after a `lead` such as a number; what does not fit a terminal goes on under its beginning."""
    table = Table.grid(padding=0)
    table.add_column(width=_INDENT)
    table.add_column(overflow="fold")
    for number, line in enumerate(text.splitlines()):
        table.add_row("" if number else lead, Text(printable(line), style=style))
    _show_renderable(table)


def show_table(titles: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: Iterable[int] = ()) -> None:
    """A table without lines. `right` numbers the columns of figures; the last column takes the room that is left."""
    _show_renderable(table_of(titles, rows, right=right))


def table_of(titles: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: Iterable[int] = ()) -> Table:
    """The same, to be put on a screen with other things."""
    aligned = frozenset(right)
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=any(titles), header_style="bold", pad_edge=False)
    for number, title in enumerate(titles):
        is_last = number == len(titles) - 1
        table.add_column(title, justify="right" if number in aligned else "left", no_wrap=not is_last, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(cell) for cell in row))
    return table


def show_json(value: object) -> None:
    """The whole result as one JSON document, UTF-8 whatever the terminal speaks."""
    show_document(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def show_document(body: str) -> None:
    """A whole result in a format of its own, UTF-8 whatever the terminal speaks."""
    sys.stdout.flush()
    sys.stdout.buffer.write(body.encode() + b"\n")
    sys.stdout.buffer.flush()


@contextmanager
def progress(unit: str) -> Iterator[Report]:
    """A bar on stderr that goes away when it is done; where stderr is no terminal, a line every ten seconds."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn(unit))
    console = _console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task, told_s = bar.add_task("", total=None), time.monotonic()

        def report(done: float, total: int, what: str = "") -> None:
            nonlocal told_s
            if not console.is_terminal and time.monotonic() - told_s >= _TOLD_EVERY_S:
                told_s = time.monotonic()
                say(f"{int(done):,} of {total:,} {unit}: {what}" if total else what)
            bar.update(task, completed=done, total=total or None, description=Text(printable(what)).plain)

        yield report


def printable(text: str) -> str:
    """Text without what could steer a terminal: control and direction marks are shown as a question mark in a diamond."""
    return "".join("\N{REPLACEMENT CHARACTER}" if _is_control(character) else character for character in text)


def short_id(fact_id: str) -> str:
    """As much of an id as tells facts apart and fits a line; commands take it back."""
    return fact_id[:_SHORT_ID]


def shown_source(source: str) -> str:
    """A source as it is best read: a file below the current folder by its relative path."""
    path = Path(source)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        return str(path.relative_to(Path.cwd()))
    return source


def plain(value: Any) -> Any:
    """A value of ours as dictionaries and lists, ready for JSON."""
    return msgspec.to_builtins(value)


class _Console(Console):
    """Rich would end the process when our reader goes away; that is decided in `running`."""

    def on_broken_pipe(self) -> None:
        """Let the error through."""
        raise BrokenPipeError


def _console(*, stderr: bool = False) -> Console:
    # Made anew each time: tests and pipes exchange the streams under us.
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _PIPE_COLUMNS
    return _Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def _show_renderable(table: Table) -> None:
    console = _console()
    lines = console.render_lines(table, pad=False)
    for line in lines:
        text = Text.assemble(*((segment.text, segment.style or "") for segment in line))
        text.rstrip()
        console.print(text, soft_wrap=True)


def _cell(cell: Cell) -> Text:
    return Text(printable(cell)) if isinstance(cell, str) else Text(printable(cell.plain), style=cell.style)


def _is_control(character: str) -> bool:
    if character in "\n\t":
        return False
    return unicodedata.category(character) in ("Cc", "Cs") or unicodedata.bidirectional(character) in _TURNS
