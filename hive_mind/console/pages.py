"""The pages: an answer and "why not this one?", facts, items waiting for a person, messages, runs, and evaluations.

Those that decide something do it with a reason.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any

import msgspec
from aiohttp import web

from hive_mind.console.seen import report_of
from hive_mind.console.visit import PER_PAGE, Page, Visit, required, together
from hive_mind.errors import HiveError, InvalidInput, reason_of
from hive_mind.model.bounds import LIMIT_MAX
from hive_mind.model.fact import is_about
from hive_mind.model.query import LIMIT, METHOD, METHODS


async def show_answer(visit: Visit) -> web.StreamResponse:
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
        return await show_answer(visit)
    why = await visit.fleet.call(fields["agent"], "why_not", text=expected, **_question(fields))
    agents = await visit.agents()
    return visit.show("ask.html", asked=fields, methods=METHODS, answer=why["answer"], why=why, expected=expected, agents=agents)


async def _asked(visit: Visit) -> dict[str, str]:
    method = visit.given("method", METHOD)
    return {
        "agent": await visit.agent(),
        "question": visit.given("q"),
        "limit": str(visit.number("limit", LIMIT, LIMIT_MAX)),
        "method": method if method in METHODS else METHOD,
    }


def _question(fields: dict[str, str]) -> dict[str, object]:
    return {"question": fields["question"], "limit": int(fields["limit"]), "method": fields["method"]}


ASK = Page("Ask", "/ask", {"/ask": show_answer, "/ask/why-not": why_not})


# Further back a search leads there sooner; each page asks members for all facts before it.
_PAGES_MAX = 200
_NEIGHBOURS_SHOWN, _NEIGHBOURS_SEARCHED = 5, 50
_CONCEPTS_MAX = 6


async def show_facts(visit: Visit) -> web.StreamResponse:
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


async def show_fact(visit: Visit) -> web.StreamResponse:
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


FACTS = Page(
    "Facts",
    "/facts",
    {"/facts": show_facts, "/facts/{fact}": show_fact},
    {"/facts/{fact}/correct": correct, "/facts/{fact}/retract": retract},
)


_QUEUE_SHOWN = 20
_DECISIONS_SHOWN = 20
_QUEUES = "/queues"


async def show_queues(visit: Visit) -> web.StreamResponse:
    """The page: the queues of one agent and of its hive, and what was decided last."""
    agent = await visit.agent()
    requests = ("held_back", "quarantined", "conflicts", "inbox")
    held_back, quarantined, conflicts, inbox = await together(
        *(visit.fleet.call(agent, name, limit=_QUEUE_SHOWN) for name in requests)
    )
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
        return visit.go(_QUEUES, agent=form.get("shown") or agent)

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


QUEUES = Page(
    "Queues",
    _QUEUES,
    {_QUEUES: show_queues},
    {
        "/queues/retract": _retract,
        "/queues/reconsider": _reconsider,
        "/queues/quarantine": _quarantine,
        "/queues/item": _item,
    },
)


_LETTERS_SHOWN = 50
_MESSAGES_SHOWN = 100
_MESSAGES = "/messages"


async def show_messages(visit: Visit) -> web.StreamResponse:
    """Of one agent and its hive. An agent that is alone has none, and the page says so."""
    agent = await visit.agent()
    messages: list[dict[str, Any]] = []
    dead: dict[str, Any] = {"letters": [], "queues": []}
    why = ""
    try:
        messages, dead = await together(
            visit.fleet.call(agent, "told"), visit.fleet.call(agent, "dead_letters", limit=_LETTERS_SHOWN)
        )
    except HiveError as error:
        why = str(error)
    return visit.show(
        "messages.html",
        agent=agent,
        agents=await visit.agents(),
        messages=messages[: -_MESSAGES_SHOWN - 1 : -1],
        count=len(messages),
        letters=dead["letters"],
        queues=dead["queues"],
        why=why,
    )


async def move(visit: Visit) -> web.StreamResponse:
    """Send a dead letter again, or drop it."""
    form = await visit.form()
    agent, reason = required(form, "agent", "the agent"), required(form, "reason", "the reason")
    letter, verb = required(form, "letter", "the dead letter"), form.get("how")
    if verb not in ("replay", "drop"):
        raise InvalidInput("a dead letter is sent again (replay) or forgotten (drop)")
    outcome = await visit.decide(agent, verb, letter, reason, letters=[letter])
    if not outcome["count"]:
        raise InvalidInput("this dead letter is gone, or can't be read by this version")
    return visit.go(_MESSAGES, agent=agent)


async def tell(visit: Visit) -> web.StreamResponse:
    """Send an agent a word in the name of the one that is shown."""
    form = await visit.form()
    agent, to, text = (
        required(form, name, label) for name, label in (("agent", "the agent"), ("to", "to whom"), ("text", "the text"))
    )
    await visit.decide(agent, "tell", to, "said on the console", to=to, kind="note", text=text)
    return visit.go(_MESSAGES, agent=agent)


MESSAGES = Page("Messages", _MESSAGES, {_MESSAGES: show_messages}, {"/messages/move": move, "/messages/tell": tell})


_RUNS_SHOWN = 50
_TEXT_MAX = 500
# The fields that place a step in its graph stand in columns of their own.
_IN_COLUMNS = ("step", "node", "place")


async def show_runs(visit: Visit) -> web.StreamResponse:
    """The last ones."""
    agent = await visit.agent()
    reply = await visit.fleet.call(agent, "runs", limit=_RUNS_SHOWN)
    return visit.show("runs.html", agent=agent, agents=await visit.agents(), runs=reply["runs"], count=reply["count"])


async def show_run(visit: Visit) -> web.StreamResponse:
    agent, run = await visit.agent(), visit.request.match_info["run"]
    state = await visit.fleet.call(agent, "run_shown", run=run)
    return visit.show("run.html", agent=agent, run=state, nodes=_nodes(state), key=secrets.token_hex(8))


async def follow_run(visit: Visit) -> web.StreamResponse:
    """Its steps so far, and those to come."""
    return await visit.stream(_steps(visit, await visit.agent(), visit.request.match_info["run"]))


async def cancel(visit: Visit) -> web.StreamResponse:
    form, run = await visit.form(), visit.request.match_info["run"]
    agent, reason = required(form, "agent", "the agent"), required(form, "reason", "the reason")
    await visit.decide(agent, "run_cancelled", run, reason, run=run, source=f"the console: {reason}")
    return visit.go(f"/runs/{run}", agent=agent)


async def resume(visit: Visit) -> web.StreamResponse:
    """Look whether it can go on."""
    form, run = await visit.form(), visit.request.match_info["run"]
    agent, reason = required(form, "agent", "the agent"), required(form, "reason", "the reason")
    await visit.decide(agent, "run_resumed", run, reason, run=run)
    return visit.go(f"/runs/{run}", agent=agent)


async def tell_run(visit: Visit) -> web.StreamResponse:
    """Say something to it. The same form sent twice says it once."""
    form, run = await visit.form(), visit.request.match_info["run"]
    agent, text = required(form, "agent", "the agent"), required(form, "text", "what is said")
    await visit.decide(agent, "run_told", run, "a word for it", run=run, text=text, key=form.get("key", ""))
    return visit.go(f"/runs/{run}", agent=agent)


async def _steps(visit: Visit, agent: str, run: str) -> AsyncGenerator[Any, None]:
    async with aclosing(visit.fleet.events(agent, 0)) as events:
        async for event in events:
            data = msgspec.json.decode(event.data)
            if event.kind.startswith("run.") and data.get("run") == run:
                yield {"line": visit.part("step", step_shown(event.kind.removeprefix("run."), data))}


def step_shown(kind: str, event: Mapping[str, Any]) -> dict[str, Any]:
    """A step as a line: its kind, when and where, and in words what it holds besides."""
    message = event["said"] if isinstance(event.get("said"), dict) else {}
    rest = [(name, text) for name, value in message.items() if name not in _IN_COLUMNS and (text := _text(value))]
    where = str(message.get("node") or message.get("place") or "")
    return {"kind": kind, "seq": event["seq"], "at_us": 1000 * event["at_ms"], "where": where, "rest": rest}


def _text(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= _TEXT_MAX else f"{text[:_TEXT_MAX]} …"


def _nodes(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The nodes of its graph, each with where it goes on, how often it was done, and whether the run is there now."""
    edges = state["graph"]["edges"]
    return [
        {
            **node,
            "edges": [edge for edge in edges if edge["source"] == node["id"]],
            "done": state["done"].count(node["id"]),
            "is_here": node["id"] in state["at"],
        }
        for node in state["graph"]["nodes"]
    ]


