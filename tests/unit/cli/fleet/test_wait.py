"""What `wait` waits for."""

import pytest

from hive_mind.cli.fleet.wait import Wish, agent_of, is_met, wish_of
from hive_mind.cli.running import CommandError
from hive_mind.control.fleet_status import AgentView, Condition, FleetStatus, ProcessView
from hive_mind.errors import InvalidInput

READY = Condition("Ready", "True", "AllReady")
NOT_READY = Condition("Ready", "False", "NotReady", "ben")


def a_status(condition=READY, *, pid=7):
    agents = (AgentView("ada", "ready", True, "ada", conditions=(READY,)),)
    return FleetStatus("research", "Ready", "flat", 1, 1, (condition,), (ProcessView("ada", "ready", pid),), agents)


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("condition=Ready", Wish("ready")),
        ("condition=ready=False", Wish("ready", "false")),
        ("delete", Wish("")),
    ],
)
def test_a_wish_is_a_condition_or_the_end(text, wish):
    assert wish_of(text) == wish


@pytest.mark.parametrize("text", ["Ready", "condition=", "condition=a b", "deleted", "condition=Ready=True=True"])
def test_what_is_no_wish_is_refused(text):
    with pytest.raises(InvalidInput, match="--for is"):
        wish_of(text)


@pytest.mark.parametrize(("subject", "agent"), [("", ""), ("agent/ada", "ada"), ("ada", "ada")])
def test_one_agent_or_the_whole_fleet(subject, agent):
    assert agent_of(subject) == agent


@pytest.mark.parametrize("subject", ["pod/ada", "agent/", "a/b/c"])
def test_other_things_can_not_be_waited_for(subject):
    with pytest.raises(InvalidInput):
        agent_of(subject)


def test_a_condition_is_met_when_its_value_is_the_one_wished_for():
    assert is_met(Wish("ready"), a_status(), "")
    assert not is_met(Wish("ready"), a_status(NOT_READY), "")
    assert is_met(Wish("ready", "false"), a_status(NOT_READY), "")
    assert is_met(Wish("ready"), a_status(NOT_READY), "ada")
    assert not is_met(Wish("learned"), a_status(), "")


def test_the_end_is_when_no_process_is_left():
    assert not is_met(Wish(""), a_status(), "")
    assert is_met(Wish(""), a_status(pid=0), "")


def test_an_agent_that_is_not_there_ends_the_waiting():
    with pytest.raises(CommandError, match="no agent 'zoe'"):
        is_met(Wish("ready"), a_status(), "zoe")
