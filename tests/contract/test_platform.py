"""What every platform promises: to run what it is told, to say what it sees, and to end nothing but what it runs."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_mind.errors import BackendUnavailable, HiveError, InvalidInput
from tests.contract.platforms import STOP_S, Ground, opened_ground
from tests.loops import InLoop
from tests.servers.forked import workers_as_copies


@pytest.fixture(params=["inprocess", "local"])
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[InLoop]:
    with workers_as_copies():
        yield InLoop(lambda: opened_ground(Ground(tmp_path / "home", request.param)))


async def test_what_is_started_is_seen_with_what_it_was_told_and_starting_it_again_changes_nothing(ground: Ground) -> None:
    assert await ground.platform.observe() == {}

    found = await ground.start("ada")

    assert (found.is_alive, found.error, found.config) == (True, "", ground.config("ada"))
    assert found.status is not None
    assert (found.status.process, found.status.pid) == ("ada", found.pid)
    assert found.memory_bytes > 1 << 20
    assert found.cpu_s > 0
    assert found.started > 0

    await ground.platform.start(ground.config("ada"))
    again = await ground.until("ada", lambda one: one.status is not None)
    assert (again.pid, again.started, again.config) == (found.pid, found.started, found.config)


async def test_an_agent_answers_and_refuses_as_it_would_to_anybody(ground: Ground) -> None:
    await ground.start("ada")
    found = await ground.until("ada", lambda one: one.status is not None and one.status.is_ready)
    assert found.status is not None

    assert (await ground.platform.call("ada", "ada", "stats"))["facts"] == 0

    with pytest.raises(HiveError, match="ben"):
        await ground.platform.call("ada", "ben", "stats")
    with pytest.raises(HiveError, match="dance"):
        await ground.platform.call("ada", "ada", "dance")


async def test_what_is_stopped_is_no_more_and_may_be_stopped_and_started_again(ground: Ground) -> None:
    await ground.start("ada")
    await ground.start("ben")

    await ground.platform.stop("ada", STOP_S)

    assert list(await ground.platform.observe()) == ["ben"]
    await ground.platform.stop("ada", STOP_S)
    assert (await ground.start("ada")).is_alive
    assert list(await ground.platform.observe()) == ["ada", "ben"]


async def test_what_does_not_run_is_not_asked(ground: Ground) -> None:
    with pytest.raises(BackendUnavailable, match="not running"):
        await ground.platform.call("ada", "ada", "stats")
    with pytest.raises(BackendUnavailable, match="not running"):
        await ground.platform.leave("ada", STOP_S)


async def test_a_process_leaves_and_is_still_there(ground: Ground) -> None:
    await ground.start("ada")
    await ground.until("ada", lambda one: one.status is not None and one.status.is_ready)
    await ground.platform.leave("ada", STOP_S)
    assert (await ground.platform.observe())["ada"].is_alive


async def test_no_name_leads_out_of_the_folder(ground: Ground) -> None:
    before = sorted(str(path) for path in ground.home.rglob("*"))

    for name in ("", ".", "..", "../ada", "a/b", "/etc/passwd", "a\0b", "a\n", "-rf", "x" * 65):
        with pytest.raises(InvalidInput):
            await ground.platform.start(ground.config(name))
        with pytest.raises(InvalidInput):
            await ground.platform.stop(name, STOP_S)
        with pytest.raises(HiveError):
            await ground.platform.call(name, "ada", "stats")

    assert sorted(str(path) for path in ground.home.rglob("*")) == before


async def test_a_platform_that_is_closed_leaves_nothing_of_itself_behind(ground: Ground) -> None:
    found = await ground.start("ada")
    await ground.platform.close()

    # Another one sees what runs on without the first.
    assert ("ada" in await (await ground.open()).observe()) == (found.pid != os.getpid())
