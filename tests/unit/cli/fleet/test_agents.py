"""Which agent `ask` and `learn` mean where fleets run.

Who meets somebody else's change of a fleet did nothing wrong, and did not get what they wanted: exit code 1, not 2.
"""

import asyncio
from contextlib import asynccontextmanager

import pytest
import typer

from hive_mind.cli import fleet as fleets
from hive_mind.cli.asking.asked import FleetAgent, fleet_agent
from hive_mind.cli.running import FAILED, CommandError, exit_codes
from hive_mind.control.state import FleetChanged, FleetFolder, FleetLocked, FleetState
from hive_mind.control.status import AgentView, FleetStatus, ProcessView
from hive_mind.errors import BackendTimeout, InvalidInput
from hive_mind.runtime import asking
from hive_mind.runtime.asking import ProcessGone, ProcessSilent


class Fleet:
    """Stands for the controller of a fleet."""

    def __init__(self, name, agents, *, pid=7):
        self.name, self.agents, self.pid = name, agents, pid

    async def status(self):
        views = tuple(AgentView(name, "ready" if ready else "starting", ready, "p") for name, ready in self.agents.items())
        return FleetStatus(self.name, "Ready", "flat", 1, 1, (), (ProcessView("p", "ready", self.pid),), views)


@pytest.fixture
def home(tmp_path, monkeypatch):
    known = {}

    @asynccontextmanager
    async def opened(home, name):
        assert home == tmp_path
        yield known[name]

    def add(name, *, is_stopped=False, pid=7, **agents):
        FleetFolder(tmp_path, name).make().keep(FleetState(is_stopped=is_stopped))
        known[name] = Fleet(name, agents, pid=pid)

    monkeypatch.setattr(fleets, "opened", opened)
    add.path = tmp_path
    return add


def chosen(home, fleet="", agent="", *, is_looking=False):
    async def choose():
        async with fleet_agent(home.path, fleet, agent, is_looking=is_looking) as found:
            return (found.fleet, found.name) if found else None

    return asyncio.run(choose())


NO_FLEET = "using agent default, which is in no running fleet"


@pytest.mark.parametrize(
    ("there", "agent", "used", "told"),
    [
        (None, "", None, ""),
        ({"ada": False, "ben": True}, "", ("research", "ben"), "using agent ben of fleet research\n"),
        ({"ada": True}, "default", None, NO_FLEET),
        (
            {"ada": True, "is_stopped": True},
            *("", None, f"{NO_FLEET}: research was stopped, hive-mind rollout restart starts it again\n"),
        ),
    ],
    ids=["no fleet", "one that is ready", "an agent of no fleet", "a fleet that was stopped"],
)
def test_the_agent_that_is_used_is_named_with_its_fleet(home, capsys, there, agent, used, told):
    if there:
        home("research", **there)
    assert chosen(home, agent=agent) == used
    written = capsys.readouterr().err
    assert written.startswith(told)
    assert bool(written) == bool(told)


def test_one_that_is_only_looked_at_need_not_be_ready_but_runs(home):
    home("research", ada=False, ben=False)

    with pytest.raises(CommandError, match="no agent of fleet 'research' is ready"):
        chosen(home)
    assert chosen(home, is_looking=True) == ("research", "ada")
    home("research", ada=False, ben=True)
    assert chosen(home, is_looking=True) == ("research", "ben")


def test_a_fleet_that_was_stopped_or_died_is_not_used(home):
    home("stopped", ada=True, is_stopped=True)
    assert chosen(home) is None
    home("died", ben=True, pid=0)
    assert chosen(home, agent="ben") is None
    with pytest.raises(CommandError, match=r"fleet died is down .*: hive-mind rollout restart"):
        chosen(home)


def test_of_several_fleets_one_has_to_be_named(home, capsys):
    home("north", ada=True)
    home("south", ben=True)

    assert chosen(home) is None
    assert "--fleet north or south" in capsys.readouterr().err
    assert chosen(home, fleet="south") == ("south", "ben")
    assert chosen(home, agent="ada") == ("north", "ada")


