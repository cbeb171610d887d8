"""Facts as people are asked about them: before they are shared, or afterwards as a sample of what a model lets pass.

A fact as those who judge it see it.

People's decisions about facts and about the outputs of runs, as rules and judges are compared with them.
"""

import dataclasses
from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal

from hive_mind.agents.desk import LedgerDesk, readable_view
from hive_mind.clocks import wall_clock_ms
from hive_mind.judge.items import NOBODY, Item, ItemView, fitted, stream_of
from hive_mind.judge.judgment import FACT, Judged, Judgment, JudgmentAction, Precedent
from hive_mind.model.evidence import LISTS, said_of
from hive_mind.model.fact import Fact
from hive_mind.model.ids import fact_id, item_id, judgment_id

AUDIT: Literal["audit"] = "audit"

EVERY_FACT = "people judge every fact of this agent"
_TITLE_CHARS = 120
_OF_A_FACT = (
    ("on yes", "the fact is shared with the hive"),
    ("on no", "the fact stays with its agent, which finds it all the same"),
)
_OF_AN_AUDIT = (
    ("on yes", "the fact stays shared, and its agent is rated well"),
    ("on no", "the fact is taken back for all, and its agent is rated badly"),
)


def fact_item(agent: str, fact: Fact, judgment: Judgment, *, is_by_model: bool) -> Item:
    """The question whether a fact may be shared."""
    why = judgment.reasoning if judgment.action is JudgmentAction.ESCALATE else EVERY_FACT
    texts_shown = [
        ("fact", fact.content),
        ("concept", fact.concept),
        ("sources", "\n".join(fact.sources)),
        ("before", fact.before),
    ]
    return Item(
        # A fact is what it says: its id is the digest of the case.
        id=item_id(FACT, f"{agent}/{fact.id}", fact.id),
        kind=FACT,
        agent=agent,
        subject=fact.id,
        title=fact.content[:_TITLE_CHARS],
        opened_ms=wall_clock_ms(),
        context=fitted([("why", why), *_OF_A_FACT, *((name, text) for name, text in texts_shown if text)]),
        signals=judgment.signals,
        cites=(fact.id,),
        group=judgment.rule or (judgment.cause if is_by_model else "every fact"),
    )


def audit_item(agent: str, judged: Judged) -> Item:
    """The question whether a model was right to let a fact pass; nothing waits for the answer."""
    result = judged.result
    why = f"shared already, by the judgement of {judged.model}: {judged.judgment.reasoning}"
    texts_shown = [
        (name, str(result.get(key, ""))) for name, key in (("fact", "text"), ("concept", "concept"), ("before", "before"))
    ]
    sources = ("sources", "\n".join(map(str, result.get("sources", ()))))
    return Item(
        id=item_id(AUDIT, f"{agent}/{judged.goal}", judged.case),
        kind=AUDIT,
        agent=agent,
        subject=judged.goal,
        title=str(result.get("text", ""))[:_TITLE_CHARS],
        opened_ms=wall_clock_ms(),
        context=fitted([("why", why), *_OF_AN_AUDIT, *((name, text) for name, text in (*texts_shown, sources) if text)]),
        signals=judged.judgment.signals,
        cites=(judged.goal,),
        group="audit",
    )


def names_of(fact: Fact, agent: str) -> Mapping[str, Any]:
    """The names of a fact that conditions of rules see as `result`."""
    record = said_of(fact) | {name: list(getattr(fact, name)) for name in LISTS}
    return {"text": record.pop("content"), **record, "confidence": fact.confidence, "sources": list(fact.sources), "agent": agent}


def text_before(fact: Fact) -> Fact:
    """The text before a fact, as if it were one: mostly it is."""
    return dataclasses.replace(fact, id=fact_id(fact.before), content=fact.before, before="")


async def decided(desk: LedgerDesk, agent: str = "") -> AsyncIterator[ItemView]:
    """The facts and outputs that people decided about: all that was asked at this desk, or what one agent asked."""
    for item_named in await desk.ids():
        view = await readable_view(desk.ledger, stream_of(item_named))
        if view and is_decided(view) and agent in ("", view.item.agent):
            yield view


def is_decided(view: ItemView) -> bool:
    """Whether a person decided about a fact, or about outputs of a run; that nobody did in time says nothing."""
    decision = view.decision
    if decision is None or decision.by in NOBODY:
        return False
    # An answer to a question is no verdict on what stood beside it.
    is_verdict = bool(view.item.shows) and not (view.item.kind == "question" and decision.edit is not None)
    return view.item.kind == FACT or is_verdict


def action_of(view: ItemView) -> JudgmentAction:
    """The action that a rule would have had to give. Rejecting a fact is RETRY in a rule: it stays home."""
    assert view.decision is not None  # noqa: S101 - it is decided
    action, is_right = view.decision.action, view.item.subject not in view.decision.wrong
    if view.item.kind == FACT or not view.item.shows:
        return JudgmentAction.ACCEPT if action is JudgmentAction.ACCEPT and is_right else JudgmentAction.RETRY
    return action


def shown(view: ItemView) -> dict[str, str]:
    """The parts of the fact, or the outputs, that the person was shown, by the names that conditions use."""
    context = dict(view.item.context)
    if view.item.shows:
        return {name: context.get(name, "") for name in view.item.shows}
    return {
        "text": context.get("fact", view.item.title),
        "concept": context.get("concept", ""),
        "before": context.get("before", ""),
    }


def shown_precedent(view: ItemView) -> Precedent:
    """The decision about what was shown, as rules are made of it and put to it."""
    because = view.decision.because if view.decision else ""
    return Precedent(
        person=action_of(view), kind=view.item.goal_kind or FACT, result=shown(view), case=view.item.title, because=because
    )


def judgement_of(view: ItemView) -> str:
    """The id of the judgement that it is about; "" for none."""
    is_fact = view.item.kind in (FACT, AUDIT) and not view.item.judged
    return fact_judgment_id(view.item.agent, view.item.subject) if is_fact else view.item.judged


def precedent_of(view: ItemView, judged: Judged) -> Precedent | None:
    """A person's decision beside what the signals said; None where none of them was sure of anything, or nobody decided."""
    has_said = any(signal.action and signal.confidence is not None for signal in judged.judgment.signals)
    if view.decision is None or view.decision.by in NOBODY or not has_said:
        return None
    return judged.precedent(action_of(view), judged.audit if view.item.kind == AUDIT and judged.audit else 1.0)


def fact_judgment_id(agent: str, fact: str) -> str:
    """The name of the judgements of an agent's fact."""
    return judgment_id(agent, fact, 0)
