"""Figures are short, and none says more or less than was measured."""

import pytest

from hive_mind.evals.report import selecting

SPACE = "\N{NARROW NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [(1.0, 1, "100.0"), (0.99999, 1, "99.9"), (0.99999, 2, "99.99"), (0.5, 0, "50"), (0.0, 1, "0.0"), (0.00001, 1, "< 0.1")],
)
def test_a_share_is_never_rounded_up_to_all_nor_down_to_nothing(value, digits, shown):
    assert selecting.share(value, digits=digits) == f"{shown}{SPACE}%"


def test_what_was_not_measured_is_a_dash_and_no_zero():
    writers = (
        *(selecting.share, selecting.score, selecting.change, selecting.chance, selecting.number),
        *(selecting.size, selecting.milliseconds),
    )

    assert {write(None) for write in (*writers, selecting.seconds, selecting.money)} == {"–"}
    assert selecting.between(None, 0.3) == "–"


def test_sizes_and_times_have_the_unit_that_suits_them():
    assert [selecting.size(value) for value in (12, 1500, 13_600_000, 2.5e9)] == [
        f"12{SPACE}B",
        f"1.50{SPACE}kB",
        f"13.6{SPACE}MB",
        f"2.50{SPACE}GB",
    ]
    assert [selecting.milliseconds(value) for value in (0.123, 45.6, 2500)] == [
        f"0.12{SPACE}ms",
        f"45.6{SPACE}ms",
        f"2.50{SPACE}s",
    ]
    assert [selecting.seconds(value) for value in (0.05, 3, 600)] == [f"50{SPACE}ms", f"3{SPACE}s", f"10{SPACE}min"]


def test_differences_have_their_sign_and_small_chances_their_bound():
    assert selecting.change(0.0312) == "+0.031"
    assert selecting.change(-0.0312) == "−0.031"
    assert selecting.chance(0.00001) == "< 0.001"


def test_money_too_little_for_a_cent_is_still_shown():
    assert [selecting.money(value) for value in (0.0, 0.00034, 1.239)] == ["$0.00", "$0.00034", "$1.24"]


def test_counts_are_grouped_and_agree_with_their_noun():
    assert selecting.counted(1, "question") == "1 question"
    assert selecting.counted(12_000, "category", "categories") == f"12{SPACE}000 categories"


def test_counts_that_differ_are_told_from_the_fewest_to_the_most():
    assert selecting.counted_among((75, 47, 75), "question") == "47 to 75 questions"
    assert selecting.counted_among((1, 1), "question") == "1 question"
