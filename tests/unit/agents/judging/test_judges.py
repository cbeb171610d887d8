"""What a worker gives the model that judges: what others confirm, and where it can't be had, a reason for people."""

import asyncio
from types import SimpleNamespace
from typing import Any

from hive_mind import backends
from hive_mind.agents.judging.decision_log import LedgerLog
from hive_mind.agents.judging.fact_judge import FactJudge, confirmed_by
from hive_mind.agents.judging.model_judge import JudgeModels
from hive_mind.errors import BackendTimeout, ConfigError
from hive_mind.hive.effects import Now
from hive_mind.judge.judge_settings import JudgeSettings
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.llm.base import LanguageModel
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.model.evidence import HiveFact, Provenance, Statement
from hive_mind.model.fact import Fact
from hive_mind.model.ids import fact_id
from tests.unit.agents.town import by_text

TEXT = "The ferry leaves at nine."
FACT = Fact(fact_id(TEXT), TEXT, "harbour", 0.9, ("notes", "log"), 1)
TRUST = {"ben": 1.8, "cyd": 0.5, "ann": 1.0}


def member(found: Any) -> Any:
    """As much of a member as the judge asks: who has shared a fact, and who is trusted."""

    async def fetch(wanted: Any) -> Any:
        if isinstance(found, Exception):
            raise found
        assert [id for id, _ in wanted] == [FACT.id]
        rows = tuple(Provenance(agent, root, 0.9, (1, 0, b"")) for agent, root in found)
        return (HiveFact(FACT.id, Statement(TEXT), rows, 0.9, 1, 1.0),)

    policy = SimpleNamespace(at=lambda _: SimpleNamespace(trust=TRUST.__getitem__))
    node = SimpleNamespace(node=SimpleNamespace(policy=policy))
    return SimpleNamespace(runner=SimpleNamespace(fetch=fetch), member=node, now=lambda: Now(1, 1))


def judged(found: Any, error: Exception | None = None) -> Any:
    async def work() -> Any:
        ledger = await backends.load("ledger", "memory").open()

        async def open_model(name: str) -> LanguageModel:
            if error:
                raise error
            return ScriptedModel(by_text({}, 0.75), name)

        model = await JudgeModels(open_model, tokens=10_000).judging("scripted:x")
        judge = FactJudge("ann", model, LedgerLog(ledger), JudgeSettings(0.8), confirmed_by("ann", member(found)))
        return (await judge.judge([FACT]))[0].judgment

    return asyncio.run(work())


def confirmed(*rows: tuple[str, str]) -> float | None:
    found = judged(rows)
    return next((signal.confidence for signal in found.signals if signal.origin == "confirmations"), None)


def test_what_others_have_shared_from_other_sources_is_a_signal_by_number_and_trust():
    assert confirmed(("ben", "chart")) == 0.5
    assert confirmed(("ben", "chart"), ("ben", "letter")) == 0.75
    assert confirmed(("cyd", "chart")) == 1 - 0.5**0.5
    assert confirmed(("cyd", "chart"), ("ben", "chart")) == 0.5
    assert judged((("ben", "chart"), ("ben", "letter"))).action is JudgmentAction.ACCEPT


def test_nobody_confirms_itself_nor_by_a_source_that_it_has_itself():
    assert confirmed() is None
    assert confirmed(("ann", "chart")) is None
    assert confirmed(("ben", "notes"), ("cyd", "log")) is None
    assert judged(()).cause == "threshold"


def test_where_the_hive_can_not_be_asked_the_model_judges_alone():
    found = judged(BackendTimeout("hive", "nobody answers"))
    assert [signal.origin for signal in found.signals] == ["model"]


def test_where_no_model_can_be_had_people_decide_and_are_told_why():
    found = judged((), ConfigError("language model 'openai:x' needs a key"))
    assert (found.action, found.cause) == (JudgmentAction.ESCALATE, "broken")
    assert "needs a key" in found.reasoning
