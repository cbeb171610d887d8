"""Document 002: fixed weights, weights by specificity, a boost for anchors, and its table of test queries."""

import numpy as np
import pytest

from hive_mind.ranking.pipeline import linear
from hive_mind.ranking.question import anchors
from hive_mind.ranking.seed import SEMANTIC_WEIGHT_002, Weights, adaptive, boosted, fixed, needs_no_meaning, specificity

# The five queries of 002's table, and what each is said to be.
TABLE = {"D40": 0.3, "Tell me about D40": 0.3, "What are the safety requirements?": 0.7, "Aboleth": 0.3, "30 CFR 75.1725": 0.3}


def test_option_a_is_seven_to_three_for_every_query():
    assert fixed() == Weights(0.7, pytest.approx(0.3))


@pytest.mark.parametrize(("query", "semantic"), TABLE.items())
def test_option_b_on_the_table_of_002(query: str, semantic: float):
    assert adaptive(query).semantic == semantic


@pytest.mark.parametrize("query", ["D40?", "INC-2024-001", "192.168.1.45", "PII-2024-0042", '"the red door"'])
def test_option_b_fires_for_identifiers_that_its_own_pattern_misses(query: str):
    assert adaptive(query).semantic == 0.3


def test_option_b_is_balanced_where_an_identifier_is_one_word_among_others():
    assert 0.2 < specificity("Who repaired the pump in D40?") <= 0.5
    assert adaptive("Who repaired the pump in D40?").semantic == 0.5


def test_option_b_never_gives_meaning_more_than_was_configured():
    assert adaptive("D40", semantic=0.2).semantic == 0.2
    assert adaptive("how do pumps work", semantic=0.6).semantic == 0.6


def test_a_query_without_words_is_not_specific():
    assert specificity("what is the?") == 0.0


def test_option_c_gives_half_as_much_again_to_what_names_the_anchor():
    assert boosted(np.array([0.5, 0.6], np.float32), np.array([1.0, 0.0], np.float32)).tolist() == pytest.approx([0.75, 0.6])


def test_the_worked_example_of_002_puts_d40_before_d41():
    keyword, semantic = np.array([1.0, 0.0, 0.5], np.float32), np.array([0.7, 0.85, 0.6], np.float32)
    assert sum(linear(keyword, semantic, SEMANTIC_WEIGHT_002)).tolist() == pytest.approx([0.79, 0.595, 0.57])


@pytest.mark.parametrize(
    ("query", "exact_best", "is_enough"),
    [
        ("D40", 0.0, True),
        ("30 CFR 75.1725", 0.0, True),
        ("Tell me about CVE-2024-3094", 0.0, True),
        ("Aboleth", 1.0, True),
        ("Aboleth", 0.0, False),
        ("Who repaired D40?", 1.0, False),
        ("What are the safety requirements?", 0.0, False),
    ],
)
def test_a_pure_code_needs_no_meaning_and_a_lone_name_only_if_somebody_bears_it(query: str, exact_best: float, is_enough: bool):
    assert needs_no_meaning(anchors(query), exact_best) is is_enough
