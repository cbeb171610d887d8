"""The next node's account of the one before it: a marker in one conversation, or a hand-over to a new one."""

import json
from typing import Any

from hive_mind.runs.state import ActiveNode, RunState

REFLECT = (
    "Before proceeding, briefly reflect: what went well in the previous phase? Are there any gaps or surprises worth noting?"
)
VALUE_CHARACTERS = 200
"""of a value that is shown in one line; all of it is in an output or a file"""
_LAST_CHARACTERS = 500


def marker(state: RunState, place: ActiveNode, *, has_failed: bool = False) -> str:
    """For a node that goes on with the conversation. Files, tools and the agent's memory stand in its prompt."""
    ended = f"has failed{_why(place)}" if has_failed else "is complete"
    return f"[Phase {place.node} {ended}.]\nOutputs so far:\n{values(state.buffer)}\n{REFLECT}"


def handoff(state: RunState, place: ActiveNode, *, has_failed: bool = False) -> str:
    """For a node with a conversation of its own."""
    said = [message.text for message in place.messages if message.role == "assistant" and message.text]
    last = f"\nWhat it said last: {_cut(said[-1], _LAST_CHARACTERS)}" if said else ""
    ended = f"has failed{_why(place)}" if has_failed else "handed over"
    return f"[{place.node} {ended}.]\nOutputs so far:\n{values(state.buffer)}{last}"


def values(known: Any) -> str:
    """One line for each key; by name, because of branches one or the other is done first."""
    return "\n".join(f"- {key}: {one_line(value)}" for key, value in sorted(known.items())) or "- none"


def one_line(value: Any, characters: int = VALUE_CHARACTERS) -> str:
    """A value as JSON, or a text as it is, in one line and cut."""
    told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return _cut(" ".join(told.split()), characters)


def _why(place: ActiveNode) -> str:
    return f": {one_line(place.errors[-1])}" if place.errors else ""


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1]}…"
