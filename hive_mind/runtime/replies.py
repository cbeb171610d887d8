"""The answers of an agent of another process, and the errors that an answer may stand for.

Facts, hits and answers as plain values: what an agent that runs tells of them, and what commands print as JSON.
"""

import random
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from hive_mind.api.replies import Answered, FactJson, FoundReply, HitJson, Reached, SaidBy
from hive_mind.errors import (
    BackendBusy,
    BackendError,
    BackendThrottled,
    BackendTimeout,
    BackendUnavailable,
    HiveError,
    InvalidInput,
)
from hive_mind.model.decoding import json_decoder
from hive_mind.model.fact import Fact
from hive_mind.model.query import Hit
from hive_mind.retry import RetrySettings, retried

if TYPE_CHECKING:
    # Clients, which read replies, load nothing of what makes them.
    from hive_mind.model.gathered import Answer, Gathered, SearchResult

T = TypeVar("T")

# Half a minute in all: the client still waits for the answer.
_WHILE_BUSY = RetrySettings(attempts_max=8, delay_max_s=8.0)


class AgentFailed(BackendError):
    """An agent answered a request with an error. `kind` is the name of that error."""

    def __init__(self, name: str, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(name, message)


def refusal(error: HiveError) -> dict[str, Any]:
    """An error as an answer, which `reply_of` reads."""
    reply = {"error": str(error), "kind": type(error).__name__}
    return reply | ({"retry_after_s": error.retry_after_s} if isinstance(error, BackendThrottled) else {})


def reply_of(name: str, body: bytes) -> Any:
    """The answer. Raises an error that it stands for, as if it had been asked in this process, or `AgentFailed`."""
    try:
        reply = json_decoder(dict[str, Any])(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BackendUnavailable(name, "it answered with something that is not a reply") from error
    if "error" not in reply:
        return reply.get("ok")
    kind, message = str(reply.get("kind", "")), str(reply["error"]).removeprefix(f"{name}: ")
    match kind:
        case "InvalidInput":
            raise InvalidInput(message)
        case "BackendTimeout":
            raise BackendTimeout(name, message)
        case "BackendUnavailable":
            raise BackendUnavailable(name, message)
        case "BackendBusy":
            wish = reply.get("retry_after_s")
            raise BackendBusy(name, message, wish if isinstance(wish, int | float) else None)
    raise AgentFailed(name, kind, message)


async def asked_patiently(ask: Callable[[], Awaitable[T]], only: type[BackendError] = BackendBusy) -> T:
    """The answer, asked for again where the other process has too much to do. Raises what `ask` raises."""
    return await retried(ask, _WHILE_BUSY, rng=random.Random(), only=only)  # noqa: S311 - spreads attempts in time


def fact_reply(fact: Fact) -> FactJson:
    fields = msgspec.to_builtins(fact)
    # As they look after a journey as JSON.
    lists = {name: list(value) for name, value in fields.items() if isinstance(value, tuple)}
    return cast(FactJson, {"fact_id": fields.pop("id"), **fields, **lists})


def found_reply(result: "SearchResult", agent: str) -> FoundReply:
    return {"hits": _hits(result, result.gathered, agent), **_reached(result)}


def answer_reply(answer: "Answer", agent: str) -> Answered:
    return {
        "answer": answer.text,
        "is_known": answer.is_known,
        "method": answer.method,
        "confidence": answer.confidence,
        "sources": _hits(answer.sources, answer.gathered, agent),
        "closest": _hits(answer.closest, answer.gathered, agent),
        **_reached(answer),
    }


def hit_reply(hit: Hit | None, agent: str) -> HitJson | None:
    return _hit(hit, "", agent) if hit else None


def _hits(hits: Iterable[Hit], gathered: "Gathered | None", agent: str) -> list[HitJson]:
    holders = gathered.holders if gathered else {}
    return [_hit(hit, holders.get(hit.fact.id, ""), agent) for hit in hits]


def _hit(hit: Hit, held_by: str, agent: str) -> HitJson:
    from hive_mind.memory.disputes import dispute_text
    from hive_mind.memory.editions import former_note

    authors: SaidBy = {"from": list(hit.voices.agents) if hit.voices else [agent]}
    return {
        **fact_reply(hit.fact),
        **authors,
        "score": hit.score,
        "components": hit.components,
        "contributions": hit.contributions,
        "trust": hit.voices.trust if hit.voices else 1.0,
        "held_by": held_by,
        "disputed": dispute_text(hit),
        "former": former_note(hit.fact),
        "rivals": [fact_reply(fact) for fact in hit.rivals],
    }


def _reached(result: "SearchResult | Answer") -> Reached:
    gathered = result.gathered
    reached, silent = (gathered.asked, gathered.silent) if gathered else ((), ())
    return {"completeness": result.completeness, "asked": list(reached), "silent": list(silent), "note": result.note}