RUNS = Page(
    "Runs",
    "/runs",
    {"/runs": show_runs, "/runs/{run}": show_run, "/runs/{run}/live": follow_run},
    {"/runs/{run}/cancel": cancel, "/runs/{run}/resume": resume, "/runs/{run}/say": tell_run},
)


# A report brings its own style and has no script. In a sandbox it belongs to no origin: it has no cookie and asks for nothing.
_REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'"


async def show_evaluations(visit: Visit) -> web.StreamResponse:
    return visit.show("evaluations.html", runs=await asyncio.to_thread(visit.console.evaluations.runs))


async def show_evaluation(visit: Visit) -> web.StreamResponse:
    if (run := await asyncio.to_thread(visit.console.evaluations.run, visit.request.match_info["run"])) is None:
        raise web.HTTPNotFound(reason="there is no such run here any more")
    return visit.show("evaluation.html", run=run)


async def report(visit: Visit) -> web.StreamResponse:
    run = await asyncio.to_thread(visit.console.evaluations.run, visit.request.match_info["run"])
    if run is None or not run.has_report:
        raise web.HTTPNotFound(reason="there is no report here: hive-mind eval report RUN writes it")
    try:
        body = await asyncio.to_thread(report_of, run)
    except OSError as error:
        raise web.HTTPNotFound(reason=f"the report can't be read: {reason_of(error)}") from error
    headers = {"Content-Security-Policy": _REPORT_POLICY}
    return web.Response(body=body, content_type="text/html", charset="utf-8", headers=headers)


EVALUATIONS = Page(
    "Evaluations",
    "/evaluations",
    {"/evaluations": show_evaluations, "/evaluations/{run}": show_evaluation, "/evaluations/{run}/report": report},
)
