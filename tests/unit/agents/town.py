"""A hive of two whose first agent is judged: by rules, people or a scripted model; and a desk on which it asks."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hive_mind import backends
from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.decision_log import LedgerLog
from hive_mind.agents.judging.fact_judge import FactJudge
from hive_mind.agents.judging.gate_reviewer import GateReviewer
from hive_mind.agents.judging.model_judge import ModelJudge, Pace
from hive_mind.embed.none import NoEmbedder
from hive_mind.judge.items import Decision
from hive_mind.judge.judgment import JudgeSettings, JudgmentAction
from hive_mind.judge.rules import EvaluationRule, RulesAtWork, RuleSet
from hive_mind.llm.base import Prompt
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.model.fact import Fact, Sharing
from hive_mind.retry import RetrySettings
from hive_mind.runtime.members.fleet import Fleet, FleetPlan, open_fleet
from hive_mind.runtime.settings import Settings

PATIENCE_S = 60
BY_MODEL = JudgeSettings(has_model=True)
ONCE = RetrySettings(attempts_max=1)


class Town:
    """Ann, whose facts are judged, Ben, who is told of them, and a desk."""

    def __init__(
        self, fleet: Fleet, desk: LedgerDesk, rules: Sequence[EvaluationRule], asks_people: bool, judge: FactJudge
    ) -> None:
        self.fleet, self.desk = fleet, desk
        memory = fleet.memory("ann")
        assert isinstance(memory, DistributedCognitiveMemory)
        self.ann = memory
        self.rules = RulesAtWork(RuleSet(rules))
        self.reviewer = GateReviewer("ann", desk, memory.reconsider, lambda: self.rules, judge, asks_people=asks_people)
        memory.reviewed_by(self.reviewer)

    async def store(self, text: str) -> Fact:
        return await self.ann.store_fact("pump", text, source="handbook")

    async def now(self, fact: Fact) -> Fact:
        found = await self.ann.get_fact(fact.id)
        assert found
        return found

    async def is_seen_by_ben(self, fact: Fact) -> bool:
        await self.fleet.settled()
        return fact.content in [hit.fact.content for hit in await self.fleet.memory("ben").search_facts(fact.content, 5)]

    async def decide(self, fact: Fact, action: JudgmentAction, because: str = "") -> None:
        (view,) = [view for view in await self.desk.open() if view.item.subject == fact.id]
        assert await self.desk.decide(Decision(item=view.item.id, action=action, by="olga", because=because))

    async def until_asked(self, fact: Fact) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while fact.id not in [view.item.subject for view in await self.desk.open()]:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.002)

    async def until(self, fact: Fact, holds: Callable[[Fact], bool]) -> Fact:
        async with asyncio.timeout(PATIENCE_S):
            while not holds(found := await self.now(fact)):  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.002)
        return found


def is_taken(fact: Fact) -> bool:
    """Whether the agent's node has it; one that is only proposed nobody else can find."""
    return fact.sharing in (Sharing.HELD, Sharing.SHARED)


@asynccontextmanager
async def town(
    home: Path,
    topology: str,
    rules: Sequence[EvaluationRule] = (),
    *,
    asks_people: bool = False,
    model: ScriptedModel | None = None,
    pace: Pace | None = None,
    settings: JudgeSettings = BY_MODEL,
    audit_share: float = 0.0,
):
    ledger = await backends.load("ledger", "sqlite").open(home / "ledger.sqlite", is_shared=True)
    plan = FleetPlan(topology, ("ann", "ben"), group_size=1)
    try:
        async with await open_fleet(Settings(home=home), plan, NoEmbedder()) as fleet:
            checked = ModelJudge(model, retry=ONCE, pace=pace) if model else None
            judge = FactJudge("ann", checked, LedgerLog(ledger, audit_share=audit_share), settings)
            await judge.load()
            found = Town(fleet, LedgerDesk(ledger), rules, asks_people, judge)
            working = asyncio.create_task(found.reviewer.run())
            try:
                yield found
            finally:
                working.cancel()
                await asyncio.wait([working])
    finally:
        await ledger.close()


def verdict(number: int, action: str = "share", confidence: float = 0.9, reasoning: str = "plausible") -> dict[str, Any]:
    return {"number": number, "action": action, "confidence": confidence, "reasoning": reasoning}


def reply(*verdicts: Mapping[str, Any]) -> str:
    return json.dumps({"verdicts": verdicts})


def shown(prompt: Prompt) -> list[dict[str, Any]]:
    """The facts that a prompt is about."""
    return [json.loads(line) for line in prompt.text.splitlines() if line.startswith("{")]


def by_text(said: Mapping[str, str], confidence: float = 0.9) -> Callable[[Prompt], str]:
    """Says of each fact what is given by a word in it; by default to share it."""

    def answer(prompt: Prompt) -> str:
        found = []
        for one in shown(prompt):
            action = next((action for word, action in said.items() if word in one["text"]), "share")
            found.append(verdict(one["number"], action, confidence))
        return reply(*found)

    return answer


def rule(action: JudgmentAction, condition: str = "'pump' in result.text.lower()") -> EvaluationRule:
    return EvaluationRule(id="no_pumps", condition=condition, action=action, description="pumps are ours", on="fact")
