"""The tools of a queen: look at the runs of a fleet, hold them up, let them go on, begin them anew, and give out work.

They write steps into the journals of runs. The run's executor notices: it stops where it is, or takes the run up.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.runs.run_journal import RunJournal, RunTaken, assign_to, document_of
from hive_mind.agents.watcher import Opened
from hive_mind.errors import InvalidInput
from hive_mind.judge.capability import can_handle, chosen
from hive_mind.judge.items import Decision
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.ledger import Ledger
from hive_mind.runs.accepted import begun
from hive_mind.runs.spec import kept
from hive_mind.runs.state import RunState
from hive_mind.runs.steps import Continued, Ended, Paused, Started, Step
from hive_mind.tools import Tool, ToolContext
from hive_mind.tools.functions import tool

_T = TypeVar("_T")

_ANSWERS = ("resume", "restart", "cancel", "leave")


class FleetDirectory:
    """`domains`: what each agent knows about, by its name. `desk`: the queen's, where tickets lie.

    `is_person`: what is done is a person's order.
    """

    def __init__(
        self,
        queen: str,
        desk: LedgerDesk,
        open_ledger: Opened,
        domains: Mapping[str, Sequence[str]],
        *,
        is_person: bool = False,
    ) -> None:
        self.queen, self.desk, self.domains, self.is_person = queen, desk, domains, is_person
        self.open_ledger = open_ledger

    def of_person(self, name: str) -> "FleetDirectory":
        """The same, steered by somebody who talks with the queen."""
        return FleetDirectory(name, self.desk, self.open_ledger, self.domains, is_person=True)

    async def look(self, agent: str, work: Callable[[Ledger], Awaitable[_T]]) -> _T | None:
        """The result of `work` on an agent's ledger; None for an agent that has none."""
        ledger = await self.open_ledger(agent)
        if ledger is None:
            return None
        try:
            return await work(ledger)
        finally:
            await ledger.close()

    async def over(self, agent: str, work: Callable[[Ledger], Awaitable[_T]]) -> _T:
        """The same. Raises `InvalidInput` for an agent that has none."""
        finding = await self.look(agent, work)
        if finding is None:
            raise InvalidInput(f"agent {agent!r} has no runs here")
        return finding

    async def write(self, agent: str, run: str, step: Callable[[RunState], Step | None]) -> dict[str, Any]:
        """Add a step to a run, beside other writers; none where there is nothing to do. The run's state then.

        A sub-agent is steered with the run that delegates to it.
        """
        run = run.partition(".")[0]

        async def work(ledger: Ledger) -> dict[str, Any]:
            journal = RunJournal(ledger, run)
            while (await journal.load()).seq:
                step_wanted = step(journal.state)
                if step_wanted is None:
                    return await _shown(run, journal.state, ledger)
                try:
                    await journal.append([step_wanted])
                except RunTaken:
                    continue
            raise InvalidInput(f"agent {agent!r} has no run {run!r}")

        return await self.over(agent, work)


async def _shown(run: str, state: RunState, ledger: Ledger) -> dict[str, Any]:
    """A run as a queen sees it: what it set belongs to it until it is accepted, and stands in no prompt of hers before."""
    document = await document_of(run, state, LedgerDesk(ledger))
    return document if state.outcome == "accepted" else {**document, "outputs": {}}


