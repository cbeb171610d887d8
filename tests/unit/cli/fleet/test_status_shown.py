"""How the status of a fleet looks.

How a plan looks.
What fingers that know kubectl type is understood.
"""

import io
import json
from contextlib import nullcontext
from enum import StrEnum
from types import SimpleNamespace

import pytest
import typer
from rich.console import Console
from typer.main import get_command

from hive_mind.cli import fleet as status_shown
from hive_mind.cli.app import app
from hive_mind.cli.fleet import FleetFormat, describe, get, live, noun_of, seconds
from hive_mind.cli.fleet.apply import say_cost, show_outcome, show_plan
from hive_mind.cli.fleet.live import LogLine
from hive_mind.control.converging import ConvergenceResult
from hive_mind.control.planning import Action, Change, Plan, Whole
from hive_mind.control.status import AgentView, Condition, FleetStatus, ProcessView
from hive_mind.runtime.workers import NodeStatus

NOW_MS = 1_700_000_000_000


def a_status(**changes):
    conditions = (Condition("Ready", "False", "NotReady", "ben", NOW_MS - 90_000),)
    agents = (
        AgentView("ada", "ready", True, "ada", "north", facts=12, pending=1, since_ms=NOW_MS - 5_000, conditions=conditions),
        AgentView("ben", "missing", False, "ben", last_error="it is not running", restarts=3),
    )
    processes = (
        ProcessView(
            "ada", "ready", 4711, True, 55_000_000, 1.5, 120, nodes=(NodeStatus("ada", is_ready=True, members=("ada",)),)
        ),
        ProcessView("ben", "missing", last_error="it is not running"),
    )
    fields = {"phase": "Degraded", "conditions": conditions, "agents": agents, "processes": processes, "facts": 12} | changes
    return FleetStatus(name="research", topology="flat", generation=1, revision=2, **fields)


def test_the_first_line_says_how_many_are_ready_and_run_and_one_is_told_as_one():
    (ada, _), (process, _) = a_status().agents, a_status().processes
    alone = a_status(phase="Ready", agents=(ada,), processes=(process,), facts=1)
    assert status_shown.fleet_line(a_status()) == "fleet research: Degraded · 1 of 2 agents ready · 1 of 2 processes · 12 facts"
    assert status_shown.fleet_line(alone) == "fleet research: Ready · 1 of 1 agent ready · 1 process · 1 fact"


def test_what_stops_nothing_is_told_once_with_whom_it_concerns(capsys):
    names = [f"r-{number}" for number in range(1, 8)]
    processes = tuple(ProcessView(name, "ready", 7, notices=("keyword search only",)) for name in names)
    status_shown.show_fleet_line(a_status(processes=(*processes, ProcessView("z", "ready", 8))))
    assert capsys.readouterr().out.splitlines()[1:] == ["note: r-1, r-2, r-3, r-4, r-5 and 2 more: keyword search only"]


class _Opened:
    """A fleet that was changed, in this state."""

    def __init__(self, status):
        self._status = status

    async def status(self):
        return self._status


@pytest.mark.parametrize(
    ("phase", "problems", "told"),
    [
        ("Degraded", (), ["ClockSkew: ada is 60 s ahead"]),
        ("Degraded", ("ben does not run",), ["ben does not run", "ClockSkew: ada is 60 s ahead"]),
        ("Ready", (), []),
    ],
)
async def test_whatever_makes_a_fleet_degraded_is_named_behind_a_change_of_it(phase, problems, told, capsys):
    status = a_status(phase=phase, conditions=(Condition("ClockSkew", "False", "ClockOff", "ada is 60 s ahead"),))
    with pytest.raises(typer.Exit) if problems else nullcontext():
        await show_outcome(_Opened(status), ConvergenceResult(problems=problems), FleetFormat.TABLE)
    lines = capsys.readouterr().err.splitlines()
    assert [line.removeprefix("not as it should be: ") for line in lines if line.startswith("not as")] == told