def test_what_is_named_has_to_be_there(home):
    home("research", ada=True)
    home("died", ben=True, pid=0)

    with pytest.raises(InvalidInput, match="no fleet 'reserch'"):
        chosen(home, fleet="reserch")
    with pytest.raises(InvalidInput, match="no agent 'zoe'"):
        chosen(home, fleet="research", agent="zoe")
    with pytest.raises(CommandError, match="does not run"):
        chosen(home, fleet="died")


class Silent:
    """The controller of a fleet whose agent ada does not answer."""

    def __init__(self, monkeypatch, error, *agents, topology="flat"):
        self.error, self.agents, self.topology, self.asked = error, agents, topology, []
        monkeypatch.setattr(asking, "called", self.called)

    async def status(self):
        views = (AgentView("ada", "silent", False, "p"), *self.agents)
        return FleetStatus("town", "Degraded", self.topology, 1, 1, (), (), views)

    async def contact(self, agent):
        return f"the process of {agent}"

    async def called(self, contact, agent, what, fields, *, silence_s, progress):
        assert contact == f"the process of {agent}"
        assert progress is None
        del fields
        self.asked.append((agent, what, silence_s))
        if agent == "ada":
            raise self.error
        return {"answer": "At nine.", "note": "keyword search only"}


GONE = [ProcessSilent("p", "no answer in 15 s"), ProcessGone("p", "it is not running")]


@pytest.mark.parametrize("error", GONE)
@pytest.mark.parametrize("what", ["ask", "search"])
def test_another_agent_answers_a_question_that_one_can_not_and_the_reply_says_so(error, what, monkeypatch):
    controller = Silent(monkeypatch, error, AgentView("bo", "ready", True, "p"), AgentView("cy", "ready", True, "q"))
    reply = asyncio.run(FleetAgent(controller, "town", "ada", 7.0).call(what, question="When?"))

    assert (reply["answer"], reply["agent"]) == ("At nine.", "cy")
    assert reply["note"].startswith("agent cy answered instead of ada, by what it knows and the hive shares: p: ")
    assert reply["note"].endswith("; keyword search only")
    assert controller.asked == [("ada", what, 7.0), ("cy", what, 7.0)]


@pytest.mark.parametrize("error", GONE)
@pytest.mark.parametrize("what", ["learn", "facts", "retract", "export"])
def test_what_is_about_one_agent_is_asked_of_no_other(error, what, monkeypatch):
    controller = Silent(monkeypatch, error, AgentView("cy", "ready", True, "q"))
    with pytest.raises(type(error)):
        asyncio.run(FleetAgent(controller, "town", "ada").call(what))
    assert [agent for agent, *_ in controller.asked] == ["ada"]


@pytest.mark.parametrize(
    ("error", "phase", "topology", "told"),
    [
        (GONE[0], "starting", "flat", "no answer"),
        # One that shares nothing with it does not answer for it.
        (GONE[0], "ready", "single", "no answer"),
        # A refusal of the agent itself is its own.
        (BackendTimeout("ada", "its model is late"), "ready", "flat", "its model"),
    ],
)
def test_where_no_other_agent_may_answer_the_error_is_told(error, phase, topology, told, monkeypatch):
    controller = Silent(monkeypatch, error, AgentView("cy", phase, phase == "ready", "q"), topology=topology)
    with pytest.raises(type(error), match=told):
        asyncio.run(FleetAgent(controller, "town", "ada").call("ask"))
    assert [agent for agent, *_ in controller.asked] == ["ada"]


@pytest.mark.parametrize("met", [FleetLocked("team", 7), FleetChanged("team", "1 to delete")])
def test_a_change_under_way_or_made_meanwhile_is_a_failure_in_one_line(met: Exception, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(typer.Exit) as ended, exit_codes():
        raise met
    assert ended.value.exit_code == FAILED
    assert capsys.readouterr().err.startswith("error: fleet 'team'")
