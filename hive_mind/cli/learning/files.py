"""Files to learn: which ones a path means, and standard input. What is in them is read by `runtime.texts.text_files`.

A folder gives its text files only; a file that is named is taken whatever its name.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from hive_mind.errors import InvalidInput
from hive_mind.runtime.texts.text_files import FILE_BYTES_MAX, TEXT_SUFFIXES, TOO_LARGE, Unreadable, decoded, read_text

__all__ = ["FILE_BYTES_MAX", "STDIN", "Unreadable", "decoded", "files_of", "passed_over", "read_stdin", "read_text", "stdin_text"]

STDIN = "-"


def files_of(paths: Iterable[str]) -> list[Path]:
    """Every file the paths mean, each once also where a link leads to it, in order. Raises `InvalidInput` where nothing is."""
    found: dict[str, Path] = {}
    for path in map(Path, paths):
        if not _is_there(path):
            raise InvalidInput(f"{path}: there is no such file or folder; check the path. Nothing was learned")
        for file in _text_files(path) if path.is_dir() else [path]:
            real = os.path.realpath(file)
            if real not in found or found[real].is_symlink():
                found[real] = file
    if not found:
        raise InvalidInput(f"no text files in there; files ending in {' '.join(TEXT_SUFFIXES)} are learned, others when named")
    return list(found.values())


def passed_over(paths: Iterable[str]) -> list[Path]:
    """What `files_of` leaves out of the folders among these paths: files by their names, and links to folders."""
    return [file for path in map(Path, paths) if path.is_dir() for file in _files_below(path) if not _is_taken(file)]


def read_stdin(bytes_max: int = -1) -> bytes:
    """Standard input up to a length. Not for a coroutine: an event loop notes Ctrl-C and would go on reading."""
    return sys.stdin.buffer.read(bytes_max)


def stdin_text() -> str | Unreadable:
    """The text on standard input, or why there is none."""
    body = read_stdin(FILE_BYTES_MAX + 1)
    return TOO_LARGE if len(body) > FILE_BYTES_MAX else decoded(body)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        # A name longer than any file's can be.
        return False


def _text_files(folder: Path) -> list[Path]:
    """Text files below a folder, sorted."""
    return [path for path in _files_below(folder) if _is_taken(path)]


def _is_taken(path: Path) -> bool:
    """Whether a path below a folder is named as texts are, or is a folder that could not be looked into."""
    is_folder = path.is_dir()
    return not path.is_symlink() if is_folder else path.suffix.lower() in TEXT_SUFFIXES


def _files_below(folder: Path) -> list[Path]:
    """All files below a folder, sorted; what is hidden stays hidden and links to folders are not followed, but are among them.

    A folder that can't be looked into stands for its files, so that reading it says so.
    """
    found: list[Path] = []

    def name_it(error: OSError) -> None:
        found.append(Path(error.filename))

    for at, folders, names in os.walk(folder, onerror=name_it):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        linked = [name for name in folders if Path(at, name).is_symlink()]
        found += [Path(at, name) for name in sorted([*names, *linked]) if not name.startswith(".")]
    return found


def refuse_replacing(file: Path, *, force: bool) -> None:
    """Raises `InvalidInput` for a result that would take the place of something."""
    if not file.exists():
        return
    if not file.is_file():
        advice = "give a file's name, or - for standard output where that is taken"
        raise InvalidInput(f"{file} is no regular file and is not replaced: {advice}")
    if not force:
        raise InvalidInput(f"{file} is there already: give another name, or replace it with --force")
