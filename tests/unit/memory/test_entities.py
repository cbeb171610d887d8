import pytest

from hive_mind.memory.entities import entities, vocabulary_of

CODES = (
    *("INC-2024-001", "CVE-2024-3094", "10.0.0.1", "10.0.0.0/8", "10.0.0.1:8080", "ana.silva@example.com", "#1234"),
    *("https://example.com/a?b=1", "db01.prod", "2001:db8:0:1:1:1:1:1", "v1.2.3"),
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Yesterday Ana Silva flew from Porto to the Bank of England.", ("Ana Silva", "Porto", "Bank of England")),
        ("We met Dr. J. Silva. Porto was wet.", ("Dr. J. Silva", "Porto")),
        ("Caroline's cat sleeps.", ("Caroline",)),
        ("Caroline lives here.", ("Caroline",)),
        ("The disk of Ana holds 3 TB for 40 EUR", ("Ana",)),
        ("We met on Monday, 5 March 2024.", ()),
        ("PLEASE CHECK THE SERVER NOW", ()),
        *((first_word, ()) for first_word in ("Coffee tastes good.", "Everything went well.")),
        *((first_word, ()) for first_word in ("I'm happy.", "Don't do it.", "It's done.")),
        *((f"We saw {code}, again.", (code,)) for code in CODES),
    ],
)
def test_names_are_runs_of_capitals_and_codes_and_no_first_word_unit_or_date_and_nothing_that_is_shouted(text: str, names: tuple):
    assert entities(text) == names


def test_the_first_word_is_a_name_when_the_text_uses_it_as_one():
    known = vocabulary_of(["We met Caroline.", "Then coffee came."])

    assert entities("Caroline left early.", known) == ("Caroline",)
    assert entities("Coffee is cold.", known) == ()


def test_each_entity_is_named_once_and_their_number_is_bounded():
    assert entities("Ana met Ben, and Ben met Ana at Ana's.") == ("Ana", "Ben")
    assert len(entities(" ".join(f"INC-{number}" for number in range(1000)))) == 32
