"""Which process is meant, also when numbers are given out again."""

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from signal import SIGKILL, SIGTERM

import psutil
import pytest
from msgspec.structs import replace

from hive_mind.runtime import process_identity
from hive_mind.runtime.process_identity import Identity, Use, command_of, identity_of, is_running, send, use_of
from hive_mind.safe_files import is_locked
from tests.servers.children import Child

Running = subprocess.Popen[bytes]


@pytest.fixture
def other() -> Iterator[Running]:
    """Another process, which ends with this test."""
    program = "import sys; print(flush=True); sys.stdin.read()"
    with Child([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        # Before that it may still be a copy of this process, or nearly nothing.
        assert running.stdout is not None
        running.stdout.readline()
        yield running
        running.kill()


def known(pid: int) -> Identity:
    found = identity_of(pid)
    assert found is not None
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="a system call by its number")
def test_a_process_runs_until_its_last_thread_has_ended() -> None:
    # The first thread alone ends, as it does in a process that is killed while another one waits for a disk.
    program = "import ctypes, sys, threading; threading.Thread(target=sys.stdin.read).start(); ctypes.CDLL(None).syscall(%d, 0)"
    number = {"x86_64": 60, "aarch64": 93}[os.uname().machine]
    with Child([sys.executable, "-c", program % number], stdin=subprocess.PIPE) as running:
        one = known(running.pid)
        while psutil.Process(running.pid).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        assert is_running(one)
        running.kill()
        while is_running(one):
            time.sleep(0.01)


def test_a_process_is_known_by_its_number_and_its_start_and_says_what_it_uses(other: Running) -> None:
    one = known(other.pid)
    assert is_running(one)
    assert one.started == psutil.Process(other.pid).create_time()
    assert command_of(one)[0] == sys.executable
    assert use_of(one).memory_bytes > 1 << 20
    assert use_of(one).cpu_s >= 0


def test_the_command_of_one_just_begun_is_waited_for_and_not_for_ever(other: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    one, commands = known(other.pid), iter([[], [], ["hive-mind", "agent"]])
    monkeypatch.setattr(psutil.Process, "cmdline", lambda _: next(commands))
    assert command_of(one) == ["hive-mind", "agent"]
    monkeypatch.setattr(process_identity, "_LOADED_WITHIN_S", 0.01)
    monkeypatch.setattr(psutil.Process, "cmdline", lambda _: [])
    assert command_of(one) == []


def test_the_same_number_with_another_start_is_somebody_else(other: Running) -> None:
    recycled = replace(known(other.pid), started=known(other.pid).started - 5.0)
    assert not is_running(recycled)
    assert not send(recycled, SIGKILL)
    assert other.poll() is None
    assert (use_of(recycled), command_of(recycled)) == (Use(), [])


@pytest.mark.parametrize("has_descriptors", [True, False])
def test_a_signal_reaches_the_one_it_is_meant_for_also_without_descriptors_of_processes(
    other: Running, monkeypatch: pytest.MonkeyPatch, has_descriptors: bool
) -> None:
    if not has_descriptors:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    one = known(other.pid)

    assert not send(replace(one, started=one.started - 5.0), SIGKILL)
    assert send(one, SIGTERM)
    assert other.wait(60) == -SIGTERM
    assert not send(one, SIGTERM)


def test_one_that_ended_is_not_there_even_if_nobody_took_note(other: Running) -> None:
    one = known(other.pid)
    os.kill(other.pid, SIGKILL)
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)

    assert psutil.Process(other.pid).status() == psutil.STATUS_ZOMBIE
    assert not is_running(one)
    assert identity_of(other.pid) is None
    assert not send(one, SIGTERM)


@pytest.mark.parametrize(
    "pid", [-1, 0, 1, os.getpid(), 1 << 40, 1 << 80], ids=["all", "none", "init", "itself", "too large", "absurd"]
)
def test_some_numbers_are_nobody_that_may_be_signalled(pid: int) -> None:
    assert identity_of(pid) is None
    assert not is_running(Identity(pid, 0.0))
    assert not send(Identity(pid, 0.0), SIGTERM)


def test_a_lock_is_seen_as_long_as_it_is_held(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_locked(path)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    assert not is_locked(path)

    fcntl.flock(descriptor, fcntl.LOCK_EX)

    assert is_locked(path)
    (tmp_path / "link").symlink_to(path)
    assert not is_locked(tmp_path / "link")
    os.close(descriptor)
    assert not is_locked(path)
