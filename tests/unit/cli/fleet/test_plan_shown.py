"""How a plan looks."""

import json

from hive_mind.cli.fleet import FleetFormat
from hive_mind.cli.fleet.apply import show_plan
from hive_mind.control.planning import Action, Change, Plan, Whole

PLAN = Plan(
    (
        Action("create", "ada", "it is not running yet", memory="nothing is held yet"),
        Action(
            "update", "ben", "its settings changed", (Change("spec.gossip.periodS", 10.0, 5.0), Change("spec.bus.url", "", "x"))
        ),
        Action("delete", "cleo", "it is not in the manifest any more", memory="312 facts are held nowhere else", loses=True),
    )
)


def lines_of(capsys, plan, output=FleetFormat.TABLE):
    show_plan(plan, "research", output)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_every_step_says_what_why_and_what_it_does_to_memory(capsys):
    lines = lines_of(capsys, PLAN)
    assert lines[0] == "fleet research: 1 to create, 1 to update, 1 to delete"
    assert lines[1].split() == ["+", "create", "ada:", "it", "is", "not", "running", "yet"]
    assert lines[2].strip() == "memory: nothing is held yet"


def test_a_change_is_shown_field_by_field_from_old_to_new(capsys):
    lines = lines_of(capsys, PLAN)
    assert "spec.gossip.periodS: 10.0 → 5.0" in [line.strip() for line in lines]
    assert "spec.bus.url: (none) → x" in [line.strip() for line in lines]


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


def test_values_by_name_are_spelled_as_a_person_would(capsys):
    domains = Plan((Action("update", "ada", "", (Change("spec.topology.groups.domain", {}, {"sea": ("boats", "tides")}),)),))
    assert lines_of(capsys, domains)[2].strip() == "spec.topology.groups.domain: (none) → sea: boats, tides"


def test_a_step_that_loses_facts_says_how_to_allow_it(capsys):
    assert "--allow-data-loss" in lines_of(capsys, PLAN)[-1]


def test_a_long_or_strange_value_stays_on_its_line(capsys):
    strange = Plan((Action("update", "ada", "", (Change("spec.agents[0].prompt", "a\nb\x1b[2J", "x" * 500),)),))
    _, _, change = lines_of(capsys, strange)
    assert "\x1b" not in change
    assert "a⏎b" in change
    assert len(change) < 160


def test_a_plan_of_nothing_says_so(capsys):
    assert lines_of(capsys, Plan()) == ["fleet research: nothing to do, it is as the manifest says"]


def test_programs_get_actions_and_none_where_there_are_none(capfdbinary):
    show_plan(PLAN, "research", FleetFormat.JSON)
    show_plan(Plan(), "research", FleetFormat.JSON)
    some, none = (json.loads(part) for part in capfdbinary.readouterr().out.decode().replace("}\n{", "}\0{").split("\0"))
    assert [action["kind"] for action in some["actions"]] == ["create", "update", "delete"]
    assert none == {"actions": [], "whole": None, "holdings": []}


def test_names_of_steps_are_one_a_line(capsys):
    assert lines_of(capsys, PLAN, FleetFormat.NAME) == ["create/ada", "update/ben", "delete/cleo"]


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


def test_of_very_many_agents_some_are_named(capsys):
    many = Plan(PLAN.actions, Whole(30, joining=tuple(f"a{number}" for number in range(30)), topologies=("flat", "flat")))
    assert lines_of(capsys, many)[0] == "fleet research: 30 agents; new: a0, a1, a2, a3, a4, a5, a6, a7 and 22 more"
