"""Facts: those of an agent and its hive, newest first or as a search finds them; and all about one of them."""

from typing import Any

from aiohttp import web

from hive_mind.console.rendering import PER_PAGE
from hive_mind.console.visit import Page, Visit, required, together
from hive_mind.model.fact import is_about

# Further back a search leads there sooner; each page asks members for all facts before it.
_PAGES_MAX = 200
_NEIGHBOURS_SHOWN, _NEIGHBOURS_SEARCHED = 5, 50
_CONCEPTS_MAX = 6


async def show(visit: Visit) -> web.StreamResponse:
    agent, words = await visit.agent(), visit.given("q")
    concept, number = visit.given("concept"), visit.number("page", 1, _PAGES_MAX)
    if words:
        reply = await visit.fleet.call(agent, "search", query=words, limit=PER_PAGE)
        listed, has_more = reply["hits"], False
    else:
        offset = (number - 1) * PER_PAGE
        reply = await visit.fleet.call(agent, "facts", limit=PER_PAGE + 1, offset=offset, concept=concept)
        listed, has_more = reply["facts"][:PER_PAGE], len(reply["facts"]) > PER_PAGE and number < _PAGES_MAX
    words_asked = {"agent": agent, "q": words, "concept": concept}
    return visit.show(
        "facts.html",
        asked=words_asked,
        facts=listed,
        first=(number - 1) * PER_PAGE + 1,
        number=number,
        has_more=has_more,
        completeness=reply["completeness"],
        agents=await visit.agents(),
    )


async def show_one(visit: Visit) -> web.StreamResponse:
    agent, fact_id = await visit.agent(), visit.request.match_info["fact"]
    call = visit.fleet.call
    fact, evidence = await together(call(agent, "why", fact_id=fact_id), call(agent, "evidence", fact_id=fact_id))
    replaced, successor, around = await together(
        _named(visit, agent, fact["replaces"]), _named(visit, agent, [fact["superseded_by"]]), _around(visit, agent, fact)
    )
    return visit.show(
        "fact.html", agent=agent, fact=fact, evidence=evidence, replaced=replaced, successor=successor, around=around
    )


async def correct(visit: Visit) -> web.StreamResponse:
    """Put a newer statement in its place."""
    form, fact_id = await visit.form(), visit.request.match_info["fact"]
    agent, content = required(form, "agent", "the agent"), required(form, "content", "what holds now")
    reason = required(form, "reason", "the reason")
    source = f"correction on the console: {reason}"
    newer = await visit.decide(agent, "correct", fact_id, reason, fact_id=fact_id, content=content, source=source)
    return visit.go(f"/facts/{newer['fact_id']}", agent=agent)


async def retract(visit: Visit) -> web.StreamResponse:
    form, fact_id = await visit.form(), visit.request.match_info["fact"]
    agent, reason = required(form, "agent", "the agent"), required(form, "reason", "the reason")
    await visit.decide(agent, "retract", fact_id, reason, fact_id=fact_id, text=reason)
    return visit.go(f"/facts/{fact_id}", agent=agent)


async def _named(visit: Visit, agent: str, ids: list[str]) -> list[dict[str, Any]]:
    """Stand-ins for facts, by their ids; ids that nobody has any more, or that are no fact's, are left out."""
    replies = await together(*(visit.fleet.call(agent, "named", fact_id=fact_id) for fact_id in filter(None, ids)))
    return [fact for reply in replies for fact in reply["facts"]]


async def _around(visit: Visit, agent: str, fact: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """By concept or entity: other facts that name it. Searched for: to look through all facts takes tenths of a second."""
    names = [name for name in dict.fromkeys((fact["concept"], *fact["entities"])) if name][:_CONCEPTS_MAX]
    searching = (visit.fleet.call(agent, "search", query=name, limit=_NEIGHBOURS_SEARCHED, method="keyword") for name in names)
    replies = await together(*searching)
    return [(name, _naming(name, listed["hits"], fact["fact_id"])) for name, listed in zip(names, replies, strict=True)]


def _naming(name: str, hits: list[dict[str, Any]], but: str) -> list[dict[str, Any]]:
    matches = [hit for hit in hits if hit["fact_id"] != but and is_about(name, hit["concept"], hit["entities"])]
    return matches[:_NEIGHBOURS_SHOWN]


PAGE = Page(
    "Facts",
    "/facts",
    {"/facts": show, "/facts/{fact}": show_one},
    {"/facts/{fact}/correct": correct, "/facts/{fact}/retract": retract},
)
