"""The folder of a fleet's own Redis server, and starting one over it.

    redis.conf  password  port    how it is set up, for this user alone
    lock                          locked by the server for life
    server.json                   its identity, written by its starter
    pid                           its number, written by itself
    log  appendonlydir/           what it says; what it holds

The server inherits the lock and never lets go of it. So there are never two over the same data, at whatever moment the one who
started it died, and whether there is one is never a guess.
"""

import fcntl
import os
import secrets
import socket
from contextlib import suppress
from pathlib import Path

import msgspec
import psutil

from hive_mind.control.processes.children import Child, begin
from hive_mind.control.processes.process_files import open_log, read_own
from hive_mind.file_lock import is_locked
from hive_mind.runtime.files import write_whole
from hive_mind.runtime.process_identity import Identity, identity_of, is_running

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
# What was sent is on its way to the disk before it is answered. Waiting for the disk each time would make every message cost a
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
        """What it asks for."""
        return read_own(self.folder / "password")

    @property
    def is_taken(self) -> bool:
        """Whether a server is there, known or not."""
        return is_locked(self.lock)

    def running(self) -> Identity | None:
        """The server, where there is one and it can be shown to be this fleet's."""
        with suppress(msgspec.DecodeError):
            one = Identity(*msgspec.json.decode(read_own(self.folder / "server.json"), type=tuple[int, float]))
            if is_running(one) and self._is_its_folder(one):
                return one
        return self._adopted() if self.is_taken else None

    def start(self, program: str) -> Child | None:
        """Run one, unless one is there. Raises `BackendUnavailable` where the program can't be run."""
        if self.running() is not None:
            return None
        lock = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._set_up()
            child = begin((program, "redis.conf"), sees={}, where=self.folder, says=open_log(self.log), holds=(lock,))
        except BlockingIOError:
            return None
        finally:
            # Not unlocked: the server shares what was locked here.
            os.close(lock)
        self._note(identity_of(child.pid))
        return child

    def forget(self) -> None:
        """Take away what an ended server left, but for what it holds."""
        for name in ("server.json", "pid"):
            (self.folder / name).unlink(missing_ok=True)

    def _set_up(self) -> None:
        self.forget()
        if not _is_free(self.port):
            write_whole(self.folder / "port", str(_free_port()).encode())
            # The former password may be known to a process that posed as the server.
            (self.folder / "password").unlink(missing_ok=True)
        if not self.password:
            write_whole(self.folder / "password", secrets.token_urlsafe(32).encode())
        written = _CONFIGURATION.format(port=self.port, password=self.password.decode())
        write_whole(self.folder / "redis.conf", written.encode())

    def _adopted(self) -> Identity | None:
        """One whose starter died before it could note it: it has the lock, says this number, and lives in this folder."""
        number = read_own(self.folder / "pid").strip()
        one = identity_of(int(number)) if number.isdigit() and len(number) < 10 else None
        if one is None or not self._is_its_folder(one):
            return None
        # Others may find it at the same moment; one of them notes it.
        with suppress(OSError):
            self._note(one)
        return one

    def _is_its_folder(self, one: Identity) -> bool:
        """Whether it lives here; these files may be a copy of those that it lives in."""
        try:
            return self.folder.samefile(psutil.Process(one.pid).cwd())
        except (psutil.Error, OSError):
            return False

    def _note(self, one: Identity | None) -> None:
        if one is not None:
            write_whole(self.folder / "server.json", msgspec.json.encode(one))


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


def _free_port() -> int:
    """Below those that systems hand out to outgoing connections: one of these could take it while the server is down."""
    while not _is_free(port := 10_240 + secrets.randbelow(22_528)):
        pass
    return port
