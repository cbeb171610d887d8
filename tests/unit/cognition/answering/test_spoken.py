"""In a dialogue "I" is who speaks and "you" is somebody else."""

import pytest

from hive_mind.cognition.answering.subject import as_told_of
from hive_mind.ranking.tokens import terms_in
from tests.unit.cognition.reading import answer, hit

ANA = (terms_in("Ana"),)


@pytest.mark.parametrize(
    ("speaker", "said", "about_ana"),
    [
        ("Ana", "That is great. Your boat is fast! I want a kayak.", "That is great. I want a kayak."),
        ("Ana", "I like your boat.", "I like your boat."),
        ("Ben", "Thanks, Ana! My grandmother was young then. Your boat is fast.", "Thanks, Ana! Your boat is fast."),
        ("Ben", "Woohoo Ana! I sold my boat.", "Woohoo Ana!"),
        ("Ben", "I met Ana. We sold my boat.", "I met Ana. We sold my boat."),
    ],
)
def test_of_an_utterance_the_sentences_about_the_other_are_left_out(speaker: str, said: str, about_ana: str):
    for lead in ("", f"{speaker}: "):
        told = as_told_of(ANA, hit(lead + said, speaker=speaker).fact)
        assert told is not None
        assert told.content == lead + about_ana


def test_so_are_those_of_what_stands_before_it():
    known = {"speaker": "Ana", "before": "Ben: I saw a whale, Ana. Did you see it?"}

    told = as_told_of(ANA, hit("Wow.", **known).fact)

    assert told is not None
    assert told.before == "Ben: Did you see it?"


def test_where_all_of_it_is_about_the_other_nothing_is_left_and_texts_without_speakers_stay():
    assert as_told_of(ANA, hit("Ana, I sold my boat.", speaker="Ben").fact) is None
    assert as_told_of(ANA, (text := hit("Ana, you sold your boat.")).fact) is text.fact


def test_what_ana_says_about_the_boat_of_ben_does_not_answer_what_is_asked_about_hers():
    question = "What colour is the boat of Ana?"

    assert not answer(question, hit("Ana: Wow, your boat is such a lovely blue!", speaker="Ana", keyword=9.0)).is_known
    assert answer(question, hit("Ana: My boat is blue like yours.", speaker="Ana", keyword=9.0)).is_known
