"""The files of a graph, and the seal that says whether they may be opened.

A graph file is a cache that is never trusted after anything unusual: Kuzu has no checksums, and a damaged file can crash or
mislead whoever opens it. It is never changed in its place: its successor is made in a workshop beside it, moved over it, and
sealed. The seal, `graph.json`, names the record it was made of, how far it has come, who made it, its size and its digest. What
has no fitting seal is deleted, and made anew from the record.
"""

import os
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec

from hive_mind.sqlite.file import sync_folder
from hive_mind.store.graph.schema import VERSION, Pair

if sys.platform != "win32":
    import fcntl

_BLOCK_BYTES = 4 << 20


class Seal(msgspec.Struct, frozen=True):
    """What a graph file is. CRC-32 finds what is damaged at 2 GB/s (SHA-256: 1.3); nobody is to be kept from forging it."""

    record: str
    tick: int
    kuzu: str
    size: int = 0
    crc: int = 0
    pairs: tuple[Pair, ...] = ()
    """beyond the standard ones"""
    is_partial: bool = False
    """Whether damaged rows of the record are missing, so that their edges are not to be added later."""
    schema: int = VERSION


class Place:
    """Where a graph lies: in a folder beside its record."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.database, self.seal = folder / "graph.kuzu", folder / "graph.json"
        self.workshop = folder / "graph.kuzu.new"
        self.unfinished = self.workshop / "graph.kuzu"

    @contextmanager
    def locked(self, told: Callable[[str], None]) -> Iterator[None]:
        """One process at a time makes or opens a graph; the next one waits, and says so first."""
        descriptor = os.open(self._folder / "graph.kuzu.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if sys.platform != "win32":
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    told("another process is making the graph; waiting for it")
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def sealed(self, record: str, kuzu: str) -> Seal | str:
        """The seal of a file that may be opened, or why there is none."""
        if not self.database.exists():
            return "there is none yet"
        try:
            seal = msgspec.json.decode(self.seal.read_bytes(), type=Seal)
        except (OSError, msgspec.DecodeError):
            return "its seal is missing or unreadable: it was not finished, or somebody changed it"
        if seal.record != record or not record:
            return "it was made of another record"
        if (seal.schema, seal.kuzu) != (VERSION, kuzu):
            return "it was made by another version"
        if self._leftovers():
            return "somebody else has opened it"
        return seal if (seal.size, seal.crc) == _measured(self.database) else "the file is damaged"

    def discard(self) -> None:
        """Delete the graph, the seal first."""
        self.seal.unlink(missing_ok=True)
        sync_folder(self._folder)
        for path in (self.database, *self._leftovers()):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def clear_workshop(self) -> None:
        """An empty folder for the successor; what is in it was left by one that was killed."""
        shutil.rmtree(self.workshop, ignore_errors=True)
        self.workshop.mkdir(mode=0o700)

    def publish(self, seal: Seal) -> Seal:
        """Put the finished file of the workshop in its place. Killed at any moment, this leaves a sealed graph or none."""
        with self.unfinished.open("rb") as file:
            os.fsync(file.fileno())
        size, crc = _measured(self.unfinished)
        seal = msgspec.structs.replace(seal, size=size, crc=crc)
        self.seal.unlink(missing_ok=True)
        sync_folder(self._folder)
        self.unfinished.replace(self.database)
        unsealed = self.workshop / "graph.json"
        with unsealed.open("wb") as file:
            file.write(msgspec.json.encode(seal))
            file.flush()
            os.fsync(file.fileno())
        sync_folder(self._folder)
        unsealed.replace(self.seal)
        sync_folder(self._folder)
        shutil.rmtree(self.workshop, ignore_errors=True)
        return seal

    def _leftovers(self) -> list[Path]:
        """Kuzu's logs of it, which it would replay."""
        return [path for path in self._folder.glob("graph.kuzu.*") if path.suffix in (".wal", ".shadow", ".tmp")]


def _measured(path: Path) -> tuple[int, int]:
    """Size and digest."""
    crc = 0
    with path.open("rb") as file:
        for block in iter(partial(file.read, _BLOCK_BYTES), b""):
            crc = zlib.crc32(block, crc)
        return file.tell(), crc
