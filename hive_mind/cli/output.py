"""Printing: results on stdout, everything else on stderr, and never a control character of somebody's text.

For a terminal lines fit its width; for a pipe they are as long as they are, so that `grep` sees one fact a line.
Things that a picture needs are asked for before anything is measured, and it is written when all was.
"""

import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

import msgspec

from hive_mind.cli import printing
from hive_mind.cli.printing import INDENT, table_lines
from hive_mind.cli.printing import Cell as Cell
from hive_mind.cli.printing import ProgressPrinter as ProgressPrinter
from hive_mind.cli.printing import Styled as Styled
from hive_mind.counted import counted, in_one_line
from hive_mind.counted import printable as printable
from hive_mind.errors import BackendNotInstalled, InvalidInput
from hive_mind.runtime.settings import variable
from hive_mind.safe_files import READABLE, write_whole

# With one of them Rich writes to a pipe as to a terminal.
_FORCED = ("FORCE_COLOR", "TTY_COMPATIBLE")

_PROSE_COLUMNS = 100

_SHORT_ID = 8
# Of what takes long, where nobody sees a bar.
_SHOWN_EVERY_S = 10.0


class Format(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"


def spell_out_unknown_characters() -> None:
    """A terminal that lacks a character gets a question mark for it, instead of our end."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def say(message: str, style: str = "") -> None:
    """A message, on stderr. Its further lines are set in: a line end in a name begins none that looks like one of ours."""
    message = message.replace("\n", "\n  ")
    if _is_plain(sys.stderr):
        _print(sys.stderr, message)
        return
    printing.print_styled(message, style, stderr=True)


def show(text: str = "", style: str = "") -> None:
    """A line of the result, on stdout."""
    if _is_plain(sys.stdout):
        _print(sys.stdout, text)
        return
    printing.print_styled(text, style, stderr=False)


def show_prose(text: str, style: str = "") -> None:
    """A paragraph of the result, on stdout, in lines of a readable length also where there is no terminal."""
    width = _PROSE_COLUMNS
    if not _is_plain(sys.stdout):
        width = min(printing.columns(), width)
    show("\n".join(textwrap.fill(line, width) for line in text.splitlines()), style)


def show_indented(text: str, style: str = "", lead: str = "") -> None:
    """Lines of the result, set in, after a `lead` such as a number; what does not fit a terminal goes on under its beginning."""
    if not _is_plain(sys.stdout):
        printing.print_indented(text, style, lead)
        return
    for number, line in enumerate(text.splitlines()):
        _print(sys.stdout, f"{'' if number else lead:<{INDENT}}{line}".rstrip())


def show_table(titles: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: Iterable[int] = ()) -> None:
    """A table without lines. `right` numbers the columns of figures; the last column takes the room that is left."""
    if _is_plain(sys.stdout):
        for line in table_lines(titles, rows, right):
            sys.stdout.write(line + "\n")
        return
    printing.print_table(titles, rows, right=right)


def show_json(value: object) -> None:
    """The whole result as one JSON document, UTF-8 whatever the terminal speaks."""
    show_document(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def show_result(output: Format, value: object, text: str | Sequence[str] | Callable[[], object]) -> None:
    """A result in the form that was asked for: a value for programs; for people a line, several, or what prints them."""
    if output is Format.JSON:
        show_json(value)
    elif callable(text):
        text()
    else:
        for line in [text] if isinstance(text, str) else text:
            show(line)


def show_document(body: str) -> None:
    """A whole result in a format of its own, UTF-8 whatever the terminal speaks."""
    sys.stdout.flush()
    sys.stdout.buffer.write(body.encode() + b"\n")
    sys.stdout.buffer.flush()


@contextmanager
def progress(unit: str) -> Iterator[ProgressPrinter]:
    """A bar on stderr that goes away when it is done; where stderr is no terminal, a line every ten seconds."""
    shown_s = time.monotonic()

    def line(done: float, total: int, what: str = "") -> None:
        nonlocal shown_s
        if time.monotonic() - shown_s >= _SHOWN_EVERY_S:
            shown_s = time.monotonic()
            say(f"{int(done):,} of {total:,} {unit}: {what}" if total else what)

    if _is_plain(sys.stderr):
        yield line
        return
    with printing.progress(unit, line) as report:
        yield report


def say_cut(limit: int, noun: str, total: int = 0) -> None:
    """That a list ends at its limit. Beside it: a program that reads it has to know, and one that counts lines counts entries."""
    far = f"{limit} of {counted(total, noun)}" if total else f"there may be more than {counted(limit, noun)}"
    say(f"{far}: more with --limit")


def say_refused(headline: str, reasons: Iterable[str], hint: str = "") -> None:
    """Why a gate lets something not pass, and where to look closer."""
    say(headline, style="red")
    for reason in reasons:
        say(f"  {reason}", style="red")
    if hint:
        say(hint, style="dim")


def short_id(fact_id: str) -> str:
    """As much of an id as tells facts apart and fits a line; commands take it back."""
    return fact_id[:_SHORT_ID]


def shown_source(source: str) -> str:
    """A source as it is best read, in one line: a file below the current folder by its relative path."""
    path = Path(source)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        source = str(path.relative_to(Path.cwd()))
    return in_one_line(source)


def plain(value: Any) -> Any:
    """A value of ours as dictionaries and lists, ready for JSON."""
    return msgspec.to_builtins(value)


def figure(value: float | None, form: str = ".3f") -> str:
    """A number, or a dash for None."""
    return "–" if value is None else f"{value:{form}}"


def picture_kind(plot: Path | None) -> str:
    """ "svg" or "png", by the file's name; "" where no picture is wanted.

    Raises `InvalidInput` for another name, `BackendNotInstalled` where nothing can be drawn.
    """
    if plot is None:
        return ""
    kind = plot.suffix.lower().removeprefix(".")
    if kind not in ("svg", "png"):
        raise InvalidInput(f"--plot draws SVG or PNG: name a file that ends in .svg or .png, not {plot.name!r}")
    if not plot.absolute().parent.is_dir():
        raise InvalidInput(f"--plot: there is no folder {plot.parent}; make it, or name another file")
    if find_spec("matplotlib") is None:
        raise BackendNotInstalled("--plot", plot.name, "plots")
    return kind


def write_picture(plot: Path, picture: bytes) -> None:
    """Write it, and say where it is. Raises `InvalidInput` where it can't be written."""
    from hive_mind.retrieval import writable

    with writable(plot):
        write_whole(plot, picture, READABLE)
    say(f"drawn into {plot}", style="dim")


def _is_plain(stream: TextIO) -> bool:
    """Whether nobody looks at it: then Rich, which takes long to load, would change nothing."""
    return not stream.isatty() and not any(map(variable, _FORCED))


def _print(stream: TextIO, text: str) -> None:
    stream.write(printable(text).expandtabs() + "\n")