def test_an_agent_that_is_missing_is_shown_with_why_and_a_wide_line_tells_domain_and_pid(capsys):
    status_shown.show_agents(a_status().agents, NOW_MS)
    header, ada, ben = capsys.readouterr().out.splitlines()
    assert header.split() == "agent phase process group facts pending lag restarts since last error".split()
    assert ada.split() == ["ada", "ready", "ada", "north", "12", "1", "0", "0", "5s"]
    assert ben.split() == ["ben", "missing", "ben", "0", "0", "0", "3", "it", "is", "not", "running"]

    ada = AgentView("ada", "ready", True, "ada", "north", "tides", 12, pid=4711)
    status_shown.show_agents([ada, AgentView("ben", "missing", False, "ben")], NOW_MS, is_wide=True)
    header, first, _ = capsys.readouterr().out.splitlines()
    assert (header.split()[-2:], first.split()[-2:]) == (["domain", "pid"], ["tides", "4711"])


def test_no_colour_goes_into_a_pipe_and_text_of_others_can_not_steer_the_terminal(capsys):
    status_shown.show_fleet_line(a_status())
    status_shown.show_agents([*a_status().agents, AgentView("eve", "failed", False, "eve", last_error="\x1b]0;evil\x07gone")])
    assert "\x1b" not in capsys.readouterr().out


def test_conditions_say_since_when_and_why_and_a_fleet_is_described_with_nodes_and_agents(capsys):
    status_shown.show_conditions(a_status().conditions, NOW_MS)
    assert capsys.readouterr().out.splitlines()[1].split() == ["Ready", "False", "1m", "NotReady", "ben"]
    describe.show_hive(a_status())
    described = capsys.readouterr().out
    assert [part for part in ("generation", "NotReady", "ben") if part not in described] == []


@pytest.mark.parametrize(
    ("output", "begin"), [(FleetFormat.JSON, "{"), (FleetFormat.YAML, "name: research\n"), (FleetFormat.NAME, "hive/research\n")]
)
def test_programs_get_everything_and_other_commands_the_name(output, begin, capfdbinary):
    live.show_status(a_status(), output)

    out = capfdbinary.readouterr().out.decode()
    assert out.startswith(begin)
    assert ("it is not running" in out) is (output is not FleetFormat.NAME)
    if output is FleetFormat.JSON:
        assert json.loads(out)["agents"][1]["restarts"] == 3


def test_a_description_shows_agent_process_and_node(capsys):
    shown = a_status()
    describe.show_agent(shown.agents[0], shown.processes[0])
    out = capsys.readouterr().out
    for part in ("north", "12 learned, 1 of them not yet confirmed", "55 MB, 1.5 s of CPU", "4711", "Ready", "node"):
        assert part in out


def test_fleets_are_listed_a_line_each(capsys, tmp_path):
    get.show_hives([a_status(), a_status(phase="Stopped", agents=(), processes=())], tmp_path)
    assert [line.split()[:4] for line in capsys.readouterr().out.splitlines()[1:]] == [
        ["research", "Degraded", "flat", "2"],
        ["research", "Stopped", "flat", "0"],
    ]


def test_rates_need_two_looks_at_the_same_process():
    rates = live.Rates()
    before, after = ProcessView("ada", "ready", 1, cpu_s=1.0, messages=10), ProcessView("ada", "ready", 1, cpu_s=2.0, messages=50)
    restarted = ProcessView("ada", "ready", 2, messages=3)

    rates.see(a_status(processes=(before,)), 100.0)
    assert rates.messages == {}
    rates.see(a_status(processes=(after,)), 102.0)
    assert (rates.messages, rates.cpu) == ({"ada": 20.0}, {"ada": 0.5})
    rates.see(a_status(processes=(restarted,)), 104.0)
    assert rates.messages == {}


def test_what_is_wrong_stands_on_top_of_the_screen():
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(live.picture(a_status(), live.Rates(), [], 25))
    lines = console.export_text().splitlines()
    assert "Degraded" in lines[0]
    assert lines[1] == "Ready: ben"


def test_where_a_screen_has_no_room_for_all_what_is_in_trouble_is_shown_and_the_rest_counted():
    agents = tuple(AgentView(f"a{number}", "ready", number != 70, "p") for number in range(100))
    console = Console(width=120, record=True, file=io.StringIO())
    lines = [LogLine("", "ada", f"line {number}") for number in range(8)]

    console.print(live.picture(a_status(agents=agents), live.Rates(), lines, 25))

    shown = console.export_text().splitlines()
    first = [line.split()[0] for line in shown if line.strip()]
    assert "a70" in first
    assert "a99" not in first
    assert len(shown) <= 25
    assert shown[-1] == "ada  line 7"


