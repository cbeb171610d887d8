"""Programs that an arm of processes starts, seen from the one that measures: the guardian, and processes of members."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import psutil

from hive_mind.control.processes import private_redis
from hive_mind.control.processes.log_reading import last_lines
from hive_mind.errors import BackendError, BackendNotInstalled, BackendTimeout, BackendUnavailable, ConfigError
from hive_mind.evals.arms.processes.member_wire import LINE_BYTES_MAX, MemberReply, Request
from hive_mind.evals.arms.processes.process_guardian import GuardianReady

_SERVER_WITHIN_S = 90.0
_GONE_WITHIN_S = 60.0
_ANSWERS_WITHIN_S = 900.0
Answer = TypeVar("Answer")


class Guardian:
    """The program that keeps folder and server. Open it with `open_guardian`."""

    def __init__(self, process: Process, kept: GuardianReady) -> None:
        self._process = process
        self.folder, self.url, self.credential = Path(kept.folder), kept.url, kept.credential

    def watch(self, pid: int) -> None:
        """See to it that this process ends with us."""
        _input_of(self._process).write(b"%d\n" % pid)

    async def close(self) -> None:
        """Return when server, folder and all processes are gone. Raises `BackendUnavailable` where that fails."""
        await _ended(self._process)
        if self._process.returncode:
            raise BackendUnavailable("redis", f"what was started for an arm is not all gone; look at {self.folder}")


async def open_guardian() -> Guardian:
    """A server and a folder. Raises `ConfigError` where something has to be installed first, and `BackendError`."""
    try:
        private_redis.found_program()
    except BackendNotInstalled:
        raise
    except ConfigError as error:
        text = "processes talk over Redis, and there is no redis-server here: install it (apt-get install redis-server, brew "
        raise ConfigError(text + "install redis), or let the arm run in-process or in the simulator") from error
    process = await _begun("hive_mind.evals.arms.processes.process_guardian")
    try:
        kept = msgspec.json.decode(await asyncio.wait_for(_line(process), _SERVER_WITHIN_S), type=GuardianReady)
    except BaseException:
        await _ended(process)
        raise
    if kept.error:
        await _ended(process)
        raise BackendUnavailable("redis", kept.error)
    return Guardian(process, kept)


class Child:
    """One process of members. Open it with `open_child`; requests are put one after the other."""

    def __init__(self, process: Process, log: Path) -> None:
        self._process, self._log = process, log
        self._turn = asyncio.Lock()
        self._is_out_of_step = False

    async def do(self, request: Request) -> None:
        """Return when it is done. Raises like `ask`."""
        await self.ask(request, type(None))

    async def ask(self, request: Request, answer: type[Answer]) -> Answer:
        """What it answers. Raises `BackendError` where it can't, where it has ended, and where it takes too long."""
        async with self._turn:
            reply = await self._reply(request)
        if reply.error:
            raise BackendError("process", f"{reply.kind}: {reply.error}")
        return msgspec.json.decode(reply.ok, type=answer)

    async def _reply(self, request: Request) -> MemberReply:
        if self._is_out_of_step:
            raise BackendUnavailable("process", "a process of members did not answer before, and is not asked again")
        # Until a reply is here, whatever comes next would be taken for the reply to something else.
        self._is_out_of_step = True
        try:
            _input_of(self._process).write(msgspec.json.encode(request) + b"\n")
            line = await asyncio.wait_for(_line(self._process), _ANSWERS_WITHIN_S)
        except (ConnectionError, EOFError):
            said = " ".join(last_lines(self._log, 3))[-500:]
            raise BackendUnavailable("process", f"a process of members has ended: {said or 'it said nothing'}") from None
        except TimeoutError:
            raise BackendTimeout("process", f"no answer to {type(request).__name__} in {_ANSWERS_WITHIN_S:g} s") from None
        self._is_out_of_step = False
        return msgspec.json.decode(line, type=MemberReply)

    def memory_bytes(self) -> int | None:
        """What it takes, pages it shares with others divided among them; None where the system does not tell."""
        found: Any = psutil.Process(self._process.pid).memory_full_info()
        return getattr(found, "pss", None)

    def cpu_s(self) -> float:
        spent = psutil.Process(self._process.pid).cpu_times()
        return float(spent.user + spent.system)

    async def close(self) -> None:
        await _ended(self._process)


async def open_child(guardian: Guardian, name: str) -> Child:
    """A process that waits for its `Start`; the guardian knows of it."""
    log = guardian.folder / f"{name}.log"
    process = await _begun("hive_mind.evals.arms.processes.member_process", log)
    guardian.watch(process.pid)
    return Child(process, log)


async def _begun(module: str, log: Path | None = None) -> Process:
    """In a session of its own: Ctrl-C is for the measuring program, which ends its children."""
    said = log.open("ab") if log else DEVNULL
    try:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", module), stdin=PIPE, stdout=PIPE, stderr=said, limit=LINE_BYTES_MAX, start_new_session=True
        )
    finally:
        if not isinstance(said, int):
            said.close()


def _input_of(process: Process) -> asyncio.StreamWriter:
    assert process.stdin is not None  # noqa: S101 - asked for
    return process.stdin


async def _line(process: Process) -> bytes:
    assert process.stdout is not None  # noqa: S101 - asked for
    if not (line := await process.stdout.readline()):
        raise EOFError
    return line


async def _ended(process: Process) -> None:
    """Close its input, by which it ends."""
    stdin = _input_of(process)
    stdin.close()
    with suppress(ConnectionError):
        await stdin.wait_closed()
    try:
        await asyncio.wait_for(process.wait(), _GONE_WITHIN_S)
    except TimeoutError:
        raise BackendUnavailable("process", f"process {process.pid} does not end; end it by hand") from None
