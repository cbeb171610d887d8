"""When something that nobody confirmed is sent again."""

from random import Random

import pytest

from hive_mind.hive.replication.reliable_channels import retry_ms


@pytest.mark.parametrize(("attempts", "step_ms"), [(0, 2_000), (1, 4_000), (4, 32_000), (5, 60_000), (10**6, 60_000)])
def test_a_pause_doubles_up_to_the_last_and_half_of_it_is_chance(attempts, step_ms):
    chance = Random(1)
    pauses = [retry_ms(attempts, 2_000, 60_000, chance) for _ in range(500)]
    assert step_ms // 2 <= min(pauses) < step_ms * 0.55
    assert step_ms * 0.95 < max(pauses) < step_ms


def test_no_pause_is_none():
    assert retry_ms(3, 0, 0, Random(1)) == 0
