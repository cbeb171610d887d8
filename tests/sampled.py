"""Of cases that are judged one by one at another level, as many as show that they get here; `make test-all` has them all."""

from collections.abc import Sequence
from typing import Any

import pytest


def sampled(cases: Sequence[Any], every: int = 12) -> list[Any]:
    """The first, and each `every`-th after it; the others are marked `thorough`."""
    return [one if number % every == 0 else pytest.param(one, marks=pytest.mark.thorough) for number, one in enumerate(cases)]
