import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.errors import BackendBusy, BackendError, BackendRejected, BackendThrottled, BackendTimeout, BackendUnavailable
from hive_mind.retry import RetrySettings, delay_s, retried


class Trouble:
    """A call that fails with each of these errors in turn and then succeeds; `waited_s` records every wait."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0
        self.waited_s: list[float] = []

    async def call(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"

    async def sleep(self, seconds: float) -> None:
        self.waited_s.append(seconds)

    def run(self, settings: RetrySettings | None = None) -> str:
        chosen = settings or RetrySettings(attempts_max=3)
        return asyncio.run(retried(self.call, chosen, rng=seeded(7), sleep=self.sleep))


def seeded(seed: int) -> random.Random:
    return random.Random(seed)


def outages(count: int) -> list[BackendError]:
    return [BackendUnavailable("test", "away") for _ in range(count)]


@pytest.mark.parametrize(
    ("errors", "calls", "is_done"),
    [
        ([], 1, True),
        (outages(2), 3, True),
        (outages(9), 3, False),
        ([BackendRejected("test", "no")], 1, False),
        ([ValueError("ours")], 1, False),
        ([BackendTimeout("test", "late: more would queue behind it")], 1, False),
        ([BackendThrottled("test", "slow down", 3600.0)], 1, False),
    ],
    ids=["none", "passing", "lasting", "rejected", "ours", "late", "for an hour"],
)
def test_passing_trouble_is_waited_out_and_what_lasts_or_will_fail_again_is_raised(errors: list, calls: int, is_done: bool):
    trouble = Trouble(*errors)
    if is_done:
        assert trouble.run() == "done"
    else:
        with pytest.raises(type(errors[0])):
            trouble.run()
    assert (trouble.calls, len(trouble.waited_s)) == (calls, calls - 1)


def test_only_what_is_named_is_tried_again():
    busy = Trouble(BackendBusy("test", "full"))
    settings, given_up = RetrySettings(attempts_max=3), Trouble(BackendTimeout("test", "slow"))

    async def named(trouble: Trouble) -> str:
        return await retried(trouble.call, settings, rng=seeded(7), sleep=trouble.sleep, only=BackendBusy)

    assert asyncio.run(named(busy)) == "done"
    with pytest.raises(BackendTimeout):
        asyncio.run(named(given_up))
    assert (busy.calls, given_up.calls) == (2, 1)


def test_nobody_comes_back_before_the_server_asked_to():
    trouble = Trouble(BackendThrottled("test", "slow down", 7.0))
    trouble.run()
    assert trouble.waited_s[0] > 7.0


@given(st.integers(1, 10_000), st.integers())
def test_delays_grow_to_a_bound_and_are_never_zero(attempt: int, seed: int):
    delay = delay_s(attempt, RetrySettings(delay_first_s=0.5, delay_max_s=20.0), rng=seeded(seed))
    assert 0.25 <= delay <= 20.0
    assert delay <= 0.5 * 2.0 ** min(attempt - 1, 60)


def test_the_same_seed_waits_alike_and_others_do_not():
    first, second, other = (delay_s(3, RetrySettings(), rng=seeded(seed)) for seed in (1, 1, 2))
    assert first == second != other
