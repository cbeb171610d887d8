from dataclasses import replace

import msgspec
import pytest

from hive_mind.control.platforms import Running
from hive_mind.control.state import FleetState, Restarts
from hive_mind.control.status import Condition, FleetStatus
from hive_mind.control.status.conditions import fleet_status
from hive_mind.hive.policy import TOO_MANY_BOOTS
from hive_mind.runtime.workers import AgentPhase, AgentStatus, NodeStatus, Phase, WorkerStatus
from hive_mind.runtime.workers.config import AgentConfig, HiveConfig, WorkerConfig

STATE = FleetState(
    hive=HiveConfig("team"),
    allocation={"ada": {"ada": ("ada",)}, "bob": {"bob": ("bob",)}},
    restarts={"bob": Restarts(count=3, last_ms=500)},
    revision=4,
)


def running(
    name: str, *, phase: Phase = "ready", agent: AgentPhase = "ready", error: str = "", pending: int = 0, **node: object
) -> Running:
    given: dict[str, object] = {"is_ready": True, "messages": 10, "error": node.pop("node_error", ""), **node}
    nodes = (NodeStatus(name, **given),)  # type: ignore[arg-type]
    agents = (AgentStatus(name, name, phase=agent, facts=5, pending=pending, error=error),)
    return Running(name, 7, None, WorkerStatus(name, 7, "", "team", phase, 1_000, nodes, agents, memory_bytes=30))


def status(*seen: Running, state: FleetState = STATE) -> FleetStatus:
    return fleet_status("team", state, {one.process: one for one in seen})


def condition_of(found: FleetStatus, type: str) -> Condition:
    return next(one for one in found.conditions if one.type == type)


def holds(found: FleetStatus, type: str) -> str:
    return condition_of(found, type).status


ADA, BOB = running("ada"), running("bob")
UNDER_WAY = running("bob", pending=2, outbox=1, lag=4)


def test_a_fleet_of_which_everything_is_of_use_is_ready() -> None:
    found = status(ADA, running("bob", agent="asleep"))

    assert found.phase == "Ready"
    # Nobody has to prove who it is, and the bus says nothing of its memory.
    assert {one.type for one in found.conditions if one.status != "True"} == {"Identity", "BrokerMemory"}
    assert all(one.status != "False" for one in found.conditions)
    assert (found.facts, found.messages, found.revision, found.restarts) == (10, 20, 4, 3)
    assert [(one.name, one.phase, one.is_ready, one.restarts) for one in found.agents] == [
        ("ada", "ready", True, 0),
        ("bob", "asleep", True, 3),
    ]


def test_what_was_drained_is_away_by_order_and_alarms_nobody() -> None:
    state = msgspec.structs.replace(STATE, drained=("bob",))

    found = status(ADA, state=state)
    assert found.phase == "Ready"
    assert (holds(found, "Ready"), holds(found, "Running")) == ("True", "True")
    assert condition_of(found, "Ready").message.startswith("bob drained: ")

    assert status(running("ada", phase="failed"), state=state).phase == "Degraded", "of the others something may be wrong"
    assert status(state=msgspec.structs.replace(STATE, drained=("ada", "bob"))).phase == "Stopped"
    assert status(ADA).phase == "Degraded", "nobody ordered that"


def test_a_fleet_that_only_warns_proves_nothing_by_having_heard_nothing_since_it_started() -> None:
    quiet = [running(name, identity="warn", messages=0) for name in ("ada", "bob")]
    found = condition_of(status(*quiet), "Identity")
    assert (found.status, "Proven" in found.reason) == ("Unknown", False)

    heard = condition_of(status(quiet[0], running("bob", identity="warn", unproven={"unsigned messages": 2})), "Identity")
    assert (heard.status, heard.reason) == ("False", "NotProven")
    proven = condition_of(status(*(running(name, identity="require") for name in ("ada", "bob"))), "Identity")
    assert (proven.status, proven.reason) == ("True", "Proven")


@pytest.mark.parametrize(
    ("bob", "phase"),
    [
        (Running("bob", error="it is not running (exit code 1)"), "missing"),
        (None, "missing"),
        (Running("bob", 7, error="no answer"), "silent"),
        (running("bob", phase="failed", error="no such model"), "ready"),
        (running("bob", agent="failed", error="a.md can't be read"), "failed"),
    ],
)
def test_nothing_is_green_over_an_agent_that_is_of_no_use(bob: Running | None, phase: str) -> None:
    found = status(ADA, *([bob] if bob else []))

    assert found.phase == "Degraded"
    assert holds(found, "Ready") == "False"
    agent = next(one for one in found.agents if one.name == "bob")
    assert (agent.phase, agent.is_ready) == (phase, False)
    assert agent.last_error


STARTING = {"phase": "starting", "agent": "starting", "is_ready": False, "is_connected": False}
PROVING = {"identity": "require"}
LIMITED = WorkerConfig("team", "bob", "/home", "/run", HiveConfig("team"), (), (AgentConfig("bob", memory_mb=100),))


