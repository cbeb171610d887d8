"""The demo over a real bus: a fleet of processes that learn apart and answer together, and the agents behind each answer."""

import asyncio
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hive_mind.cli.output import progress, say, show, show_json, show_prose
from hive_mind.cli.running import CommandError
from hive_mind.control.controller import HiveController
from hive_mind.control.manifests.manifest import API_VERSION
from hive_mind.control.manifests.reading import read_text
from hive_mind.control.resident import embedding_of
from hive_mind.counted import counted
from hive_mind.evals.demo import DemoQuestion, documents, questions
from hive_mind.hive.topology.spec import reads
from hive_mind.runtime.settings import Settings, variable

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
            await _apply(controller, plan)
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


async def _apply(controller: HiveController, plan: ProcessesPlan) -> None:
    with progress("processes") as report:
        report(0, len(plan.names), "starting")
        outcome = await controller.apply(
            read_text(plan.manifest(controller.folder.fleet), plan.settings.home.absolute(), "the demo")
        )
    if not outcome.is_converged:
        raise CommandError("; ".join(outcome.problems))


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
