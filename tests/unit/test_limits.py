"""That tests end: over a limit, failed, killed, or started where signals are ignored. Each case is a session of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.children import Child, states_of
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
HEADER = """
import asyncio, os, signal, subprocess, sys, threading, pytest

def sleeper():
    sleeps = "import time; print(1, flush=True); time.sleep(3600)"
    started = subprocess.Popen([sys.executable, "-S", "-c", sleeps], stdout=subprocess.PIPE)
    started.stdout.readline()
    return started
"""
NEVER_ENDS = """
@pytest.mark.timeout(5)
def test_a():
    sleeper()
    threading.Event().wait()

@pytest.mark.timeout(20)
async def test_b():
    await asyncio.Event().wait()

def test_c():
    pass
"""
FAILS = """
def test_a():
    sleeper()
    raise ValueError("it fails")

def test_b():
    os.write(2, b"GOES ON")
    threading.Event().wait()
"""
INTERRUPTED = """
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_d(number):
    with sleeper() as started:
        started.send_signal(number)
        assert started.wait(60) == -number
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(60)
"""


class Session:
    """pytest over one file, with the rules of this tree."""

    def __init__(self, folder: Path, tests: str, *options: str, before: str = "") -> None:
        (folder / "conftest.py").write_text("from tests.conftest import *\n")
        (folder / "test_it.py").write_text(HEADER + tests)
        self.mark = f"HIVE_TEST_MARK={folder}"
        words = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-c",
            ROOT / "pyproject.toml",
            *options,
            folder / "test_it.py",
        ]
        command = ["sh", "-c", f'{before}exec "$@"', "sh", *map(str, words)]
        environment = os.environ | dict([self.mark.split("=", 1)]) | {"PYTHONPATH": str(ROOT)}
        self.process = Child(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def said(self) -> str:
        with self.process as process:
            return process.communicate()[0]

    def is_all_gone(self) -> bool:
        return not states_of(self.mark)


needs_processes = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="this system does not show processes as files"
)


@needs_processes
def test_over_its_limit_a_test_ends_with_its_children_and_the_others_go_on_with_signals_that_whoever_began_ignored(
    tmp_path: Path,
) -> None:
    session = Session(tmp_path, NEVER_ENDS + INTERRUPTED, "-n", "1", before="trap '' INT HUP TERM QUIT; ")

    said = session.said()

    assert "2 failed, 5 passed" in said, said
    assert "in test_a" in said
    assert "TimeoutError" in said
    wait_until(session.is_all_gone, "its child is gone")


@needs_processes
def test_of_a_test_that_failed_nothing_goes_on_and_of_a_session_that_is_killed_neither(tmp_path: Path) -> None:
    session = Session(tmp_path, FAILS, "-s")
    with session.process as process:
        heard = ""
        while "GOES ON" not in heard:
            heard += process.stdout.read(1)
        wait_until(lambda: len(states_of(session.mark)) == 1, "the session alone is there")
        process.kill()

    wait_until(session.is_all_gone, "all are gone")
