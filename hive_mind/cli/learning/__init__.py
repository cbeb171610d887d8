"""Files to learn: which ones a path means, and standard input. Their contents are read by `runtime.texts.text_files`.

A folder gives its texts and documents, and nothing from outside it; a file that is named is taken whatever its name.

A file's lines, to be gone through more than once; what can be read only once, such as a pipe, is copied to a disk first.

And how learned files look: the figures of each, and the reasons for what was left out.
"""

import codecs
import os
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

from hive_mind.cli.output import show, show_indented, shown_source
from hive_mind.cli.running import CommandError, is_there
from hive_mind.counted import counted, printable
from hive_mind.errors import InvalidInput

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    # Commands that read no texts come here too.
    from hive_mind.runtime.texts import Unreadable


STDIN = "-"
_IGNORES = ".gitignore"
# Package managers fill these with what others wrote.
_OF_OTHERS = frozenset(("node_modules", "bower_components", "site-packages", "__pycache__", "vendor", "third_party"))


def files_of(paths: Iterable[str], *, may_be_none: bool = False) -> list[Path]:
    """Every file the paths mean, each once also where a link leads to it, in order. Raises `InvalidInput` where nothing is."""
    found_paths: dict[str, Path] = {}
    for path in map(Path, paths):
        if not is_there(path):
            raise InvalidInput(f"{path}: there is no such file or folder; check the path. Nothing was learned")
        for file in learned_below(path) if path.is_dir() else [path]:
            real = os.path.realpath(file)
            if real not in found_paths or found_paths[real].is_symlink():
                found_paths[real] = file
    if not found_paths and not may_be_none:
        from hive_mind.runtime.texts.document import suffixes
        from hive_mind.runtime.texts.text_files import TEXT_SUFFIXES

        suffixes_learned = " ".join((*TEXT_SUFFIXES, *suffixes()))
        raise InvalidInput(f"no text files in there; files ending in {suffixes_learned} are learned, others when named")
    return list(found_paths.values())


def passed_over(paths: Iterable[str]) -> dict[Path, str]:
    """The files that `files_of` leaves out of the folders among these paths, and why."""
    reasons = {file: _why_not(path, file) for path in map(Path, paths) if path.is_dir() for file in _files_below(path)}
    return {file: why for file, why in reasons.items() if why}


def source_of(path: Path) -> str:
    """The whole path: the same file must be the same source from wherever it is learned, or it would confirm itself."""
    # Not Path.resolve, which ends everything at a link that leads to itself.
    return printable(os.path.realpath(path))


def read_stdin(bytes_max: int = -1) -> bytes:
    """Standard input up to a length. Not for a coroutine: an event loop notes Ctrl-C and would go on reading."""
    return sys.stdin.buffer.read(bytes_max)


def stdin_text() -> "str | Unreadable":
    """The text on standard input, or why there is none."""
    from hive_mind.runtime.texts import decoded
    from hive_mind.runtime.texts.text_files import FILE_BYTES_MAX, TOO_LARGE

    body = read_stdin(FILE_BYTES_MAX + 1)
    return TOO_LARGE if len(body) > FILE_BYTES_MAX else decoded(body)


def learned_below(folder: Path) -> list[Path]:
    """Files below a folder that are learned with it, sorted."""
    return [path for path in _files_below(folder) if not _why_not(folder, path)]


def _why_not(folder: Path, path: Path) -> str:
    """Why a path below a folder is not learned with it; "" for one that is, or is a folder that could not be looked into."""
    if path.is_symlink() and path.is_dir():
        return "a link to a folder"
    if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        return "a link out of the folder"
    from hive_mind.runtime.texts.text_files import is_learned

    return "" if path.is_dir() or is_learned(path) else "not named as a text or document"


def _files_below(folder: Path) -> list[Path]:
    """All files below a folder, sorted. Left out is what is hidden, put there by package managers, or in a list of Git; links to
    folders are not followed, but are among them.

    A folder that can't be looked into stands for its files, so that reading it says so.
    """
    paths: list[Path] = []

    def name_it(error: OSError) -> None:
        paths.append(Path(error.filename))

    ignored = _Ignored()
    for at, folders, names in os.walk(folder, onerror=name_it):
        if _IGNORES in names:
            ignored.read(Path(at))
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in _OF_OTHERS and not ignored.has(Path(at, name), is_folder=True)
        )
        names = [name for name in names if not ignored.has(Path(at, name))]
        linked = [name for name in folders if Path(at, name).is_symlink()]
        paths += [Path(at, name) for name in sorted([*names, *linked]) if not name.startswith(".")]
    return paths


class _Ignored:
    """The files that the lists of Git leave out, each of what is below its folder."""

    def __init__(self) -> None:
        self._lists: list[tuple[Path, GitIgnoreSpec]] = []

    def read(self, folder: Path) -> None:
        """Add the list of a folder; one that can't be read leaves nothing out."""
        # Most folders have none.
        from pathspec import GitIgnoreSpec

        try:
            lines = (folder / _IGNORES).read_text("utf-8", "replace").splitlines()
            self._lists.append((folder, GitIgnoreSpec.from_lines(lines)))
        except (OSError, ValueError):
            return

    def has(self, path: Path, *, is_folder: bool = False) -> bool:
        """Whether a list leaves this out."""
        lists = ((folder, spec) for folder, spec in self._lists if path.is_relative_to(folder))
        end = "/" if is_folder else ""
        return any(spec.match_file(f"{path.relative_to(folder).as_posix()}{end}") for folder, spec in lists)


