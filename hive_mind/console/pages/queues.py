"""Items waiting for a person: facts held back or under quarantine, contradictions, questions; decided here, with a reason."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from hive_mind.console.visit import Page, Visit, required, together
from hive_mind.errors import InvalidInput

_SHOWN = 20
_DECISIONS_SHOWN = 20
_AFTERWARDS = "/queues"


async def show(visit: Visit) -> web.StreamResponse:
    """The page: the queues of one agent and of its hive, and what was decided last."""
    agent = await visit.agent()
    requests = ("held_back", "quarantined", "conflicts", "inbox")
    held_back, quarantined, conflicts, inbox = await together(*(visit.fleet.call(agent, name, limit=_SHOWN) for name in requests))
    return visit.show(
        "queues.html",
        agent=agent,
        agents=await visit.agents(),
        held_back=held_back,
        quarantined=quarantined,
        conflicts=conflicts,
        inbox=inbox,
        decisions=await visit.console.decisions.last(_DECISIONS_SHOWN),
    )


def _deciding(decide: Callable[[Visit, str, str, Mapping[str, str]], Awaitable[Any]]) -> Callable[[Visit], Any]:
    """A form about one thing of one agent, with a reason; afterwards the queues are shown again."""

    async def decided(visit: Visit) -> web.StreamResponse:
        form = await visit.form()
        agent, reason = required(form, "agent", "the agent"), required(form, "reason", "the reason")
        await decide(visit, agent, reason, form)
        return visit.go(_AFTERWARDS, agent=form.get("shown") or agent)

    return decided


@_deciding
async def _retract(visit: Visit, agent: str, reason: str, form: Mapping[str, str]) -> None:
    """It is wrong."""
    fact_id = required(form, "fact", "the fact")
    await visit.decide(agent, "retract", fact_id, reason, fact_id=fact_id, text=reason)


@_deciding
async def _reconsider(visit: Visit, agent: str, reason: str, form: Mapping[str, str]) -> None:
    """Consider a fact again: its obstacle may be gone."""
    fact_id = required(form, "fact", "the fact")
    await visit.decide(agent, "reconsider", fact_id, reason, fact_id=fact_id)


@_deciding
async def _quarantine(visit: Visit, agent: str, reason: str, form: Mapping[str, str]) -> None:
    """Into quarantine, or out of it."""
    fact_id, good = required(form, "fact", "the fact"), form.get("good") == "true"
    await visit.decide(agent, "quarantine", fact_id, reason, fact_id=fact_id, good=good, because=reason)


@_deciding
async def _item(visit: Visit, agent: str, reason: str, form: Mapping[str, str]) -> None:
    """Something that an agent asks people."""
    item, verb, by = required(form, "item", "the item"), required(form, "how", "the decision"), required(form, "by", "your name")
    fields = {"title": item, "kind": verb, "source": by, "text": form.get("text", ""), "because": reason}
    outcome = await visit.decide(agent, "decide", f"{verb} {item} by {by}", reason, **fields)
    if not outcome["counts"]:
        raise InvalidInput("already decided; your text was saved as a comment")


PAGE = Page(
    "Queues",
    _AFTERWARDS,
    {_AFTERWARDS: show},
    {
        "/queues/retract": _retract,
        "/queues/reconsider": _reconsider,
        "/queues/quarantine": _quarantine,
        "/queues/item": _item,
    },
)
