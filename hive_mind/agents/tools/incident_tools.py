"""The tools of the bundled worker: read a folder of notes, learn them, find what contradicts, settle it, and report with sources.

None of it needs a language model. Facts that the gate would not let out of the agent's memory are not in the report either.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hive_mind.agents.agent import turn
from hive_mind.agents.learning import LearningSteps
from hive_mind.agents.tools.memory_tools import fact_shown, source_of
from hive_mind.cognition.reader import Reader
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.memory.base import Memory
from hive_mind.memory.gate.promotion import decide
from hive_mind.memory.gate.promotion_settings import PromotionSettings
from hive_mind.model.content import Candidate, Content
from hive_mind.model.fact import Fact
from hive_mind.model.query import Hit
from hive_mind.tools.base import Tool
from hive_mind.tools.functions import tool

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
    facts = [
        rival for rival in rivals if set(rival.sources) != set(fact["sources"]) and decide(rival, PromotionSettings()).is_shared
    ]
    return [_conflict(fact, rival) for rival in facts]


def _conflict(fact: JsonObject, rival: Fact) -> JsonObject:
    about = {"rival_id": rival.id, "rival": rival.content, "rival_sources": list(rival.sources)}
    return {"id": fact["id"], "notes": fact["text"], "sources": fact["sources"], **about}


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
