"""A rule that a moderator lets into the hive decides at every agent; one that can't be read lets nothing new out."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hive_mind.agents.desk import LedgerDesk
from hive_mind.errors import InvalidInput
from hive_mind.judge.items import Decision
from hive_mind.judge.judgment import DeskConfig, JudgmentAction, ReviewConfig
from hive_mind.runtime.workers.config import WorkerConfig
from hive_mind.runtime.workers.worker import Worker
from tests.unit.runtime.worker_builders import PATIENCE_S, agent, config, is_found, running, until_found
from tests.waiting import until

CHEESE, FERRY, BOAT = "The gate is made of cheese.", "The ferry leaves at nine in the morning.", "A boat is 40 pounds an hour."
NO_CHEESE = {"id": "no_cheese", "condition": "'cheese' in result.text", "action": "retry", "description": "nonsense"}
NO_BOATS = {"id": "no_boats", "condition": "'boat' in result.text", "action": "retry"}
REASON = "rule no_cheese (nonsense)"


def judged(home: Path, topology: str = "flat", facts: Any = "rules", store: str = "memory") -> WorkerConfig:
    """Four agents; the desk is that of ada, a moderator."""
    whole = config(home, topology, store)
    desk = DeskConfig("ada", next(node.name for node in whole.nodes if "ada" in node.agents))
    tuning = replace(whole.tuning, standing=replace(whole.tuning.standing, moderators=("ada",)))
    return msgspec.structs.replace(whole, review=ReviewConfig(facts, desk=desk), tuning=tuning)


async def store(worker: Worker, name: str, text: str) -> None:
    await worker.call(name, "store", concept="town", content=text, confidence=0.9)


async def own(worker: Worker, name: str, text: str) -> dict[str, Any]:
    facts: list[dict[str, Any]] = (await worker.call(name, "facts", local=True))["facts"]
    return next(fact for fact in facts if fact["content"] == text)


async def until_own(worker: Worker, name: str, text: str, **fields: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not fields.items() <= (await own(worker, name, text)).items():  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)


async def until_ready(worker: Worker) -> None:
    await until(lambda: all(agent(worker, name).phase == "ready" for name in ("ada", "ben", "cleo", "dan")))


async def test_one_approval_protects_the_fleet_and_one_command_takes_it_back(tmp_path: Path) -> None:
    async with running(judged(tmp_path, "sharded")) as worker:
        await until_ready(worker)
        for name, text in (("ben", CHEESE), ("dan", FERRY)):
            await store(worker, name, text)
            await until_found(worker, "cleo", text, found=True)

        assert await worker.call("ada", "rule", rule=NO_CHEESE) == {"id": "no_cheese"}
        await until_own(worker, "ben", CHEESE, held_back=REASON)
        await until_found(worker, "cleo", CHEESE, found=False)
        assert await is_found(worker, "cleo", FERRY)
        await store(worker, "dan", CHEESE)
        await until_own(worker, "dan", CHEESE, held_back=REASON)
        assert (await worker.call("dan", "rules"))["rules"] == {"rule/no_cheese": NO_CHEESE}

        await worker.call("ada", "rule", rule=NO_CHEESE | {"mode": "retired"})
        await until_found(worker, "cleo", CHEESE, found=True)


async def test_a_rule_holds_from_the_first_moment_after_a_restart(tmp_path: Path) -> None:
    one = judged(tmp_path, store="sqlite")

    async with running(one) as worker:
        await until_ready(worker)
        await worker.call("ada", "rule", rule=NO_CHEESE)
        await store(worker, "ben", CHEESE)
        await until_own(worker, "ben", CHEESE, held_back=REASON)

    async with running(one) as worker:
        await until_ready(worker)
        await store(worker, "dan", CHEESE)
        assert (await own(worker, "dan", CHEESE))["held_back"] == REASON
        assert (await own(worker, "ben", CHEESE))["held_back"] == REASON
        assert not await is_found(worker, "cleo", CHEESE)


async def test_only_a_moderator_approves_and_only_what_can_be_used(tmp_path: Path) -> None:
    async with running(judged(tmp_path)) as worker:
        await until_ready(worker)
        with pytest.raises(InvalidInput, match="and 'ben' is not one"):
            await worker.call("ben", "rule", rule=NO_CHEESE)
        with pytest.raises(InvalidInput, match="the condition can't be used"):
            await worker.call("ada", "rule", rule=NO_CHEESE | {"condition": "open('f')"})
        with pytest.raises(InvalidInput, match="JSON of at most 4000 characters"):
            await worker.call("ada", "rule", rule=NO_CHEESE | {"description": "x" * 5_000})
        assert (await worker.call("ada", "rules"))["rules"] == {}


async def test_a_rule_of_a_newer_version_lets_nothing_new_out_and_takes_nothing_back(tmp_path: Path) -> None:
    async with running(judged(tmp_path)) as worker:
        await until_ready(worker)
        await store(worker, "ben", FERRY)
        await until_found(worker, "cleo", FERRY, found=True)

        beyond = json.dumps(NO_CHEESE | {"condition": "invented_tomorrow(result.text)"})
        reviewing = worker._agents["ada"]._reviewing
        assert reviewing is not None
        assert await reviewing._member.runner.write([("rule/no_cheese", beyond)], "ada") == ("",)
        await until(lambda: agent(worker, "ben").phase == "failed")
        assert "rule/no_cheese of the hive can't be read here" in agent(worker, "ben").error
        await store(worker, "ben", BOAT)
        assert "can't be read here" in (await own(worker, "ben", BOAT))["held_back"]
        assert await is_found(worker, "cleo", FERRY)

        await worker.call("ada", "rule", rule=NO_CHEESE)
        await until_found(worker, "cleo", BOAT, found=True)
        assert agent(worker, "ben").phase == "ready"


async def test_a_rule_that_people_decide_against_is_on_trial_again_by_itself(tmp_path: Path) -> None:
    async with running(judged(tmp_path, facts="people")) as worker:
        await until_ready(worker)
        await store(worker, "ben", BOAT)
        reviewing = worker._agents["ada"]._reviewing
        assert reviewing is not None
        assert reviewing._ledger is not None
        desk = LedgerDesk(reviewing._ledger)
        asked = await until(lambda: desk.open("fact", "ben"))
        # So small a share that this fact is not among it: it waits for a person all the same.
        await worker.call("ada", "rule", rule=NO_BOATS | {"rollout": 0.000001})
        await worker.call("ada", "rule", rule=NO_CHEESE)

        assert await desk.decide(Decision(item=asked[0].item.id, action=JudgmentAction.ACCEPT, by="olga"))

        async with asyncio.timeout(PATIENCE_S):
            while (rules := (await worker.call("dan", "rules"))["rules"])["rule/no_boats"].get("mode") != "shadow":  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert rules["rule/no_boats"]["metadata"] == {"taken_back": "people agreed in 0 of 1 cases"}
        assert rules["rule/no_cheese"] == NO_CHEESE
        await until_found(worker, "cleo", BOAT, found=True)
