"""Questions for people are known in every language that has a stemmer and writes names with a capital."""

import pytest
import Stemmer

from hive_mind.cognition.answering.answer_forms import may_answer
from hive_mind.cognition.answering.wordings import WHO

# Names of these can't be told by how they are written; and English and German ask by words of their own.
WITHOUT_CAPITALS = frozenset("arabic hindi nepali persian tamil yiddish".split())
AT_HOME = frozenset("english porter german german2 dutch dutch_porter kraaij_pohlmann lovins".split())


def test_each_language_with_a_stemmer_and_capitals_has_its_words():
    told = {language for languages in WHO for language in languages.split()}
    assert set(Stemmer.algorithms()) - WITHOUT_CAPITALS - AT_HOME <= told


@pytest.mark.parametrize(("word", "language"), [(word, name) for name, words in WHO.items() for word in words.split()])
def test_somebody_answers_and_a_thing_does_not(word: str, language: str):
    question = f"{word} xxx?" if language == "turkish" else f"{word.capitalize()} xxx yyy?"
    assert may_answer(question, "xxx yyy Ana Lopes."), language
    assert not may_answer(question, "xxx yyy 12."), language


def test_the_dutch_word_is_german_for_how():
    assert not may_answer("Wie regelt de bus?", "de bus is rood.")
    assert may_answer("Wie regelt de bus?", "Sanne regelt de bus.")
    assert may_answer("Wie wird die Pumpe gestartet?", "mit dem grünen Knopf.")
