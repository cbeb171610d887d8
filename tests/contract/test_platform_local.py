"""Processes of this machine, difficult ones too: killed, deaf, hanging, half started, and those that are somebody else's."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGSTOP

import psutil
import pytest

from hive_mind.control import local
from hive_mind.control.platform import Platform
from hive_mind.control.process_files import prepare
from hive_mind.errors import BackendRejected, BackendTimeout, BackendUnavailable, InvalidInput
from tests.contract.platforms import FAKE, PATIENCE_S, STOP_S, Ground, play

_HOLDER = """\
import fcntl, os, sys
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    found = Ground(tmp_path / "home", "local", FAKE)
    prepare(found.folder)
    return found


@pytest.fixture
def stranger() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that is none of ours. It ends with this test."""
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as running:
        yield running
        running.kill()


@contextmanager
def holding(lock: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that holds a lock and says nothing of itself."""
    command = [sys.executable, "-c", _HOLDER, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield holder
        holder.kill()


def contact_of(ground: Ground, process: str) -> dict[str, object]:
    found: dict[str, object] = json.loads((ground.folder / "run" / f"{process}.json").read_bytes())
    return found


def claim(ground: Ground, process: str, pid: int, started: float) -> None:
    """A contact that says a process is this one."""
    contact = {"process": process, "pid": pid, "started": started, "port": 9, "token": "t", "config": "c"}
    path = ground.folder / "run" / f"{process}.json"
    path.unlink(missing_ok=True)
    path.write_text(json.dumps(contact))


def kill(pid: int) -> None:
    psutil.Process(pid).kill()


# ── what outlives what ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_process_outlives_the_program_that_started_it_and_the_next_one_ends_it(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        found = await ground.start("ada")
        await ground.platform.close()

        next_one = await ground.open()

        assert (await next_one.observe())["ada"].pid == found.pid
        await next_one.stop("ada", STOP_S)
        assert not psutil.pid_exists(found.pid) or psutil.Process(found.pid).status() == psutil.STATUS_ZOMBIE
        assert [path.name for path in ground.folder.rglob("*ada*") if path.parent.name != "logs"] == ["ada.lock"]
        assert "ended well" in (ground.folder / "logs" / "ada.log").read_text()

    play(story, ground)


def test_it_has_no_terminal_and_a_session_of_its_own(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        found = await ground.start("ada")

        assert os.getsid(found.pid) == found.pid
        assert psutil.Process(found.pid).terminal() is None

    play(story, ground)


def test_who_was_killed_is_seen_as_dead_with_the_reason_and_can_be_started_again(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
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
        again = await ground.start("ada")
        assert again.pid != first.pid

    play(story, ground)


def test_who_crashed_is_seen_with_its_last_words(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        await ground.begin("ada", FAKE_CRASHES="the disk is full")

        dead = await ground.until("ada", lambda one: "exit code" in one.error)

        assert dead.error == "it is not running (exit code 1); the last it said: RuntimeError: the disk is full"
        told = [line async for line in ground.platform.logs("ada", follow=False, lines=1)]
        assert told == ["RuntimeError: the disk is full"]

    play(story, ground)


def test_a_reader_of_logs_hears_what_comes(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        await ground.start("ada")
        heard: list[str] = []

        async for line in ground.platform.logs("ada", follow=True, lines=1):
            heard.append(line)
            if len(heard) == 1:
                await ground.platform.stop("ada", STOP_S)
            else:
                break

        assert heard == ["began", "ended well"]

    play(story, ground)


# ── one of each name ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_two_of_one_name_that_are_begun_all_the_same_end_up_as_one(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        await ground.begin("ada", FAKE_IS_SLOW="0.5")
        # As if the program had died before it could note whom it began; and this other one was told nothing.
        (ground.folder / "run" / "ada.begun").unlink()
        other = await ground.open()

        await other.start(ground.config("ada", FAKE_IS_SLOW="0.5"))

        found = await ground.until("ada", lambda one: one.status is not None)
        async with asyncio.timeout(PATIENCE_S):
            while ground.pids() != [found.pid]:  # noqa: ASYNC110 - the other one tells nobody
                await asyncio.sleep(0.02)
        assert (await other.observe())["ada"].pid == found.pid

    play(story, ground)


def test_many_starts_of_one_name_at_once_run_one(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        await asyncio.gather(*(ground.platform.start(ground.config("ada")) for _ in range(5)))

        found = await ground.until("ada", lambda one: one.status is not None)
        assert (ground.folder / "logs" / "ada.log").read_text().splitlines() == ["began"]
        assert found.error == ""

    play(story, ground)


# ── half started ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_one_that_has_just_begun_is_there_and_has_nothing_to_say(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        await ground.begin("ada", FAKE_IS_SLOW="600")

        found = (await ground.platform.observe())["ada"]

        assert (found.is_alive, found.status, found.error) == (True, None, "")
        with pytest.raises(BackendUnavailable, match="just begun"):
            await ground.platform.call("ada", "ada", "stats")
        await ground.platform.stop("ada", 0.0)
        assert await ground.platform.observe() == {}

    play(story, ground)


def test_one_whose_starter_died_before_it_could_note_it_is_found_by_its_lock(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        await ground.begin("ada", FAKE_IS_SLOW="600")
        pid = (await ground.platform.observe())["ada"].pid
        (ground.folder / "run" / "ada.begun").unlink()

        await ground.until("ada", lambda one: one.pid == pid)
        await ground.platform.start(ground.config("ada"))
        assert (await ground.platform.observe())["ada"].pid == pid
        await ground.platform.stop("ada", 0.0)
        assert not psutil.pid_exists(pid)

    play(story, ground)


def test_a_clock_that_was_set_makes_no_process_a_stranger(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        found = await ground.start("ada")
        known = contact_of(ground, "ada")
        (ground.folder / "run" / "ada.begun").unlink()
        changed = known | {"started": found.started - 7200.0}
        (ground.folder / "run" / "ada.json").write_text(json.dumps(changed))

        assert (await ground.platform.observe())["ada"].status is not None
        await ground.platform.stop("ada", STOP_S)
        assert await ground.platform.observe() == {}

    play(story, ground)


def test_a_stop_that_was_interrupted_is_finished_by_the_next(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        found = await ground.start("ada")
        kill(found.pid)

        assert list(await ground.platform.observe()) == ["ada"]
        await ground.platform.stop("ada", STOP_S)
        assert await ground.platform.observe() == {}

    play(story, ground)


# ── difficult ones ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_one_that_does_not_listen_is_ended_when_its_time_is_over_and_not_before(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        found = await ground.start("ada", FAKE_IGNORES_TERM="1")
        began = time.monotonic()

        await ground.platform.stop("ada", 1.0)

        assert time.monotonic() - began >= 1.0
        assert await ground.platform.observe() == {}
        assert not psutil.pid_exists(found.pid) or psutil.Process(found.pid).status() == psutil.STATUS_ZOMBIE

    play(story, ground)


def test_one_that_hangs_is_seen_as_such_soon_and_keeps_nobody_else_waiting(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        await ground.start("ada")
        await ground.begin("ben", FAKE_HANGS="1")
        await ground.until("ben", lambda one: bool(one.error))

        seen = await ground.platform.observe()

        assert seen["ada"].status is not None
        assert (seen["ben"].is_alive, seen["ben"].status) == (True, None)
        assert "no answer in 0.8 s" in seen["ben"].error
        assert seen["ben"].memory_bytes > 0

    play(story, ground)


def test_one_that_is_paused_can_still_finish(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        found = await ground.start("ada")
        psutil.Process(found.pid).send_signal(SIGSTOP)

        # A signal is on its way for a moment.
        await ground.until("ada", lambda one: "no answer" in one.error)
        await ground.platform.stop("ada", STOP_S)
        assert "ended well" in (ground.folder / "logs" / "ada.log").read_text()

    play(story, ground)


def test_one_that_runs_something_else_than_it_is_told_is_seen_as_that(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        await ground.start("ada")
        path = ground.folder / "config" / "ada.json"
        path.write_bytes(path.read_bytes() + b"\n")

        assert (await ground.platform.observe())["ada"].config is None

        path.write_bytes(b"{")
        assert (await ground.platform.observe())["ada"].is_alive

    play(story, ground)


# ── somebody else's ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("file", ["ada.json", "ada.begun"])
def test_a_number_that_belongs_to_somebody_else_by_now_is_never_signalled(
    ground: Ground, stranger: "subprocess.Popen[bytes]", file: str
) -> None:
    async def story(ground: Ground) -> None:
        first = await ground.start("ada")
        kill(first.pid)
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

    play(story, ground)


@pytest.mark.parametrize("pid", [-1, 0, 1, 1 << 70])
def test_numbers_that_stand_for_many_or_for_none_are_never_signalled(ground: Ground, pid: int) -> None:
    async def story(ground: Ground) -> None:
        ground.folder.mkdir(parents=True, exist_ok=True)
        claim(ground, "ada", pid, 0.0)

        await ground.platform.stop("ada", 0.5)

        assert await ground.platform.observe() == {}

    play(story, ground)


def test_this_very_program_is_never_signalled(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        claim(ground, "ada", os.getpid(), psutil.Process().create_time())

        await ground.platform.stop("ada", 0.5)

        assert await ground.platform.observe() == {}

    play(story, ground)


def test_somebody_who_only_holds_the_lock_is_left_alone_and_told(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        await ground.begin("ada")
        await ground.platform.stop("ada", STOP_S)
        with holding(ground.folder / "run" / "ada.lock") as holder:
            (ground.folder / "config" / "ada.json").write_bytes(ground.config("ada").packed())

            found = (await ground.platform.observe())["ada"]
            assert (found.is_alive, found.is_hidden, found.pid) == (True, True, 0)
            with pytest.raises(BackendTimeout, match="left alone"):
                await ground.platform.stop("ada", 0.2)
            assert holder.poll() is None

    play(story, ground)


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_nobody_else_can_read_what_it_is_told_and_how_to_reach_it(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        ground.folder.chmod(0o755)
        await (await ground.open()).close()
        await ground.start("ada")

        modes = {path: path.stat().st_mode & 0o777 for path in (ground.folder, *ground.folder.rglob("*"))}

        folders = {path for path in modes if path.is_dir()}
        assert {modes[path] for path in folders} == {0o700}
        assert {modes[path] & 0o077 for path in modes if path.suffix in (".json", ".lock", ".begun", ".out")} == {0}

    play(story, ground)


def test_links_in_its_folders_lead_nowhere(ground: Ground, tmp_path: Path) -> None:
    async def story(ground: Ground) -> None:
        found = await ground.start("ada")
        aside = tmp_path / "aside.json"
        aside.write_text(json.dumps(contact_of(ground, "ada")))
        for name in ("config/ben.json", "run/ben.json", "logs/ben.out", "logs/ben.log"):
            (ground.folder / name).symlink_to(aside)

        before = aside.read_bytes()
        assert not (await ground.platform.observe()).get("ben", None)
        assert [line async for line in ground.platform.logs("ben", follow=False, lines=9)] == []
        await ground.platform.stop("ben", 0.2)
        (ground.folder / "logs" / "ben.log").unlink()
        await ground.start("ben")

        assert aside.read_bytes() == before
        assert (await ground.platform.observe())["ada"].pid == found.pid

    play(story, ground)


def test_who_only_looks_leaves_nothing_behind(tmp_path: Path) -> None:
    async def work() -> None:
        platform = await local.open(tmp_path / "home" / "fleets" / "town", tmp_path / "home", FAKE)
        assert await platform.observe() == {}
        await platform.close()

    asyncio.run(work())

    assert not (tmp_path / "home").exists()


def test_what_a_process_writes_is_for_its_owner_alone(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        await ground.start("ada")
        assert {path.stat().st_mode & 0o077 for path in ground.folder.rglob("*")} == {0}

    play(story, ground)


@pytest.mark.parametrize("part", ["run", "config", "logs"])
def test_a_folder_that_is_a_link_is_refused(ground: Ground, tmp_path: Path, part: str) -> None:
    async def story(ground: Ground) -> None:
        shutil.rmtree(ground.folder / part)
        (tmp_path / "elsewhere").mkdir()
        (ground.folder / part).symlink_to(tmp_path / "elsewhere")

        with pytest.raises(BackendRejected, match="link"):
            await ground.platform.start(ground.config("ada"))

        assert list((tmp_path / "elsewhere").iterdir()) == []

    play(story, ground)


def test_variables_reach_the_process_and_references_stay_out_of_files(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOWN_SECRET", "s3cret")

    async def story(ground: Ground) -> None:
        found = await ground.start("ada", KEY="${env:TOWN_SECRET}")

        assert psutil.Process(found.pid).environ()["KEY"] == "s3cret"
        assert all(b"s3cret" not in path.read_bytes() for path in ground.folder.rglob("*") if path.is_file())

    play(story, ground)


def test_a_reference_that_stands_for_nothing_is_told_and_nothing_is_started(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        with pytest.raises(InvalidInput, match="NOBODY_SET_THIS"):
            await ground.platform.start(ground.config("ada", KEY="${env:NOBODY_SET_THIS}"))

        assert await ground.platform.observe() == {}

    play(story, ground)


def test_a_program_that_can_not_be_run_is_told(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        broken: Platform = await local.open(ground.folder, ground.home, ("/no/such/program",))

        with pytest.raises(BackendUnavailable, match="can't be started"):
            await broken.start(ground.config("ada"))

        assert not (await broken.observe())["ada"].is_alive
        await broken.close()

    play(story, ground)


def test_a_hundred_are_seen_within_a_second(ground: Ground) -> None:
    async def story(ground: Ground) -> None:
        await ground.start("ada")
        known, told = contact_of(ground, "ada"), (ground.folder / "config" / "ada.json").read_bytes()
        for number in range(99):
            (ground.folder / "run" / f"n-{number}.json").write_text(json.dumps(known | {"process": f"n-{number}"}))
            (ground.folder / "config" / f"n-{number}.json").write_bytes(told)

        times_s, answered = [], []
        for _ in range(5):
            began = time.monotonic()
            seen = await ground.platform.observe(patience_s=PATIENCE_S)
            times_s.append(time.monotonic() - began)
            answered.append(sum(one.status is not None for one in seen.values()))

        assert answered == [100] * 5
        assert min(times_s) < 1.0, times_s

    play(story, ground)
