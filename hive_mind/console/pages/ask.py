"""Asking: an answer with its sources and the parts of each score, the nodes asked and the silent ones; "why not this one?"."""

from aiohttp import web

from hive_mind.console.visit import Page, Visit
from hive_mind.model.query import LIMIT, METHOD, METHODS

_LIMIT_MAX = 50


async def show(visit: Visit) -> web.StreamResponse:
    """The form, and the answer where there is a question."""
    fields = await _asked(visit)
    answer = await visit.fleet.call(fields["agent"], "ask", **_question(fields)) if fields["question"] else None
    return visit.show(
        "ask.html", asked=fields, methods=METHODS, answer=answer, why=None, expected="", agents=await visit.agents()
    )


async def why_not(visit: Visit) -> web.StreamResponse:
    """The same answer, with where the fact fell out that was expected."""
    fields, expected = await _asked(visit), visit.given("expected")
    if not fields["question"] or not expected:
        return await show(visit)
    why = await visit.fleet.call(fields["agent"], "why_not", text=expected, **_question(fields))
    agents = await visit.agents()
    return visit.show("ask.html", asked=fields, methods=METHODS, answer=why["answer"], why=why, expected=expected, agents=agents)


async def _asked(visit: Visit) -> dict[str, str]:
    method = visit.given("method", METHOD)
    return {
        "agent": await visit.agent(),
        "question": visit.given("q"),
        "limit": str(visit.number("limit", LIMIT, _LIMIT_MAX)),
        "method": method if method in METHODS else METHOD,
    }


def _question(fields: dict[str, str]) -> dict[str, object]:
    return {"question": fields["question"], "limit": int(fields["limit"]), "method": fields["method"]}


PAGE = Page("Ask", "/ask", {"/ask": show, "/ask/why-not": why_not})
