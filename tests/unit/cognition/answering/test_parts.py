import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.cognition.answering.intent import parts_of
from tests.unit.cognition.reading import answer, hit


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Summarise INC-2024-1: cause, repair and damage.", ("cause: INC-2024-1", "repair: INC-2024-1", "damage: INC-2024-1")),
        ("Who sold the boat, and what did it cost?", ("Who sold the boat", "what did it cost")),
        (
            "What came first in Blue Fox, the fence or the roof?",
            ("the fence: Blue Fox", "the roof: Blue Fox"),
        ),
        ("Who sold the boat?", ()),
        ("Do we need bread or milk?", ()),
    ],
)
def test_a_question_for_several_things_has_a_part_for_each(question: str, parts: tuple[str, ...]):
    assert parts_of(question) == parts


def test_each_part_is_answered_by_a_fact_of_its_own():
    told = [hit(f"The {what} of Blue Fox is {how}.", keyword=5.0) for what, how in (("vendor", "Ana"), ("colour", "red"))]

    found = answer("Give me an overview of Blue Fox: vendor, colour and weight.", *told)

    assert {source.fact.content for source in found.sources} == {one.fact.content for one in told}


@given(st.text(max_size=300))
def test_any_text_has_parts_or_none(text: str):
    assert len(parts_of(text)) <= 8


def test_asking_what_it_is_asks_for_nothing_else():
    assert parts_of("Is the opening of Grey Heron confirmed, and what is it?") == ()
