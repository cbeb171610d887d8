"""The picture of `simulate --plot`: its axis of minutes."""

import pytest

from hive_mind.cli.convergence_plot import Curve, drawn, ticks


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (8.0, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (8.5, [0, 2, 4, 6, 8]),
        (30.0, [0, 5, 10, 15, 20, 25, 30]),
        (1.0, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0.5, [0, 0.1, 0.2, 0.3, 0.4, 0.5]),
        (95.0, [0, 20, 40, 60, 80]),
        (1440.0, [0, 200, 400, 600, 800, 1000, 1200, 1400]),
    ],
)
def test_minutes_are_round_numbers_at_even_distances(last: float, expected: list[float]) -> None:
    assert ticks(last) == expected


def test_every_length_has_some_ticks_and_not_too_many() -> None:
    for last in (number / 7 for number in range(1, 5000)):
        some = ticks(last)
        assert 4 <= len(some) <= 9, last
        assert some[-1] <= last + 1e-6


def test_the_picture_shows_them() -> None:
    picture = drawn([Curve("flat", ((0.0, 0.0, 0.0), (8.0, 1.0, 1.0)))])
    assert all(f'text-anchor="middle">{minute}</text>' in picture for minute in range(9))
