"""Laws of dates: nothing raises, ISO 8601 stays what it is, and relative dates agree with the day they are counted from."""

from datetime import date, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hive_mind.cognition.iso import is_iso
from hive_mind.cognition.temporal import Moment, moments, normalised, resolved_dates
from hive_mind.model.aggregation import is_time

DAYS = st.dates(date(1, 1, 1), date(9999, 12, 31))
# Far enough from both ends of the calendar that a few years more or less exist.
INNER_DAYS = st.dates(date(101, 1, 1), date(9899, 12, 31))
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = "January February March April May June July August September October November December".split()
FRAGMENTS = st.sampled_from(
    "yesterday last next this two weeks ago in Friday May 8 2023 8th of Q3 1:56 pm on , - / . 0000 9999 99 13:99 "
    "2023-02-30 2024-W53 T10:22 ſept ٣ ٢٠٢٣ the day before İ quarter first weekend month year couple few".split()
)
DATE_LIKE = st.lists(FRAGMENTS, max_size=12).map(" ".join)


@given(st.one_of(st.text(), DATE_LIKE), st.one_of(st.text(), DATE_LIKE, DAYS.map(date.isoformat)))
@example("999 years ago", "0001-01-01")
@example("in 9999 days", "9999-12-31")
@example("this weekend and last week", "0001-01-01")
@example("next quarter", "9999-12")
@example("Feb 29", "2023-02-28")
def test_no_text_and_no_anchor_raises(text: str, anchor: str):
    for moment in moments(text, anchor):
        # What the one reads in a text, a memory takes from a person, too.
        assert is_iso(moment.iso)
        assert is_time(moment.iso)
        assert moment.text in text
    assert normalised(text, anchor) == "" or is_iso(normalised(text, anchor))
    resolved_dates(text, anchor)


@given(DAYS, st.datetimes(), st.sampled_from(["", "Z", "+02:00", "-0530"]))
def test_a_day_a_month_a_year_a_week_and_a_time_in_iso_come_back_as_they_are(day: date, moment: datetime, zone: str):
    year, week, _ = day.isocalendar()
    whole = day.isoformat()
    stamps = [whole, whole[:7], whole[:4], f"{year:04d}-W{week:02d}", moment.isoformat(timespec="minutes") + zone]
    assert list(map(normalised, stamps)) == stamps


@given(st.one_of(st.text(), DATE_LIKE), DAYS.map(date.isoformat))
def test_what_was_normalised_once_stays_the_same(text: str, anchor: str):
    once = normalised(text, anchor)
    assert normalised(once, anchor) == once


@given(st.dates(date(1000, 1, 1), date(9999, 12, 31)))
def test_every_day_is_understood_in_every_unambiguous_way_of_writing(day: date):
    month = MONTHS[day.month - 1]
    ways = [
        day.isoformat(),
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{day.day}th of {month}, {day.year}",
        f"{day.day} {month[:3]}. {day.year}",
        f"{day.day:02d}.{day.month:02d}.{day.year}",
        f"{day.year}/{day.month:02d}/{day.day:02d}",
    ]

    assert {way: normalised(way) for way in ways} == dict.fromkeys(ways, day.isoformat())


@given(INNER_DAYS, st.integers(1, 9))
def test_days_weeks_and_months_ago_and_ahead_count_from_the_anchor(day: date, count: int):
    anchor = day.isoformat()
    assert isos(f"{count} days ago", anchor) == [(day - timedelta(days=count)).isoformat()]
    assert isos(f"in {count} days", anchor) == [(day + timedelta(days=count)).isoformat()]
    assert isos("yesterday", anchor) == isos("1 day ago", anchor)
    assert isos("tomorrow", anchor) == isos("in one day", anchor)
    year, week, _ = (day - timedelta(weeks=count)).isocalendar()
    assert isos(f"{count} weeks ago", anchor) == [f"{year:04d}-W{week:02d}"]
    assert isos("12 months ago", anchor) == [f"{day.year - 1:04d}-{day.month:02d}"]
    assert isos("last year", anchor) == [f"{day.year - 1:04d}"]
    assert isos("next month", anchor) == isos("in one month", anchor)


