"""Processes of this machine: started, known again, asked, read and ended; the private Redis server is one.

Here are the files by which a process is known: configuration, identity and status.

    config/<process>.json   its configuration; exists as long as it should run
    run/<process>.begun     who was started, written by the platform: counts until the process says so itself
    run/<process>.json      who it is and where it listens, written by the process
    run/<process>.lock      locked by the process for life
    logs/<process>.log      what it logs; logs/<process>.out what it printed besides

Links are not followed, and what belongs to another user is not believed.

Programs that are started here and run on without us: no terminal, nothing to read, a session of their own.

One is ended by being asked to, and made to when its time is over; only ever the one that was meant.
"""

import asyncio
import os
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGTERM

import msgspec

from hive_mind.control.processes.log_reading import last_lines
from hive_mind.control.state import checked_name, private_folder
from hive_mind.errors import BackendRejected, BackendTimeout, BackendUnavailable, InvalidInput, reason_of
from hive_mind.model.decoding import json_decoder
from hive_mind.runtime.process_identity import Identity, command_of, identity_of, is_running, send
from hive_mind.runtime.workers import Contact
from hive_mind.runtime.workers.config import WorkerConfig
from hive_mind.safe_files import is_locked, write_whole

# A configuration that names ten thousand sources has two or three megabytes.
_BYTES_MAX = 64 << 20
# A process prints little besides its log: a crash, a library that warns.
_OUTPUT_BYTES_MAX = 1 << 20
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


class ProcessFiles:
    """Those of one process. Raises `InvalidInput` for a name that could leave the folder."""

    def __init__(self, folder: Path, process: str) -> None:
        self.process = checked_name(process, "process")
        self.config = folder / "config" / f"{process}.json"
        self.log = folder / "logs" / f"{process}.log"
        self.output = folder / "logs" / f"{process}.out"
        self._contact = folder / "run" / f"{process}.json"
        self._begun = folder / "run" / f"{process}.begun"
        self._lock = folder / "run" / f"{process}.lock"

    def contact(self) -> Contact | None:
        """The contact that it gives; None where it has not, or can't be believed."""
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            found_contact = json_decoder(Contact)(read_own(self._contact))
            return found_contact if found_contact.process == self.process else None
        return None

    def running(self) -> Identity | None:
        """The process of this name that is there now and can be shown to be the one that was started from here.

        The files alone don't show it: they may be a copy, of a home whose processes are none of ours.
        """
        return next((claim for claim in self._claims() if is_running(claim) and self._is_of_here(claim)), None)

    @property
    def is_taken(self) -> bool:
        return is_locked(self._lock)

    def read_config(self) -> tuple[bytes, WorkerConfig | None]:
        """Its configuration, raw and parsed; b"" and None where unreadable."""
        body = read_own(self.config)
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            return body, json_decoder(WorkerConfig)(body)
        return body, None

    def note(self, identity: Identity) -> None:
        write_whole(self._begun, msgspec.json.encode(identity))

    def forget(self) -> None:
        """Take away what an ended process left. Its lock stays: without it two could hold one each."""
        self._contact.unlink(missing_ok=True)
        self._begun.unlink(missing_ok=True)

    def last_words(self) -> str:
        for path in sorted((self.log, self.output), key=_changed, reverse=True):
            for line in reversed(last_lines(path, 20)):
                if line.strip():
                    return line.strip()[:500]
        return ""

    def _claims(self) -> Iterator[Identity]:
        contact = self.contact()
        if contact is not None:
            yield Identity(contact.pid, contact.started)
        with suppress(msgspec.DecodeError):
            yield json_decoder(Identity)(read_own(self._begun))
        # Its starter died before it could record it, or the clock was changed meanwhile.
        if self.is_taken and (holder := self._holder()) is not None:
            yield holder

    def _is_of_here(self, identity: Identity) -> bool:
        # A home that was moved has other paths and the same locks.
        return command_of(identity)[-1:] == [str(self.config)] or self.is_taken

    def _holder(self) -> Identity | None:
        """The process that wrote its number into the lock, if it was started with this configuration."""
        number = read_own(self._lock).strip()
        identity = identity_of(int(number)) if number.isdigit() and len(number) < 10 else None
        return identity if identity is not None and command_of(identity)[-1:] == [str(self.config)] else None


def processes_in(folder: Path) -> list[str]:
    paths = [*(folder / "config").glob("*.json"), *(folder / "run").glob("*.json"), *(folder / "run").glob("*.begun")]
    return sorted({path.stem for path in paths if _is_name(path.stem)})


def prepare(folder: Path) -> Path:
    """The fleet's folder as an absolute path, with what is missing made. Raises `BackendRejected` as `own_folder` does."""
    for path in _parts(folder):
        own_folder(path)
    return folder.absolute()


