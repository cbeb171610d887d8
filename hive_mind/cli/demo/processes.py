"""The demo over a real bus: a fleet of processes that learn apart and answer together, and the agents behind each answer.

Its last part: a worker without a language model reviews the notes, and a person settles what contradicts.
"""

import asyncio
import json
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.run_journal import document_of
from hive_mind.cli.output import progress, say, show, show_indented, show_json, show_prose
from hive_mind.cli.running import CommandError
from hive_mind.control.controller import HiveController, embedding_of
from hive_mind.control.manifests import API_VERSION
from hive_mind.control.manifests.reading import read_text
from hive_mind.counted import counted
from hive_mind.evals.demo import DemoQuestion, documents, questions
from hive_mind.hive.topology.spec import reads
from hive_mind.judge.items import Decision
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.runtime.settings import Settings, variable
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


# One by meaning, one by identifier, one that changed, one of two parts, and what nobody ever said.
_SHOWN = ("q06", "q20", "q13", "q32", "q35")
_SETTLED_S = 30.0
_POLL_S = 0.1
_CREDENTIAL = "HIVE_MIND_BUS_CREDENTIAL"

Reply = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ProcessesPlan:
    """The fleet to start. `names` are the agents, each a process of its own."""

    bus: str
    topology: str
    names: tuple[str, ...]
    settings: Settings

    def manifest(self, fleet: str) -> str:
        """As `hive-mind apply` takes it. Two copies of each fact, so that already four have something to ask one another."""
        has_groups = reads(self.topology, "groups")
        agents = [
            {"name": name} | ({"group": f"group-{number // 2}"} if has_groups else {}) for number, name in enumerate(self.names)
        ]
        topology = {"kind": self.topology} | ({"replicas": 2} if reads(self.topology, "replicas") else {})
        bus = {"url": self.bus} | ({"credential": f"${{env:{_CREDENTIAL}}}"} if variable(_CREDENTIAL) else {})
        spec = {"topology": topology, "agents": agents, "bus": bus, "embedding": embedding_of(self.settings)}
        return json.dumps({"apiVersion": API_VERSION, "kind": "Hive", "metadata": {"name": fleet}, "spec": spec}, indent=2)


async def show_processes(plan: ProcessesPlan, *, is_text: bool) -> None:
    """Apply, learn apart, ask together, delete."""
    # A hive of its own, so that what an earlier demo left on the bus is no part of it.
    fleet = f"demo-{secrets.token_hex(3)}"
    async with HiveController.open(plan.settings.home, fleet) as controller:
        try:
            with progress("processes") as report:
                report(0, len(plan.names), "starting")
                outcome = await controller.apply(
                    read_text(plan.manifest(controller.folder.fleet), plan.settings.home.absolute(), "the demo")
                )
            if not outcome.is_converged:
                raise CommandError("; ".join(outcome.problems))
            agents_by_source = await _learn(controller, plan.names)
            await _settled(controller, plan.names)
            answered = [await _ask(controller, plan.names, *numbered) for numbered in enumerate(_questions())]
            running = await controller.observe()
            pids = {name: running[controller.process_of(name)].pid for name in plan.names}
        finally:
            for problem in (await controller.delete()).problems if controller.folder.exists else ():
                say(problem, style="yellow")
    if is_text:
        _show(plan, fleet, pids, agents_by_source, answered)
    else:
        show_json({"topology": plan.topology, "hive": fleet, "learned": agents_by_source, "questions": answered})


async def _learn(controller: HiveController, names: Sequence[str]) -> dict[str, str]:
    """Learn all documents at the same time; the agent of each."""
    contents = documents()
    with progress("documents") as report:
        count = 0

        async def learn(number: int, name: str) -> None:
            nonlocal count
            for content in contents[number :: len(names)]:
                await controller.call(name, "learn", text=content.text, source=content.source)
                count += 1
                report(count, len(contents), f"{name}: {content.source}")

        await asyncio.gather(*(learn(*numbered) for numbered in enumerate(names)))
    return {content.source: names[number % len(names)] for number, content in enumerate(contents)}


async def _settled(controller: HiveController, names: Sequence[str]) -> None:
    """Wait until what was learned is where it belongs; what is late is only missing from the answers."""
    until_s = asyncio.get_running_loop().time() + _SETTLED_S
    while asyncio.get_running_loop().time() < until_s:
        states = await asyncio.gather(*(controller.call(name, "stats") for name in names))
        if not any(state["is_busy"] for state in states):
            return
        await asyncio.sleep(_POLL_S)


async def _ask(controller: HiveController, names: Sequence[str], number: int, question: DemoQuestion) -> Reply:
    asker = names[number % len(names)]
    return {"asker": asker, "question": question.question, **await controller.call(asker, "ask", question=question.question)}


def _questions() -> list[DemoQuestion]:
    by_id = {question.id: question for question in questions()}
    return [by_id[id] for id in _SHOWN]


def _show(
    plan: ProcessesPlan, hive: str, pids: Mapping[str, int], agents_by_source: Mapping[str, str], answered: Sequence[Reply]
) -> None:
    show(f"hive-mind demo, {counted(len(plan.names), 'process', 'processes')}, {plan.topology}", style="bold")
    show_prose(f"Each process learned its part of the documents. They know one another only by the bus, as hive {hive!r}.")
    for name, pid in pids.items():
        show(f"  {name} (process {pid}): {', '.join(source for source, learner in agents_by_source.items() if learner == name)}")
    for reply in answered:
        show(f"\nQ  {reply['question']}", style="bold")
        show(f"{reply['asker']} answers: {reply['answer']}")
        learners = dict.fromkeys(
            f"{agents_by_source[source]} ({source})"
            for hit in reply["sources"]
            for source in hit["sources"]
            if source in agents_by_source
        )
        if learners:
            show(f"learned by {', '.join(learners)}", style="cyan")
        members = ", ".join(reply["asked"]) or "nobody else: it holds a copy of everything"
        show(f"asked {members}; {reply['completeness']:.0%} of the hive was reached", style="dim")
    show("\nAll processes have ended.", style="dim")
