"""What people decided about facts, as rules are held against it."""

from collections.abc import AsyncIterator

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.fact_items import FACT
from hive_mind.errors import DatabaseUnreadable, WireError
from hive_mind.judge.items import BY_EXPIRY, ItemView
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.judge.trial import Tried


async def decided(desk: LedgerDesk, agent: str = "") -> AsyncIterator[ItemView]:
    """The facts that people decided about: all that was asked at this desk, or what one agent asked."""
    for item_id in await desk.ids():
        try:
            view = await desk.view(item_id)
        except (DatabaseUnreadable, WireError):
            # `inbox list --all` tells of it.
            continue
        if view and is_decided(view) and agent in ("", view.item.agent):
            yield view


def is_decided(view: ItemView) -> bool:
    """Whether a person decided about a fact; that nobody did in time says nothing."""
    return view.item.kind == FACT and view.decision is not None and view.decision.by != BY_EXPIRY


def action_of(view: ItemView) -> JudgmentAction:
    """What a rule would have had to say. To reject a fact is what rules call RETRY: it stays home."""
    assert view.decision is not None  # noqa: S101 - it is decided
    action = view.decision.action
    return action if action is JudgmentAction.ACCEPT else JudgmentAction.RETRY


def shown(view: ItemView) -> dict[str, str]:
    """What the person was shown of the fact, by the names that conditions use."""
    context = dict(view.item.context)
    return {
        "text": context.get("fact", view.item.title),
        "concept": context.get("concept", ""),
        "before": context.get("before", ""),
    }


def case_of(view: ItemView) -> Tried:
    """It, as a rule is tried on it."""
    return Tried(shown(view), view.item.title, action_of(view))
