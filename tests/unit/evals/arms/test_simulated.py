"""Arms in virtual time find what a single memory finds, count exactly, are the same each time, and suffer what a fault says."""

import pytest

from hive_mind.evals.arms.node_per_agent import askers_of, down_of, topology_of
from hive_mind.evals.datasets import Scope
from hive_mind.evals.experiments import Arm, Cell, DataSource, Fault, Retrieval
from tests.sampled import usually
from tests.unit.evals.arms.notes import Told, drawn, scope_of, told

ARMS = [
    Arm("flat", 5, place="simulator"),
    Arm("federated", 7, groups=3, place="simulator"),
    Arm("sharded", 9, replicas=2, place="simulator"),
]
APART = Arm("federated", 3, groups=3, place="simulator")
THREE = scope_of(["alpha pump", "beta pump", "gamma pump"], ["pump"] * 3)
"""Dealt to three agents, each has one of them."""


def cell_of(arm: Arm, fault: Fault) -> Cell:
    return Cell("cell", DataSource("notes"), arm, Retrieval("lexical", "lexical"), 1, fault)


def test_another_seed_loses_other_messages():
    one, other = (told(ARMS[2], drawn(), fault=Fault(loss=0.3), seed=seed) for seed in (1, 2))

    assert [outcome.cost for outcome in one.outcomes] != [outcome.cost for outcome in other.outcomes]


def test_learning_costs_a_message_and_a_receipt_for_each_replica():
    flat = told(Arm("flat", 3, place="simulator"), THREE).learned
    apart = told(APART, THREE).learned

    assert (flat.facts, flat.messages) == (3, 3 * 2 * 2)
    assert flat.replica_lag_s is not None
    assert 0.0 < flat.replica_lag_s < 0.1
    assert flat.memory_per_agent_bytes is None, "simulated machines share one process"
    assert (apart.facts, apart.messages, apart.replica_lag_s) == (3, 0, 0.0)


@pytest.mark.parametrize("down", usually(range(1, 9), 1, 4, 8))
def test_completeness_is_the_share_of_partitions_that_somebody_still_holds(down: int):
    arm, scope = ARMS[2], drawn()
    cell = cell_of(arm, Fault(down=down))
    topology, gone = topology_of(arm), down_of(cell)
    partitions = [one for replicas in topology.read_set("agent-0") for one in replicas.partitions]

    def can_speak(partition: str) -> bool:
        return not set(topology.holders(partition)) <= gone

    one = told(arm, scope, fault=cell.fault)

    assert len(gone) == down
    expected = sum(map(can_speak, partitions)) / len(partitions)
    assert [outcome.cost.completeness for outcome in one.outcomes] == [pytest.approx(expected)] * len(one.outcomes)
    askers = askers_of(cell, scope)
    for question, outcome in zip(scope.questions, one.outcomes, strict=True):
        found_at = {topology.home(hit.fact.id, askers[question.id]) for hit in outcome.hits}
        # What an agent learned itself it finds also where all replicas are gone.
        own = {topology.home(fact, askers[question.id]) for fact in learned_by(askers[question.id], one, scope, arm)}
        assert all(map(can_speak, found_at - own))


def learned_by(agent: str, one: Told, scope: Scope, arm: Arm) -> set[str]:
    """The facts an agent was dealt, of documents dealt in turn."""
    dealt = {document.id for document in scope.documents[int(agent.rpartition("-")[2]) :: arm.agents]}
    return {fact for fact, names in one.documents.items() if dealt & set(names)}


def test_who_is_left_of_a_flat_hive_still_knows_everything():
    one = told(ARMS[0], drawn(), fault=Fault(down=4))

    assert one.facts == told(ARMS[0], drawn()).facts
    assert {outcome.cost.completeness for outcome in one.outcomes} == {1.0}


def test_where_every_message_is_lost_each_answers_for_itself_when_its_time_is_over():
    one = told(APART, THREE, fault=Fault(loss=1.0))

    assert one.found == [["d0"], ["d1"], ["d2"]]
    assert [outcome.cost.completeness for outcome in one.outcomes] == [pytest.approx(1 / 3)] * 3
    # Half of two seconds is for counting; who stayed silent then is not waited for to the end.
    assert all(1.0 <= outcome.wall_s <= 2.0 for outcome in one.outcomes)


def test_lost_messages_are_asked_for_again_and_replicas_speak_for_the_silent():
    calm, lossy = told(ARMS[2], drawn()), told(ARMS[2], drawn(), fault=Fault(loss=0.15))

    assert sum(lossy.messages) > sum(calm.messages)
    assert sum(outcome.wall_s for outcome in lossy.outcomes) > 2 * sum(outcome.wall_s for outcome in calm.outcomes)
    complete = [place for place, outcome in enumerate(lossy.outcomes) if outcome.cost.completeness == 1.0]
    assert complete, "with two replicas asked twice each some questions get through"


def test_who_is_slow_is_waited_for_once_in_each_round():
    calm, late = told(APART, THREE), told(APART, THREE, fault=Fault(slow=3, slow_ms=60))

    for one, other in zip(calm.outcomes, late.outcomes, strict=True):
        # To search and to hand over: two rounds.
        assert 2 * 60 <= 1000 * (other.wall_s - one.wall_s) + 15 <= 2 * 60 + 60
    assert (late.messages, late.facts) == (calm.messages, calm.facts)


def test_a_slow_replica_has_a_rival():
    calm, late = told(ARMS[2], drawn()), told(ARMS[2], drawn(), fault=Fault(slow=3, slow_ms=5_000))

    assert late.facts == calm.facts
    assert sum(late.messages) > sum(calm.messages)
    assert max(outcome.wall_s for outcome in late.outcomes) < 2.0


@pytest.mark.thorough
def test_a_thousand_nodes_find_what_one_memory_finds_and_say_what_it_costs():
    scope, arm = drawn(1_000, 5), Arm("sharded", 1_000, place="simulator")

    whole = told(arm, scope)
    gone = told(arm, scope, fault=Fault(down=300))

    assert whole.facts == told(Arm("single"), scope).facts
    # 333 sets of three and a spare: of each other set one member is asked, twice, and a slow one has a rival.
    assert all(332 <= outcome.cost.fan_out <= 333 + 100 for outcome in whole.outcomes)
    assert {outcome.cost.completeness for outcome in whole.outcomes} == {1.0}
    assert whole.learned.cpu_s is not None
    assert whole.learned.cpu_s < 60
    assert max(outcome.cpu_s for outcome in whole.outcomes) < 5
    holders, down = topology_of(arm), down_of(cell_of(arm, Fault(down=300)))
    lost = [name for replicas in holders.read_set("agent-000") for name in replicas.partitions if set(replicas.members) <= down]
    assert lost, "of three hundred nodes some were a whole set"
    assert [outcome.cost.completeness for outcome in gone.outcomes] == [pytest.approx(1 - len(lost) / 1024)] * 5
