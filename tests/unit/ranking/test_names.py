"""Names that look like words of no weight are terms where they are written as names."""

import pytest

from hive_mind.ranking.tokens import tokenize


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The AM crew has left", "am"),
        ("She moved to the US in spring", "us"),
        ("IT pays for the lamps", "it"),
        ("What did Will paint?", "will"),
        ("Will painted the boat", "will"),
        ("An moved to Hanoi", "an"),
        ("It is late. Can is the goalkeeper", "can"),
        ("Tariff D is the cheapest", "d"),
        ("What does tariff A include?", "a"),
        ("Valve β leaks", "β"),
        ("Дом Б закрыт", "б"),
        ("It was written in C.", "c"),
        ("Everything here is C++, of course", "c++"),
        ("The F# port", "f#"),
        ("The house has class A+", "a+"),
    ],
)
def test_a_name_is_a_term(text: str, name: str):
    assert name in tokenize(text)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("A pump is red", "a"),
        ("Will the pump run?", "will"),
        ("Today I am here", "i"),
        ("WHO IS IN THE HALL WITH US", "us"),
        ("It is the one", "it"),
        ("The U.S. fleet", "u"),
        ("Он и я", "я"),
        ("it is us who will", "us"),
    ],
)
def test_another_word_is_none(text: str, word: str):
    assert word not in tokenize(text)


@pytest.mark.parametrize(
    ("written", "said"),
    [("openLockGate", "open lock gate"), ("idleSecondsMax", "idle seconds max"), ("roll-over", "rollover"), ("e-book", "ebook")],
)
def test_a_joined_word_has_the_words_it_is_made_of_or_the_other_way_round(written: str, said: str):
    assert set(tokenize(said)) <= set(tokenize(written))


def test_a_joined_word_takes_nothing_of_the_words_around_it():
    assert tokenize("3 openLockGate 4") == ["3", "openlockg", "open", "lock", "gate", "4"]


@pytest.mark.parametrize("word", ["GitHub", "iPhone", "JavaScript", "McDonald"])
def test_a_brand_is_one_word(word: str):
    assert len(tokenize(word)) == 1
