import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.runtime.observing.timings import BOUNDS_S, Histogram, Timings


@given(st.lists(st.floats(min_value=-1, max_value=100)))
def test_every_duration_is_counted_in_each_bucket_that_can_hold_it(durations: list[float]) -> None:
    histogram = Histogram()
    for seconds in durations:
        histogram.observe(seconds)

    rows = histogram.cumulative()
    assert rows[-1] == ("+Inf", len(durations))
    for bound, (name, count) in zip(BOUNDS_S, rows, strict=False):
        assert (float(name), count) == (bound, sum(1 for seconds in durations if seconds <= bound))
    assert histogram.sum_s == pytest.approx(sum(max(seconds, 0) for seconds in durations))


def test_a_block_that_fails_is_measured_too() -> None:
    timings = Timings()

    with pytest.raises(ValueError, match="no"), timings.measured("ask"):
        raise ValueError("no")
    with timings.measured("ask"):
        pass

    assert timings.of["ask"].count == 2
