"""A question that is asked again has the most frequent words of its first answer, and stays itself."""

from dataclasses import replace

import numpy as np
import pytest

from hive_mind.model.gathered import Anchors, Pool, Probe
from hive_mind.model.query import TermStatistics
from hive_mind.ranking.question import as_asked_once, expanded, with_more
from hive_mind.ranking.tokens import tokenize
from tests.builders import fact

PROBE = Probe(
    tuple(tokenize("hall dry")), Anchors((("hall",),)), np.float32([1, 0]), 7, beside=TermStatistics(1, 2.0), as_of_ms=5
)
PASSAGE = fact("Noor: The pump keeps the hall dry, an old pump of iron.", speaker="Noor")


def test_it_asks_for_the_words_it_lacked_at_a_third_of_the_weight_of_its_own():
    again = expanded(PROBE, PASSAGE)
    assert again is not None
    assert again.terms == PROBE.terms * 9 + ("pump", *(t for t in tokenize("keeps old iron")))
    assert again == replace(PROBE, terms=again.terms, beside=None)


def test_of_a_long_passage_it_takes_ten_words_those_said_most_often_first():
    words = [f"word{chr(97 + number)}x" for number in range(26)]
    again = expanded(PROBE, fact(" ".join([*words, words[20], words[25], words[25]])))
    assert again is not None
    assert again.terms[18:] == tuple(tokenize(" ".join([words[25], words[20], *words[:8]])))


@pytest.mark.parametrize("text", ["The hall is dry.", "Dry halls, dry hall."])
def test_a_passage_that_says_nothing_else_changes_nothing(text: str):
    assert expanded(PROBE, fact(text)) is None


@pytest.mark.parametrize("text", ["Die Pumpe hält die Halle trocken.", "Насос держит зал сухим.", "المضخة تبقي القاعة جافة"])
def test_a_passage_in_another_language_leads_nowhere(text: str):
    assert expanded(PROBE, fact(text)) is None


def test_a_long_question_has_words_enough():
    long = tuple(f"term{number}" for number in range(65))
    assert with_more(long, ["other"]) == long
    assert "other" in with_more(long[:64], ["other"])


def test_scores_are_those_of_a_question_that_was_asked_once():
    pool = Pool(("a",), np.float32([6]), np.float32([0.5]), np.float32([0]))

    assert as_asked_once(pool, PROBE.terms) is pool
    assert as_asked_once(pool, ()) is pool
    assert as_asked_once(pool, with_more(PROBE.terms, ["pump"])).keyword == 2
