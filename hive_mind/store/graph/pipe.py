"""The common ground of the graph's process and of the one that asks it: the pipe between them, and the seal on its files.

`Child` is our side of the pipe, `Parent` the other, and either may be gone at any moment. Messages are MessagePack behind their
length, over standard input and output.

A graph file is a cache that is never trusted after anything unusual: Kuzu has no checksums, and a damaged file can crash or
mislead the process that opens it. It is never changed: its successor is made in a workshop beside it, and moved over it with a
seal of its own. The seal, `graph.json`, names the record it was made of, a fingerprint of that record, the versions of Kuzu and
of the schema, its size and its digest. A graph without a matching seal is deleted, and made anew from the record.
"""

import asyncio
import os
import shutil
import sys
import threading
import zlib
from asyncio.streams import StreamReader, StreamWriter
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, cast

import msgspec

from hive_mind.model.decoding import json_decoder
from hive_mind.safe_files import lock, publish, try_lock
from hive_mind.store.graph.questions import VERSION

if sys.platform != "win32":
    import resource

_LENGTH_BYTES = 4
_LAST_WORDS_BYTES = 4000


class PipeClosed(Exception):
    """It has gone instead of answering: `code` is 0 where nobody asked any more, negative for a signal."""

    def __init__(self, code: int, last_words: str) -> None:
        super().__init__(f"code {code}" + (f": {last_words}" if last_words else ""))
        self.code = code


def code_of(module: str) -> str:
    """Code for `python -c` to run a module's `main`: with -P, no file of the current folder takes the place of a package."""
    return f"import sys; sys.path.append({str(Path(__file__).parents[3])!r}); from {module} import main; main()"


def framed(message: object) -> bytes:
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


class Child:
    """A process that was started to be asked, until `end`."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._stdin, self._stdout = cast(StreamWriter, process.stdin), cast(StreamReader, process.stdout)

    @classmethod
    async def started(cls, code: str, *arguments: str) -> "Child":
        """Raises `OSError`. Its session is its own: Ctrl-C is for the parent, which ends it."""
        command = (sys.executable, "-P", "-c", code, *arguments)
        return cls(await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True))

    async def send(self, *message: object) -> None:
        """Where it is gone, `receive` says so."""
        with suppress(ConnectionError):
            self._stdin.write(framed(message))
            await self._stdin.drain()

    async def receive(self, patience_s: float) -> list[Any]:
        """Its next message. Raises `PipeClosed` or `TimeoutError`."""
        try:
            async with asyncio.timeout(patience_s):
                length = int.from_bytes(await self._stdout.readexactly(_LENGTH_BYTES), "big")
                message: list[Any] = msgspec.msgpack.decode(await self._stdout.readexactly(length))
                return message
        except asyncio.IncompleteReadError:
            stderr = cast(StreamReader, self.process.stderr)
            last_words = (await stderr.read(_LAST_WORDS_BYTES)).decode(errors="replace").strip().splitlines()
            raise PipeClosed(await self.process.wait(), last_words[-1] if last_words else "") from None

    async def end(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        # To the end of its pipes too, or they would live until the garbage collector finds them.
        await self.process.communicate()


class Parent:
    """The process that started this one. When it has gone, this process ends at once."""

    def __init__(self) -> None:
        os.umask(0o077)
        if sys.platform != "win32":
            # A crash must not leave the memory's content in a core file.
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # Kuzu may print: answers go where nothing else is written.
        self._out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        self._asked: SimpleQueue[bytes] = SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, *message: object) -> None:
        self._out.write(framed(message))
        self._out.flush()

    def question(self, patience_s: float | None = None) -> list[Any] | None:
        """The next message from there; None where none comes within `patience_s`."""
        try:
            message: list[Any] = msgspec.msgpack.decode(self._asked.get(timeout=patience_s))
        except Empty:
            return None
        return message

    def _listen(self) -> None:
        while head := _read(_LENGTH_BYTES):
            self._asked.put(_read(int.from_bytes(head, "big")))
        os._exit(0)


def _read(count: int) -> bytes:
    """Read `count` bytes, fewer at the end. Without a buffer: its lock would abort Python when it ends."""
    body = b""
    while len(body) < count and (part := os.read(sys.stdin.fileno(), count - len(body))):
        body += part
    return body


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
