"""A storm that is killed itself leaves no process behind: no agent, not even one that stands still, and no broker."""

import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.children import Child, states_of
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="this system does not show processes as files"),
]


def test_a_storm_that_is_killed_takes_everything_with_it():
    mark = f"HIVE_TEST_MARK={secrets.token_hex(8)}"
    arguments = ["--rounds", "1", "--only", "pause", "--pause-s", "600", "--seed", "1"]
    environment = os.environ | dict([mark.split("=")])
    with Child([sys.executable, "-m", "tests.chaos.storm", *arguments], env=environment, stdout=subprocess.DEVNULL) as one:
        try:
            wait_until(lambda: "T" in states_of(mark), "an agent stands still", 90)
            assert len(states_of(mark)) >= 6, "the storm, its server, and four agents"
        finally:
            one.send_signal(signal.SIGKILL)

    wait_until(lambda: not states_of(mark), "all are gone", 60)


_GUARDED = """
import subprocess, sys
from pathlib import Path
from tests.servers.home_guard import HomeGuard
guard = HomeGuard(Path(sys.argv[1]))
subprocess.run([sys.executable, "-m", "hive_mind", "serve", "--home", sys.argv[1], "--embed", "none"], check=True)
sys.stdin.read()
"""


def test_a_test_that_is_killed_takes_the_process_with_it_that_keeps_its_memory_open(tmp_path: Path):
    mark = f"HIVE_TEST_MARK={secrets.token_hex(8)}"
    environment = os.environ | dict([mark.split("=")])
    arguments = [sys.executable, "-c", _GUARDED, str(tmp_path / "home")]
    with Child(arguments, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as one:
        try:
            assert one.stdout
            assert b"agent default of fleet resident" in one.stdout.readline()
            assert len(states_of(mark)) >= 3, "the test, its guard, and the process that has the memory open"
        finally:
            one.send_signal(signal.SIGKILL)

    wait_until(lambda: not states_of(mark), "all are gone", 60)
