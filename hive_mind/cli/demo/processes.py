"""The demo over a real bus: several processes that learn apart and answer together, and the agents behind each answer."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hive_mind.cli.output import progress, show, show_json, show_prose
from hive_mind.cli.running import CommandError
from hive_mind.counted import counted
from hive_mind.errors import BackendError
from hive_mind.evals.demo import DemoQuestion, documents, questions
from hive_mind.runtime.buses import reach
from hive_mind.runtime.processes import AgentProcess
from hive_mind.runtime.workers.config import BusConfig

# One by meaning, one by identifier, one that changed, one of two parts, and what nobody ever said.
_SHOWN = ("q06", "q20", "q13", "q32", "q35")
_READY_S = 60.0
_SETTLED_S = 30.0
_POLL_S = 0.1

Reply = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ProcessesPlan:
    """The processes to start. `names` are the agents; `options` go to each of them as they are."""

    bus: str
    topology: str
    names: tuple[str, ...]
    home: Path
    options: tuple[str, ...] = ()

    def arguments(self, hive: str) -> list[str]:
        """For `hive-mind agent run`."""
        hive_options = ["--bus", self.bus, "--hive", hive, "--topology", self.topology, "--members", ",".join(self.names)]
        return [*hive_options, "--home", str(self.home), "--ready-s", str(_READY_S), *self.options]


async def show_processes(plan: ProcessesPlan, *, is_text: bool) -> None:
    """Learn apart, ask together, end everything."""
    # A hive of its own, so that what an earlier demo left on the bus is no part of it.
    hive = f"demo-{secrets.token_hex(3)}"
    # Each process would end with what is wrong here, after a while.
    await reach(BusConfig(plan.bus), plan.home)
    async with _running(plan, hive) as agents:
        learned = await _learn(agents)
        await _settled(agents)
        answered = [await _ask(agents, question, number) for number, question in enumerate(_questions())]
        pids = {name: agent.pid for name, agent in agents.items()}
    if is_text:
        _show(plan, hive, pids, learned, answered)
    else:
        show_json({"topology": plan.topology, "hive": hive, "learned": learned, "questions": answered})


@asynccontextmanager
async def _running(plan: ProcessesPlan, hive: str) -> AsyncIterator[Mapping[str, AgentProcess]]:
    """All of them, in their hive; none is left afterwards."""
    plan.home.mkdir(parents=True, exist_ok=True)
    agents = {name: AgentProcess(name, plan.arguments(hive), plan.home / f"{name}.log") for name in plan.names}
    try:
        with progress("processes") as report:
            for number, agent in enumerate(agents.values()):
                report(number, len(agents), f"starting {agent.name}")
                await agent.start()
            await asyncio.gather(*(_ready(agent, plan) for agent in agents.values()))
        yield agents
    finally:
        await asyncio.gather(*(agent.stop() for agent in agents.values()))


async def _ready(agent: AgentProcess, plan: ProcessesPlan) -> None:
    try:
        await agent.ready(2 * _READY_S)
    except (BackendError, TimeoutError):
        said = (plan.home / f"{agent.name}.log").read_text("utf-8", "replace").strip().splitlines()
        raise CommandError(f"{agent.name} did not come up: {said[-1] if said else 'it said nothing'}") from None


async def _learn(agents: Mapping[str, AgentProcess]) -> dict[str, str]:
    """Learn all documents at the same time; the agent of each."""
    contents, names = documents(), list(agents)
    with progress("documents") as report:
        done = 0

        async def learn(name: str) -> None:
            nonlocal done
            for content in contents[names.index(name) :: len(names)]:
                await agents[name].do("learn", text=content.text, source=content.source)
                done += 1
                report(done, len(contents), f"{name}: {content.source}")

        await asyncio.gather(*(learn(name) for name in names))
    return {content.source: names[number % len(names)] for number, content in enumerate(contents)}


async def _settled(agents: Mapping[str, AgentProcess]) -> None:
    """Wait until what was learned is where it belongs; what is late is only missing from the answers."""
    until_s = asyncio.get_running_loop().time() + _SETTLED_S
    while asyncio.get_running_loop().time() < until_s:
        states = await asyncio.gather(*(agent.do("stats") for agent in agents.values()))
        if not any(state["is_busy"] for state in states):
            return
        await asyncio.sleep(_POLL_S)


async def _ask(agents: Mapping[str, AgentProcess], question: DemoQuestion, number: int) -> Reply:
    """Another agent answers each."""
    asker = list(agents)[number % len(agents)]
    return {"asker": asker, "question": question.question, **await agents[asker].do("ask", question=question.question)}


def _questions() -> list[DemoQuestion]:
    by_id = {question.id: question for question in questions()}
    return [by_id[id] for id in _SHOWN]


def _show(plan: ProcessesPlan, hive: str, pids: Mapping[str, int], learned: Mapping[str, str], answered: Sequence[Reply]) -> None:
    show(f"hive-mind demo, {counted(len(plan.names), 'process', 'processes')}, {plan.topology}", style="bold")
    show_prose(f"Each process learned its part of the documents. They know one another only by the bus, as hive {hive!r}.")
    for name, pid in pids.items():
        show(f"  {name} (process {pid}): {', '.join(source for source, learner in learned.items() if learner == name)}")
    for one in answered:
        show(f"\nQ  {one['question']}", style="bold")
        show(f"{one['asker']} answers: {one['answer']}")
        learners = dict.fromkeys(
            f"{learned[source]} ({source})" for hit in one["sources"] for source in hit["sources"] if source in learned
        )
        if learners:
            show(f"learned by {', '.join(learners)}", style="cyan")
        asked = ", ".join(one["asked"]) or "nobody else: it holds a copy of everything"
        show(f"asked {asked}; {one['completeness']:.0%} of the hive was reached", style="dim")
    show("\nAll processes have ended.", style="dim")
