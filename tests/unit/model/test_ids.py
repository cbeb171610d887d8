"""Names are computed from what they name."""

from hypothesis import given
from hypothesis import strategies as st

from hive_mind.model.ids import canonical, entity_id, episode_id, fact_id, vector_key

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_canonical_text_is_canonical_already(text: str):
    once = canonical(text)
    assert canonical(once) == once
    assert once == once.strip()
    assert fact_id(once) == fact_id(text) == fact_id(f"  {text}\n")


@given(ANY_TEXT, ANY_TEXT)
def test_a_name_has_32_digits_and_different_things_have_different_names(one: str, other: str):
    assert len(fact_id(one)) == 32
    assert int(fact_id(one), 16) >= 0
    assert (fact_id(one) == fact_id(other)) == (canonical(one) == canonical(other))
    assert (episode_id(one, other) == episode_id(other, one)) == (one == other)
    assert (vector_key(one, other) == vector_key(other, one)) == (one == other)


def test_parts_are_kept_apart():
    assert vector_key("ab", "c") != vector_key("a", "bc")
    assert fact_id("x", tenant="a") != fact_id("x", tenant="b")
    assert len({fact_id("x"), entity_id("x"), episode_id("x", "y"), vector_key("x", "y")}) == 4


def test_letter_case_and_white_space_make_no_other_entity():
    assert entity_id("Ada  Lovelace") == entity_id(" ada lovelace")
    assert entity_id("STRASSE") == entity_id("Straße")
