"""What means harm does none: it is refused, or comes to a plain value, in little memory and a bounded number of steps."""

import copy
import tracemalloc

import pytest

from hive_mind.errors import ConditionError
from hive_mind.goals.condition import Condition
from tests.unit.goals.attacks import ALL, CHANGING, DATA, EXHAUSTING, REACHING

BYTES_MAX = 10_000_000
PLAIN = (type(None), bool, int, float, str, list, tuple, dict)


def outcome(condition: str) -> object:
    try:
        return Condition(condition).value(**DATA)
    except ConditionError as error:
        return error


def test_there_are_many_of_them() -> None:
    assert len(set(ALL)) == len(ALL) >= 120


@pytest.mark.parametrize("attack", [*REACHING, *CHANGING])
def test_nothing_outside_can_be_reached_or_changed(attack: str) -> None:
    result, many = copy.deepcopy(DATA["result"]), copy.copy(DATA["many"])
    assert isinstance(outcome(attack), ConditionError)
    assert DATA["result"] == result
    assert DATA["many"] == many


@pytest.mark.parametrize("attack", EXHAUSTING)
def test_no_expression_takes_much_memory_or_gives_anything_but_plain_data(attack: str) -> None:
    outcome("1 == 1")
    tracemalloc.start()
    try:
        found = outcome(attack)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert isinstance(found, (ConditionError, *PLAIN))
    assert peak < BYTES_MAX, f"{attack[:80]}: {peak / 1e6:.1f} MB"
