"""Of the values of a parameter, and of steps, those that are shown each time; `make test-all` has them all."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def sampled(cases: Sequence[Any], every: int = 12) -> list[Any]:
    """The first, and each `every`-th after it: cases that are judged one by one at another level, and get here."""
    return [case if number % every == 0 else thorough(case) for number, case in enumerate(cases)]


def usually(values: Iterable[Any], *chosen: Any) -> list[Any]:
    """All of them; those that are not chosen are more of the same, and `thorough`."""
    return [value if value in chosen else thorough(value) for value in values]


def steps(end: int) -> range:
    """Each third from the first on, where something is done anew for every step of another thing."""
    return range(1, end, int(os.environ.get("HIVE_STEP", "3")))


def thorough(*values: Any) -> Any:
    """Of one case."""
    return pytest.param(*values, marks=pytest.mark.thorough)
