"""A mutant is caught by a test that fails with it, missed by tests that hold, and found endless where it never ends."""

import importlib.util
import itertools
import types
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.mutants import __main__ as command
from tests.mutants.mutating import mutants

_SOURCE = """
from functools import lru_cache

@lru_cache
def is_below(number):
    return number < 3

def doubled(number):
    return number * 2

def reached(end):
    number = 0
    while number != end:
        number = number + 1
    return number

def never_called(number):
    return number > 1
"""


@pytest.fixture
def module(tmp_path: Path) -> types.ModuleType:
    path = tmp_path / "sample.py"
    path.write_text(_SOURCE)
    spec = importlib.util.spec_from_file_location("hive_mind.sample", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_same_seed_draws_the_same_mutants_each_of_which_changes_one_function(module: types.ModuleType) -> None:
    drawn = mutants([module], 100, 7)

    assert {mutant.change for mutant in drawn} == {
        *(
            "number < 3 -> number <= 3",
            "3 -> 4",
            "number * 2 -> number + 2",
            "2 -> 3",
            "0 -> 1",
            "number != end -> number == end",
        ),
        *("number + 1 -> number - 1", "1 -> 2", "number > 1 -> number >= 1"),
    }
    assert [mutant.change for mutant in mutants([module], 100, 7)] == [mutant.change for mutant in drawn]
    assert [mutant.change for mutant in mutants([module], 4, 7)] == [mutant.change for mutant in drawn[:4]]
    assert [mutant.change for mutant in mutants([module], 100, 8)] != [mutant.change for mutant in drawn]


def test_what_tests_see_is_told_from_what_they_miss_and_the_functions_stay_as_they_are(
    module: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def limits_are_kept() -> None:
        assert module.is_below(2)
        assert not module.is_below(3)  # It is remembered.

    def two_is_doubled() -> None:
        assert module.doubled(2) == 4

    def an_end_is_reached() -> None:
        assert module.reached(4) == 4

    monkeypatch.setattr(command, "_CPU_S", 1)
    drawn = mutants([module], 100, 7)
    judging = command.Judging(drawn)
    judging.pytest_runtestloop(_session(judging, limits_are_kept, two_is_doubled, an_end_is_reached))

    outcomes = {
        (mutant.name.split()[-1], mutant.change): outcome for mutant, outcome in zip(drawn, judging.outcomes, strict=True)
    }
    assert outcomes == {
        ("is_below", "number < 3 -> number <= 3"): "caught",
        ("is_below", "3 -> 4"): "caught",
        ("doubled", "number * 2 -> number + 2"): "missed",
        ("doubled", "2 -> 3"): "caught",
        ("reached", "0 -> 1"): "missed",
        ("reached", "number != end -> number == end"): "caught",
        ("reached", "number + 1 -> number - 1"): "endless",
        ("reached", "1 -> 2"): "missed",
        ("never_called", "number > 1 -> number >= 1"): "uncalled",
        ("never_called", "1 -> 2"): "uncalled",
    }
    assert (module.doubled(3), module.reached(5)) == (6, 5)


def test_a_test_that_fails_as_it_is_catches_nothing(module: types.ModuleType) -> None:
    def fails() -> None:
        assert module.doubled(1) == 3

    judging = command.Judging([mutant for mutant in mutants([module], 100, 7) if mutant.change == "2 -> 3"])
    judging.pytest_runtestloop(_session(judging, fails))

    assert judging.outcomes == ["uncalled"]


def _session(judging: command.Judging, *tests: Callable[[], None]) -> Any:
    """As much of pytest's as is asked."""
    numbers = itertools.count()

    def pytest_runtest_protocol(item: Any, nextitem: None) -> None:  # noqa: ARG001 -- as pytest calls it
        try:
            item.test()
        except AssertionError:
            judging.pytest_runtest_logreport(SimpleNamespace(failed=True, nodeid=str(next(numbers))))  # type: ignore[arg-type]

    config = SimpleNamespace(hook=SimpleNamespace(pytest_runtest_protocol=pytest_runtest_protocol))
    return SimpleNamespace(items=[SimpleNamespace(test=test, config=config) for test in tests])
