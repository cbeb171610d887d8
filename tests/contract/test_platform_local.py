"""Processes of this machine: they outlive who started them, are seen when they end, and there is one of each name."""

import asyncio
import fcntl
import json
import os
from contextlib import ExitStack

import psutil
import pytest

from hive_mind.control.platforms import Platform, local
from hive_mind.errors import BackendUnavailable
from tests.contract.platforms import PATIENCE_S, STOP_S, Ground, contact_of, kill
from tests.waiting import until


async def test_a_process_outlives_the_program_that_started_it_and_the_next_one_ends_it(ground: Ground) -> None:
    found = await ground.start("ada")
    await ground.platform.close()

    next_one = await ground.open()

    assert (await next_one.observe())["ada"].pid == found.pid
    await next_one.stop("ada", STOP_S)
    assert not psutil.pid_exists(found.pid) or psutil.Process(found.pid).status() == psutil.STATUS_ZOMBIE
    assert [path.name for path in ground.folder.rglob("*ada*") if path.parent.name != "logs"] == ["ada.lock"]
    assert "ended well" in (ground.folder / "logs" / "ada.log").read_text()


async def test_it_has_no_terminal_and_a_session_of_its_own(ground: Ground) -> None:
    found = await ground.start("ada")
    assert os.getsid(found.pid) == found.pid
    assert psutil.Process(found.pid).terminal() is None


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
