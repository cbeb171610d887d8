"""Child processes of tests: no wait for one is without a bound, and none outlives a block that fails, its test, or the session.

`Child` is used like `subprocess.Popen`. All that a session of tests begins, however deep below it, has a variable of the session
in its environment: by that it is found and ended when a test fails, and when the session itself is killed. For that one process
stands beside each session, `python tests/servers/children.py PID MARK`, which waits for its end.
"""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

# Below what any test may take, so that it fails by itself and says where.
PATIENCE_S = 100.0

_VARIABLE = "HIVE_TEST_SESSION"
_PROCESSES = Path("/proc")
_LASTING: set[int] = set()
_ENDS_WITHIN_S = 5.0


class Child(subprocess.Popen[Any]):
    """A process for which nobody waits without a bound. A block that fails ends it: nobody else would."""

    def wait(self, timeout: float | None = None) -> int:
        return super().wait(PATIENCE_S if timeout is None else timeout)

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:
        return super().communicate(input, PATIENCE_S if timeout is None else timeout)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            self.kill()
        try:
            super().__exit__(kind, error, trace)
        finally:
            if self.poll() is None:
                self.kill()
                self.wait(_ENDS_WITHIN_S)


def lasting(pid: int) -> None:
    """What is begun once for all tests, whichever of them is the first: the end of that is not its own."""
    _LASTING.add(pid)


def begin_session() -> None:
    """Mark this process and what it will start, and have all of that ended when this process is gone."""
    if not hasattr(os, "pidfd_open"):
        return
    os.environ[_VARIABLE] = mark = f"{os.getpid()}-{time.monotonic_ns()}"
    command = [sys.executable, "-E", "-S", __file__, str(os.getpid()), mark]
    nothing = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
    # In a session of its own, because Ctrl-C is not meant for it. It ends after us, so nobody waits for it.
    os.posix_spawn(sys.executable, command, {}, setsid=True, file_actions=nothing)


def moment() -> tuple[int, int]:
    """The time, as processes show when they began, and the number of the latest of them."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return 0, 0
    latest = (_PROCESSES / "loadavg").read_text("ascii").split()[4]
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")), int(latest)


def end_those_begun(after: tuple[int, int]) -> None:
    """End what this session began after that moment and runs still, but for what lasts."""
    if _VARIABLE not in os.environ:
        return
    seen = {pid: (parent, began) for pid, parent, began in _shown(f"{_VARIABLE}={os.environ[_VARIABLE]}")}
    # Beside each copy of `forked` is the process that waits for its end.
    kept = _LASTING | {seen[pid][0] for pid in _LASTING if pid in seen} | {os.getpid()}
    for pid, (_, began) in seen.items():
        if (began, pid) > after and pid not in kept:
            _kill(pid)


def states_of(mark: str) -> list[str]:
    """One letter for each process that was started with this in its environment, `NAME=VALUE`, or by one that was."""
    return [fields[0] for _, fields in _stats(mark)]


def _shown(mark: str) -> Iterator[tuple[int, int, int]]:
    """Number, parent and begin of each."""
    return ((pid, int(fields[1]), int(fields[19])) for pid, fields in _stats(mark) if fields[0] != "Z")


def _stats(mark: str) -> Iterator[tuple[int, list[str]]]:
    for folder in _PROCESSES.glob("[0-9]*"):
        # It is gone, or somebody else's.
        with suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name), (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _main(session: int, mark: str) -> None:
    with suppress(ProcessLookupError):
        select.select([os.pidfd_open(session)], [], [])
    # Again, because one that is not gone yet may start another.
    while left := list(_shown(f"{_VARIABLE}={mark}")):
        for pid, _, _ in left:
            _kill(pid)
        time.sleep(0.05)


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2])
