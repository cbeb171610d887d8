from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.model.aggregation import ROW_BYTES, earliest_of, in_order, moment_ms, row, rows_in


@pytest.mark.parametrize(
    ("said_at", "beginning"),
    [
        ("1970-01-02", 86_400_000),
        ("1970-01", 0),
        ("1971", 31_536_000_000),
        ("1970-01-01T01:00", 3_600_000),
        ("1970-01-01T01:00+01:00", 0),
        ("1970-01-01/1970-02-01", 0),
        ("1970-W02", 4 * 86_400_000),
        ("0001-01-01", -62_135_596_800_000),
    ],
)
def test_a_time_counts_from_its_beginning(said_at: str, beginning: int):
    assert moment_ms(said_at, 7) == beginning


@given(st.datetimes(), st.sampled_from(("minutes", "seconds")))
def test_a_moment_is_that_of_the_calendar(when: datetime, precision: str):
    expected = datetime.fromisoformat(when.isoformat(timespec=precision)).replace(tzinfo=UTC)
    assert moment_ms(when.isoformat(timespec=precision), 7) == round(expected.timestamp()) * 1000
    assert moment_ms(when.date().isoformat(), 7) == round(expected.replace(hour=0, minute=0, second=0).timestamp()) * 1000


@pytest.mark.parametrize("said_at", ["2025-13", "2025-02-29", "2025-00-10", "2025-W54", "2025-01-01T24:00", "tomorrow", ""])
def test_what_is_in_no_calendar_counts_from_when_it_came(said_at: str):
    assert moment_ms(said_at, 7) == 7


@given(st.text(max_size=30))
def test_what_is_no_time_counts_from_when_it_came(text: str):
    assert isinstance(moment_ms(text, 7), int)
    assert moment_ms(f"no {text}", 7) == 7


@given(st.dictionaries(st.binary(min_size=16, max_size=16).map(bytes.hex), st.integers(-(10**14), 10**14), max_size=20))
def test_rows_keep_ids_and_moments_and_their_order_as_bytes_is_that_in_time(moments: dict[str, int]):
    rows = sorted(row(moment, one) for one, moment in moments.items())
    assert dict(rows_in(b"".join(rows))) == moments
    assert [one for one, _ in rows_in(b"".join(rows))] == in_order(moments, "earliest")
    assert in_order(moments, "latest") == in_order(moments, "earliest")[::-1]


def test_a_row_needs_an_id():
    assert len(row(0, "0" * 32)) == ROW_BYTES
    for no_id in ("", "ab", "no"):
        with pytest.raises(ValueError, match="hex"):
            row(0, no_id)


def test_of_one_fact_that_two_tell_the_earlier_moment_counts():
    assert earliest_of([("a", 2), ("a", 1), ("b", 3)]) == {"a": 1, "b": 3}
