"""Facts as people are asked about them: before they are shared, or afterwards as a sample of what a model lets pass."""

import time
from typing import Literal

from hive_mind.judge.item_context import fitted
from hive_mind.judge.items import Item
from hive_mind.judge.judged import Judged
from hive_mind.judge.judgment import Judgment, JudgmentAction
from hive_mind.model.fact import Fact
from hive_mind.model.ids import item_id

FACT: Literal["fact"] = "fact"
AUDIT: Literal["audit"] = "audit"

_TITLE_CHARS = 120


def fact_item(agent: str, fact: Fact, judgment: Judgment, *, is_by_model: bool) -> Item:
    """The question whether a fact may be shared."""
    why = judgment.reasoning if judgment.action is JudgmentAction.ESCALATE else "people judge every fact of this agent"
    shown = [("fact", fact.content), ("concept", fact.concept), ("sources", "\n".join(fact.sources)), ("before", fact.before)]
    return Item(
        # A fact is what it says: its id is the digest of the case.
        id=item_id(FACT, f"{agent}/{fact.id}", fact.id),
        kind=FACT,
        agent=agent,
        subject=fact.id,
        title=fact.content[:_TITLE_CHARS],
        opened_ms=_now_ms(),
        context=fitted([("why", why), *((name, text) for name, text in shown if text)]),
        signals=judgment.signals,
        cites=(fact.id,),
        group=judgment.rule or (judgment.cause if is_by_model else "every fact"),
    )


def audit_item(agent: str, judged: Judged) -> Item:
    """The question whether a model was right to let a fact pass; nothing waits for the answer."""
    result = judged.result
    why = f"shared already, by the judgement of {judged.model}: {judged.judgment.reasoning}"
    shown = [(name, str(result.get(key, ""))) for name, key in (("fact", "text"), ("concept", "concept"), ("before", "before"))]
    sources = ("sources", "\n".join(map(str, result.get("sources", ()))))
    return Item(
        id=item_id(AUDIT, f"{agent}/{judged.goal}", judged.case),
        kind=AUDIT,
        agent=agent,
        subject=judged.goal,
        title=str(result.get("text", ""))[:_TITLE_CHARS],
        opened_ms=_now_ms(),
        context=fitted([("why", why), *((name, text) for name, text in (*shown, sources) if text)]),
        signals=judged.judgment.signals,
        cites=(judged.goal,),
        group="audit",
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
