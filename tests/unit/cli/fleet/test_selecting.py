"""`-l`: agents by what they are."""

import pytest

from hive_mind.cli.fleet.get import selected
from hive_mind.control.status import AgentView
from hive_mind.errors import InvalidInput

AGENTS = [
    AgentView("ada", "ready", True, "p1", "north", "sea"),
    AgentView("bob", "asleep", True, "p1", "south", ""),
    AgentView("cy", "missing", False, "p2", "north", "land"),
]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("", ["ada", "bob", "cy"]),
        ("group=north", ["ada", "cy"]),
        ("group==north,phase!=ready", ["cy"]),
        (" domain = sea ", ["ada"]),
        ("domain=", ["bob"]),
        ("process!=p1,group=south", []),
    ],
)
def test_agents_are_chosen_by_what_holds_of_them(selector: str, names: list[str]) -> None:
    assert [one.name for one in selected(AGENTS, selector)] == names


@pytest.mark.parametrize("selector", ["north", "colour=red", "group=north,", "group>1", "=x"])
def test_what_selects_nothing_is_told_with_what_can_be_written(selector: str) -> None:
    with pytest.raises(InvalidInput, match=r"FIELD=VALUE .*group, domain, phase, process"):
        selected(AGENTS, selector)