def test_one_cause_is_told_once_and_another_by_itself():
    lost = "the bus can't be reached"
    errors = {"a": lost, "b": "", "c": lost, "d": "full"}
    agents = [AgentView(name, "disconnected", False, name, last_error=error) for name, error in errors.items()]
    assert [row[-1] for row in status_shown.agent_rows(agents)] == [lost, "", "as a", "full"]


PLAN = Plan(
    (
        Action("create", "ada", "it is not running yet", memory="nothing is held yet"),
        Action(
            "update", "ben", "its settings changed", (Change("spec.gossip.periodS", 10.0, 5.0), Change("spec.bus.url", "", "x"))
        ),
        Action("delete", "cleo", "it is not in the manifest any more", memory="312 facts are held nowhere else", loses=True),
    )
)


@pytest.mark.parametrize(("kind", "count", "is_said"), [("local", 400, True), ("kubernetes", 400, False), ("local", 1, False)])
def test_a_plan_of_hundreds_of_processes_says_what_they_take_of_this_machine(kind, count, is_said, capsys):
    source = SimpleNamespace(manifest=SimpleNamespace(spec=SimpleNamespace(platform=SimpleNamespace(kind=kind))))

    say_cost(source, Plan(tuple(Action("create", f"w-{number}", "it is new") for number in range(count))))

    line = capsys.readouterr().err
    assert ("400 processes take about 34.0 of" in line and "agentsPerProcess" in line) is is_said


def lines_of(capsys, plan, output=FleetFormat.TABLE):
    show_plan(plan, "research", output)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_every_step_says_what_why_what_it_does_to_fields_and_memory_and_how_to_allow_a_loss(capsys):
    lines = lines_of(capsys, PLAN)
    assert lines[0] == "fleet research: 1 to create, 1 to update, 1 to delete"
    assert lines[1].split() == ["+", "create", "ada:", "it", "is", "not", "running", "yet"]
    assert lines[2].strip() == "memory: nothing is held yet"
    assert {"spec.gossip.periodS: 10.0 → 5.0", "spec.bus.url: (none) → x"} <= {line.strip() for line in lines}
    assert "--allow-data-loss" in lines[-1]


def test_fields_are_listed_once_however_many_they_are(capsys):
    changes = tuple(Change(f"spec.llm.{name}", 1, 2) for name in "abcd")
    many = "spec.llm.a, spec.llm.b, spec.llm.c and 1 more"
    plan = Plan(
        (
            Action("update", "ada", f"other settings: {many}", changes),
            Action("update", "ben", f"it is not running, and has other settings now: {many}", changes),
        )
    )

    lines = [line.strip() for line in lines_of(capsys, plan)]

    assert lines[1].split() == ["~", "update", "ada"]
    assert lines[2] == "spec.llm.a: 1 → 2"
    assert lines[6].split(maxsplit=2)[2] == "ben: it is not running, and has other settings now"


def test_a_long_or_strange_value_stays_on_its_line(capsys):
    strange = Plan((Action("update", "ada", "", (Change("spec.agents[0].prompt", "a\nb\x1b[2J", "x" * 500),)),))
    _, _, change = lines_of(capsys, strange)
    assert "\x1b" not in change
    assert "a⏎b" in change
    assert len(change) < 160


def test_programs_get_actions_and_none_where_there_are_none(capfdbinary):
    show_plan(PLAN, "research", FleetFormat.JSON)
    show_plan(Plan(), "research", FleetFormat.JSON)
    some, none = (json.loads(part) for part in capfdbinary.readouterr().out.decode().replace("}\n{", "}\0{").split("\0"))
    assert [action["kind"] for action in some["actions"]] == ["create", "update", "delete"]
    assert none == {"actions": [], "whole": None, "holdings": [], "troubles": []}


