"""A fleet inside another process is neither taken for one that does not run nor touched from here."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_mind.control.platforms import inprocess
from hive_mind.errors import BackendUnavailable
from tests.contract.platforms import Ground
from tests.servers.children import Child

_HOLDER = """\
import fcntl, os, sys
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX)
os.write(lock, b"%d" % os.getpid())
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that runs the worker `ada` in itself."""
    run = tmp_path / "fleets" / "town" / "run"
    run.mkdir(parents=True)
    command = [sys.executable, "-c", _HOLDER, str(run / "ada.lock")]
    with Child(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield holder
        holder.kill()


async def test_what_runs_inside_another_process_is_seen_and_left_alone(tmp_path: Path, other: "subprocess.Popen[bytes]") -> None:
    ground = Ground(tmp_path, "inprocess")
    platform = await inprocess.open(ground.folder, tmp_path)
    found = (await platform.observe())["ada"]
    assert (found.pid, found.is_alive, found.status) == (other.pid, True, None)
    assert "end that one first" in found.error
    with pytest.raises(BackendUnavailable, match=f"inside process {other.pid}"):
        await platform.start(ground.config("ada"))
    with pytest.raises(BackendUnavailable, match=f"inside process {other.pid}"):
        await platform.stop("ada", 1.0)

    other.kill()
    other.wait()
    assert await platform.observe() == {}
    await platform.start(ground.config("ada"))
    await platform.close()
