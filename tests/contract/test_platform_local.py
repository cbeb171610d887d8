"""Processes of this machine: they outlive who started them, are seen when they end, and there is one of each name.

Processes of this machine that are somebody else's, whatever a file says of them, are never signalled.

Files of processes of this machine: for their owner alone, no links, and no secret that is only referred to.
"""

import asyncio
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from hive_mind.control.platforms import Platform, local
from hive_mind.control.processes.log_reading import last_lines
from hive_mind.errors import BackendRejected, BackendTimeout, BackendUnavailable, InvalidInput
from hive_mind.runtime.secrets import credentials_of
from tests.contract.platforms import FAKE, PATIENCE_S, STOP_S, Ground, contact_of, kill
from tests.servers.children import Child
from tests.waiting import until


async def test_a_process_outlives_the_program_that_started_it_and_the_next_one_ends_it(ground: Ground) -> None:
    found = await ground.start("ada")
    assert os.getsid(found.pid) == found.pid, "a session of its own"
    assert psutil.Process(found.pid).terminal() is None
    await ground.platform.close()

    next_one = await ground.open()

    assert (await next_one.observe())["ada"].pid == found.pid
    await next_one.stop("ada", STOP_S)
    assert not psutil.pid_exists(found.pid) or psutil.Process(found.pid).status() == psutil.STATUS_ZOMBIE
    assert [path.name for path in ground.folder.rglob("*ada*") if path.parent.name != "logs"] == ["ada.lock"]
    assert "ended well" in (ground.folder / "logs" / "ada.log").read_text()


async def test_who_was_killed_is_seen_as_dead_with_the_reason_and_can_be_started_again(ground: Ground) -> None:
    first = await ground.start("ada")
    kill(first.pid)

    dead = await ground.until("ada", lambda one: "SIGKILL" in one.error)

    assert not dead.is_alive
    assert dead.config == ground.config("ada")
    assert dead.status is None
    assert "not running (ended by SIGKILL)" in dead.error
    assert "began" in dead.error
    with pytest.raises(BackendUnavailable, match="not running: hive-mind rollout restart"):
        await ground.platform.call("ada", "ada", "stats")
    assert (await ground.start("ada")).pid != first.pid


async def test_who_crashed_is_seen_with_its_last_words(ground: Ground) -> None:
    await ground.begin("ada", FAKE_CRASHES="the disk is full")
    dead = await ground.until("ada", lambda one: "exit code" in one.error)
    assert dead.error == "it is not running (exit code 1); the last it said: RuntimeError: the disk is full"


async def test_two_of_one_name_that_are_begun_all_the_same_end_up_as_one(ground: Ground) -> None:
    await ground.begin("ada", FAKE_IS_SLOW="0.5")
    # As if the program had died before it could note whom it began; and this other one was told nothing.
    (ground.folder / "run" / "ada.begun").unlink()
    other = await ground.open()

    await other.start(ground.config("ada", FAKE_IS_SLOW="0.5"))

    found = await ground.until("ada", lambda one: one.status is not None)
    await until(lambda: ground.pids() == [found.pid])
    assert (await other.observe())["ada"].pid == found.pid


async def test_many_starts_of_one_name_at_once_run_one(ground: Ground) -> None:
    await asyncio.gather(*(ground.platform.start(ground.config("ada")) for _ in range(5)))
    found = await ground.until("ada", lambda one: one.status is not None)
    assert (ground.folder / "logs" / "ada.log").read_text().splitlines() == ["began"]
    assert found.error == ""


async def test_a_program_that_can_not_be_run_is_told(ground: Ground) -> None:
    broken: Platform = await local.open(ground.folder, ground.home, ("/no/such/program",))
    with pytest.raises(BackendUnavailable, match="can't be started"):
        await broken.start(ground.config("ada"))
    assert not (await broken.observe())["ada"].is_alive
    await broken.close()


