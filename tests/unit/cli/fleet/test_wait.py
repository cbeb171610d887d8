"""What `wait` waits for."""

import pytest
from msgspec.structs import replace

from hive_mind.cli.fleet.describe import Wish, agent_of, how_it_is, is_met, wish_of
from hive_mind.control.status import AgentView, Condition, FleetStatus, ProcessView
from hive_mind.errors import InvalidInput

READY = Condition("Ready", "True", "AllReady")
NOT_READY = Condition("Ready", "False", "NotReady", "ben")


def a_status(condition=READY, *, pid=7):
    agents = (AgentView("ada", "ready", True, "ada", conditions=(READY,)),)
    return FleetStatus("research", "Ready", "flat", 1, 1, (condition,), (ProcessView("ada", "ready", pid),), agents)


@pytest.mark.parametrize(
    ("text", "wish"),
    [("condition=Ready", Wish("ready")), ("condition=ready=False", Wish("ready", "false")), ("delete", Wish(""))],
)
def test_a_wish_is_a_condition_or_the_end_and_nothing_else(text, wish):
    assert wish_of(text) == wish
    for none in ("Ready", "condition=", "condition=a b", "deleted", "condition=Ready=True=Yes", "condition=Ready=maybe"):
        with pytest.raises(InvalidInput, match="--for is"):
            wish_of(none)


def test_one_agent_or_the_whole_fleet_can_be_waited_for_and_nothing_else():
    assert [agent_of(subject) for subject in ("", "agent/ada", "ada")] == ["", "ada", "ada"]
    for subject in ("pod/ada", "agent/", "a/b/c"):
        with pytest.raises(InvalidInput):
            agent_of(subject)


def test_a_condition_is_met_when_its_value_is_the_one_wished_for():
    assert is_met(Wish("ready"), a_status(), "")
    assert not is_met(Wish("ready"), a_status(NOT_READY), "")
    assert is_met(Wish("ready", "false"), a_status(NOT_READY), "")
    assert is_met(Wish("ready"), a_status(NOT_READY), "ada")


def test_a_condition_or_an_agent_that_is_not_there_is_told_at_once():
    with pytest.raises(InvalidInput, match="a fleet has no condition 'learnt'; it has Ready"):
        is_met(Wish("learnt"), a_status(), "")
    with pytest.raises(InvalidInput, match="no agent 'zoe'"):
        is_met(Wish("ready"), a_status(), "zoe")
    with pytest.raises(InvalidInput, match="an agent has no condition 'connected'; it has Ready"):
        is_met(Wish("connected"), a_status(), "ada")


def test_a_fleet_ends_with_its_last_process_and_an_agent_with_its_own_or_when_the_fleet_has_it_no_more():
    assert not is_met(Wish(""), a_status(), "")
    assert is_met(Wish(""), a_status(pid=0), "")
    busy = a_status()
    other = replace(busy, processes=(ProcessView("ada", "missing"), ProcessView("ben", "ready", 7)))

    assert not is_met(Wish(""), busy, "ada")
    assert is_met(Wish(""), other, "ada")
    assert is_met(Wish(""), busy, "zoe")
    assert not is_met(Wish(""), replace(busy, agents=()), "zoe")


def test_what_was_not_met_in_time_is_told_with_how_it_is():
    assert how_it_is(Wish("ready", "false"), a_status(), "") == "Ready is True"
    assert how_it_is(Wish("ready"), a_status(NOT_READY), "") == "Ready is False: ben"
    assert how_it_is(Wish(""), a_status(), "") == "process ada still runs; hive-mind delete stops a fleet"
