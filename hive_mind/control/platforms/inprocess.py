"""Workers inside this very process: for tests, notebooks and a fleet of one process. They end with it.

Each holds a lock as a local worker does, so that nobody takes a fleet that runs inside another process for one that does not.
"""

import asyncio
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import psutil

from hive_mind.control.platforms import CALL_TIMEOUT_S, OBSERVE_S, Running
from hive_mind.control.processes import read_own
from hive_mind.control.state import checked_name, private_folder
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.runtime.workers import Contact, MembersSeen
from hive_mind.runtime.workers.config import WorkerConfig
from hive_mind.runtime.workers.worker import Worker, open_worker
from hive_mind.safe_files import is_locked, note_holder, try_lock

_log = logging.getLogger(__name__)


async def open(folder: Path, home: Path) -> "InProcessPlatform":
    """A platform on which nothing runs yet; what ran in an earlier process ended with it."""
    del home
    return InProcessPlatform(folder / "run")


class InProcessPlatform:
    """See `Platform`."""

    def __init__(self, locks: Path) -> None:
        self._running: dict[str, Worker] = {}
        self._folder, self._locks = locks, dict[str, int]()

    async def observe(self, *, patience_s: float = OBSERVE_S) -> Mapping[str, Running]:
        """They answer at once; those inside another process are only seen to be there."""
        del patience_s
        processes = {name: _seen(name, worker) for name, worker in sorted(self._running.items())}
        return await asyncio.to_thread(self._elsewhere) | processes

    async def start(self, config: WorkerConfig) -> None:
        """Begin in the background. One that has failed is opened anew."""
        if config.env:
            raise InvalidInput(
                f"{config.process} has variables of its own ({', '.join(config.env)}), which platform inprocess does not "
                "support: use platform local, or set them before you start this one"
            )
        worker = self._running.get(checked_name(config.process, "process"))
        if worker is not None and worker.failure is None:
            return
        if worker is not None:
            await worker.close()
        self._lock(config.process)
        self._running[config.process] = await open_worker(config, _log.info)

    async def stop(self, process: str, timeout_s: float) -> None:
        """Stop it; work that is not finished in time is cut off, as far as that is possible in here."""
        worker = self._running.pop(checked_name(process, "process"), None)
        if worker is None:
            self._refuse_elsewhere(process)
            return
        try:
            async with asyncio.timeout(timeout_s):
                await worker.close()
        except TimeoutError:
            _log.warning("%s did not finish within %g s and was cut off", process, timeout_s)
        self._unlock(process)

    async def call(self, process: str, agent: str, what: str, *, timeout_s: float = CALL_TIMEOUT_S, **fields: object) -> Any:
        """As over HTTP, but for the way there: the loop that waits is the one that works, so it can't wait for a silent one."""
        del timeout_s
        return msgspec.to_builtins(await self._worker(process).call(agent, what, **fields))

    def contact(self, process: str) -> Contact:
        """There is none: from elsewhere it is not reached."""
        raise BackendUnavailable(process, "it runs within the command that applied it, and is asked there")

    async def leave(self, process: str, timeout_s: float) -> None:
        await self._worker(process).leave(timeout_s)

    async def members(self, process: str, timeout_s: float) -> tuple[MembersSeen, ...]:
        del timeout_s
        return self._worker(process).members_seen()

    async def evict(self, process: str, member: str, timeout_s: float) -> None:
        async with asyncio.timeout(timeout_s):
            await self._worker(process).evict(member)

    async def close(self) -> None:
        running, self._running = self._running, {}
        await asyncio.gather(*(worker.close() for worker in running.values()))
        for process in tuple(self._locks):
            self._unlock(process)

    def _elsewhere(self) -> dict[str, Running]:
        paths = [path for path in sorted(self._folder.glob("*.lock")) if path.stem not in self._locks]
        holders = {path.stem: pid for path in paths if (pid := _other_holder(path))}
        return {name: Running(name, pid, error=_owner_text(pid)) for name, pid in holders.items()}

    def _refuse_elsewhere(self, process: str) -> None:
        if pid := _other_holder(self._folder / f"{process}.lock"):
            raise BackendUnavailable(process, _owner_text(pid))

    def _lock(self, process: str) -> None:
        """Raises `BackendUnavailable` where another process has it."""
        if process in self._locks:
            return
        path = private_folder(self._folder) / f"{process}.lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        if not try_lock(descriptor):
            os.close(descriptor)
            # Another platform of this very process may have it.
            self._refuse_elsewhere(process)
            return
        note_holder(descriptor, os.getpid())
        self._locks[process] = descriptor

    def _unlock(self, process: str) -> None:
        if (descriptor := self._locks.pop(process, None)) is not None:
            os.close(descriptor)

    def _worker(self, process: str) -> Worker:
        worker = self._running.get(process)
        if worker is None or worker.failure is not None:
            raise BackendUnavailable(process, "it is not running" if worker is None else f"it has failed: {worker.failure}")
        return worker


def _other_holder(lock: Path) -> int:
    note = read_own(lock).strip() if is_locked(lock) else b""
    pid = int(note) if note.isdigit() and len(note) < 10 else 0
    return 0 if pid == os.getpid() else pid


def _owner_text(pid: int) -> str:
    return f"it runs inside process {pid}, which alone can reach it: end that one first (Ctrl-C where it was applied)"


def _seen(process: str, worker: Worker) -> Running:
    if worker.failure is not None:
        return Running(process, config=worker.config, error=f"it has failed: {worker.failure}")
    status = worker.status()
    return Running(
        process,
        os.getpid(),
        worker.config,
        status,
        started=psutil.Process().create_time(),
        memory_bytes=status.memory_bytes,
        cpu_s=status.cpu_s,
    )
