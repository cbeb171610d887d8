"""Workers as processes of this machine, which outlive the program that started them.

A process is known by its number and its start time; no other is ever signalled. Everything is found out from the files of the
fleet and from the processes themselves, so the next command sees the same after any crash. Two of one name can't run:
each holds a lock for life, and the second one ends at once.
"""

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from signal import SIGCONT, Signals
from typing import Any

import msgspec

from hive_mind.control.platforms import CALL_TIMEOUT_S, OBSERVE_S, Running
from hive_mind.control.processes import (
    Child,
    ProcessFiles,
    begin,
    checked_folder,
    digest_of,
    end_all,
    open_log,
    prepare,
    processes_in,
)
from hive_mind.errors import BackendError, BackendUnavailable
from hive_mind.model.decoding import converted
from hive_mind.runtime import asking
from hive_mind.runtime.process_identity import identity_of, send, use_of
from hive_mind.runtime.secrets import credentials_in, resolved_here
from hive_mind.runtime.settings import environment_with
from hive_mind.runtime.workers import Contact, MembersSeen
from hive_mind.runtime.workers.config import WorkerConfig
from hive_mind.safe_files import write_whole

# -P: a folder where somebody happens to stand must not be able to replace a module of ours.
WORKER = (sys.executable, "-P", "-m", "hive_mind", "agent")


async def open(folder: Path, home: Path, command: Sequence[str] = WORKER) -> "LocalPlatform":
    """The platform of the fleet in `folder`. `command` runs a worker, given `--config FILE`."""
    del home
    return LocalPlatform(checked_folder(folder), tuple(command))


class LocalPlatform:
    """See `Platform`."""

    def __init__(self, folder: Path, command: Sequence[str]) -> None:
        self._folder, self._command = folder, command
        self._children: dict[str, Child] = {}
        # One after the other, so that two starts of one name see each other.
        self._starting = asyncio.Lock()

    async def observe(self, *, patience_s: float = OBSERVE_S) -> Mapping[str, Running]:
        processes_seen = await asyncio.to_thread(self._look)
        processes = await asyncio.gather(*(self._asked(one, patience_s) for one in processes_seen))
        return {process.process: process for process in processes}

    async def start(self, config: WorkerConfig) -> None:
        async with self._starting:
            await asyncio.to_thread(self._start, config)

    async def stop(self, process: str, timeout_s: float) -> None:
        files = ProcessFiles(self._folder, process)
        until = time.monotonic() + timeout_s
        await end_all(process, files.running, lambda: files.is_taken, until)
        files.config.unlink(missing_ok=True)
        # One that had only just begun may have shown itself now, or finds nothing to run and ends.
        await end_all(process, files.running, lambda: files.is_taken, until)
        files.forget()
        self._reap()

    async def call(self, process: str, agent: str, what: str, *, timeout_s: float = CALL_TIMEOUT_S, **fields: object) -> Any:
        return await asking.called(self.contact(process), agent, what, fields, silence_s=timeout_s)

    async def leave(self, process: str, timeout_s: float) -> None:
        await asking.replied(self.contact(process), "POST", "/v1/leave", {"timeout_s": timeout_s})

    async def members(self, process: str, timeout_s: float) -> tuple[MembersSeen, ...]:
        reply = await asking.replied(self.contact(process), "GET", "/v1/members", silence_s=timeout_s)
        try:
            return converted(reply, tuple[MembersSeen, ...])
        except msgspec.ValidationError as error:
            raise BackendUnavailable(process, f"malformed reply about members: {error}") from error

    async def evict(self, process: str, member: str, timeout_s: float) -> None:
        await asking.replied(self.contact(process), "POST", "/v1/evict", {"member": member}, silence_s=timeout_s)

    async def close(self) -> None:
        self._reap()

    def _look(self) -> list["_Seen"]:
        self._reap()
        processes_seen = (self._seen(name) for name in processes_in(self._folder))
        return [process for process in processes_seen if process is not None]

    def _seen(self, process: str) -> "_Seen | None":
        """Without asking it; None where there is none and should be none."""
        files = ProcessFiles(self._folder, process)
        body, config = files.read_config()
        one, contact = files.running(), files.contact()
        if one is None:
            is_hidden = files.is_taken
            why = "" if is_hidden else self._ended(files)
            return _Seen(Running(process, config=config, error=why, is_hidden=is_hidden)) if body or is_hidden else None
        if contact is not None and contact.pid != one.pid:
            contact = None
        if contact is not None and contact.config != digest_of(body):
            config = None
        used = use_of(one)
        running = Running(process, one.pid, config, started=one.started, memory_bytes=used.memory_bytes, cpu_s=used.cpu_s)
        return _Seen(running, contact)

    async def _asked(self, process: "_Seen", patience_s: float) -> Running:
        if process.contact is None:
            return process.running
        try:
            return replace(process.running, status=await asking.status_of(process.contact, patience_s))
        except BackendError as error:
            return replace(process.running, error=f"process {process.running.pid} does not report its status: {error}")

    def _start(self, config: WorkerConfig) -> None:
        files = ProcessFiles(self._folder, config.process)
        if (identity := files.running()) is not None or files.is_taken:
            if identity is not None:
                send(identity, SIGCONT)
            return
        prepare(self._folder)
        # Before anything is written: a reference may stand for nothing.
        values = {name: resolved_here(text, home=Path(config.home)) for name, text in config.env.items()}
        # The process looks up credentials itself: other programs can read these.
        sees = environment_with({name: value for name, value in values.items() if not credentials_in(config.env[name])})
        # The process that ran under this name before is forgotten.
        files.forget()
        write_whole(files.config, config.packed())
        command = (*self._command, "--config", str(files.config))
        child = begin(command, sees=sees, where=self._folder, says=open_log(files.output))
        self._children[config.process] = child
        if (identity := identity_of(child.pid)) is not None:
            files.note(identity)

    def contact(self, process: str) -> Contact:
        files = ProcessFiles(self._folder, process)
        identity, contact = files.running(), files.contact()
        if identity is None:
            reason = f"it is not running: hive-mind rollout restart starts it{_after(files.last_words())}"
            raise asking.ProcessGone(process, reason)
        if contact is None or contact.pid != identity.pid:
            raise asking.ProcessBegins(process, "it has only just begun: try again in a moment")
        return contact

    def _reap(self) -> None:
        """Take note of our own children that ended; the kernel keeps their numbers until somebody does."""
        for child in tuple(self._children.values()):
            child.poll()

    def _ended(self, files: ProcessFiles) -> str:
        child = self._children.get(files.process)
        code = None if child is None else child.poll()
        if code is None:
            ending = ""
        elif code < 0:
            ending = f" (ended by {Signals(-code).name})"
        else:
            ending = f" (exit code {code})"
        return f"it is not running{ending}{_after(files.last_words())}"


@dataclass(frozen=True, slots=True)
class _Seen:
    """A process as it was found, and where to ask it, if anywhere."""

    running: Running
    contact: Contact | None = None


def _after(last_words: str) -> str:
    return f"; the last it said: {last_words}" if last_words else ""
