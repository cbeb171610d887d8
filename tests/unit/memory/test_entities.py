import pytest

from hive_mind.memory.entities import entities, vocabulary_of


def test_names_are_runs_of_capitalised_words():
    assert entities("Yesterday Ana Silva flew from Porto to the Bank of England.") == ("Ana Silva", "Porto", "Bank of England")


@pytest.mark.parametrize("sentence", ["Coffee tastes good.", "Everything went well.", "I'm happy.", "Don't do it.", "It's done."])
def test_the_first_word_of_a_sentence_is_no_name_by_its_capital_alone(sentence: str):
    assert entities(sentence) == ()


def test_the_first_word_is_a_name_when_the_text_uses_it_as_one():
    known = vocabulary_of(["We met Caroline.", "Then coffee came."])

    assert entities("Caroline left early.", known) == ("Caroline",)
    assert entities("Coffee is cold.", known) == ()


def test_the_first_word_is_a_name_when_it_owns_or_does_something():
    assert entities("Caroline's cat sleeps.") == ("Caroline",)
    assert entities("Caroline lives here.") == ("Caroline",)


@pytest.mark.parametrize(
    "code",
    [
        *("INC-2024-001", "CVE-2024-3094", "10.0.0.1", "10.0.0.0/8", "10.0.0.1:8080", "ana.silva@example.com", "#1234"),
        *("https://example.com/a?b=1", "db01.prod", "2001:db8:0:1:1:1:1:1", "v1.2.3"),
    ],
)
def test_codes_and_addresses_are_entities_as_they_are_written(code: str):
    assert entities(f"We saw {code}, again.") == (code,)


def test_the_unit_of_a_figure_is_not_an_entity():
    assert entities("The disk of Ana holds 3 TB for 40 EUR") == ("Ana",)


def test_days_and_months_are_not_entities():
    assert entities("We met on Monday, 5 March 2024.") == ()


def test_initials_and_titles_belong_to_the_name():
    assert entities("We met Dr. J. Silva. Porto was wet.") == ("Dr. J. Silva", "Porto")


def test_capitals_tell_nothing_where_everything_is_shouted():
    assert entities("PLEASE CHECK THE SERVER NOW") == ()


def test_each_entity_is_named_once_and_their_number_is_bounded():
    assert entities("Ana met Ben, and Ben met Ana at Ana's.") == ("Ana", "Ben")
    assert len(entities(" ".join(f"INC-{number}" for number in range(1000)))) == 32
