"""A file's lines, to be gone through more than once; what can be read only once, such as a pipe, is copied to a disk first."""

import codecs
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from hive_mind.cli.learning.files import STDIN
from hive_mind.cli.running import CommandError
from hive_mind.errors import InvalidInput


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
