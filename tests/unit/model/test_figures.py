"""A figure is the same however it is written, and what is no figure stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.model.figures import figures_in, plain_figures, plain_number
from hive_mind.ranking.tokens import tokenize
from tests.growth import costly


@given(st.integers(1, 10**12), st.sampled_from(["GB", "kg", "km", "ms", "V", "kWh", "m"]))
def test_a_unit_stands_with_its_figure_or_apart(number: int, unit: str):
    assert set(tokenize(f"the mast has {number}{unit} of it")) == set(tokenize(f"the mast has {number} {unit} of it"))
    assert f"{number}{unit}".lower() in tokenize(f"{number} {unit}")


@given(st.integers(1000, 10**15 - 1), st.sampled_from([",", "'", "’"]))
def test_signs_between_thousands_make_no_other_number(number: int, mark: str):
    assert plain_figures(f"{number:,}".replace(",", mark)) == str(number) == plain_number(f"{number:,}")


@given(st.integers(0, 9), st.integers(0, 59))
def test_a_nought_before_an_hour_makes_no_other_time(hour: int, minute: int):
    assert tokenize(f"it opens at 0{hour}:{minute:02} on Sundays") == tokenize(f"it opens at {hour}:{minute:02} on Sundays")


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        *(("6:40 pm", "18:40"), ("12:05 a.m.", "0:05"), ("12:05 pm", "12:05"), ("13:05 pm", "13:05")),
        *(("quarter past two", "2:15"), ("quarter to two", "1:45"), ("4 pm", "16:00")),
        *(("half past seven", "7:30"), ("quarter to one", "12:45"), ("4 500 000", "4500000")),
        *(("7,25 t", "7.25"), ("v0.9.4", "0.9.4"), ("7.250,5 zł", "7250.5"), ("1.250.000 Euro", "1250000")),
        *(("8.05 Uhr", "8:05"), ("8 Uhr", "8:00"), ("20h05", "20:05"), ("8 o'clock", "8:00"), ("eight o’clock", "8:00")),
        *(("halb eins", "12:30"), ("Viertel vor acht", "7:45"), ("noon", "12:00")),
        *(("quarter to eight in the evening", "19:45"), ("half past eight in the morning", "8:30")),
    ],
)
def test_what_is_written_otherwise_has_its_plain_form_as_well(written: str, plain: str):
    assert plain in plain_figures(f"about {written} here").split()


@pytest.mark.parametrize(
    "text",
    ["10.0.0.12", "2026-03-04T05:06:07Z", "room 12a", "CVE-2025-0099", "8443", "1,2,3", "3 people", "INC-12,500x", "07:08:09"],
)
def test_codes_and_dates_stay(text: str):
    assert plain_figures(text) == text


@pytest.mark.parametrize(
    ("question", "figures"),
    [
        ("What is 6 km long?", {"6km"}),
        ("What costs 12,500 euros?", {"12500"}),
        ("What leaves at 08:05?", {"8:05"}),
        ("Which ferry left in 1998 with 3 people?", set()),
        ("What costs 40 euros?", {"40"}),
        ("What has 9999 of 999?", {"9999"}),
        ("What leaves at 6:40 pm or 4 pm or half past seven?", {"18:40", "16:00", "7:30"}),
    ],
)
def test_the_figures_of_a_question_that_an_answer_needs(question: str, figures: set[str]):
    assert figures_in(question) == figures


def test_time_grows_with_the_text_and_not_with_its_square():
    assert costly(plain_figures, ["1", "1,", "1 ", "123,", "123 ", "1:", "half past ", "v1.", "1 k", "12:30 p"], 30_000) == []
