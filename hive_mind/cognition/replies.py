"""Replies of a language model: JSON checked field by field before anything else sees it.

A reply in another form raises `UnusableReplyError` with a problem to send back to the model. Single bad facts in a good reply are
dropped and counted: one confidence of 8100 should not cost the other twenty facts.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

import msgspec

from hive_mind.model.decoding import json_decoder
from hive_mind.regex import regex

_T = TypeVar("_T")

# As long as the longest fact the extractive reader keeps; a longer statement was not extracted.
_FACT_CHARS_MAX = 1000
_CONTEXT_CHARS_MAX = 80


class UnusableReplyError(Exception):
    """The reply can't be taken as it is. The message says why, in words for the model. Never leaves the reader."""


class FactReply(msgspec.Struct, frozen=True):
    """One extracted fact as a model writes it."""

    fact: Annotated[str, msgspec.Meta(max_length=_FACT_CHARS_MAX)]
    confidence: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
    context: str = ""
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class FactsReply:
    """The usable facts of a reply, and how many were not."""

    facts: tuple[FactReply, ...]
    dropped: int


class AnswerReply(msgspec.Struct, frozen=True):
    """An answer with the numbers of the facts it rests on."""

    known: bool
    answer: str = ""
    citations: tuple[int, ...] = ()


class VerdictReply(msgspec.Struct, frozen=True):
    """A judge's verdict on a result, with a score for each criterion and a word on each constraint; None where it can't tell."""

    action: Literal["accept", "retry", "replan", "escalate"]
    confidence: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
    reasoning: str
    scores: dict[str, Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] | None] = {}
    violated: dict[str, bool | None] = {}


class FactVerdict(msgspec.Struct, frozen=True):
    """A judge's verdict on one of the facts it was shown."""

    number: int
    action: Literal["share", "keep", "ask"]
    confidence: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
    reasoning: str


class _Temporal(msgspec.Struct):
    said_at: str


class _Facts(msgspec.Struct):
    facts: list[msgspec.Raw]


class _Verdicts(msgspec.Struct):
    verdicts: list[msgspec.Raw]


class _Words(msgspec.Struct, frozen=True):
    words: list[str]


class _Concepts(msgspec.Struct):
    concept_map: str


def said_at_reply(text: str) -> str:
    """A model's reply about the time of a text; not checked to be a time."""
    return _decoded(text, _Temporal).said_at


def facts_reply(text: str) -> FactsReply:
    """Facts of an object with `facts`, or of a bare list, as some models write it."""
    body = _json_of(text)
    raw = _decoded(body, list[msgspec.Raw]) if body.startswith("[") else _decoded(body, _Facts).facts
    facts = [fact for item in raw if (fact := _fact_of(item)) is not None]
    if raw and not facts:
        raise UnusableReplyError('none of the facts has a "fact" with text in it and a "confidence" between 0 and 1')
    return FactsReply(tuple(facts), len(raw) - len(facts))


def concepts_reply(text: str) -> str:
    concept_map = _decoded(text, _Concepts).concept_map.strip()
    if not concept_map:
        raise UnusableReplyError('"concept_map" is empty')
    return concept_map


def words_reply(text: str) -> str:
    return " ".join(_decoded(text, _Words).words)


def answer_reply(text: str, facts: int) -> AnswerReply:
    """An answer that cites only facts numbered 1 to `facts`; other numbers are dropped, also inside its text."""
    reply = _decoded(text, AnswerReply)
    if not reply.known:
        return AnswerReply(known=False)
    citations = tuple(dict.fromkeys(number for number in reply.citations if 1 <= number <= facts))
    if not citations:
        raise UnusableReplyError(f'"citations" must name at least one of the facts 1 to {facts} when "known" is true')
    answer = _without_unknown_marks(reply.answer, facts)
    if not answer:
        raise UnusableReplyError('"answer" is empty although "known" is true')
    return AnswerReply(known=True, answer=answer, citations=citations)


def verdict_reply(text: str, criteria: Collection[str], constraints: Collection[str]) -> VerdictReply:
    """A verdict that says something of all these criteria and constraints, and of nothing else."""
    reply = _decoded(text, VerdictReply)
    for name, ids, values_given in (("scores", criteria, reply.scores), ("violated", constraints, reply.violated)):
        if missing := [id for id in ids if id not in values_given]:
            raise UnusableReplyError(f'"{name}" has nothing for {", ".join(missing)}')
    if not reply.reasoning.strip():
        raise UnusableReplyError('"reasoning" is empty')
    return msgspec.structs.replace(
        reply,
        scores={id: reply.scores[id] for id in criteria},
        violated={id: reply.violated[id] for id in constraints},
    )


def fact_verdicts_reply(text: str, facts: int) -> dict[int, FactVerdict]:
    """Verdicts by the numbers 1 to `facts`. Of a fact that has none that can be used, or several, there is none."""
    verdicts: dict[int, FactVerdict | None] = {}
    for item in _decoded(text, _Verdicts).verdicts:
        if (fact_verdict := _verdict_of(item)) is not None and 1 <= fact_verdict.number <= facts:
            verdicts[fact_verdict.number] = None if fact_verdict.number in verdicts else fact_verdict
    usable = {number: verdict for number, verdict in verdicts.items() if verdict is not None}
    if not usable:
        raise UnusableReplyError(f'"verdicts" has nothing that can be used about the statements 1 to {facts}')
    return usable


def _verdict_of(item: msgspec.Raw) -> FactVerdict | None:
    try:
        return json_decoder(FactVerdict)(item)
    except (msgspec.DecodeError, RecursionError):
        return None


_MARK = regex(r"\s?\[(\d{1,9}(?:,\s?\d{1,9}){0,20})\]")


def _without_unknown_marks(answer: str, facts: int) -> str:
    def kept(match: re.Match[str]) -> str:
        is_known = all(1 <= int(number) <= facts for number in match[1].split(","))
        return match.group() if is_known else ""

    return _MARK.sub(kept, answer).strip()


def _fact_of(item: msgspec.Raw) -> FactReply | None:
    try:
        reply = json_decoder(FactReply)(item)
    except (msgspec.DecodeError, RecursionError):
        return None
    fact, context = " ".join(reply.fact.split()), " ".join(reply.context.split())[:_CONTEXT_CHARS_MAX]
    return FactReply(fact, reply.confidence, context, " ".join(reply.speaker.split())) if fact else None


def _decoded(text: str, shape: type[_T]) -> _T:
    body = _json_of(text)
    try:
        return json_decoder(shape)(body.encode("utf-8", "replace"))
    except msgspec.DecodeError as problem:
        raise UnusableReplyError(f"it is not the JSON that was asked for: {problem}") from None
    except RecursionError:
        raise UnusableReplyError("it has brackets in brackets, hundreds deep") from None


def _json_of(text: str) -> str:
    """The JSON in a reply: models like to put it into a code fence or a sentence around it."""
    body = text.strip()
    if body.startswith(("{", "[")):
        return body
    starts = [position for bracket in "{[" if (position := body.find(bracket)) >= 0]
    end = max(body.rfind("}"), body.rfind("]"))
    if not starts or end < min(starts):
        raise UnusableReplyError("it contains no JSON object")
    return body[min(starts) : end + 1]


def numbered(lines: Sequence[str]) -> str:
    """Lines with their numbers from 1, one line each whatever they contain."""
    return "\n".join(f"[{number}] {' '.join(line.split())}" for number, line in enumerate(lines, 1))
