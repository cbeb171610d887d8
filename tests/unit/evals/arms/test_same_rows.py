"""The same seed gives the same rows, whatever clocks say and whatever was asked before."""

import pytest

from hive_mind.evals.experiments import Arm, Fault
from tests.sampled import thorough
from tests.unit.evals.arms.notes import Told, drawn, told

ARMS = [
    Arm("single"),
    Arm("flat", 5),
    Arm("federated", 6, groups=3, deal="random"),
    Arm("sharded", 7, replicas=2),
    Arm("seed-federated", 6, groups=3),
    Arm("routed", 6, fan_out=2, deal="session"),
    Arm("bm25"),
    Arm("random"),
]
SPREAD = ("federated", "sharded", "seed-federated", "routed")
SIMULATED = [
    Arm("flat", 5, place="simulator"),
    Arm("federated", 7, groups=3, place="simulator"),
    Arm("sharded", 9, replicas=2, place="simulator"),
]
OTHER_FAULTS = (Fault(), Fault(down=2), Fault(loss=0.3), Fault(slow=2, slow_ms=120))
CASES = [
    *((arm, Fault()) for arm in ARMS),
    *((arm, Fault(down=2)) for arm in ARMS if arm.kind in SPREAD),
    *((arm, Fault(down=1, loss=0.1, slow=2, slow_ms=150)) for arm in SIMULATED),
    *(thorough(arm, fault) for arm in SIMULATED for fault in OTHER_FAULTS),
]


def lasting(one: Told, *, is_virtual: bool) -> list[object]:
    """All of it that goes into rows, and the time where that is virtual."""
    rows = [([(hit.fact.id, hit.score) for hit in outcome.hits], outcome.cost) for outcome in one.outcomes]
    return [(row, outcome.wall_s if is_virtual else None) for row, outcome in zip(rows, one.outcomes, strict=True)]


@pytest.mark.parametrize(("arm", "fault"), CASES, ids=str)
def test_the_same_seed_gives_the_same_rows_also_to_who_goes_on_later(arm: Arm, fault: Fault):
    scope = drawn()

    once = told(arm, scope, "hybrid", fault=fault)
    resumed = told(arm, scope, "hybrid", fault=fault, asked=slice(7, None))

    is_virtual = arm.place == "simulator"
    assert lasting(resumed, is_virtual=is_virtual) == lasting(once, is_virtual=is_virtual)[7:]
    assert resumed.documents == once.documents
    assert not is_virtual or resumed.learned.bytes == once.learned.bytes


def test_another_seed_deals_and_stops_others():
    scope = drawn()
    arm = Arm("federated", 6, groups=3, deal="random")

    one, other = (told(arm, scope, fault=Fault(down=1), seed=seed) for seed in (1, 3))

    assert one.facts != other.facts


def test_time_and_processor_time_are_measured():
    outcome = told(Arm("flat", 2), drawn(), asked=slice(0, 1)).outcomes[0]

    assert outcome.cpu_s > 0
    assert outcome.wall_s > 0