@pytest.mark.parametrize(
    ("bob", "phase", "type", "held", "message"),
    [
        (Running("bob", 7), "Progressing", "Ready", "False", ""),
        (running("bob", phase="starting", is_ready=False), "Progressing", "Ready", "False", ""),
        (running("bob", agent="learning"), "Progressing", "Ready", "False", ""),
        (running("bob", is_ready=False), "Progressing", "Ready", "False", ""),
        (running("bob", phase="draining"), "Progressing", "Ready", "False", ""),
        (running("bob", **STARTING), "Progressing", "Ready", "False", ""),  # type: ignore[arg-type]
        # One that starts in vain because its bus is gone is not on its way.
        (running("bob", **STARTING, node_error="no route"), "Degraded", "Ready", "False", ""),  # type: ignore[arg-type]
        (
            running("bob", late=("ada",)),
            "Degraded",
            "Members",
            "False",
            "MembersLate: ada: answers come late",
        ),
        (running("bob", is_connected=False), "Degraded", "Connected", "False", ""),
        (running("bob", is_ready=False, refusal="the bus takes nothing"), "Degraded", "WritesAccepted", "False", ""),
        # An agent whose process failed has no source to blame.
        (running("bob", phase="failed", agent="failed", error="wrong password"), "Degraded", "Learned", "True", ""),
        (running("bob", agent="failed", error="b.txt: no text"), "Degraded", "Learned", "False", ""),
        (replace(BOB, config=LIMITED, memory_bytes=150_000_000), "Degraded", "WithinLimits", "False", "bob takes 150 MB of 100"),
        (replace(BOB, config=LIMITED, memory_bytes=90_000_000), "Ready", "WithinLimits", "True", ""),
        # Facts under way are no fault, and of what was not proven or forgotten nobody is held up.
        (UNDER_WAY, "Ready", "Replicated", "False", "bob: 4 behind, 1 to send, bob: 2 pending"),
        (running("bob", **PROVING), "Ready", "Identity", "True", ""),
        (
            running("bob", **PROVING, unproven={"unsigned": 3, "forged": 1_200}),
            *("Ready", "Identity", "False", "bob heard 1,200 forged, bob heard 3 unsigned"),
        ),
        (
            running("bob", **PROVING, limited={TOO_MANY_BOOTS: 1_200}),
            *("Ready", "Identity", "False", "bob forgot 1,200 × a boot of a node with too many"),
        ),
    ],
)
def test_what_is_so_with_one_process_is_a_condition_and_the_phase_of_the_fleet_follows(
    bob: Running, phase: str, type: str, held: str, message: str
) -> None:
    found = status(ADA, bob)
    condition = condition_of(found, type)
    assert (found.phase, condition.status) == (phase, held)
    assert message in f"{condition.reason}: {condition.message}"


def test_what_is_under_way_and_what_a_process_has_to_tell_is_told() -> None:
    assert BOB.status is not None
    found = status(ADA, UNDER_WAY, replace(BOB, process="cy", status=msgspec.structs.replace(BOB.status, notices=("no model",))))
    assert (found.phase, found.pending, found.lag) == ("Ready", 2, 4)
    assert [one.notices for one in found.processes] == [(), (), ("no model",)]


def test_a_deleted_fleet_is_stopped_and_expects_nobody_but_only_once_nothing_of_it_runs() -> None:
    deleted = FleetState(allocation=STATE.allocation, is_stopped=True)
    found, ending = status(state=deleted), status(ADA, state=deleted)
    assert (found.phase, found.agents, holds(found, "Ready")) == ("Stopped", (), "False")
    assert (ending.phase, holds(ending, "Ready"), holds(ending, "Running")) == ("Progressing", "False", "False")
    assert (condition_of(ending, "Running").reason, condition_of(ending, "Running").message) == ("NotEnded", "ada")


def test_a_silent_process_leaves_unknown_what_only_it_could_say() -> None:
    found = status(ADA, Running("bob", 7, error="no answer"))

    assert [holds(found, type) for type in ("Connected", "Members", "Replicated", "Running")] == [
        "Unknown",
        "Unknown",
        "Unknown",
        "True",
    ]


def test_agents_that_nobody_can_reach_are_not_called_ready() -> None:
    cut_off = {"is_connected": False, "is_ready": False, "connected_since_ms": 7_000, "ready_since_ms": 7_500}
    found = status(running("ada", **cut_off), running("bob", agent="asleep", **cut_off))
    assert found.phase == "Degraded"
    assert [(one.phase, one.is_ready, one.since_ms) for one in found.agents] == [("disconnected", False, 7_000)] * 2


def test_a_condition_is_as_old_as_its_last_change() -> None:
    def since(type: str, ada: Running, bob: Running) -> int:
        return condition_of(status(ada, bob), type).since_ms

    early = running("ada", connected_since_ms=2_000, ready_since_ms=2_100, heard_since_ms=2_200, even_since_ms=2_300)
    late = running("bob", connected_since_ms=3_000, ready_since_ms=3_100, heard_since_ms=3_200, even_since_ms=3_300)
    lost = running(
        "bob", is_connected=False, silent=("ada",), lag=1, connected_since_ms=4_000, heard_since_ms=4_200, even_since_ms=4_300
    )

    # All hold since the last of them did, and one does not since it does not.
    assert [since(type, early, late) for type in ("Connected", "Ready", "Members", "Replicated")] == [3_000, 3_100, 3_200, 3_300]
    assert [since(type, late, lost) for type in ("Connected", "Members", "Replicated")] == [4_000, 4_200, 4_300]
    assert since("Running", early, late) == 1_000


def test_a_process_that_should_be_gone_is_shown_as_long_as_it_runs() -> None:
    found = status(ADA, BOB, running("old"))
    assert [one.name for one in found.processes] == ["ada", "bob", "old"]
    assert [one.name for one in found.agents] == ["ada", "bob"]


def test_a_long_list_of_reasons_is_cut_to_a_line() -> None:
    found = status(state=FleetState(allocation={name: {name: (name,)} for name in [f"r-{number}" for number in range(20)]}))
    assert condition_of(found, "Ready").message.endswith("and 15 more")
