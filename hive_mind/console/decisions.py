"""People's decisions on pages: a line of JSON each, in a file of the fleet, on disk before the page says that it is done.

Of the person who decided only the session is known, and of that a digest is kept.
"""

import asyncio
import os
import time
from hashlib import sha256
from pathlib import Path

import msgspec

from hive_mind.errors import BackendError
from hive_mind.model.decoding import json_decoder

_BYTES_SHOWN_MAX = 256 << 10


class DecisionLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of them. `outcome`: begun, done, or failed and why. A line that was begun and has no other was cut short."""

    at_ms: int
    session: str
    agent: str
    did: str
    about: str
    reason: str
    outcome: str


class Decisions:
    """The file. None: they are kept while the process runs, for one that keeps nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._kept = path, list[DecisionLine]()
        self._turn = asyncio.Lock()

    async def note(self, session: str, agent: str, did: str, about: str, reason: str, outcome: str) -> None:
        """Keep one. Raises `BackendError` where that can't be."""
        line = DecisionLine(
            time.time_ns() // 1_000_000, sha256(session.encode()).hexdigest()[:8], agent, did, about, reason, outcome
        )
        async with self._turn:
            if self._path is None:
                self._kept = [*self._kept[-999:], line]
                return
            try:
                await asyncio.to_thread(_append, self._path, msgspec.json.encode(line) + b"\n")
            except OSError as error:
                raise BackendError("decisions", f"{self._path} can't be written: {error.strerror}; nothing was done") from error

    async def last(self, limit: int) -> list[DecisionLine]:
        """The last ones, the newest first."""
        lines = self._kept if self._path is None else await asyncio.to_thread(_read, self._path)
        return lines[: -limit - 1 : -1]


def _append(path: Path, line: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path) -> list[DecisionLine]:
    """Those at the end of the file. A line that was cut off is left out."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _BYTES_SHOWN_MAX))
            lines = file.read().splitlines()
    except OSError:
        return []
    return [line for text in lines if (line := _line(text)) is not None]


def _line(text: bytes) -> DecisionLine | None:
    try:
        return json_decoder(DecisionLine)(text)
    except msgspec.MsgspecError:
        return None