@given(INNER_DAYS, st.sampled_from(WEEKDAYS))
def test_last_weekday_lies_in_the_seven_days_before_and_next_is_left_out_unless_both_readings_agree(day: date, weekday: str):
    (last,) = isos(f"last {weekday}", day.isoformat())
    assert date.fromisoformat(last).weekday() == WEEKDAYS.index(weekday)
    assert 1 <= (day - date.fromisoformat(last)).days <= 7

    following = isos(f"next {weekday}", day.isoformat())
    if WEEKDAYS.index(weekday) > day.weekday():
        assert following == []
    else:
        assert 1 <= (date.fromisoformat(following[0]) - day).days <= 7


@given(DATE_LIKE)
def test_a_year_alone_does_not_tell_a_day(text: str):
    day_grains = {"day", "time", "week", "weekend"}
    relative = set(moments(text, "2023")) - set(moments(text))
    assert not [moment for moment in relative if moment.grain in day_grains]


@pytest.mark.parametrize("words", ["yesterday", "last Friday", "two weeks ago", "next month", "this quarter", "today", "March 5"])
def test_relative_dates_say_nothing_without_an_anchor(words: str):
    assert moments(words) == ()


@pytest.mark.parametrize(
    ("text", "iso", "grain"),
    [
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56", "time"),
        ("12:09 am on 13 September, 2023", "2023-09-13T00:09", "time"),
        ("May 8th, 2023 at 9:05", "2023-05-08T09:05", "time"),
        ("2024-03-05 10:22", "2024-03-05T10:22", "time"),
        ("May 2023", "2023-05", "month"),
        ("Q3 2024", "2024-07/2024-09", "quarter"),
        ("the first quarter of 2024", "2024-01/2024-03", "quarter"),
        ("12/25/2024", "2024-12-25", "day"),
        ("8-10 May 2023", "2023-05-08/2023-05-10", "range"),
        ("in 2019", "2019", "year"),
        ("last weekend", "2023-05-06/2023-05-07", "weekend"),
        ("last quarter", "2023-01/2023-03", "quarter"),
        ("the day before yesterday", "2023-05-07", "day"),
        ("a couple of days ago", "2023-05-07", "day"),
        ("November 5", "", ""),
        ("March 5", "2023-03-05", "day"),
        ("a few days ago", "", ""),
        ("last summer", "", ""),
        ("on Friday", "", ""),
        ("03/04/2024", "", ""),
        ("30 February 2023", "", ""),
        ("2000 users", "", ""),
        ("you may 8 times", "", ""),
        ("release 1.2.3 of 10.0.0.1", "", ""),
    ],
)
def test_words_for_dates(text: str, iso: str, grain: str):
    found = moments(text, "2023-05-09")
    assert [(moment.iso, moment.grain) for moment in found] == ([(iso, grain)] if iso else [])


def test_dates_come_in_the_order_of_the_text_and_none_twice_from_the_same_words():
    found = moments("Born on 8 May 2023, moved in June 2024, left yesterday.", "2025-01-02T08:00")
    assert [moment.iso for moment in found] == ["2023-05-08", "2024-06", "2025-01-01"]


def test_hours_count_only_from_a_known_time():
    assert moments("3 hours ago", "2023-05-08T13:56") == (Moment("2023-05-08T10:56", "time", "3 hours ago"),)
    assert moments("3 hours ago", "2023-05-08") == ()


def test_a_clock_takes_its_day_from_the_anchor():
    assert normalised("10:22", "2023-05-08T09:00") == "2023-05-08T10:22"
    assert normalised("10:22") == ""
    assert normalised("25:00", "2023-05-08") == ""


def test_only_what_the_words_do_not_hold_is_resolved():
    assert resolved_dates("Yesterday, on 7 May 2023, and last month.", "2023-05-08") == ("2023-04",)


def isos(text: str, anchor: str) -> list[str]:
    return [moment.iso for moment in moments(text, anchor)]
