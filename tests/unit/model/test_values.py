"""What a value knows about itself.

What a fact says is declared once: every field that travels is carried, bounded and looked through.

Names are computed from what they name.
"""

from dataclasses import fields, replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.errors import InvalidInput
from hive_mind.hive.policy.admission import malformed
from hive_mind.memory.gate import PromotionSettings
from hive_mind.memory.gate.promotion import decide
from hive_mind.memory.intake import new_fact
from hive_mind.memory.sharing import statement_of
from hive_mind.memory.transfer import line_of, record_of
from hive_mind.model.content import Candidate
from hive_mind.model.erasure import SUBJECT_WORDS_MAX, Erasures, Kind, erasure_of, read_key
from hive_mind.model.evidence import FIELDS, LISTS, Assertion, Stamp, Statement, said_of
from hive_mind.model.fact import Fact, Sharing, turned
from hive_mind.model.ids import canonical, entity_id, episode_id, fact_id, is_id, vector_key
from hive_mind.model.query import Contributions, TermStatistics
from tests.builders import fact, said

LONG = "a" * 100_000

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("state", "is_current", "is_retracted"),
    [
        ({}, True, False),
        ({"superseded_by": "f" * 32}, False, False),
        ({"sharing": Sharing.RETRACTED}, False, True),
        ({"sharing": Sharing.SHARED}, True, False),
    ],
)
def test_a_fact_is_current_unless_it_was_replaced_or_taken_back(state: dict, is_current: bool, is_retracted: bool):
    some = fact(**state)
    assert (some.is_current, some.is_retracted) == (is_current, is_retracted)


def test_only_further_sources_confirm():
    assert [fact(sources=sources).confirmations for sources in [("a",), ("a", "b"), ("a", "b", "c")]] == [0, 1, 2]


def test_contributions_sum_to_the_score():
    assert Contributions(0.1, 0.2, 0.3, 1.0, 0.4).total == pytest.approx(2.0)


def test_statistics_of_disjoint_corpora_add_up():
    total = TermStatistics(2, 5.0, {"a": 1}, 13.0) + TermStatistics(1, 2.5, {"a": 1, "b": 1}, 6.25)
    assert total == TermStatistics(3, 7.5, {"a": 2, "b": 1}, 19.25)


DIGEST = "0123456789abcdef" * 2


@pytest.mark.parametrize(("kind", "name"), [("source", "talk.txt"), ("agent", "ben"), ("fact", DIGEST)])
def test_the_key_of_an_erasure_is_read_back(kind: Kind, name: str):
    erasure = erasure_of(kind, name)
    assert (erasure.words, read_key(erasure.key)) == (0, erasure)


@pytest.mark.parametrize("words", range(1, SUBJECT_WORDS_MAX + 1))
def test_a_subject_is_found_in_any_text_that_has_its_words_in_its_order(words: int):
    names = "Ada B Lovelace of the Old Mill House".split()[:words]
    erasure = erasure_of("subject", " ".join(names))
    erasures = Erasures([erasure])
    assert (erasure.words, read_key(erasure.key)) == (words, erasure)
    assert erasures.names_subject(["nothing", f"Here is {', '.join(names).upper()}."])
    assert erasures.names_subject([" ".join(names)])
    assert erasures.covers_fact("f", [f"{' '.join(names)}, too"])
    assert not erasures.names_subject([" ".join(["x", *names[1:]]), " ".join(names[:-1]), ""])


@pytest.mark.parametrize(("kind", "name"), [("subject", ""), ("subject", "a b c d e f g h i"), ("agent", " "), ("fact", "ab")])
def test_what_names_nothing_or_too_much_is_no_erasure(kind: Kind, name: str):
    with pytest.raises(InvalidInput):
        erasure_of(kind, name)


@pytest.mark.parametrize("start", ["subject/0", "subject/9", "subject/10", "subject/", "agent/1", "agent/٠", "page/0", ""])
def test_no_other_key_is_read(start: str):
    assert read_key(f"{start}/{DIGEST}") is None
    assert read_key(f"agent/0/{DIGEST}0") is None


def test_a_fact_has_the_times_at_which_it_began_and_ceased_to_hold():
    held, gone = fact(learned_at_us=100), fact(learned_at_us=100, superseded_by="f" * 32)
    ceased = turned(gone, held, 200)
    again = turned(held, ceased, 150)

    assert (turned(held, held, 200), turned(held, None, 200), turned(gone, None, 200).turned_at_us) == (held, held, ())
    assert (ceased.turned_at_us, again.turned_at_us) == ((100, 200), (100, 200, 201))
    assert turned(replace(held, turned_at_us=(100, 200)), None, 300).turned_at_us == (100, 200, 300)
    assert [again.held_at(time) for time in (99, 100, 199, 200, 201)] == [False, True, True, False, True]
    assert again.as_held_at(150) == replace(held, turned_at_us=())
    assert again.as_held_at(201) == again
    assert fact(learned_at_us=300, turned_at_us=(100, 200, 300)).as_held_at(150).learned_at_us == 100


def with_text(one: Any, field: str, text: str) -> Any:
    changed = {field: (text,) if field in LISTS else text}
    return msgspec.structs.replace(one, **changed) if isinstance(one, msgspec.Struct) else replace(one, **changed)


def test_facts_candidates_and_statements_say_the_same() -> None:
    assert set(Statement.__struct_fields__) - set(FIELDS) == {"model", "vector"}
    assert all(set(FIELDS) <= {field.name for field in fields(kind)} for kind in (Fact, Candidate))


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_travels_is_looked_through_carried_and_bounded(field: str) -> None:
    told = with_text(fact("The pump is red."), field, "password: hunter0Xy!2024")
    statement = statement_of(told, "", None)

    assert not decide(told, PromotionSettings()).is_shared
    assert said_of(statement) == said_of(told)
    assert said_of(record_of(line_of(replace(told, id=fact_id(told.content)))))[field] == said_of(told)[field]
    too_long = Assertion("", "ann", "file", 0.9, Stamp(1), with_text(statement, field, LONG))
    assert "at most" in malformed(too_long)
    with pytest.raises(InvalidInput, match="at most"):
        new_fact(with_text(said(), field, LONG), "file", 0)


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


@pytest.mark.parametrize(
    ("text", "is_whole"), [("0f" * 16, True), ("0f" * 15, False), ("0f" * 17, False), ("0F" * 16, False), ("0g" * 16, False)]
)
def test_a_whole_name_is_told_from_a_part_and_from_other_words(text: str, *, is_whole: bool):
    assert is_id(text) is is_whole


def test_parts_are_kept_apart():
    assert vector_key("ab", "c") != vector_key("a", "bc")
    assert fact_id("x", tenant="a") != fact_id("x", tenant="b")
    assert len({fact_id("x"), entity_id("x"), episode_id("x", "y"), vector_key("x", "y")}) == 4


def test_letter_case_and_white_space_make_no_other_entity():
    assert entity_id("Ada  Lovelace") == entity_id(" ada lovelace")
    assert entity_id("STRASSE") == entity_id("Straße")
