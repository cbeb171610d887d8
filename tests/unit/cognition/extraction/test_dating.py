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
TOLD = (
    *("(Since 5 March 2024)", "Due 5 March 2024", "Until 5 March 2024", "Valid 5 March 2024", "Seit 5. März 2024"),
    *("DOB: 5 March 2024", "**Hired:** 2024-03-05"),
)


@pytest.mark.parametrize(("line", "said_at"), [*((line, "2024-03-05") for line in TELLING), *((line, "") for line in TOLD)])
def test_a_line_with_a_date_tells_when_what_follows_was_said_but_not_the_date_of_what_is_told(line: str, said_at: str):
    assert candidates(f"# Pumps\n\n{line}\n\nThe pump was sold to Omar.\n")[-1].said_at == said_at


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "2026-02-03 Run 41. The film cracked.\n2026-02-04 Run 42. The film held.",
            {"2026-02-03 Run 41. The film cracked.": "2026-02-03", "2026-02-04 Run 42. The film held.": "2026-02-04"},
        ),
        (
            "3.2.2026: Sowed the beans. It rained.\n14.2.2026: Frost killed the beans.",
            {"3.2.2026: Sowed the beans. It rained.": "2026-02-03", "14.2.2026: Frost killed the beans.": "2026-02-14"},
        ),
        (
            "Tue. Dentist at nine. Saw a heron by the canal.\nWed. Bread came out too dense.",
            {"Tue. Dentist at nine. Saw a heron by the canal.": "", "Wed. Bread came out too dense.": ""},
        ),
        (
            "Answer 3: The mill is shut. It is old.\nAnswer 4: The lake is deep.",
            {"Answer 3: The mill is shut.": "", "It is old.": ""},
        ),
        ("The mill began on\n2026-02-03 and it was shut. It is old.", {"It is old.": ""}),
    ],
)
def test_what_a_diary_says_of_a_day_stays_together_and_has_its_date(text: str, told: dict[str, str]):
    dated = {candidate.content: candidate.said_at for candidate in candidates(text)}
    assert {content: dated.get(content) for content in told} == told


@pytest.mark.parametrize(
    ("title", "said_at", "is_told"),
    [
        ("Heron 5.0 — 18 May 2026", "2026-05-18", True),
        ("Heron 5.0 (2026-05-18)", "2026-05-18", True),
        ("Field engineer, Aquaterra (2016-2021)", "", True),
        ("Senior rigger, Brisard (since 2021)", "", True),
        ("5.0.1 (2026-05-18)", "2026-05-18", False),
        ("Tuesday, 5 May 2026", "2026-05-05", False),
        ("Incident INC-2026-001", "", False),
        ("All that was changed since May 2026", "", False),
    ],
)
def test_a_title_with_a_day_or_years_behind_a_name_is_a_statement(title: str, said_at: str, is_told: bool):
    told = candidates(f"# Notes\n\n## Before\n\nThe lake is deep.\n\n## {title}\n\n### Fixed\n\nThe valve is tight.")
    assert [candidate.content for candidate in told if candidate.content == title] == [title] * is_told
    assert told[-1].said_at == said_at
