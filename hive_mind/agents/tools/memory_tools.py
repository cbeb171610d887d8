"""Tools over an agent's memory: recall, ask, learn, remember, correct, retract. Which topology is behind it, no tool knows.

A run vouches for its own statements. Its repetitions of facts that it recalled are not kept once more: nobody confirms
himself by way of a hive.
"""

import asyncio
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from hive_mind.agents.agent import turn
from hive_mind.agents.answering import AnsweringSteps
from hive_mind.agents.learning import Learned, LearningPlan, LearningSteps
from hive_mind.agents.runs.run_files import RunFiles
from hive_mind.cognition.reader import Reader
from hive_mind.errors import InvalidInput
from hive_mind.memory.base import Memory
from hive_mind.memory.disputes import dispute_text
from hive_mind.model.content import Candidate, Content, LeftOut
from hive_mind.model.fact import CONFIDENCE, Fact
from hive_mind.model.gathered import Question
from hive_mind.model.ids import canonical
from hive_mind.model.query import LIMIT, Hit
from hive_mind.regex import regex
from hive_mind.tools.base import Tool
from hive_mind.tools.functions import tool

_LIMIT_MAX = 100
_RESULT = regex(r"(?:recall|ask)_\d+\.txt")


def memory_tools(memory: Memory, reader: Reader, run: str, files: RunFiles | None = None) -> Sequence[Tool]:
    """All seven, for one run. `files`: its folder, which knows what was recalled before a restart."""
    recalled = _Recalled(files or RunFiles(None))
    return [*_reading(memory, reader, recalled), *_writing(memory, reader, run, recalled)]


class _Recalled:
    """The facts that were recalled in a run, in this process and in those before it."""

    def __init__(self, files: RunFiles) -> None:
        self._files, self._texts, self._is_loaded = files, set[str](), False

    def add(self, hits: Iterable[Hit]) -> None:
        self._texts.update(canonical(hit.fact.content) for hit in hits)

    async def has(self, statement: str) -> bool:
        if not self._is_loaded:
            self._texts.update(await asyncio.to_thread(lambda: set(_recalled_before(self._files))))
            self._is_loaded = True
        return canonical(statement) in self._texts


def _recalled_before(files: RunFiles) -> Iterator[str]:
    for name in files.data_files():
        if _RESULT.fullmatch(name):
            recalled = json.loads(files.read(name))
            yield from (canonical(fact["text"]) for fact in (recalled if isinstance(recalled, list) else recalled["facts"]))


def source_of(run: str) -> str:
    """The source that vouches for a run's statements."""
    return f"run:{run}"


def fact_shown(fact: Fact) -> dict[str, Any]:
    document: dict[str, Any] = {"id": fact.id, "text": fact.content, "about": fact.concept, "sources": list(fact.sources)}
    return document | ({"said_at": fact.said_at} if fact.said_at else {})


def _reading(memory: Memory, reader: Reader, recalled: _Recalled) -> Sequence[Tool]:
    @tool
    async def recall(query: str, limit: int = LIMIT) -> list[dict[str, Any]]:
        """Search what is remembered, here and in the hive. Gives facts with their sources, the best first."""
        hits = await memory.search_facts(query, max(1, min(limit, _LIMIT_MAX)))
        recalled.add(hits)
        return [_hit_shown(hit) for hit in hits]

    @tool
    async def ask(question: str, asked_at: str = "") -> dict[str, Any]:
        """Ask what is remembered. Gives an answer that rests on facts alone, with them, or says that it is not known."""
        answer = await turn(AnsweringSteps(memory, reader), Question(question, asked_at))
        recalled.add(answer.sources)
        return {"answer": answer.text, "is_known": answer.is_known, "facts": [_hit_shown(hit) for hit in answer.sources]}

    return [recall, ask]


def _writing(memory: Memory, reader: Reader, run: str, recalled: _Recalled) -> Sequence[Tool]:
    @tool
    async def learn(text: str, source: str = "") -> dict[str, Any]:
        """Learn from a text: its facts are kept. `source` says where the text comes from."""
        steps = LearningSteps(memory, reader)
        plan = await steps.decide(await steps.orient(await steps.observe(Content(text, source or source_of(run)))))
        outcome = await steps.act(plan if source else await _news(plan, recalled))
        return _learned_shown(outcome)

    @tool(timeout_s=3_600)
    async def learn_content(
        text: str, source: str, said_at: str = "", speaker: str = "", title: str = "", is_whole: bool = False
    ) -> dict[str, Any]:
        """Learn content that people give. `is_whole`: it is all that its source says now, in place of what it said before."""
        outcome = await turn(LearningSteps(memory, reader), Content(text, source, said_at, speaker, title, is_whole))
        return _learned_shown(outcome)

    @tool
    async def remember(statement: str, about: str) -> dict[str, Any]:
        """Keep one statement about a topic."""
        if await recalled.has(statement):
            return {"kept": False, "why": "it was recalled in this run: it is known already"}
        return {"kept": True, "fact": fact_shown(await memory.store_fact(about, statement, CONFIDENCE, source=source_of(run)))}

    @tool
    async def correct(fact_id: str, statement: str) -> dict[str, Any]:
        """Put a newer statement in the place of a fact."""
        former = await _known(memory, fact_id)
        newer = Candidate(statement, former.concept, CONFIDENCE)
        return fact_shown(await memory.supersede(former.id, newer, source_of(run)))

    @tool
    async def retract(fact_id: str) -> dict[str, Any]:
        """Take a fact back that is not true."""
        return fact_shown(await memory.retract_fact((await _known(memory, fact_id)).id))

    return [learn, learn_content, remember, correct, retract]


async def _news(plan: LearningPlan, recalled: _Recalled) -> LearningPlan:
    """A run's own statements, without those it only repeats."""
    candidates = [candidate for candidate in plan.candidates if await recalled.has(candidate.content)]
    left_out = (*plan.left_out, *(LeftOut(candidate.content, "it was recalled in this run") for candidate in candidates))
    return replace(
        plan, candidates=tuple(candidate for candidate in plan.candidates if candidate not in candidates), left_out=left_out
    )


async def _known(memory: Memory, fact_id: str) -> Fact:
    fact = await memory.get_fact(fact_id)
    if fact is None:
        raise InvalidInput(f"there is no fact {fact_id!r} of this agent's own; recall gives the ids")
    return fact


def _learned_shown(outcome: Learned) -> dict[str, Any]:
    facts = [fact_shown(fact) for fact in outcome.facts]
    return {"facts": facts, "added": outcome.added, "former": outcome.former, "left_out": dict(outcome.reasons)}


def _hit_shown(hit: Hit) -> dict[str, Any]:
    dispute = dispute_text(hit)
    voices = {"from": list(hit.voices.agents), "trust": hit.voices.trust} if hit.voices else {}
    return fact_shown(hit.fact) | {"score": round(hit.score, 3)} | voices | ({"disputed": dispute} if dispute else {})
