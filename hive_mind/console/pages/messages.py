"""Messages between agents, messages on the bus for each node, and dead letters: sent again or dropped, with a reason."""

from typing import Any

from aiohttp import web

from hive_mind.console.visit import Page, Visit, required, together
from hive_mind.errors import HiveError, InvalidInput

_LETTERS_SHOWN = 50
_MESSAGES_SHOWN = 100
_AFTERWARDS = "/messages"


async def show(visit: Visit) -> web.StreamResponse:
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
    return visit.go(_AFTERWARDS, agent=agent)


async def tell(visit: Visit) -> web.StreamResponse:
    """Send an agent a word in the name of the one that is shown."""
    form = await visit.form()
    agent, to, text = (
        required(form, name, label) for name, label in (("agent", "the agent"), ("to", "to whom"), ("text", "the text"))
    )
    await visit.decide(agent, "tell", to, "said on the console", to=to, kind="note", text=text)
    return visit.go(_AFTERWARDS, agent=agent)


PAGE = Page("Messages", _AFTERWARDS, {_AFTERWARDS: show}, {"/messages/move": move, "/messages/tell": tell})
