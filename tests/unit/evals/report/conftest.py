"""Pages without drawings."""

import pytest

from hive_mind.evals import report
from hive_mind.evals.report.selecting import Drawings


@pytest.fixture
def without_drawings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than all else, and `test_plots` looks at it."""
    monkeypatch.setattr(report, "_drawings", lambda _: Drawings())