@pytest.mark.parametrize("troubles", [(), ("the bus is away",), ("the bus is away", "bob hangs")])
def test_a_plan_without_a_step_is_not_called_good_where_something_is_wrong(troubles, capsys):
    first, *others = lines_of(capsys, Plan(troubles=troubles))
    assert ("it is as the manifest says" in first) is not bool(troubles)
    assert [line.split(maxsplit=1) for line in others] == [["!", trouble] for trouble in troubles]


MANY = Whole(30, joining=tuple(f"a{number}" for number in range(30)), topologies=("flat", "flat"))
DOMAINS = Action("update", "ada", "", (Change("spec.topology.groups.domain", {}, {"sea": ("boats", "tides")}),))
RESEARCH = "fleet research: "


@pytest.mark.parametrize(
    ("plan", "line", "output", "told"),
    [
        (Plan(), 0, FleetFormat.TABLE, f"{RESEARCH}nothing to do, it is as the manifest says"),
        (Plan((DOMAINS,)), 2, FleetFormat.TABLE, "spec.topology.groups.domain: (none) → sea: boats, tides"),
        (Plan(PLAN.actions, MANY), 0, FleetFormat.TABLE, f"{RESEARCH}30 agents; new: a0, a1, a2, a3, a4, a5, a6, a7 and 22 more"),
        (PLAN, slice(None), FleetFormat.NAME, ["create/ada", "update/ben", "delete/cleo"]),
    ],
    ids=["nothing", "values by name", "very many agents", "names of steps"],
)
def test_a_plan_is_told_in_lines_that_a_person_would_write(plan, line, output, told, capsys):
    assert [line.strip() for line in lines_of(capsys, plan, output)][line] == told


def test_what_is_done_to_several_alike_is_said_once(capsys):
    alike = Plan(tuple(Action("create", f"a{number}", "it is not running", memory="it joins") for number in range(3)))
    assert [line.strip() for line in lines_of(capsys, alike)[1:]] == [
        "+  create a0, a1, a2: it is not running",
        "memory: it joins",
    ]


def test_agents_and_topology_come_before_processes(capsys):
    actions = (Action("move", "research.g2", "the topology was flat"), Action("create", "p2", "it is not running"))
    renamed = Plan(actions, Whole(3, joining=("boats",), leaving=("ferry",), topologies=("flat", "sharded")))
    same = Plan(actions, Whole(1, topologies=("flat", "flat")))

    assert lines_of(capsys, renamed)[:2] == [
        "fleet research: 3 agents; new: boats; no longer there: ferry; topology flat → sharded",
        "processes: 1 to move, 1 to create",
    ]
    assert lines_of(capsys, same)[0] == "fleet research: 1 agent, the same as before"


@pytest.mark.parametrize(("given", "meant_s"), [("90", 90), ("0.5", 0.5), ("10s", 10), ("1.5m", 90), ("1H", 3600), (120.0, 120)])
def test_a_time_may_have_a_unit(given: str, meant_s: float) -> None:
    assert seconds(given) == meant_s


@pytest.mark.parametrize("given", ["", "s", "10x", "-1s", "0", "25h", "nan", "inf", "1e3", "1m30s", "9" * 5000])
def test_what_is_no_time_is_told_with_what_is_one(given: str) -> None:
    with pytest.raises(typer.BadParameter, match=r"write 90, 90s, 1\.5m or 1h") as told:
        seconds(given)
    assert len(str(told.value)) < 200


@pytest.mark.parametrize(
    ("nouns", "typed", "meant"),
    [
        (get.Kind, "agent", "agents"),
        (get.Kind, "Hive", "hives"),
        (get.Kind, "events", "events"),
        (describe.Kind, "agents", "agent"),
    ],
)
def test_one_or_several_is_the_same_noun_and_another_is_told_with_those_there_are(
    nouns: type[StrEnum], typed: str, meant: str
) -> None:
    assert noun_of(nouns)(typed) == meant
    with pytest.raises(typer.BadParameter, match="'pods' is none of hive, agent"):
        noun_of(describe.Kind)("pods")


def test_the_last_lines_of_a_log_are_its_tail() -> None:
    (lines,) = (one for one in get_command(app).get_command(None, "logs").params if one.name == "lines")
    assert {"-n", "--lines", "--tail"} <= set(lines.opts)
