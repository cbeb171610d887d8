"""All stamps of a chat are written in one order of day and month, and one of them tells which."""

import pytest

from tests.unit.cognition.reading import candidates


def times(*stamps: str) -> list[str]:
    return [c.said_at for c in candidates("\n".join(f"[{stamp}] Omar: We sell pump {n}." for n, stamp in enumerate(stamps)))]


@pytest.mark.parametrize(
    ("stamps", "told"),
    [
        (("12/03/2025, 09:14:40", "13/03/2025, 17:45:00"), ["2025-03-12T09:14", "2025-03-13T17:45"]),
        (("03/12/2025, 9:14 AM", "03/13/2025, 5:45 PM"), ["2025-03-12T09:14", "2025-03-13T17:45"]),
        (
            ("3/2/25, 9:14\N{NARROW NO-BREAK SPACE}AM", "3/14/25, 5:45\N{NARROW NO-BREAK SPACE}PM"),
            ["2025-03-02T09:14", "2025-03-14T17:45"],
        ),
        (("02.03.25, 09:14", "14.03.25, 17:45"), ["2025-03-02T09:14", "2025-03-14T17:45"]),
        (("12-03-2025 09:14", "30-03-2025 17:45"), ["2025-03-12T09:14", "2025-03-30T17:45"]),
    ],
    ids=lambda value: value[0],
)
def test_the_stamp_that_can_be_read_in_one_way_tells_how_to_read_the_others(stamps: tuple[str, ...], told: list[str]):
    assert times(*stamps) == told


@pytest.mark.parametrize("stamps", [("12/03/2025, 09:14", "11/03/2025, 17:45"), ("12/03/25, 09:14", "25/03/14, 17:45")])
def test_where_none_tells_or_the_year_may_come_first_nothing_is_guessed(stamps: tuple[str, ...]):
    assert set(times(*stamps)) == {""}


def test_stamps_in_two_orders_tell_none():
    assert times("12/03/2025, 09:14", "13/03/2025, 10:00", "03/14/2025, 11:00") == ["", "2025-03-13", "2025-03-14"]


TELLING = ("5 March 2024", "(5 March 2024)", "Date: 5 March 2024", "Tuesday, 5 March 2024", "Updated 5 March 2024")
TOLD = ("(Since 5 March 2024)", "Due 5 March 2024", "Until 5 March 2024", "Valid 5 March 2024", "Seit 5. März 2024")


@pytest.mark.parametrize(("line", "said_at"), [*((line, "2024-03-05") for line in TELLING), *((line, "") for line in TOLD)])
def test_a_line_with_a_date_tells_when_what_follows_was_said_but_not_the_date_of_what_is_told(line: str, said_at: str):
    assert candidates(f"# Pumps\n\n{line}\n\nThe pump was sold to Omar.\n")[-1].said_at == said_at