def fleet_tools(fleet: FleetDirectory) -> Sequence[Tool]:
    @tool
    async def look_at_run(agent: str, run: str) -> dict[str, Any]:
        """See where a run of an agent is, and the people it waits for."""
        return await fleet.write(agent, run, lambda _: None) if run else {"agent": agent, "status": "silent"}

    @tool
    async def assign(context: ToolContext, task: str, inputs: dict[str, Any], agent: str = "") -> dict[str, Any]:
        """Give a task to the agent that fits it best, or to a named one. It runs its own worker with these inputs."""
        return await assigned(fleet, context.call, task, inputs, agent)

    @tool
    async def pause(agent: str, run: str, why: str = "") -> dict[str, Any]:
        """Hold a run up."""
        return await paused(fleet, agent, run, why)

    @tool
    async def resume(agent: str, run: str) -> dict[str, Any]:
        """Let a run go on that was held up."""
        return await settled(fleet, agent, run, "resume")

    @tool
    async def restart(agent: str, run: str) -> dict[str, Any]:
        """Give a run up and begin it anew, with what it was given."""
        return await settled(fleet, agent, run, "restart")

    @tool
    async def settle_ticket(ticket: dict[str, Any], decision: str) -> dict[str, Any]:
        """Do what a person decided about a ticket: resume, restart, cancel or leave. Closes the ticket."""
        word = decision.strip().lower()
        if word not in _ANSWERS:
            raise InvalidInput(f"answer with {', '.join(_ANSWERS)}, not {decision[:80]!r}")
        agent, run = str(ticket["agent"]), str(ticket["run"])
        settlement = await settled(fleet, agent, run, word) if run else {"status": "noted"}
        action = JudgmentAction.ESCALATE if word == "cancel" else JudgmentAction.ACCEPT
        await fleet.desk.decide(Decision(item=str(ticket["id"]), action=action, by=fleet.queen, because=word))
        return {"decision": word, **{key: settlement[key] for key in ("run", "status") if key in settlement}}

    return [look_at_run, assign, pause, resume, restart, settle_ticket]


async def assigned(fleet: FleetDirectory, wish: str, task: str, inputs: Mapping[str, Any], agent: str = "") -> dict[str, Any]:
    """The run that begins, and how well its agent fits. The same `wish` begins one. Raises `InvalidInput`."""
    name = agent or chosen(task.split(), fleet.domains.items())
    if not name:
        raise InvalidInput(f"nobody here can handle {task[:80]!r}: {', '.join(fleet.domains) or 'there are no agents'}")
    fit = can_handle(task.split(), fleet.domains.get(name, ()))
    id = await fleet.over(name, lambda ledger: assign_to(ledger, wish, inputs))
    return {"agent": name, "run": id, "level": str(fit.level), "why": fit.why}


async def settled(fleet: FleetDirectory, agent: str, run: str, word: str) -> dict[str, Any]:
    """Do what a word about a run says: restart, cancel, resume or leave. The run then. Raises `InvalidInput`."""

    def step(state: RunState) -> Step | None:
        if word in ("restart", "cancel"):
            return None if state.outcome else Ended("cancelled", f"given up by {fleet.queen}")
        return Continued(fleet.queen) if word == "resume" and state.paused and not state.outcome else None

    document = await fleet.write(agent, run, step)
    return await _restarted(fleet, agent, run.partition(".")[0]) if word == "restart" else document


async def paused(fleet: FleetDirectory, agent: str, run: str, why: str) -> dict[str, Any]:
    """Hold it up: by a queen until a person has a word, by a person until it is resumed. Raises `InvalidInput`."""

    def step(state: RunState) -> Step | None:
        is_held = bool(state.paused) and not (fleet.is_person and state.is_paused_until_answered)
        return None if state.outcome or is_held else Paused(fleet.queen, why, until_answered=not fleet.is_person)

    return await fleet.write(agent, run, step)


async def _restarted(fleet: FleetDirectory, agent: str, run: str) -> dict[str, Any]:
    """The new run is called after the old one: begun twice, it is one."""
    new_run = f"{run}-again"

    async def work(ledger: Ledger) -> dict[str, Any]:
        old, new = RunJournal(ledger, run), RunJournal(ledger, new_run)
        state = await old.load()
        if state.seq == 0:
            raise InvalidInput(f"agent {agent!r} has no run {run!r}")
        if (await new.load()).seq == 0:
            await new.append(begun(Started(kept(state.spec), dict(state.inputs))))
        return await _shown(new_run, new.state, ledger)

    return await fleet.over(agent, work)
