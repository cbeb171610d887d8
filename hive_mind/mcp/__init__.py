"""An agent's memory for other programs' agents, over the Model Context Protocol.

Here are the results of the tools: plain values with a schema, made of the answers of `api.requests`. `ServedAgent` is the process
that has the memory open, as the server needs it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any, Protocol

from typing_extensions import TypedDict

from hive_mind.api.request import Progress
from hive_mind.errors import InvalidInput
from hive_mind.model.fact import fact_of

# One token of a model is about this much of an English text.
_CHARACTERS_PER_TOKEN = 4

# Of one fact in both directions; a reader sees that there is more by the ids.
_STEPS_MAX = 50


class Recalled(TypedDict):
    """A fact that answers. `note`: what contradicts it, or what replaced it."""

    id: str
    text: str
    sources: list[str]
    agents: list[str]
    trust: float
    learned_at: str
    score: float
    note: str


class Recall(TypedDict):
    """`completeness` is the share of the hive that was searched; `silent` are members that did not answer.

    `note` says what the answer had to do without, or that another agent gave it, "" for nothing.
    """

    answer: str
    is_known: bool
    facts: list[Recalled]
    left_out: int
    completeness: float
    silent: list[str]
    note: str


class Remembered(TypedDict):
    """`held_back` says by id why a fact is not shared, `left_out` how often text became no fact, by reason."""

    ids: list[str]
    added: int
    confirmed: int
    held_back: dict[str, str]
    left_out: dict[str, int]


Held = TypedDict("Held", {"from": str, "until": str})


class Why(TypedDict):
    """`said_in`: the texts it was taken from, the beginning of each.

    `held`: when it was held true, the first time first; `until` is "" where it still is, "unknown" where that was not noted.
    """

    id: str
    text: str
    about: str
    sources: list[str]
    said_at: str
    learned_at: str
    held: list[Held]
    sharing: str
    held_back: str
    replaces: list[str]
    replaced_by: str
    said_in: list[dict[str, str]]


class Changed(TypedDict):
    """`sharing`: how far the fact has gone towards the hive."""

    id: str
    sharing: str


class Side(TypedDict):
    """One of two facts that can't both be true."""

    id: str
    text: str
    sources: list[str]
    said_at: str


class Conflicts(TypedDict):
    """`count` is how many there are, also where fewer are listed."""

    pairs: list[list[Side]]
    count: int


class Status(TypedDict):
    """`fleet` is "resident" for an agent that is in no fleet."""

    agent: str
    fleet: str
    phase: str
    facts: int
    members_silent: list[str]
    problems: list[str]


class AgentState(TypedDict):
    """One agent of a fleet. `pending`: facts that the hive has not confirmed."""

    agent: str
    fleet: str
    phase: str
    group: str
    facts: int
    pending: int
    problems: list[str]


