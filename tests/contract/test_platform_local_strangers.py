"""Processes of this machine that are somebody else's, whatever a file says of them, are never signalled."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from hive_mind.errors import BackendTimeout
from tests.contract.platforms import STOP_S, Ground, kill
from tests.servers.children import Child

_HOLDER = """\
import fcntl, os, sys
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def stranger() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that is none of ours. It ends with this test."""
    with Child([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as running:
        yield running
        running.kill()


@contextmanager
def holding(lock: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that holds a lock and says nothing of itself."""
    with Child([sys.executable, "-c", _HOLDER, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield holder
        holder.kill()


def claim(ground: Ground, process: str, pid: int, started: float) -> None:
    """A contact that says a process is this one."""
    contact = {"process": process, "pid": pid, "started": started, "port": 9, "token": "t", "config": "c"}
    path = ground.folder / "run" / f"{process}.json"
    path.unlink(missing_ok=True)
    path.write_text(json.dumps(contact))


@pytest.mark.parametrize("file", ["ada.json", "ada.begun"])
async def test_a_number_that_belongs_to_somebody_else_by_now_is_never_signalled(
    ground: Ground, stranger: "subprocess.Popen[bytes]", file: str
) -> None:
    kill((await ground.start("ada")).pid)
    await ground.until("ada", lambda one: not one.is_alive)
    recycled = psutil.Process(stranger.pid).create_time() - 100.0
    if file == "ada.json":
        claim(ground, "ada", stranger.pid, recycled)
    else:
        (ground.folder / "run" / file).write_text(json.dumps([stranger.pid, recycled]))

    assert not (await ground.platform.observe())["ada"].is_alive
    await ground.platform.stop("ada", 0.5)

    assert stranger.poll() is None
    assert (await ground.start("ada")).pid != stranger.pid


@pytest.mark.parametrize("pid", [-1, 0, 1, 1 << 70])
async def test_numbers_that_stand_for_many_or_for_none_are_never_signalled(ground: Ground, pid: int) -> None:
    ground.folder.mkdir(parents=True, exist_ok=True)
    claim(ground, "ada", pid, 0.0)
    await ground.platform.stop("ada", 0.5)
    assert await ground.platform.observe() == {}


async def test_this_very_program_is_never_signalled(ground: Ground) -> None:
    claim(ground, "ada", os.getpid(), psutil.Process().create_time())
    await ground.platform.stop("ada", 0.5)
    assert await ground.platform.observe() == {}


async def test_somebody_who_only_holds_the_lock_is_left_alone_and_told(ground: Ground) -> None:
    await ground.begin("ada")
    await ground.platform.stop("ada", STOP_S)
    with holding(ground.folder / "run" / "ada.lock") as holder:
        (ground.folder / "config" / "ada.json").write_bytes(ground.config("ada").packed())

        found = (await ground.platform.observe())["ada"]
        assert (found.is_alive, found.is_hidden, found.pid) == (True, True, 0)
        with pytest.raises(BackendTimeout, match="left alone"):
            await ground.platform.stop("ada", 0.2)
        assert holder.poll() is None
