"""The picture of `simulate --plot`."""

import pytest

from hive_mind.cli.simulate import Curve, drawn


def test_the_picture_has_a_line_for_each_topology_with_points_over_round_minutes() -> None:
    points = ((0.0, 0.5, 0.25), (4.0, 0.75, 0.5), (8.0, 1.0, 1.0))
    picture = drawn([Curve("flat", points), Curve("sharded", points), Curve("federated", ())]).decode()

    assert [picture.count(f">{words}</text>") for words in ("flat", "sharded", "federated", *range(9))] == [1, 1, 0, *[1] * 9]


@pytest.mark.parametrize("curves", [[], [Curve("flat", ())]])
def test_where_nothing_was_simulated_there_is_an_empty_picture(curves: list[Curve]) -> None:
    assert drawn(curves).startswith(b"<svg")
