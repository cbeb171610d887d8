from hypothesis import given
from hypothesis import strategies as st

from hive_mind.cognition.answering.aliases import CODE_LETTERS_MIN, aliases_of, as_written, long_codes, reworded
from hive_mind.cognition.answering.relevance import RelevanceSettings, relevant
from hive_mind.memory.entities import entities
from hive_mind.ranking.tokens import tokenize
from tests.unit.cognition.reading import answer, hit

OPENED = hit("CRIT pump-house-2 does not answer, opened INC-2024-7")


def test_a_fact_that_names_two_identifiers_ties_them_together():
    assert aliases_of("What was the cause of INC-2024-7?", [OPENED]) == (("inc-2024-7", "pump-house-2"),)
    assert aliases_of("Why did pump-house-2 fail?", [OPENED]) == (("pump-house-2", "inc-2024-7"),)


def test_two_of_one_shape_are_two_things():
    assert not aliases_of("What was INC-2024-7?", [hit("INC-2024-7 and INC-2024-8 were closed on Monday.")])
    assert not aliases_of("Who has pump-house-2?", [hit("The key of pump-house-2 opens pump-house-3.")])


def test_a_list_of_identifiers_ties_nothing_together():
    assert not aliases_of("What was INC-2024-7?", [hit("INC-2024-7, pump-house-2 and KD-5581-9 are in the report.")])


def test_a_question_without_an_identifier_has_no_aliases():
    assert not aliases_of("What was the cause?", [OPENED])


def test_the_question_is_asked_by_the_other_name():
    assert reworded("Why did Pump-house-2 fail?", [("pump-house-2", "INC-2024-7")]) == "Why did INC-2024-7 fail?"


def test_a_longer_identifier_is_another_one():
    question = "Did INC-2024-7 come before INC-2024-70?"

    assert reworded(question, [("inc-2024-7", "pump-house-2")]) == "Did pump-house-2 come before INC-2024-70?"
    assert as_written("Is pump house 2 near pump house 2-b and pump house 21?", [OPENED]).count("pump-house-2") == 1


def test_an_identifier_in_words_is_meant_as_the_facts_write_it():
    assert as_written("Who saw pump house 2?", [OPENED]) == "Who saw pump-house-2?"
    assert as_written("Who saw pump house 21?", [OPENED]) == "Who saw pump house 21?"


def test_a_long_word_that_no_fact_has_is_spelt_as_one_of_them_does():
    facts = [hit("The accommodation of Andersson is paid by the contractor.")]
    assert as_written("Who pays the acommodation?", facts) == "Who pays the accommodation?"
    for question in ("Who pays accommodations?", "Who pays Andersen?", "Who pays the contract?"):
        assert as_written(question, facts) == question


def test_a_fact_that_has_the_other_name_answers():
    told = hit("The cause: a mouse had chewed through the wire of pump-house-2.", keyword=3.0)
    question = "What was the cause of INC-2024-7?"

    assert told in [one.hit for one in relevant(question, [OPENED, told], RelevanceSettings())]
    assert not relevant(question, [told], RelevanceSettings())


def test_of_facts_that_only_name_the_identifier_those_that_tell_something_come_first():
    closed, told = hit("INC-2024-7 closed.", 1.2), hit("They left two hundred parcels in the rain on account of INC-2024-7.", 1.0)

    found = answer("What suffered from INC-2024-7?", closed, told)

    assert [source.fact.content for source in found.sources] == [told.fact.content, closed.fact.content]


WORDS = ["INC-2024-001", "the", "pump-house-2", "MO-1187", "K9", "Pump House 2", "a@b.example1", ". ", "\n", "(", "Boeing747"]


@given(st.lists(st.sampled_from(WORDS)))
def test_a_quick_look_for_identifiers_misses_none(words: list[str]):
    text = " ".join(words)
    long = [code for code in entities(text) if len(code) >= CODE_LETTERS_MIN and any(map(str.isdigit, code))]

    assert long_codes(text) == tuple(code for code in long if code.casefold() in tokenize(code))
