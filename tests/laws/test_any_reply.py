"""Whatever a model replies about facts: nothing is raised, and only what it clearly lets pass is accepted."""

import asyncio
import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from hive_mind import backends
from hive_mind.agents.judging.decision_log import LedgerLog
from hive_mind.agents.judging.fact_judge import FactJudge
from hive_mind.agents.judging.model_judge import ModelJudge
from hive_mind.judge.judgment import Judged, JudgeSettings, JudgmentAction
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.model.fact import Fact
from hive_mind.model.ids import fact_id

THRESHOLD = 0.7
TEXTS = ("The ferry leaves at nine.", "A ticket costs 2 pounds.", "Buy now!!!")
FACTS = [Fact(fact_id(text), text, "harbour", 0.9, ("notes",), 1) for text in TEXTS]

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
verdicts = st.fixed_dictionaries(
    {},
    optional={
        "number": st.integers(-1, 5) | anything,
        "action": st.sampled_from(["share", "keep", "ask", "accept", ""]) | anything,
        "confidence": st.sampled_from([0.0, 0.69, 0.7, 0.9, 1.0, 1.5, -1]) | anything,
        "reasoning": st.just("plausible") | anything,
    },
)
replies = st.text() | anything.map(json.dumps) | st.lists(verdicts, max_size=6).map(lambda some: json.dumps({"verdicts": some}))


deep = "[" * 5_000 + "]" * 5_000
hostile = [f'{{"verdicts": {deep}}}', f'{{"verdicts": [{{"number": 1, "more": {deep}}}]}}', deep]


def judged(reply: str) -> list[Judged]:
    async def work() -> list[Judged]:
        ledger = await backends.load("ledger", "memory").open()
        model = ModelJudge(ScriptedModel(lambda _: reply), repairs_max=0)
        judge = FactJudge("ann", model, LedgerLog(ledger), JudgeSettings(THRESHOLD, has_model=True))
        await judge.load()
        found = await judge.judge(FACTS)
        assert await judge.log.judged() == found
        await ledger.close()
        return found

    return asyncio.run(work())


def lets_pass(reply: str) -> set[int]:
    """The numbers of which a reply says once, well formed and surely enough, that they may be shared."""
    try:
        told = json.loads(reply)["verdicts"]
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        return set()
    good = [one for one in told if is_well_formed(one)] if isinstance(told, list) else []
    numbers = [one["number"] for one in good]
    return {
        one["number"]
        for one in good
        if numbers.count(one["number"]) == 1 and one["action"] == "share" and one["confidence"] >= THRESHOLD
    }


def is_well_formed(one: Any) -> bool:
    if not isinstance(one, dict) or one.keys() < {"number", "action", "confidence", "reasoning"}:
        return False
    sure = one["confidence"]
    is_sure = isinstance(sure, (int, float)) and not isinstance(sure, bool) and 0 <= sure <= 1
    is_number = isinstance(one["number"], (int, float)) and not isinstance(one["number"], bool)
    is_action = one["action"] in ("share", "keep", "ask") if isinstance(one["action"], str) else False
    return is_sure and is_number and is_action and isinstance(one["reasoning"], str)


@given(replies | st.sampled_from(hostile))
@example(hostile[0])
@example(hostile[1])
def test_whatever_a_model_replies_only_what_it_surely_lets_pass_is_accepted(reply: str) -> None:
    found = judged(reply)
    accepted = {number for number, one in enumerate(found, 1) if one.judgment.action is JudgmentAction.ACCEPT}
    assert accepted <= lets_pass(reply)
    assert all(one.judgment.reasoning for one in found if one.judgment.action is JudgmentAction.ESCALATE)


@given(st.lists(st.sampled_from(["share", "keep", "ask"]), min_size=3, max_size=3), st.sampled_from([0.5, 0.7, 0.95]))
def test_what_is_well_formed_is_done(actions: list[str], sure: float) -> None:
    told = [{"number": n, "action": action, "confidence": sure, "reasoning": "so"} for n, action in enumerate(actions, 1)]
    found = judged(json.dumps({"verdicts": told}))
    wanted = {"share": JudgmentAction.ACCEPT, "keep": JudgmentAction.RETRY, "ask": JudgmentAction.ESCALATE}
    expected = [wanted[action] if sure >= THRESHOLD else JudgmentAction.ESCALATE for action in actions]
    assert [one.judgment.action for one in found] == expected