def refuse_replacing(file: Path, *, force: bool) -> None:
    """Raises `InvalidInput` for a result that would take the place of something."""
    if not file.exists():
        return
    if not file.is_file():
        advice = "give a file's name, or - for standard output where that is taken"
        raise InvalidInput(f"{file} is not a regular file and is not replaced: {advice}")
    if not force:
        raise InvalidInput(f"{file} is there already: give another name, or replace it with --force")


class FileLines:
    """Call it for the lines, from the first one, as often as wanted; one time after the other. Use it as a context."""

    def __init__(self, name: str, file: IO[bytes]) -> None:
        self._name, self._file = name, file

    def __call__(self) -> Iterator[bytes]:
        """Without line ends. Raises `CommandError`."""
        try:
            self._file.seek(0)
            first = self._file.readline().removeprefix(codecs.BOM_UTF8)
            if first:
                yield first.removesuffix(b"\n")
            # As bytes: a fact's text may hold line separators that JSON leaves as they are.
            for line in self._file:
                yield line.removesuffix(b"\n")
        except OSError as error:
            raise _unreadable(self._name, error) from error

    def __enter__(self) -> "FileLines":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def lines_of(name: str) -> FileLines:
    """The lines of a file, or of standard input for "-". Not for a coroutine: an event loop notes Ctrl-C and would go on reading.

    Raises `InvalidInput` for a file that is not there, `CommandError` for one that can't be read.
    """
    try:
        if name == STDIN:
            return FileLines(name, _copied(sys.stdin.buffer))
        file = Path(name).open("rb")  # noqa: SIM115 - closed by the lines
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return FileLines(name, file)
        with file:
            return FileLines(name, _copied(file))
    except FileNotFoundError:
        raise InvalidInput(f"{name}: there is no such file; check the path") from None
    except OSError as error:
        raise _unreadable(name, error) from error


def _copied(stream: IO[bytes]) -> IO[bytes]:
    copy = TemporaryFile()  # noqa: SIM115 - closed by the lines
    try:
        shutil.copyfileobj(stream, copy)
    except BaseException:
        copy.close()
        raise
    return copy


def _unreadable(name: str, error: OSError) -> CommandError:
    return CommandError(f"{name}: can't be read ({error.strerror}); give a file that `facts export` wrote")


Reply = Mapping[str, Any]

# How many of a reason are written, where an s more does not do.
_REASONS = {
    "page without text": ("page without text", "pages without text"),
    "header or footer": ("header or footer", "headers and footers"),
    "markup that can't be read": ("file's markup, read as it is written", ""),
    "set of comments": ("set of comments", "sets of comments"),
    "a question": ("question", "questions"),
    "a greeting or thanks": ("greeting or thanks", "greetings or thanks"),
    "too few words": ("remark of too few words", "remarks of too few words"),
    "the address of a link": ("address of a link", "addresses of links"),
    "said before": ("repetition", "repetitions"),
    "a log line like others": ("log line like others", "log lines like others"),
}

# Counted apart.
_UNSURE = "too unsure"

# As much as anybody reads. A book has thousands.
_LINES_MAX = 100


def show_learned(files: Sequence[Reply]) -> None:
    for file in files:
        parts = [f"{counted(file['facts'], 'fact')}, {file['added']:,} of them new"]
        parts += [f"{file['confirmed']} confirmed by another source"] if file["confirmed"] else []
        parts += [f"{file['former']} no longer said and now former"] if file["former"] else []
        parts += [f"{file['unsure']} too unsure to keep"] if file["unsure"] else []
        left = left_out_text(file["left_out"])
        show(f"{shown_source(str(file['file']))}: {', '.join(parts)}" + (f"; left out: {left}" if left else ""))
        if "lines" in file:
            # The first that were kept and the first that were not, and how many more there are.
            lines = file["lines"]
            for is_kept in (True, False):
                those = [line for line in lines if (line["what"] == "kept") is is_kept]
                for line in those[:_LINES_MAX]:
                    show_indented(f"{line['what']}: {line['text']}", style="" if is_kept else "dim")
                if rest := len(those) - min(len(those), _LINES_MAX):
                    verb = "kept" if is_kept else "left out"
                    show_indented(f"… and {rest:,} more {verb}: all of them with --output json", style="dim")
    if len(files) > 1:
        new, confirmed = (sum(file[name] for file in files) for name in ("added", "confirmed"))
        show(f"{counted(len(files), 'file')}: {counted(new, 'new fact')}, {confirmed} confirmed by another source")


def left_out_text(reasons: Mapping[str, int]) -> str:
    """The reasons for omissions and how often each occurred, "" for nothing; except those that were too unsure."""
    return ", ".join(counted(times, *_REASONS.get(reason, (reason,))) for reason, times in reasons.items() if reason != _UNSURE)
