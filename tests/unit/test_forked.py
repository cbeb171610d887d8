"""Programs that begin as copies: workers while somebody wants them to, and no longer; they end as Python ends."""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack

import pytest

from hive_mind.control.platforms import local
from tests.servers.forked import Forked, begin, run, workers_as_copies


def test_blocks_that_overlap_leave_what_was_there_before_the_first() -> None:
    before = local.begin
    first, second = ExitStack(), ExitStack()
    first.enter_context(workers_as_copies())
    second.enter_context(workers_as_copies())
    first.close()
    assert local.begin is begin
    second.close()
    assert local.begin is before


# A thread, a function of `atexit` and what was printed wait for the end.
_WAITING = """
import atexit, sys, threading
sys.stdout.write("printed")
atexit.register(lambda: sys.stdout.write(", last"))
threading.Thread(target=lambda: (threading.main_thread().join(), sys.stdout.write(", joined"))).start()
"""


@pytest.mark.parametrize(
    ("end", "code", "err"),
    [
        ("", 0, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit(-1)", 255, ""),
        ("sys.exit('no room')", 1, "no room"),
        ("1 / 0", 1, "ZeroDivisionError"),
        ("raise KeyboardInterrupt", -signal.SIGINT, "KeyboardInterrupt"),
    ],
)
def test_a_copy_ends_as_python_does(end: str, code: int, err: str) -> None:
    program = [sys.executable, "-c", _WAITING + end]

    copy = run(program, timeout=60, text=True)

    anew = subprocess.run(program, timeout=60, text=True, capture_output=True, check=False)
    assert (copy.returncode, copy.stdout) == (anew.returncode, anew.stdout) == (code, "printed, joined, last")
    assert err in copy.stderr
    assert bool(copy.stderr) == bool(anew.stderr) == bool(err)


def test_a_copy_that_nobody_hears_at_its_end_says_so() -> None:
    hearing, saying = os.pipe()
    with Forked(
        [sys.executable, "-c", "import sys; sys.stdin.readline(); print()"],
        stdin=subprocess.PIPE,
        stdout=saying,
        stderr=subprocess.PIPE,
    ) as program:
        os.close(hearing)
        os.close(saying)
        _, err = program.communicate(b"\n", timeout=60)

    assert program.returncode == 120
    assert b"BrokenPipeError" in err
