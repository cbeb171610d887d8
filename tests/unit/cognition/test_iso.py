from datetime import datetime

import pytest

from hive_mind.cognition.iso import end_us, readable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2025-01-13T09:25", "13 Jan 2025, 09:25"),
        ("2025-01-13T09:25:30Z", "13 Jan 2025, 09:25Z"),
        ("2025-01-13T09:25:30.5+02:00", "13 Jan 2025, 09:25+02:00"),
        ("2023-05-08", "8 May 2023"),
        ("2023-05", "May 2023"),
        ("2023", "2023"),
        ("2023-W19", "2023-W19"),
        ("2023-05-06/2023-05-07", "2023-05-06/2023-05-07"),
        ("last spring", "last spring"),
        ("2023-02-31", "2023-02-31"),
        ("", ""),
    ],
)
def test_a_time_is_shown_as_people_write_it_and_anything_else_as_it_is(text: str, shown: str):
    assert readable(text) == shown


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-01T14:30Z", "2026-03-01T14:30:00"),
        ("2026-03-01T14:30", "2026-03-01T14:30:00"),
        ("2026-03-01T14:30:15.25+02:00", "2026-03-01T12:30:15.250000"),
        ("2024-02-28", "2024-02-28T23:59:59.999999"),
        ("2024-02", "2024-02-29T23:59:59.999999"),
        ("2025-12", "2025-12-31T23:59:59.999999"),
        ("2025", "2025-12-31T23:59:59.999999"),
        ("9999", ""),
        ("2023-W19", ""),
        ("last spring", ""),
    ],
)
def test_a_span_is_over_when_its_last_microsecond_is(text: str, moment: str):
    wanted = datetime.fromisoformat(moment + "+00:00").timestamp() if moment else None
    assert end_us(text) == (None if wanted is None else round(wanted * 1e6))
