import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.cognition.answering.wordings import _PHRASES, degree_in, measured_in, phrase_terms
from hive_mind.ranking.tokens import tokenize
from tests.unit.cognition.reading import answer, hit


@pytest.mark.parametrize(
    ("text", "quantity"),
    [
        ("The plate of Blue Fox says 833 kilos.", "weight"),
        ("It draws 114 kilowatts.", "consumption"),
        ("It opens at 6.6 bar.", "pressure"),
        ("Seven days, and not a day more.", "period"),
        ("We have $75,100 in the pot.", "budget"),
        ("They are 13 people.", "staff"),
        ("The deposit is GBP 1,450.", "price"),
        ("Winter: Monday to Friday, 9 am to 4 pm", "hours"),
        ("Wed: closed", "day"),
        ("The trial ended with 95 percent green.", "result"),
        ("Le pont mesure quarante km.", "length"),
    ],
)
def test_a_unit_tells_what_is_measured(text: str, quantity: str):
    assert frozenset(tokenize(quantity)) <= measured_in(text)


@pytest.mark.parametrize(("letter", "alike"), ["iı", "iİ", "sſ", "kK"])
def test_a_letter_that_is_another_only_where_case_is_ignored_stops_no_reading(letter: str, alike: str):
    texts = [text.replace(letter, alike) for text in (*_PHRASES, "200 litres", "20 kilos", "5 kilometres")]
    assert [text for text in texts if not phrase_terms(f"{text} of the mill").issuperset(tokenize("mill"))] == []


@pytest.mark.parametrize("text", ["The bar is open.", "Bus 5 gets there.", "It runs at 90 km/h.", "Room 7.108", ""])
def test_without_figure_and_unit_no_weight_and_no_pressure_is_told(text: str):
    assert measured_in(text).isdisjoint(tokenize("weight pressure length period money"))


def test_a_quantity_is_answered_by_its_unit():
    assert answer("What is the weight of Blue Fox?", hit("The plate of Blue Fox says 833 kilos.", keyword=4.0)).is_known
    assert not answer("What is the weight of Blue Fox?", hit("The plate of Blue Fox says 833 bar.", keyword=4.0)).is_known


@pytest.mark.parametrize(("written", "told"), [("200 l", "200 litres"), ("45kg", "45 kilograms"), ("7 m", "7 metres")])
def test_a_unit_means_the_same_as_a_symbol_and_as_a_word(written: str, told: str):
    assert phrase_terms(f"It has {written}.") == phrase_terms(f"It has {told}.")


@pytest.mark.parametrize(
    ("question", "adjective"),
    [
        ("How old is the barn?", "old"),
        ("How far is it?", "far"),
        ("Wie schwer ist das Boot?", "schwer"),
        ("Where is the old barn?", ""),
    ],
)
def test_the_adjective_that_asks_for_a_measure_is_no_word_of_what_is_asked_about(question: str, adjective: str):
    assert degree_in(question) == frozenset(tokenize(adjective))


@given(st.text(max_size=300))
def test_any_text_measures_something_or_nothing(text: str):
    assert all(measured_in(text))
