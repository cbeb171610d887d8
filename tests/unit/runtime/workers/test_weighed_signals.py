"""A worker weighs what a model and other agents say of a fact by what people decided before, where the manifest wants it."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.decision_log import LedgerLog
from hive_mind.agents.judging.fact_judge import FactJudge, fact_item
from hive_mind.agents.judging.model_judge import ModelJudge
from hive_mind.judge.items import Decision
from hive_mind.judge.judgment import DeskConfig, JudgeSettings, JudgmentAction, ModelReviewConfig, ReviewConfig
from hive_mind.llm.base import Prompt
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.model.fact import Fact
from hive_mind.model.ids import fact_id
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_ledger
from hive_mind.runtime.workers.worker import Worker
from tests.unit.agents.town import reply, shown, verdict
from tests.unit.runtime.worker_builders import PATIENCE_S, config, running
from tests.unit.runtime.workers.test_audited_workers import decide
from tests.waiting import until

UNSURE = "scripted:" + json.dumps({"verdicts": [verdict(number, confidence=0.62) for number in range(1, 21)]})
FERRY = "The ferry leaves Corrin at nine in the morning."


async def lived(home: Path) -> None:
    """Of 40 facts of ben, all confirmed by others, people said what the model was sure of is right, and the rest is not."""

    def answer(prompt: Prompt) -> str:
        return reply(*(verdict(one["number"], confidence=0.68 if "green" in one["text"] else 0.52) for one in shown(prompt)))

    async def all_confirmed(facts: Sequence[Fact]) -> Mapping[str, float]:
        return {fact.id: 0.75 for fact in facts}

    ledger = await open_ledger(Settings(home=home), "ben")
    desk, settings = LedgerDesk(ledger), JudgeSettings(threshold=0.95, has_model=True)
    judge = FactJudge("ben", ModelJudge(ScriptedModel(answer)), LedgerLog(ledger), settings, all_confirmed)
    for number in range(40):
        text = f"Boat number {number} is painted {'green' if number % 2 else 'red'}."
        fact = Fact(fact_id(text), text, "boats", 0.9, ("notes",), 1)
        (judged,) = await judge.judge([fact])
        item = fact_item("ben", fact, judged.judgment, is_by_model=True)
        await desk.ask(item)
        action = JudgmentAction.ACCEPT if number % 2 else JudgmentAction.ESCALATE
        assert await desk.decide(Decision(item=item.id, action=action, by="olga"))
    await ledger.close()


async def until_shared(worker: Worker, agent: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while (await worker.call(agent, "facts", local=True))["facts"][0]["sharing"] != "shared":  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(("weights", "decided"), [("equal", ("accept", "agreement")), ("learned", ("escalate", "threshold"))])
async def test_what_others_confirmed_wrongly_before_no_longer_makes_a_fact_pass_alone(
    tmp_path: Path, weights: Literal["equal", "learned"], decided: tuple[str, str]
) -> None:
    await lived(tmp_path)
    model = ModelReviewConfig(UNSURE, calls_per_minute=60, audit=0.0, weights=weights)
    review = ReviewConfig("model", desk=DeskConfig("ada", "town"), model=model)
    async with running(msgspec.structs.replace(config(tmp_path, store="sqlite"), review=review)) as worker:
        await until(lambda: worker.status().is_ready)
        for name in ("cleo", "dan"):
            await worker.call(name, "store", concept="town", content=FERRY, source=f"{name}'s notes", confidence=0.9)
            await decide(worker, name, FERRY, JudgmentAction.ACCEPT, "fact")
            await until_shared(worker, name)

        await worker.call("ben", "store", concept="town", content=FERRY, source="ben's notes", confidence=0.9)
        await until(lambda: bool(worker.tallies()["ben"].judgements))
        assert worker.tallies()["ben"].judgements == {decided: 1}
