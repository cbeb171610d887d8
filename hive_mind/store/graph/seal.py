"""The files of a graph, and the seal that says whether they may be opened.

A graph file is a cache that is never trusted after anything unusual: Kuzu has no checksums, and a damaged file can crash or
mislead the process that opens it. It is never changed: its successor is made in a workshop beside it, and moved over it with a
seal of its own. The seal, `graph.json`, names the record it was made of, a fingerprint of that record, the versions of Kuzu and
of the schema, its size and its digest. A graph without a matching seal is deleted, and made anew from the record.
"""

import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec

from hive_mind.file_lock import lock, try_lock
from hive_mind.model.decoding import json_decoder
from hive_mind.replacing import publish
from hive_mind.store.graph.schema import VERSION

_BLOCK_BYTES = 4 << 20
_LOCK = "graph.kuzu.lock"
# For somebody whose program opens the file itself, and who looks into its folder.
_NOTE = """\
graph.kuzu is a copy of the memory beside it as that was on {}.
What the agent has learned since is not in it: a program that opens it reads that state.

hive-mind graph query CYPHER      asks the memory as it is now
hive-mind graph build             makes graph.kuzu anew, where the memory has changed
hive-mind graph build --keep      does so again and again, until it is stopped

A program that has the old file open goes on reading it: open it again. Open it read-only, or it is made anew.
"""


class Seal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The identity of a graph file. CRC-32 finds damage at 2 GB/s (SHA-256: 1.3); it is no protection against forging."""

    record: str
    fingerprint: str
    """of what the record held"""
    kuzu: str
    size: int = 0
    crc: int = 0
    schema: int = VERSION
    own_crc: int = 0
    """of all the rest"""


def closed(seal: Seal) -> Seal:
    body = msgspec.json.encode(msgspec.structs.replace(seal, own_crc=0))
    return msgspec.structs.replace(seal, own_crc=zlib.crc32(body))


class GraphLocation:
    """Where a graph lies: in a folder beside its record."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.database, self.seal, self.note = folder / "graph.kuzu", folder / "graph.json", folder / "graph.txt"
        self._workshop = folder / "graph.kuzu.new"
        self.unfinished = self._workshop / "graph.kuzu"

    @contextmanager
    def locked(self, report: Callable[[str], None]) -> Iterator[None]:
        """One process at a time makes or opens a graph; the next one waits, and says so first."""
        descriptor = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not try_lock(descriptor):
                report("another process is making the graph; waiting for it")
                lock(descriptor)
            yield
        finally:
            os.close(descriptor)

    def distrust(self, record: str, fingerprint: str, kuzu: str) -> str:
        """Why the file may not be opened, "" where it may."""
        if not self.database.is_file():
            return "there is none yet"
        try:
            seal = json_decoder(Seal)(self.seal.read_bytes())
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return "its seal is missing or unreadable: it was not finished, or somebody changed it"
        if seal != closed(seal):
            return "its seal is damaged"
        if seal.record != record or not record:
            return "it was made of another record"
        if (seal.schema, seal.kuzu) != (VERSION, kuzu):
            return "it was made by another version"
        if self._leftovers():
            return "somebody else has opened it"
        if seal.fingerprint != fingerprint:
            return "the record has changed"
        return "" if (seal.size, seal.crc) == _measured(self.database) else "the file is damaged"

    def stamp(self) -> tuple[int, ...]:
        """Another one when the file was replaced, changed or deleted: also by a process that sets its times back."""
        try:
            status = self.database.stat()
        except OSError:
            return ()
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def discard(self) -> None:
        for path in (self.seal, self.note, self.database, *self._leftovers()):
            _remove(path)

    @contextmanager
    def workshop(self) -> Iterator[None]:
        """An empty folder for the successor. Nothing stays of it: on a full disk the memory needs that room."""
        _remove(self._workshop)
        self._workshop.mkdir(mode=0o700)
        try:
            yield
        finally:
            _remove(self._workshop)

    def give_room_back(self) -> None:
        """Remove what a killed process was making, where no other one is at it."""
        with suppress(OSError), (self._folder / _LOCK).open("rb") as file:
            if try_lock(file):
                _remove(self._workshop)

    def publish(self, seal: Seal) -> None:
        """Put the workshop's file and its seal in their places. One without the other does not fit, and is made anew."""
        size, crc = _measured(self.unfinished)
        seal = closed(msgspec.structs.replace(seal, size=size, crc=crc))
        unsealed = self._workshop / "graph.json"
        unsealed.write_bytes(msgspec.json.encode(seal))
        for path, place in ((self.unfinished, self.database), (unsealed, self.seal)):
            publish(path, place)
        self.note.write_text(_NOTE.format(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"), "utf-8")

    def _leftovers(self) -> list[Path]:
        """Kuzu's logs of it, which it would replay."""
        return [path for path in self._folder.glob("graph.kuzu.*") if path.suffix in (".wal", ".shadow", ".tmp")]


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _measured(path: Path) -> tuple[int, int]:
    crc = 0
    with path.open("rb") as file:
        for block in iter(partial(file.read, _BLOCK_BYTES), b""):
            crc = zlib.crc32(block, crc)
        return file.tell(), crc
