"""Tools over an agent's memory and over the folder of its run. Which topology is behind a memory, no tool knows.

A run vouches for its own statements. Its repetitions of facts that it recalled are not kept once more: nobody confirms
himself by way of a hive.

Those of the bundled worker read a folder of notes, learn them, find what contradicts, settle it, and report with sources. None
needs a language model. Facts that the gate would not let out of the agent's memory are not in the report either.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hive_mind.agents.agent import Learned, LearningPlan, LearningSteps, turn
from hive_mind.agents.answering import AnsweringSteps
from hive_mind.agents.runs.run_tools import RunFiles
from hive_mind.cognition import Reader
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.memory.base import Memory
from hive_mind.memory.disputes import dispute_text
from hive_mind.memory.gate import PromotionSettings
from hive_mind.memory.gate.promotion import decide
from hive_mind.model.bounds import Bounds
from hive_mind.model.content import Candidate, Content, LeftOut
from hive_mind.model.fact import CONFIDENCE, Fact
from hive_mind.model.gathered import Question
from hive_mind.model.ids import canonical
from hive_mind.model.query import LIMIT, Hit
from hive_mind.regex import regex
from hive_mind.runs.prompt import ADAPT, ADAPT_CHARACTERS_MAX, number_of, part
from hive_mind.tools import Tool
from hive_mind.tools.functions import tool

# All of it is read by a model.
_LIMITS = Bounds(1, 100)
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
        """Search what is remembered, here and in the hive. Gives up to `limit` facts (1 to 100) with sources, the best first."""
        _LIMITS.refuse("limit", limit)
        hits = await memory.search_facts(query, limit)
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


_LINES = 500


def file_tools(files: RunFiles) -> Sequence[Tool]:
    """The three, over one run's folder."""

    @tool
    def load_data(filename: str, offset: int = 0, limit: int = _LINES) -> str:
        """Read a file of this run by lines: `limit` of them from number `offset` (from 0) on."""
        text = files.adapt() if filename == ADAPT else files.read(filename)
        return part(text, filename, max(0, offset), max(1, limit))

    @tool
    def save_data(filename: str, text: str) -> str:
        """Write a file of this run; one that is there is replaced. adapt.md is your memory: rules, preferences, notes."""
        _check(filename, text)
        files.write(filename, text)
        return f"saved {len(text):,} characters to {filename}"

    @tool
    async def edit_data(filename: str, old: str, new: str) -> str:
        """Replace a text in a file of this run. It has to stand there exactly once."""

        def changed(text: str) -> str:
            if (times := text.count(old)) != 1 or not old:
                raise InvalidInput(f"that text stands {times} times in {filename}; give one that stands there once")
            after = text.replace(old, new)
            _check(filename, after)
            return after

        await asyncio.to_thread(files.change, filename, changed)
        return f"{filename} is changed"

    return [load_data, save_data, edit_data]


def _check(filename: str, text: str) -> None:
    if number_of(filename) or filename.startswith("conversation_"):
        raise InvalidInput(f"{filename} is reserved for the run: choose another name")
    if filename == ADAPT and len(text) > ADAPT_CHARACTERS_MAX:
        raise InvalidInput(
            f"{ADAPT} would have {len(text):,} characters: at most {ADAPT_CHARACTERS_MAX:,}, as it stands in every prompt"
        )


ReadText = Callable[[Path], str | None]
"""The text of a file; None where it has none that can be read."""
_FILES_MAX = 500
_FACTS_MAX = 500
_CONFIDENCE = 0.9

JsonObject = dict[str, Any]


def incident_tools(memory: Memory, reader: Reader, run: str, read_text: ReadText) -> Sequence[Tool]:
    return [_list_notes(read_text), _learn_notes(memory, reader, read_text), *_judging(memory, run)]


def _list_notes(read_text: ReadText) -> Tool:
    @tool
    def list_notes(folder: str) -> JsonObject:
        """Look which notes a folder has. Gives files that can be read, and those that can't."""
        root = Path(folder)
        # No name at all would be the folder that the process stands in, whatever that is.
        if not folder.strip():
            raise InvalidInput("the folder has no name; give the whole path of one with notes")
        if not root.is_dir():
            # A fleet's process does not stand where the one that asks it stands.
            raise InvalidInput(f"{str(root.absolute())!r} is not a folder; give the whole path of one with notes")
        paths = sorted(path for path in root.rglob("*") if path.is_file())
        readable = [path for path in paths[:_FILES_MAX] if read_text(path)]
        left_out = [str(path.relative_to(root)) for path in paths if path not in readable]
        if not readable:
            raise InvalidInput(f"{folder!r} has no notes that can be read")
        return {"folder": folder, "files": [str(path.relative_to(root)) for path in readable], "left_out": left_out}

    return list_notes


