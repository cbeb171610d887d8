"""A model judges what workers share: what an audit finds wrong is taken back from all, and its agent is believed less."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.gate_reviewer import GateReviewer
from hive_mind.errors import BackendUnavailable
from hive_mind.judge.items import Decision, ItemKind
from hive_mind.judge.judgment import DeskConfig, JudgmentAction, ModelReviewConfig, ReviewConfig
from hive_mind.runtime.workers.config import WorkerConfig
from hive_mind.runtime.workers.worker import Worker
from tests.unit.agents.town import verdict
from tests.unit.runtime.worker_builders import PATIENCE_S, agent, config, is_found, running, until_found
from tests.waiting import until

RIGHT, WRONG = JudgmentAction.ACCEPT, JudgmentAction.ESCALATE
MODEL = "scripted:" + json.dumps({"verdicts": [verdict(number) for number in range(1, 21)]})
CHEESE, FERRY = "The gate of the pump house is made of cheese.", "The ferry leaves Corrin at nine in the morning."


def judged(home: Path, topology: str) -> WorkerConfig:
    """Four agents; the desk is that of ada, a moderator, and all that the model lets pass is audited."""
    whole = config(home, topology)
    desk = DeskConfig("ada", next(node.name for node in whole.nodes if "ada" in node.agents))
    review = ReviewConfig("model", desk=desk, model=ModelReviewConfig(MODEL, calls_per_minute=60, audit=1.0))
    tuning = replace(whole.tuning, standing=replace(whole.tuning.standing, moderators=("ada",)))
    return msgspec.structs.replace(whole, review=review, tuning=tuning)


async def decide(worker: Worker, agent: str, text: str, action: JudgmentAction, kind: ItemKind = "audit") -> None:
    """Answer the audit of this agent's fact, or a question about it, once it lies at the desk."""
    reviewing = worker._agents["ada"]._reviewing
    assert reviewing is not None
    assert reviewing._ledger is not None
    desk = LedgerDesk(reviewing._ledger)
    async with asyncio.timeout(PATIENCE_S):
        while not (found := [view for view in await desk.open(kind, agent) if view.item.title == text]):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert await desk.decide(Decision(item=found[0].item.id, action=action, by="olga"))


async def trust_in(worker: Worker, agent: str) -> float:
    return float((await worker.call("dan", "trust", to=agent))["trust"])


async def test_before_it_knows_what_people_decided_an_agent_shares_nothing_that_a_model_let_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recall, failures = GateReviewer.recall, 1

    async def failing(self: GateReviewer) -> None:
        nonlocal failures
        if failures and self._agent == "ben":
            failures -= 1
            raise BackendUnavailable("ledger", "the disk does not answer")
        await recall(self)

    monkeypatch.setattr(GateReviewer, "recall", failing)

    async with running(judged(tmp_path, "flat")) as worker:
        await until(lambda: "the disk does not answer" in agent(worker, "ben").error)
        assert agent(worker, "ben").phase == "failed"
        with pytest.raises(BackendUnavailable):
            await worker.call("ben", "store", concept="town", content=FERRY, confidence=0.9)

        await until(lambda: agent(worker, "ben").phase == "ready")
        await worker.call("ben", "store", concept="town", content=FERRY, confidence=0.9)
        await until_found(worker, "dan", FERRY, found=True)
        await decide(worker, "ben", FERRY, RIGHT)


async def test_what_an_audit_finds_wrong_is_gone_for_all_whoever_else_said_it_and_its_agent_is_believed_less(
    tmp_path: Path,
) -> None:
    async with running(judged(tmp_path, "sharded")) as worker:
        await until(lambda: worker.status().is_ready)
        for name, text in (("ben", CHEESE), ("cleo", CHEESE), ("cleo", FERRY)):
            await worker.call(name, "store", concept="town", content=text, source=f"{name}'s notes", confidence=0.9)
        for text in (CHEESE, FERRY):
            await until_found(worker, "dan", text, found=True)

        await decide(worker, "cleo", FERRY, RIGHT)
        await decide(worker, "ben", CHEESE, WRONG)
        await until_found(worker, "dan", CHEESE, found=False)
        async with asyncio.timeout(PATIENCE_S):
            while await trust_in(worker, "ben") >= 1.0 or await trust_in(worker, "cleo") <= 1.0:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert await is_found(worker, "dan", FERRY)
        assert await trust_in(worker, "ada") == 1.0
        assert {name: tally.judgements for name, tally in worker.tallies().items() if tally.judgements} == {
            "ben": {("accept", "agreement"): 1},
            "cleo": {("accept", "agreement"): 2},
        }
