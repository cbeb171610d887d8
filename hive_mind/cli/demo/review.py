"""The last part of the demo: a worker without a language model reviews the notes, and a person settles what contradicts."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.run_journal import document_of
from hive_mind.cli.output import show, show_indented, show_prose
from hive_mind.counted import counted
from hive_mind.judge.items import Decision
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.workers.runs import open_goal_seeking, worker_named

AGENT = "reviewer"
WORKER = "incident-review"
_RUN = "demo"
_ANSWER = "notes"
_NOTES = {
    "handbook.md": "# Sluice gate 2\nSluice gate 2 closes at a water level of 3.2 m.\nThe grease is changed every spring.\n",
    "inspection.md": "# Sluice gate 2\nSluice gate 2 closes at a water level of 3.4 m.\nThe left chain is worn.\n",
    "handover.md": "# Duty room\nJonas has the duty from Monday on.\nThe password of the gate terminal is hunter2Xy!.\n",
}


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The result of the run, the conflicts it asked about, and how long it took."""

    document: dict[str, Any]
    conflicts: int
    seconds: float


async def review(settings: Settings, home: Path) -> Reviewed:
    """A run over the demo's documents; what it asks a person is answered here."""
    folder = home / "notes"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in _NOTES.items():
        (folder / name).write_text(text, encoding="utf-8")
    started = time.perf_counter()
    async with open_goal_seeking(settings, AGENT) as agent:
        executor = RunExecutor(f"{_RUN}-{time.time_ns():x}", agent.parts)
        await executor.start(worker_named(WORKER, agent.parts), {"notes": str(folder)})
        state = await executor.drive()
        while state.outcome is None and state.waiting:
            for item in state.waiting:
                await agent.parts.desk.decide(Decision(item=item, action=JudgmentAction.ACCEPT, by="demo", edit=_ANSWER))
            await executor.resume()
            state = await executor.drive()
        document = await document_of(executor.run, state, agent.parts.desk)
        return Reviewed(document, len(state.buffer.get("conflicts") or ()), round(time.perf_counter() - started, 2))


def show_review(reviewed: Reviewed) -> None:
    document, conflicts = reviewed.document, reviewed.conflicts
    show("\nA worker reviews the notes", style="bold")
    show_prose(
        f"The worker {WORKER!r} has no language model either. It learned three notes and found "
        f"{counted(conflicts, 'contradiction')}. A person is asked what is right; here the demo answered {_ANSWER!r}: what the "
        f"later note says. A password stayed home."
    )
    show(f"Run {document['status']} after {counted(document['steps'], 'step')} in {reviewed.seconds} s. Its report:")
    show_indented(str(document["outputs"].get("report", "")))
