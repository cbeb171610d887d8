"""Reading logs that go on and are rotated: `x.log` becomes `x.log.1` when it is full, and that `x.log.2`.

A reader keeps the file it reads open, so what was written before a rotation is read to its end first. Nothing is held in memory
but the lines asked for, and of a line no more than its first 64 kB. Links are not followed: a log never is one.
"""

import asyncio
import os
import stat
import threading
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import BinaryIO

LINE_BYTES_MAX = 1 << 16
_OLDER_MAX = 100
_BLOCK_BYTES = 1 << 16
# A person who watches can't tell this from at once, and an idle reader costs a look at a file or two.
_LOOK_S = 0.2


def last_lines(log: Path, count: int) -> list[str]:
    return _last_of((log, *_older(log)), count)


async def follow(log: Path, *, lines: int) -> AsyncGenerator[str]:
    """The last lines of a log and all that are to come, until the caller has enough."""
    reader = _Reader(log)
    try:
        for line in await asyncio.to_thread(reader.begin, lines):
            yield line
        while True:
            for line in await asyncio.to_thread(reader.more):
                yield line
            await asyncio.sleep(_LOOK_S)
    finally:
        reader.close()


class _Reader:
    """Where somebody who follows a log has come to.

    A thread reads and can't be stopped: closing waits for it. Else it might open the file just after it was closed.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._file: BinaryIO | None = None
        self._rest = b""
        self._at_work = threading.Lock()
        self._is_over = False

    def begin(self, lines: int) -> list[str]:
        """The last lines that are finished; `more` goes on from there."""
        with self._at_work:
            return [] if self._is_over else self._begin(lines)

    def more(self) -> list[str]:
        with self._at_work:
            return [] if self._is_over else self._more()

    def close(self) -> None:
        with self._at_work:
            self._is_over = True
            self._let_go()

    def _begin(self, lines: int) -> list[str]:
        older = tuple(_older(self._log))
        if not _is_file(self._log):
            return _last_of(older, lines)
        self._file = _opened(self._log)
        end = _last_break(self._file)
        recent = _tail(self._file, lines, end)
        self._file.seek(end)
        return [*_last_of(older, lines - len(recent)), *recent]

    def _more(self) -> list[str]:
        lines = self._read()
        if self._is_rotated():
            newest = _opened(self._log)
            # It may have been written to between reading and looking; nobody writes to it any more.
            lines += self._read()
            lines += [_text(self._rest)] if self._rest else []
            lines += self._missed(newest)
            self._let_go()
            self._file = newest
            lines += self._read()
        return lines

    def _let_go(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file, self._rest = None, b""

    def _read(self) -> list[str]:
        lines: list[str] = []
        while self._file is not None and (block := self._file.read(_BLOCK_BYTES)):
            *whole_lines, rest = (self._rest + block).split(b"\n")
            self._rest = rest[:LINE_BYTES_MAX]
            lines += map(_text, whole_lines)
        return lines

    def _is_rotated(self) -> bool:
        try:
            now = self._log.lstat()
        except OSError:
            # Between two names; there soon is one again.
            return False
        if self._file is None:
            return stat.S_ISREG(now.st_mode)
        status = os.fstat(self._file.fileno())
        return (now.st_dev, now.st_ino) != (status.st_dev, status.st_ino) or now.st_size < self._file.tell()

    def _missed(self, newest: BinaryIO) -> list[str]:
        """The lines in files that began after this one and were rotated out before the newest."""
        status, last = _number(self._file), _number(newest)
        between: dict[int, BinaryIO] = {}
        for path in _older(self._log) if status != last and self._file is not None else ():
            file = _opened(path)
            if (number := _number(file)) == status:
                file.close()
                break
            # Names change hands meanwhile: the newest may be among them by now, and one may be met twice.
            if number == last or number in between:
                file.close()
            else:
                between[number] = file
        return [line for file in reversed(between.values()) for line in _all_of(file)]


def _last_of(paths: tuple[Path, ...], count: int) -> list[str]:
    lines: deque[str] = deque()
    for path in paths:
        if len(lines) >= count:
            break
        with _opened(path) as file:
            lines.extendleft(reversed(_tail(file, count - len(lines), file.seek(0, os.SEEK_END))))
    return list(lines)


def _tail(file: BinaryIO, count: int, end: int) -> list[str]:
    """The last lines before `end`, read from the back."""
    body, start = b"", end
    while start > 0 and body.count(b"\n") <= count and end - start < count * LINE_BYTES_MAX:
        size = min(_BLOCK_BYTES, start)
        start -= size
        file.seek(start)
        body = file.read(size) + body
    lines = body.removesuffix(b"\n").split(b"\n") if body else []
    return [_text(line) for line in lines[-count:]] if count > 0 else []


def _last_break(file: BinaryIO) -> int:
    start = file.seek(0, os.SEEK_END)
    while start > 0:
        size = min(_BLOCK_BYTES, start)
        start -= size
        file.seek(start)
        if (lines := file.read(size).rfind(b"\n")) >= 0:
            return start + lines + 1
    return 0


def _all_of(file: BinaryIO) -> Iterator[str]:
    with file:
        for line in file:
            yield _text(line.removesuffix(b"\n"))


def _number(file: BinaryIO | None) -> int:
    """The number that stays the same when a file is renamed."""
    return -1 if file is None else os.fstat(file.fileno()).st_ino


def _older(log: Path) -> Iterator[Path]:
    for number in range(1, _OLDER_MAX):
        path = log.with_name(f"{log.name}.{number}")
        if not _is_file(path):
            return
        yield path


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _opened(path: Path) -> BinaryIO:
    try:
        return os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb")
    except OSError:
        return Path(os.devnull).open("rb")


def _text(line: bytes) -> str:
    return line[:LINE_BYTES_MAX].decode("utf-8", "replace").removesuffix("\r")
