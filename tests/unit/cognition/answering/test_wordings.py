"""Which words of a question say what it is about, and how else they are said."""

import pytest

from hive_mind.cognition.answering.wordings import content_terms, is_german, met_in, other_words, phrase_terms
from hive_mind.ranking.tokens import tokenize


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("When does the shuttle go?", {"shuttl"}),
        ("How heavy is the piano?", {"piano"}),
        ("Womit wird der Kessel geheizt?", {"kessel", "geheizt"}),
        ("朝食は何時からですか", {"朝食"}),
        ("တံတားဟောင်း ဘယ်မှာလဲ", set(tokenize("တံတားဟောင်း"))),
        ("ស្ពានចាស់ នៅឯណា?", set(tokenize("ស្ពានចាស់"))),
        ("ขั้วโลกเหนือ อยู่ที่ไหน", set(tokenize("ขั้วโลกเหนือ อยู่"))),
        ("ຂົວເກົ່າ ແມ່ນຫຍັງ", set(tokenize("ຂົວເກົ່າ ແມ່ນ"))),
        ("What is vm.swappiness set to?", {"vm", "swappi"}),
        ("What do people need?", {"peopl", "need"}),
        ("After what time are records deleted?", {"time", "record", "delet"}),
    ],
)
def test_words_that_every_question_has_say_nothing(question: str, about: set[str]) -> None:
    assert content_terms(question, frozenset(tokenize(question))) == about


def test_a_word_may_be_told_in_another() -> None:
    told = frozenset(tokenize("The captain brings the cargo."))

    assert met_in(tokenize("command carry harbour"), told) == set(tokenize("command carry"))
    assert phrase_terms("12 at most") == phrase_terms("12 maximum")
    assert met_in(tokenize("vale maximum"), frozenset(tokenize("cuesta max"))) == set(tokenize("vale maximum"))
    assert met_in(tokenize("Thursday Friday January"), frozenset(tokenize("Thu: 12 Jan"))) == set(tokenize("Thursday January"))


def test_german_is_told_by_its_little_words() -> None:
    assert is_german("Wann fährt der Bus?")
    assert not is_german("What was the man in the house?")


def test_each_word_of_a_question_has_its_share_of_the_other_words() -> None:
    assert {"boss", "fix"} <= set(other_words("Who is in charge of the repairs?").split()[:6])
    assert "disabl" in other_words("How do I turn off the bell?").split()
    assert "requir" in other_words("Which bell does it need?").split()
    # What is searched for is read once more.
    assert set(tokenize("purchase noise employee")) <= set(
        tokenize(" ".join(map(other_words, ("Who bought it?", "Is it loud?", "Who are the staff?"))))
    )
    assert other_words("Where is the piano?") == ""