def checked_folder(folder: Path) -> Path:
    """The same, and nothing made: a mere look leaves no trace. Raises `BackendRejected` as `own_folder` does."""
    for path in _parts(folder):
        with suppress(FileNotFoundError):
            _refuse_foreign(path)
    return folder.absolute()


def own_folder(path: Path) -> Path:
    """The folder, made where it is missing, for this user alone. Raises `BackendRejected` for a link or another user's."""
    private_folder(path)
    status = _refuse_foreign(path)
    if stat.S_IMODE(status.st_mode) & 0o077:
        path.chmod(0o700)
    return path


def _parts(folder: Path) -> tuple[Path, ...]:
    return folder, folder / "config", folder / "run", folder / "logs"


def _refuse_foreign(path: Path) -> os.stat_result:
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise BackendRejected("local", f"{path} is a link or a file, and no folder: move it away, or use another home")
    if not _is_mine(status):
        owner = f"it belongs to user {status.st_uid}: run this as that user, give it to this one (chown -R), or use another home"
        raise BackendRejected("local", f"{path} can't be trusted: {owner}")
    return status


def read_own(path: Path) -> bytes:
    """The file; nothing where there is none, or where it is a link, a pipe, another user's or too large to be ours."""
    try:
        # Without waiting: opening a pipe would.
        descriptor = os.open(path, os.O_RDONLY | _NO_LINKS | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or not _is_mine(status) or status.st_size > _BYTES_MAX:
            return b""
        return file.read(_BYTES_MAX)


def open_log(path: Path) -> int:
    """A descriptor for what a process prints. When there is more than a megabyte already, that becomes `….1`."""
    with suppress(FileNotFoundError):
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _OUTPUT_BYTES_MAX:
            path.replace(path.with_name(f"{path.name}.1"))
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NO_LINKS, 0o600)


def digest_of(body: bytes) -> str:
    """How a configuration is named by those who run it."""
    return sha256(body).hexdigest()


def _is_mine(status: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def _changed(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def _is_name(name: str) -> bool:
    try:
        return bool(checked_name(name))
    except InvalidInput:
        return False


class Child(subprocess.Popen[bytes]):
    """A process meant to outlive its starter, so losing its handle deserves no warning."""

    def __del__(self) -> None:
        """The standard library takes note of the ends of those whom it lost sight of whenever another one begins."""
        # The type stubs do not know of this argument.
        super().__del__(_warn=lambda *_, **__: None)  # type: ignore[call-arg]


def begin(command: Sequence[str], *, sees: Mapping[str, str], where: Path, says: int, holds: Sequence[int] = ()) -> Child:
    """Run it with these variables in a folder. `says` is a descriptor for what it prints, closed here; it inherits `holds`.

    Raises `BackendUnavailable` where it can't be run.
    """
    try:
        return Child(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=says,
            stderr=says,
            env=dict(sees),
            cwd=where,
            start_new_session=True,
            # Its data are somebody's memory: for its owner alone, whatever the shell it was started from has set.
            umask=0o077,
            pass_fds=tuple(holds),
        )
    except OSError as error:
        raise BackendUnavailable(command[0], f"it can't be started: {reason_of(error)}") from error
    finally:
        os.close(says)


_LOOK_S = 0.05
# The kernel ends a killed process at once, unless it waits for a disk.
_KILLED_WITHIN_S = 30.0
_LETS_GO_WITHIN_S = 10.0


async def end_all(name: str, find: Callable[[], Identity | None], is_taken: Callable[[], bool], until: float) -> None:
    """Return when no process is found and the lock of this name is free. `until` is a time of `time.monotonic`.

    Raises `BackendTimeout` where somebody holds it who can't be shown to be ours: that one is left alone.
    """
    while (identity := find()) is not None or is_taken():
        if identity is not None:
            await _end(name, identity, until)
            # Its threads let go of what they hold a moment after it has ended.
            until = max(until, time.monotonic() + _LETS_GO_WITHIN_S)
        elif time.monotonic() > until:
            raise BackendTimeout(name, "a process holds its lock that can't be shown to be ours; it is left alone")
        else:
            await asyncio.sleep(_LOOK_S)


async def _end(name: str, identity: Identity, until: float) -> None:
    send(identity, SIGTERM)
    # One that was paused would not hear it.
    send(identity, SIGCONT)
    if await _is_gone(identity, until):
        return
    send(identity, SIGKILL)
    if not await _is_gone(identity, time.monotonic() + _KILLED_WITHIN_S):
        raise BackendTimeout(name, f"process {identity.pid} was killed and has not ended in {_KILLED_WITHIN_S:g} s")


async def _is_gone(identity: Identity, until: float) -> bool:
    while is_running(identity):
        if time.monotonic() > until:
            return False
        await asyncio.sleep(_LOOK_S)
    return True
