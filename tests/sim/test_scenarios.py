"""One thing goes wrong at a time, and nothing that was promised breaks."""

import pytest

from tests.sim.scenarios import SCENARIOS


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_it_holds(scenario):
    assert scenario() == ""
