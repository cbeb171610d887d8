"""Agents of a worker fall asleep when nobody wants them, unless they would forget, and wake when they are asked."""

import asyncio
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from hive_mind.errors import InvalidInput
from hive_mind.model.erasure import erasure_of
from tests.unit.runtime.worker_builders import NAMES, agent, config, running, with_agent
from tests.waiting import until


async def test_an_agent_nobody_wants_falls_asleep_wakes_when_it_is_asked_and_can_be_sent_to_sleep(tmp_path: Path) -> None:
    given = with_agent(config(tmp_path, store="sqlite"), "ada", sleep_after_s=0.2)
    async with running(given) as worker:
        await until(lambda: worker.status().is_ready)
        await worker.call("ada", "store", content="The gate is blue.")
        await until(lambda: agent(worker, "ada").phase == "asleep")
        assert agent(worker, "ada").facts == 1
        # What others share does not wake it.
        await worker.call("ben", "store", content="The wall is green.")
        assert agent(worker, "ada").phase == "asleep"
        assert [agent(worker, name).phase for name in NAMES[1:]] == ["ready"] * 3
        assert worker.status().is_ready

        assert (await worker.call("ada", "search", query="green wall"))["hits"][0]["content"] == "The wall is green."
        assert agent(worker, "ada").phase == "ready"
        await worker.call("ada", "sleep")
        assert agent(worker, "ada").phase == "asleep"


async def test_an_agent_that_is_busy_with_a_request_does_not_fall_asleep(tmp_path: Path) -> None:
    given = with_agent(config(tmp_path, "single", "sqlite"), "ada", sleep_after_s=0.001)
    async with running(given) as worker:
        await until(lambda: worker.status().is_ready)
        ada = worker._agents["ada"]
        seen: list[str] = []

        async def look(*_: object) -> None:
            await asyncio.sleep(0.01)
            assert not ada.is_to_sleep
            seen.append(agent(worker, "ada").phase)

        ada._do_stats = look  # type: ignore[method-assign]
        await worker.call("ada", "stats")

        assert seen == ["ready"]
        await until(lambda: agent(worker, "ada").phase == "asleep")


async def test_an_agent_that_keeps_nothing_on_disk_never_sleeps(tmp_path: Path) -> None:
    async with running(with_agent(config(tmp_path), "ada", sleep_after_s=0.01)) as worker:
        await until(lambda: worker.status().is_ready)
        await worker.call("ada", "store", content="The gate is blue.")
        with pytest.raises(InvalidInput, match="would forget everything"):
            await worker.call("ada", "sleep")
        assert not worker._agents["ada"].is_to_sleep
        assert agent(worker, "ada").phase == "ready"
        assert (await worker.call("ada", "stats"))["facts"] == 1


async def test_an_agent_from_which_something_was_erased_is_counted_without_it_and_not_called_asleep(tmp_path: Path) -> None:
    whole = config(tmp_path, store="sqlite")
    tuning = replace(whole.tuning, standing=replace(whole.tuning.standing, moderators=("ben",)))
    async with running(msgspec.structs.replace(whole, tuning=tuning)) as worker:
        await until(lambda: worker.status().is_ready)
        for name, thing in (("ada", "gate"), ("ada", "wall"), ("ben", "door")):
            await worker.call(name, "store", content=f"The {thing} is blue.", source=thing)
        await until(lambda: agent(worker, "ada").facts == 2)
        await worker.call("ben", "erase", erasures=[erasure_of("source", "wall").key])
        await until(lambda: agent(worker, "ada").facts == 1)
        assert agent(worker, "ada").phase == "ready"
