"""The watcher writes one ticket for each trouble and harms nobody; a queen's tools steer runs by their journals."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.runs.fleet_tools import FleetDirectory, fleet_tools
from hive_mind.agents.runs.performer import RunParts
from hive_mind.agents.runs.run_journal import RunJournal
from hive_mind.agents.runs.run_keeper import RunKeeper
from hive_mind.agents.watcher import Watcher
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.judge.health import HealthSettings, item_of, ticket_of_dead
from hive_mind.ledger import Ledger, memory
from hive_mind.runs.spec import WorkerSpec
from hive_mind.tools import Toolbox, ToolContext
from hive_mind.tools.functions import tool
from tests.unit.agents.run_builders import Open

MINUTE_MS = 60_000
SLOW = WorkerSpec.model_validate(
    {"id": "slow", "entry": "wait", "nodes": [{"id": "wait", "kind": "tool", "tool": "wait", "outputs": ["done"]}]}
)


def opener(ledgers: Mapping[str, Ledger]) -> Any:
    async def opened(agent: str) -> Any:
        return Open(ledgers[agent]) if agent in ledgers else None

    return opened


def parts_of(ledger: Ledger, gate: asyncio.Event, clock_ms: Any) -> RunParts:
    @tool
    async def wait() -> str:
        """Wait for the gate."""
        await gate.wait()
        return "through"

    return RunParts("ada", ledger, lambda *_: Toolbox([wait]), clock_ms=clock_ms)


class Ground:
    """An agent whose run waits at a gate, and a clock."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.gate, self.ms = ledger, asyncio.Event(), 1_000
        self.keeper = RunKeeper(parts_of(ledger, self.gate, lambda: self.ms))

    async def until(self, run: str, kind: str) -> None:
        """The last step of a run is of this kind."""
        for _ in range(500):
            entries = await self.ledger.read(f"run/{run}")
            if entries and entries[-1].kind == kind:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"{run} never came to {kind}")


async def ground() -> Ground:
    found = Ground(await memory.open())
    await found.keeper.open()
    return found


async def at_the_gate() -> Ground:
    """Its run waits there."""
    found = await ground()
    await found.keeper.start(SLOW, {}, "r")
    await found.until("r", "replied")
    return found


def tools_of(fleet: FleetDirectory) -> Toolbox:
    return Toolbox(fleet_tools(fleet))


async def call(box: Toolbox, name: str, **arguments: Any) -> Any:
    found = box.get(name)
    assert found is not None
    return await found.call(ToolContext("q", "n", "q.1", "queen"), arguments)


async def test_a_stall_is_one_ticket_however_often_and_by_whomever_it_is_seen() -> None:
    ada = await at_the_gate()
    own = await memory.open()
    watchers = [Watcher("w", own, opener({"ada": ada.ledger}), clock_ms=lambda: ada.ms) for _ in range(2)]
    assert await watchers[0].look(["ada", "nobody"]) == []
    ada.ms += 5 * MINUTE_MS
    found = [ticket for one in watchers for _ in range(3) for ticket in await one.look(["ada"])]
    assert [(ticket.cause, ticket.severity, ticket.run) for ticket in found] == [("stall", "critical", "r")]
    assert [view.item.kind for view in await LedgerDesk(own).open()] == ["ticket"]
    ada.gate.set()
    await ada.until("r", "ended")
    assert await watchers[0].look(["ada"]) == []
    await ada.keeper.close()


async def test_a_member_that_falls_silent_twice_is_two_tickets() -> None:
    watcher = Watcher("w", await memory.open(), opener({}))
    told = [len(await watcher.look([], silent)) for silent in (["n1"], ["n1"], [], [], ["n1"], ["n1"])]
    assert told == [1, 0, 0, 0, 1, 0]


async def test_a_journal_that_can_not_be_read_is_told_and_hides_no_other() -> None:
    async def opened(agent: str) -> Any:
        raise BackendUnavailable(agent, "it is away")

    watcher = Watcher("w", await memory.open(), opened)
    assert await watcher.look(["ada"], ["n1"])
    assert "it is away" in watcher.troubles["ada"]


async def test_a_run_that_is_paused_stops_where_it_is_and_goes_on_when_it_may() -> None:
    ada = await at_the_gate()
    box = tools_of(FleetDirectory("queen", LedgerDesk(await memory.open()), opener({"ada": ada.ledger}), {}))
    assert (await call(box, "pause", agent="ada", run="r", why="it stalls"))["status"] == "paused"
    assert (await call(box, "pause", agent="ada", run="r"))["status"] == "paused"
    ada.gate.set()
    await asyncio.sleep(0.05)
    assert (await RunJournal(ada.ledger, "r").load()).paused == "queen: it stalls"
    assert (await call(box, "resume", agent="ada", run="r"))["run"] == "r"
    await ada.until("r", "ended")
    assert (await RunJournal(ada.ledger, "r").load()).outcome == "accepted"
    await ada.keeper.close()


async def test_work_is_assigned_to_who_fits_it_best_and_begins_one_run() -> None:
    ada = await ground()
    ada.keeper.worker = SLOW
    ada.gate.set()
    fleet = FleetDirectory(
        "queen", LedgerDesk(await memory.open()), opener({"ada": ada.ledger}), {"ada": ("pumps",), "ben": ("boats",)}
    )
    for _ in range(2):
        given = await call(tools_of(fleet), "assign", task="look at the pumps", inputs={"about": "D4"})
    assert (given["agent"], given["level"]) == ("ada", "best_fit")
    await ada.until(given["run"], "ended")
    assert [head.stream for head in await ada.ledger.heads("run/")] == [f"run/{given['run']}"]
    with pytest.raises(InvalidInput, match="nobody here can handle"):
        await call(tools_of(fleet), "assign", task="paint the ceiling", inputs={})
    await ada.keeper.close()


@pytest.mark.parametrize(("word", "status"), [("cancel", "cancelled"), ("leave", "paused"), ("resume", "accepted")])
async def test_what_a_person_says_about_a_ticket_is_done_and_closes_it(word: str, status: str) -> None:
    ada = await at_the_gate()
    desk = LedgerDesk(await memory.open())
    item = item_of(ticket_of_dead("n1", 0), "watcher", 1)
    await desk.ask(item)
    box = tools_of(FleetDirectory("queen", desk, opener({"ada": ada.ledger}), {}))
    await call(box, "pause", agent="ada", run="r")
    ada.gate.set()
    ticket = {"id": item.id, "agent": "ada", "run": "r"}
    with pytest.raises(InvalidInput, match="answer with resume"):
        await call(box, "settle_ticket", ticket=ticket, decision="perhaps")
    for _ in range(2):
        await call(box, "settle_ticket", ticket=ticket, decision=word)
    assert await desk.open() == []
    if status == "accepted":
        await ada.until("r", "ended")
    assert (await call(box, "look_at_run", agent="ada", run="r"))["status"] == status
    await ada.keeper.close()


async def test_settings_come_from_the_manifest_and_a_run_of_another_agent_that_is_not_there_is_told() -> None:
    assert HealthSettings().every_s == 120
    box = tools_of(FleetDirectory("queen", LedgerDesk(await memory.open()), opener({}), {}))
    with pytest.raises(InvalidInput, match="has no runs here"):
        await call(box, "pause", agent="ada", run="r")
