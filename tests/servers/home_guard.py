"""Nothing that a fleet started is left behind by a test: workers, and the Redis server of their own, known by their home folder.

As a program, `python -m tests.servers.home_guard HOME`: waits until its standard input ends, which it does when the test ends,
also when that is killed; then ends whatever of this home still runs, and prints a line for each.
"""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil

from tests.servers.children import Child

_ENDS_WITHIN_S = 60.0
_LOOKS_EVERY_S = 0.2


class HomeGuard:
    """Watches over a home folder, or a folder of several, until `release`."""

    def __init__(self, home: Path) -> None:
        # In a session of its own, because Ctrl-C is not meant for it.
        self._process = Child(
            [sys.executable, "-m", "tests.servers.home_guard", str(home)],
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def release(self) -> list[str]:
        """End what still runs; what that was, a line each."""
        out, _ = self._process.communicate(timeout=_ENDS_WITHIN_S)
        return out.splitlines()


def processes_of(home: Path) -> list[psutil.Process]:
    """Workers and servers of the fleets of this home, but not this process and not who started it."""
    ours = {os.getpid(), os.getppid()}
    return [process for process in psutil.process_iter() if process.pid not in ours and _belongs(process, str(home))]


def _belongs(process: psutil.Process, home: str) -> bool:
    """Whether it is a worker, a server or a command of this home. All are told where that is, or are in it."""
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        told = process.cmdline()
        if any("redis-server" in part for part in told):
            return process.cwd().startswith(home) or any(home in part for part in told)
        is_ours = any(home in part for part in told) or Path(process.environ().get("HIVE_MIND_HOME", "")).is_relative_to(home)
        return is_ours and "hive_mind" in told
    except psutil.Error:
        # It has ended by now, or belongs to somebody else.
        return False


def _main(home: Path) -> None:
    sys.stdin.read()
    ended = dict[psutil.Process, str]()
    # Again, because a command may have started one meanwhile.
    while left := processes_of(home):
        for process in left:
            with suppress(psutil.Error):
                ended.setdefault(process, " ".join((str(process.pid), *process.cmdline())))
                process.kill()
        # Not longer: one that its parent doesn't ask about would be waited for, though it has ended.
        psutil.wait_procs(left, _LOOKS_EVERY_S)
    # Nobody listens where the test was killed: so not before all have ended.
    with suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), "".join(f"{line}\n" for line in ended.values()).encode())


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