async def test_a_hundred_are_seen_in_one_look(ground: Ground) -> None:
    await ground.start("ada")
    known, told = contact_of(ground, "ada"), (ground.folder / "config" / "ada.json").read_bytes()
    with ExitStack() as locked:
        for number in range(99):
            (ground.folder / "run" / f"n-{number}.json").write_text(json.dumps(known | {"process": f"n-{number}"}))
            (ground.folder / "config" / f"n-{number}.json").write_bytes(told)
            lock = locked.enter_context((ground.folder / "run" / f"n-{number}.lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)

        seen = await ground.platform.observe(patience_s=PATIENCE_S)

    assert sum(one.status is not None for one in seen.values()) == 100


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


async def test_this_very_program_and_numbers_that_stand_for_many_or_for_none_are_never_signalled(ground: Ground) -> None:
    ground.folder.mkdir(parents=True, exist_ok=True)
    for pid, started in ((-1, 0.0), (0, 0.0), (1, 0.0), (1 << 70, 0.0), (os.getpid(), psutil.Process().create_time())):
        claim(ground, "ada", pid, started)
        await ground.platform.stop("ada", 0.5)
        assert await ground.platform.observe() == {}, pid


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


async def test_nobody_else_can_read_what_it_is_told_and_how_to_reach_it(ground: Ground) -> None:
    ground.folder.chmod(0o755)
    await (await ground.open()).close()
    await ground.start("ada")

    modes = {path: path.stat().st_mode & 0o777 for path in (ground.folder, *ground.folder.rglob("*"))}

    assert {modes[path] for path in {path for path in modes if path.is_dir()}} == {0o700}
    assert {mode & 0o077 for mode in modes.values()} == {0}


async def test_links_in_its_folders_lead_nowhere(ground: Ground, tmp_path: Path) -> None:
    found = await ground.start("ada")
    aside = tmp_path / "aside.json"
    aside.write_text(json.dumps(contact_of(ground, "ada")))
    for name in ("config/ben.json", "run/ben.json", "logs/ben.out", "logs/ben.log"):
        (ground.folder / name).symlink_to(aside)

    before = aside.read_bytes()
    assert not (await ground.platform.observe()).get("ben", None)
    assert last_lines(ground.folder / "logs" / "ben.log", 9) == []
    await ground.platform.stop("ben", 0.2)
    (ground.folder / "logs" / "ben.log").unlink()
    await ground.start("ben")

    assert aside.read_bytes() == before
    assert (await ground.platform.observe())["ada"].pid == found.pid


async def test_who_only_looks_leaves_nothing_behind(tmp_path: Path) -> None:
    platform = await local.open(tmp_path / "home" / "fleets" / "town", tmp_path / "home", FAKE)
    assert await platform.observe() == {}
    await platform.close()
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("part", ["run", "config", "logs"])
async def test_a_folder_that_is_a_link_is_refused(ground: Ground, tmp_path: Path, part: str) -> None:
    shutil.rmtree(ground.folder / part)
    (tmp_path / "elsewhere").mkdir()
    (ground.folder / part).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(BackendRejected, match="link"):
        await ground.platform.start(ground.config("ada"))

    assert list((tmp_path / "elsewhere").iterdir()) == []


async def test_variables_reach_the_process_and_references_stay_out_of_files(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOWN_SECRET", "s3cret")
    assert psutil.Process((await ground.start("ada", KEY="${env:TOWN_SECRET}")).pid).environ()["KEY"] == "s3cret"
    assert all(b"s3cret" not in path.read_bytes() for path in ground.folder.rglob("*") if path.is_file())


async def test_a_credential_gets_into_the_process_and_not_into_what_others_see_of_it(ground: Ground) -> None:
    credentials_of(ground.home).set("tickets", "sw0rdfish-7")
    found = await ground.start("ada", KEY="<${credential:tickets}>", PLAIN="yes")

    seen = psutil.Process(found.pid).environ()
    assert (seen.get("KEY"), seen["PLAIN"]) == (None, "yes")
    assert not any("sw0rdfish-7" in text for text in (*seen.values(), *psutil.Process(found.pid).cmdline()))
    assert all(b"sw0rdfish-7" not in path.read_bytes() for path in ground.home.rglob("*") if path.is_file())


async def test_a_credential_or_a_reference_that_stands_for_nothing_is_told_and_nothing_is_started(ground: Ground) -> None:
    for reference, why in (
        ("credential:tickets", "hive-mind credentials set tickets"),
        ("env:NOBODY_SET_THIS", "NOBODY_SET_THIS"),
    ):
        with pytest.raises(InvalidInput, match=why):
            await ground.platform.start(ground.config("ada", KEY=f"${{{reference}}}"))
    assert await ground.platform.observe() == {}
