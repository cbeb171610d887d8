"""Runs: those of an agent, and one of them with its graph and its steps as they happen."""

import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import msgspec
from aiohttp import web

from hive_mind.console.visit import Page, Visit, required

_SHOWN = 50
_TEXT_MAX = 500
# The fields that place a step in its graph stand in columns of their own.
_IN_COLUMNS = ("step", "node", "place")


async def show(visit: Visit) -> web.StreamResponse:
    """The last ones."""
    agent = await visit.agent()
    reply = await visit.fleet.call(agent, "runs", limit=_SHOWN)
    return visit.show("runs.html", agent=agent, agents=await visit.agents(), runs=reply["runs"], count=reply["count"])


async def show_one(visit: Visit) -> web.StreamResponse:
    agent, run = await visit.agent(), visit.request.match_info["run"]
    state = await visit.fleet.call(agent, "run_shown", run=run)
    return visit.show("run.html", agent=agent, run=state, nodes=_nodes(state), key=secrets.token_hex(8))


async def follow(visit: Visit) -> web.StreamResponse:
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


async def tell(visit: Visit) -> web.StreamResponse:
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
                yield {"line": visit.part("_step.html", step=step_shown(event.kind.removeprefix("run."), data))}


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


PAGE = Page(
    "Runs",
    "/runs",
    {"/runs": show, "/runs/{run}": show_one, "/runs/{run}/live": follow},
    {"/runs/{run}/cancel": cancel, "/runs/{run}/resume": resume, "/runs/{run}/say": tell},
)