def recall_of(answer: Mapping[str, Any], tokens_max: int) -> Recall:
    """An answer, and the best facts that fit beside it into `tokens_max` tokens; 0: all of them. What it lacks is counted."""
    hits = answer["found"]
    facts = [_recalled(hit) for hit in hits["hits"]]
    reply: Recall = {
        "answer": answer["answer"],
        "is_known": answer["is_known"],
        "facts": facts,
        "left_out": 0,
        "completeness": hits["completeness"],
        "silent": hits["silent"],
        # Of the answer, which says more than what was found: whose it is. A process of an earlier version says none.
        "note": answer.get("note", ""),
    }
    room = tokens_max * _CHARACTERS_PER_TOKEN
    if tokens_max and _size(reply) > room:
        reply["facts"], reply["left_out"] = [], len(facts)
        # At most half for the answer: it is nothing without the facts that it rests on.
        reply["answer"] = _shortened(reply["answer"], room // 2 - (_size(reply) - len(reply["answer"])) // 2)
        for fact in facts:
            if _size({**reply, "facts": [*reply["facts"], fact]}) > room:
                break
            reply["facts"] = [*reply["facts"], fact]
        reply["left_out"] = len(facts) - len(reply["facts"])
    return reply


def _size(value: object) -> int:
    """The characters of it, as a client gets it."""
    return len(json.dumps(value, indent=2, ensure_ascii=False))


def _shortened(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: max(characters - 1, 0)] + "…"


def remembered_of(reply: Mapping[str, Any]) -> Remembered:
    return {
        "ids": reply["facts"],
        "added": reply["added"],
        "confirmed": reply["confirmed"],
        "held_back": reply["held_back"],
        "left_out": reply["left_out"],
    }


def remembered_here(stored: Mapping[str, Any]) -> Remembered:
    """Of a statement that was kept for its agent alone."""
    held_back = {stored["fact_id"]: stored["held_back"]} if stored["held_back"] else {}
    return {"ids": [stored["fact_id"]], "added": 1, "confirmed": 0, "held_back": held_back, "left_out": {}}


def why_of(reply: Mapping[str, Any]) -> Why:
    return {
        "id": reply["fact_id"],
        "text": reply["content"],
        "about": reply["concept"],
        "sources": reply["sources"],
        "said_at": reply["said_at"],
        "learned_at": _time(reply["learned_at_us"]),
        "held": list(_held(fact_of(reply).times_held)),
        "sharing": reply["sharing"],
        "held_back": reply["held_back"],
        "replaces": reply["replaces"],
        "replaced_by": reply["superseded_by"],
        "said_in": reply["said_in"],
    }


def conflicts_of(reply: Mapping[str, Any]) -> Conflicts:
    """Pairs, the newest first."""
    return {"pairs": [[_side(fact) for fact in pair] for pair in reply["conflicts"]], "count": reply["count"]}


def changed_of(reply: Mapping[str, Any]) -> Changed:
    """Of a fact that was corrected or taken back."""
    return {"id": reply["fact_id"], "sharing": reply["sharing"]}


def _recalled(hit: Mapping[str, Any]) -> Recalled:
    return {
        "id": hit["fact_id"],
        "text": hit["content"],
        "sources": hit["sources"],
        "agents": hit["from"],
        "trust": hit["trust"],
        "learned_at": _time(hit["learned_at_us"]),
        "score": round(hit["score"], 3),
        "note": "; ".join(clause for clause in (hit["disputed"], hit["former"]) if clause),
    }


def _side(fact: Mapping[str, Any]) -> Side:
    return {"id": fact["fact_id"], "text": fact["content"], "sources": fact["sources"], "said_at": fact["said_at"]}


def _held(times: Sequence[int]) -> Iterator[Held]:
    for start, end in zip_longest(times[::2], times[1::2]):
        yield {"from": _time(start), "until": "" if end is None else "unknown" if end == start else _time(end)}


def _time(at_us: int) -> str:
    return datetime.fromtimestamp(at_us / 1e6, UTC).isoformat(timespec="seconds")


class ServedAgent(Protocol):
    """One agent, wherever it runs."""

    async def call(self, request: str, progress: Progress | None = None, /, **fields: object) -> Any:
        """Put a request of `api.requests` to it. Raises `HiveError`."""

    async def status(self) -> Status:
        """How it and its fleet are."""

    async def status_of(self, agent: str) -> AgentState:
        """How an agent of its fleet is. Raises `InvalidInput` where there is none of this name."""


async def history_of(agent: ServedAgent, id: str) -> list[Why]:
    """All that are known, the one that holds now last. Raises `InvalidInput` for a fact that there is not."""
    why = why_of(await agent.call("why", fact_id=id))
    ids_told = {why["id"]}
    former = await _line(agent, why["replaces"], ids_told, is_back=True)
    newer = await _line(agent, [why["replaced_by"]], ids_told, is_back=False)
    return [*reversed(former), why, *newer]


async def _line(agent: ServedAgent, ids: Sequence[str], ids_told: set[str], *, is_back: bool) -> list[Why]:
    reasons, coming = list[Why](), list(ids)
    while coming and len(reasons) < _STEPS_MAX:
        id = coming.pop(0)
        if not id or id in ids_told:
            continue
        ids_told.add(id)
        # A fact replaced because its text no longer says it leads nowhere.
        with suppress(InvalidInput):
            why = why_of(await agent.call("why", fact_id=id))
            reasons.append(why)
            coming += why["replaces"] if is_back else [why["replaced_by"]]
    return reasons
