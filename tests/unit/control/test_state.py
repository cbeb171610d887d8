import asyncio
import errno
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hive_mind.control.state import REVISIONS_MAX, FleetFolder, FleetLocked, FleetState, Restarts, fleet_lock, fleets
from hive_mind.errors import InvalidInput
from hive_mind.runtime.workers.config import HiveConfig
from tests.builders import run
from tests.servers.forked import Forked
from tests.unit.control.fake_platform import played

STATE = FleetState(
    generation=3,
    hive=HiveConfig("team.g3", "federated", {"x": ("ada",), "y": ("bob",)}),
    allocation={"ada": {"ada": ("ada",)}, "bob": {"bob": ("bob",)}},
    restarts={"ada": Restarts(2, 5, 7, 1)},
    folders={1: "/a", 12: "/b"},
    agents=("ada", "bob"),
)


def test_a_state_comes_back_as_it_was_kept_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    folder = FleetFolder(tmp_path, "team").make()
    assert (folder.state(), folder.exists, fleets(tmp_path)) == (FleetState(), False, ())
    folder.keep(STATE)
    assert (folder.state(), folder.exists, fleets(tmp_path)) == (STATE, True, ("team",))
    with pytest.raises(InvalidInput, match="no manifest was applied"):
        folder.manifest_text()
    folder.keep_manifest("text", 1)
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.path.rglob("*") if path.is_file()} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.path.rglob("*") if path.is_dir()} == {0o700}


def test_a_damaged_state_is_told_and_not_taken_for_a_new_fleet(tmp_path: Path) -> None:
    folder = FleetFolder(tmp_path, "team").make()
    (folder.path / "state.json").write_text('{"generation": "three"}')
    with pytest.raises(InvalidInput, match=r"state.json can't be read .* restore it"):
        folder.state()


@pytest.mark.parametrize("name", ["", "..", ".hidden", "a/b", "a\\b", "/etc", "a\nb", "x" * 65, "-x", "ä", "a\0"])
def test_a_name_can_not_leave_the_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="can't be used"):
        FleetFolder(tmp_path, name)
    folder = FleetFolder(tmp_path, "team")
    for path in (folder.agent, folder.hive):
        with pytest.raises(InvalidInput, match="can't be used"):
            path(name)


def test_a_write_that_fails_leaves_the_former_state_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = FleetFolder(tmp_path, "team").make()
    folder.keep(STATE)

    def full(_descriptor: int) -> None:
        raise OSError(28, "no space left")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="no space") as error:
            folder.keep(FleetState())

    assert error.value.filename == str(folder.path / "state.json")
    assert folder.state() == STATE
    assert [path.name for path in folder.path.iterdir() if path.is_file()] == ["state.json"]


def test_the_last_ten_revisions_are_kept(tmp_path: Path) -> None:
    folder = FleetFolder(tmp_path, "team").make()
    for number in range(1, 13):
        folder.keep_manifest(f"manifest {number}", number)

    assert folder.kept_revisions() == tuple(range(3, 13))
    assert len(folder.kept_revisions()) == REVISIONS_MAX
    assert (folder.manifest_text(), folder.manifest_text(3)) == ("manifest 12", "manifest 3")
    with pytest.raises(InvalidInput, match="no revision 2; kept: 3, 4"):
        folder.manifest_text(2)
    folder._revision(3).write_bytes(b"manifest \xff")
    assert folder.manifest_text(3) == "manifest \N{REPLACEMENT CHARACTER}"


def test_the_lock_names_the_process_that_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    program = (
        "import asyncio, sys, pathlib\n"
        "from hive_mind.control.state import fleet_lock\n"
        "async def hold():\n"
        "    async with fleet_lock(pathlib.Path(sys.argv[1]), 'team', 0.0):\n"
        "        print('held', flush=True); sys.stdin.read()\n"
        "asyncio.run(hold())\n"
    )
    with Forked([sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"

        with pytest.raises(FleetLocked, match=f"fleet 'team' is being changed by process {holder.pid}:") as refused:
            run(taken(path))
        assert refused.value.holder_pid == holder.pid
        holder.kill()

    # Nobody holds it any more, whatever the file says.
    run(taken(path))
    run(taken(path))


async def taken(path: Path) -> None:
    async with fleet_lock(path, "team", 0.0):
        pass


@played
async def test_a_disk_without_room_for_a_note_keeps_nobody_from_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int, _body: bytes, _at: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    async with fleet_lock(tmp_path / "lock", "team", 0.0):
        with pytest.raises(FleetLocked, match="by another process"):
            async with fleet_lock(tmp_path / "lock", "team", 0.0):
                pass


@played
async def test_two_in_one_process_do_not_share_the_lock(tmp_path: Path) -> None:
    async with fleet_lock(tmp_path / "lock", "team", 0.0):
        with pytest.raises(FleetLocked):
            async with fleet_lock(tmp_path / "lock", "team", 0.2):
                pass


@played
async def test_a_lock_that_was_taken_away_lets_nobody_in_beside_the_holder_of_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "team" / "lock"

    async def waits() -> None:
        async with fleet_lock(path, "team", 1.0):
            pass

    async with fleet_lock(path, "team", 0.0):
        waiting = asyncio.create_task(waits())
        await asyncio.sleep(0.2)
        shutil.rmtree(path.parent)
        async with fleet_lock(path, "team", 0.0):
            await asyncio.sleep(0.2)
            assert not waiting.done()
            with pytest.raises(FleetLocked):
                await taken(path)
    await waiting
