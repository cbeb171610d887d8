"""What of a fact is indexed: its own words fully, its surroundings less."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.ranking.form import BEFORE_WEIGHT, SPEAKER_WEIGHT, mixed_vector, spoken_date, texts_to_embed, weighted_terms
from hive_mind.ranking.tokens import tokenize
from tests.builders import fact


def test_own_words_count_each_time_and_surroundings_half_once():
    terms = weighted_terms(fact("Red pump, red door.", before="door door tank", concept="tank"))
    assert terms == {"red": 2.0, "pump": 1.0, "door": 1.0 + BEFORE_WEIGHT, "tank": BEFORE_WEIGHT}


def test_who_speaks_counts_less_than_a_word_of_the_text_for_what_one_says_is_rarely_about_oneself():
    terms = weighted_terms(fact("Noor: The pump is red.", speaker="Noor", before="Noor: Look."))
    assert terms == {"pump": 1.0, "red": 1.0, "noor": SPEAKER_WEIGHT, "look": BEFORE_WEIGHT}


def test_a_fact_is_found_by_its_date_as_people_say_it():
    terms = weighted_terms(fact("Rain.", said_at="2023-05-08T13:56", labels=("2022-07",)))
    assert {"8", "may", "2023", "juli", "2022"} <= terms.keys()


@pytest.mark.parametrize(
    "text",
    [
        "title: Tea; start_time: 2025-06-12 11:30:00; end_time: 2025-06-12 14:00:00",
        "2025-06-12T09:00Z ERROR pump",
        "Backup of 2025-06-12, 2025-06-12",
    ],
)
def test_a_day_that_a_program_wrote_is_found_as_people_say_it(text: str):
    terms = weighted_terms(fact(text))
    assert set(tokenize("12 June 2025")) <= terms.keys()
    assert terms["june"] == 1.0
    assert tokenize("June 12th") == tokenize("June 12")


@pytest.mark.parametrize(
    ("speaker", "message", "asks"),
    [
        ("Noor", "Anything new on the pump?", True),
        ("Noor", "“Anything new on the pump?”", True),
        ("Noor", "The pump leaks. Anything new?", False),
        ("Noor", "ポンプは動いていますか？", True),
        ("Noor", "The pump leaks.", False),
        ("user", "What do I take for my pump?", False),
        ("", "Does the pump leak?", False),
    ],
)
def test_a_turn_that_only_asks_counts_as_a_long_one(speaker: str, message: str, asks: bool):
    turn = fact(f"{speaker}: {message}" if speaker else message, speaker=speaker)
    said, terms = weighted_terms(fact(message)), weighted_terms(turn)

    assert {term: terms[term] for term in said} == said
    assert (sum(terms.values()) > 1.4 * sum(said.values()) + 1) is asks


@pytest.mark.parametrize("text", ["Part 12025-06-123", "2025-13-01", "call 2025-06-912", "2025-06"])
def test_other_figures_are_no_days(text: str):
    assert "june" not in weighted_terms(fact(text))


def test_of_a_text_with_many_days_the_first_are_spoken():
    terms = weighted_terms(fact(" ".join(f"2025-{month:02}-01" for month in range(1, 13))))
    assert "august" in terms
    assert "septemb" not in terms


@pytest.mark.parametrize(
    ("stamp", "spoken"),
    [
        *(("2023-05-08T13:56", "8 May 2023"), ("2023-05-08", "8 May 2023"), ("2023-05", "May 2023")),
        *(("2023", "2023"), ("2023-13", "2023-13"), ("2023-W12", "2023-W12"), ("yesterday", "yesterday")),
        *(("", ""), ("2023-²", "2023-²"), ("²023-05", "²023-05"), ("2023-05-²", "May 2023")),
    ],
)
def test_a_date_is_spoken_as_people_ask_for_it(stamp: str, spoken: str):
    assert spoken_date(stamp) == spoken


@given(st.text(st.characters(exclude_categories=())), st.lists(st.text()))
def test_no_date_and_no_label_stops_a_fact_from_being_indexed(stamp: str, labels: list[str]):
    weighted_terms(fact("Rain.", said_at=stamp, labels=tuple(labels)))


@pytest.mark.parametrize(
    "begins",
    [
        *(
            "def read_header(",
            "    @cache\n    @of('x')\n    async def read_header(",
            "export async function read_header(",
            "fn read_header<",
        ),
        *("func (r *Reader) read_header(", "public static class read_header {", "class read_header(Base):", "class read_header:"),
    ],
)
def test_the_name_of_a_definition_counts_more_than_what_it_takes(begins: str) -> None:
    terms = weighted_terms(fact(f"{begins} source, limit): open(source)"))
    assert terms["read"] == terms["header"] == terms["limit"] + 3


@pytest.mark.parametrize(
    "text", ["class of 2004 (reunion)", "We def read header(x)", "A class action: a claim", "the function read (header)"]
)
def test_prose_defines_nothing(text: str) -> None:
    assert max(weighted_terms(fact(text)).values()) == 1


def test_only_text_that_is_there_is_embedded():
    assert texts_to_embed(fact("Rain.", before="Weather?")) == ("Rain.", "Weather?")
    assert texts_to_embed(fact("Rain.")) == ("Rain.",)


def test_a_mixed_vector_is_a_unit_vector_nearer_to_the_own_text():
    own, before = np.eye(2, dtype=np.float32)
    mixed = mixed_vector(own, before)

    assert np.linalg.norm(mixed) == pytest.approx(1.0, abs=1e-3)
    assert mixed[0] > mixed[1] > 0
    assert mixed_vector(own, None) is own
    assert mixed_vector(own, -2 * own).tolist() == own.tolist(), "what cancels out leaves the own text"
