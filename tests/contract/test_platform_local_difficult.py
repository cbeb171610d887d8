"""Difficult processes of this machine: half started, deaf, hanging, paused, and one that runs something else."""

import json
import time
from signal import SIGSTOP

import psutil
import pytest

from hive_mind.errors import BackendUnavailable
from tests.contract.platforms import STOP_S, Ground, contact_of, kill


async def test_one_that_has_just_begun_is_there_and_has_nothing_to_say(ground: Ground) -> None:
    await ground.begin("ada", FAKE_IS_SLOW="600")
    found = (await ground.platform.observe())["ada"]

    assert (found.is_alive, found.status, found.error) == (True, None, "")
    with pytest.raises(BackendUnavailable, match="just begun"):
        await ground.platform.call("ada", "ada", "stats")
    await ground.platform.stop("ada", 0.0)
    assert await ground.platform.observe() == {}


async def test_one_whose_starter_died_before_it_could_note_it_is_found_by_its_lock(ground: Ground) -> None:
    await ground.begin("ada", FAKE_IS_SLOW="600")
    pid = (await ground.platform.observe())["ada"].pid
    (ground.folder / "run" / "ada.begun").unlink()

    await ground.until("ada", lambda one: one.pid == pid)
    await ground.platform.start(ground.config("ada"))
    assert (await ground.platform.observe())["ada"].pid == pid
    await ground.platform.stop("ada", 0.0)
    assert not psutil.pid_exists(pid)


async def test_a_clock_that_was_set_makes_no_process_a_stranger(ground: Ground) -> None:
    found = await ground.start("ada")
    known = contact_of(ground, "ada")
    (ground.folder / "run" / "ada.begun").unlink()
    changed = known | {"started": found.started - 7200.0}
    (ground.folder / "run" / "ada.json").write_text(json.dumps(changed))

    assert (await ground.platform.observe())["ada"].status is not None
    await ground.platform.stop("ada", STOP_S)
    assert await ground.platform.observe() == {}


async def test_one_that_began_after_the_last_report_is_not_asked_where_that_one_listened(ground: Ground) -> None:
    found = await ground.start("ada")
    gone = contact_of(ground, "ada") | {"pid": 2**22 + 1}
    (ground.folder / "run" / "ada.json").write_text(json.dumps(gone))

    seen = (await ground.platform.observe())["ada"]

    assert (seen.pid, seen.status, seen.error) == (found.pid, None, "")


async def test_one_that_was_killed_from_outside_is_listed_until_it_is_stopped(ground: Ground) -> None:
    kill((await ground.start("ada")).pid)
    assert list(await ground.platform.observe()) == ["ada"]
    await ground.platform.stop("ada", STOP_S)
    assert await ground.platform.observe() == {}


async def test_one_that_does_not_listen_is_ended_when_its_time_is_over_and_not_before(ground: Ground) -> None:
    found = await ground.start("ada", FAKE_IGNORES_TERM="1")
    began = time.monotonic()

    await ground.platform.stop("ada", 1.0)

    assert time.monotonic() - began >= 1.0
    assert await ground.platform.observe() == {}
    assert not psutil.pid_exists(found.pid) or psutil.Process(found.pid).status() == psutil.STATUS_ZOMBIE


async def test_one_that_hangs_is_seen_as_such_soon_and_keeps_nobody_else_waiting(ground: Ground) -> None:
    await ground.start("ada")
    await ground.begin("ben", FAKE_HANGS="1")
    await ground.until("ben", lambda one: bool(one.error))

    seen = await ground.platform.observe()

    assert seen["ada"].status is not None
    assert (seen["ben"].is_alive, seen["ben"].status) == (True, None)
    assert "no answer in 0.8 s" in seen["ben"].error
    assert seen["ben"].memory_bytes > 0


async def test_one_that_is_paused_can_still_finish(ground: Ground) -> None:
    psutil.Process((await ground.start("ada")).pid).send_signal(SIGSTOP)

    # A signal is on its way for a moment.
    await ground.until("ada", lambda one: "no answer" in one.error)
    await ground.platform.stop("ada", STOP_S)
    assert "ended well" in (ground.folder / "logs" / "ada.log").read_text()


async def test_one_that_runs_something_else_than_it_is_told_is_seen_as_that(ground: Ground) -> None:
    await ground.start("ada")
    path = ground.folder / "config" / "ada.json"
    path.write_bytes(path.read_bytes() + b"\n")

    assert (await ground.platform.observe())["ada"].config is None

    path.write_bytes(b"{")
    assert (await ground.platform.observe())["ada"].is_alive