def _learn_notes(memory: Memory, reader: Reader, read_text: ReadText) -> Tool:
    @tool(timeout_s=3_600)
    async def learn_notes(notes: JsonObject) -> JsonObject:
        """Learn each note. Gives what may be shown of the facts; the rest is counted."""
        facts_shown: list[JsonObject] = []
        held_counts: dict[str, int] = {}
        for name in notes["files"]:
            text = await asyncio.to_thread(read_text, Path(notes["folder"]) / name)
            outcome = await turn(LearningSteps(memory, reader), Content(text or "", name, is_whole=True))
            for fact in outcome.facts:
                decision = decide(fact, PromotionSettings())
                if decision.is_shared:
                    facts_shown.append(fact_shown(fact))
                else:
                    held_counts[decision.reason] = held_counts.get(decision.reason, 0) + 1
        return {"facts": facts_shown[:_FACTS_MAX], "count": len(facts_shown), "held_back": held_counts}

    return learn_notes


def _judging(memory: Memory, run: str) -> Sequence[Tool]:
    @tool(timeout_s=3_600)
    async def compare(learned: JsonObject) -> list[JsonObject]:
        """Find what contradicts the facts that were learned, here and in the hive."""
        pairs = [await _conflicts(memory, fact) for fact in learned["facts"]]
        by_pair = {frozenset((conflict["id"], conflict["rival_id"])): conflict for pair in pairs for conflict in pair}
        return list(by_pair.values())

    @tool
    async def settle(conflicts: list[JsonObject], decision: str) -> list[JsonObject]:
        """Do what a person decided about each: "notes", "memory" or "both", or one word for each conflict in their order."""
        words = decision.lower().replace(",", " ").split()
        if not words or not set(words) <= {"notes", "memory", "both"} or len(words) not in (1, len(conflicts)):
            raise InvalidInput(f'answer with "notes", "memory" or "both", once or {len(conflicts)} times, not {decision[:80]!r}')
        chosen = words * len(conflicts) if len(words) == 1 else words
        return [await _settled(memory, run, conflict, word) for conflict, word in zip(conflicts, chosen, strict=True)]

    @tool
    async def write_report(learned: JsonObject, conflicts: list[JsonObject], settled: list[JsonObject] | None = None) -> str:
        """A report in Markdown; each line that states something names its source."""
        return report_of(learned, conflicts, settled or [])

    return [compare, settle, write_report]


async def _conflicts(memory: Memory, fact: JsonObject) -> list[JsonObject]:
    hits: Sequence[Hit] = await memory.search_facts(fact["text"], 20)
    rivals = next((hit.rivals for hit in hits if hit.fact.id == fact["id"]), ())
    own = {"id": fact["id"], "notes": fact["text"], "sources": fact["sources"]}
    return [
        {**own, "rival_id": rival.id, "rival": rival.content, "rival_sources": list(rival.sources)}
        for rival in rivals
        if set(rival.sources) != set(fact["sources"]) and decide(rival, PromotionSettings()).is_shared
    ]


async def _settled(memory: Memory, run: str, conflict: JsonObject, word: str) -> JsonObject:
    """Only what this agent keeps itself can change; what others say stays theirs."""
    decided = conflict | {"decision": word}
    loser = _loser(decided)
    fact = await memory.get_fact(loser) if word != "both" else None
    if fact is None:
        return decided | {"changed": False}
    # Called again after a crash, it finds that it did so before.
    if fact.is_current:
        winner = conflict["notes"] if word == "notes" else conflict["rival"]
        await memory.supersede(loser, Candidate(winner, fact.concept, _CONFIDENCE), source_of(run))
    return decided | {"changed": True}


def _loser(settled: JsonObject) -> str:
    return str(settled["rival_id"] if settled["decision"] == "notes" else settled["id"])


def report_of(notes_learned: JsonObject, conflicts: Sequence[JsonObject], settled: Sequence[JsonObject]) -> str:
    """The learned statements, by source, and the contradictions that were found."""
    lines = ["# Incident review"]
    by_source: dict[str, list[str]] = {}
    lost = {_loser(conflict) for conflict in settled if conflict["changed"]}
    for fact in (fact for fact in notes_learned["facts"] if fact["id"] not in lost):
        by_source.setdefault(fact["sources"][0], []).append(" ".join(fact["text"].split()))
    for source, texts in by_source.items():
        lines += [f"## {source}", *(f"- {text} [{source}]" for text in texts)]
    lines += [f"## Contradictions: {len(conflicts)}"]
    decided = {(conflict["id"], conflict["rival_id"]): conflict for conflict in settled}
    lines += [_line(conflict, decided.get((conflict["id"], conflict["rival_id"]))) for conflict in conflicts]
    if held_back := notes_learned["held_back"]:
        lines += ["## Kept to itself", *(f"- {counted(count, 'fact')}: {why} [the gate]" for why, count in held_back.items())]
    return "\n".join(lines)


def _line(conflict: JsonObject, settled: JsonObject | None) -> str:
    notes_text, rival_text = " ".join(conflict["notes"].split()), " ".join(conflict["rival"].split())
    line = f"- {notes_text} [{conflict['sources'][0]}] against: {rival_text} [{conflict['rival_sources'][0]}]"
    return f"{line} — a person decided: {settled['decision']}" if settled else line
