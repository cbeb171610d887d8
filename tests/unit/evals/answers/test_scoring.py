"""What one question is worth in one arm, worked by hand."""

from dataclasses import replace
from math import log2, nan

import numpy as np
import pytest

from hive_mind.evals.answering import GivenAnswer
from hive_mind.evals.datasets import LabelledQuestion
from hive_mind.evals.metrics import Figures, score, shown_scores
from tests.unit.cognition.reading import hit

QUESTION = LabelledQuestion(
    "q1",
    "At what pressure does pump D4 run?",
    {"d1": 1, "d2": 1, "d9": -1},
    required=("42 bar",),
    acceptable=("D4", "pump four"),
    forbidden=("D40",),
    superseded=("38 bar",),
)
FOUND = ("d1", "d9", "d5", "d2")
HITS = tuple(hit(f"Fact {number}.", points) for number, points in enumerate((1.4, 0.6, 0.5, 0.2)))
KINDS = ("chat", "log", "chat", "log")
VECTORS = np.array([(1, 0), (1, 0.01), (0, 1), (-1, 0)], np.float32)
ANSWER = GivenAnswer("D4 runs at 42 bar.", is_known=True)


def figures(question: LabelledQuestion = QUESTION, answer: GivenAnswer | None = ANSWER, limit: int = 4) -> Figures:
    return score(question, FOUND, HITS, KINDS, VECTORS, answer, limit)


def said(text: str, question: LabelledQuestion = QUESTION) -> Figures:
    return figures(question, GivenAnswer(text, is_known=True))


DECLINED = GivenAnswer("I don't know: nothing in memory answers this for certain.", is_known=False)


def test_the_order_is_measured_by_the_judgements() -> None:
    found = figures()

    ideal = 1 + 1 / log2(3)
    assert found["recall@4"] == 1.0
    assert found["mrr@4"] == 1.0
    assert found["ndcg@4"] == pytest.approx((1 + 1 / log2(5)) / ideal)
    assert found["nudcg@4"] == pytest.approx((1 - 1 / log2(3) + 1 / log2(5)) / ideal)
    assert found["distractors@4"] == 1.0


def test_a_shorter_cut_sees_less_of_everything() -> None:
    found = figures(limit=2)

    assert (found["recall@2"], found["distractors@2"]) == (0.5, 1.0)
    assert found["near_duplicates"] == 1.0
    assert found["coverage_gap"] == 0.0
    assert figures(limit=1)["source_diversity"] == 0.0
    assert figures(limit=1)["distractors@1"] == 0.0


def test_what_is_shown_is_measured_without_labels() -> None:
    found = figures(replace(QUESTION, relevant={}))

    assert found["source_diversity"] == 1.0
    assert found["near_duplicates"] == pytest.approx(1 / 6)
    # Of 1 (above 1 for the identifier it names), 0.6, 0.5 and 0.2 one is weak.
    assert found["coverage_gap"] == 0.25


def test_without_labels_without_kinds_and_without_vectors_nothing_is_made_up() -> None:
    found = score(LabelledQuestion("q", "?", {}), FOUND, HITS, ("", "", "", ""), None, None, 4)

    # nUDCG has a definition without relevant documents: no distractor, no harm.
    assert {name for name, value in found.items() if value is not None} == {"nudcg@4", "coverage_gap"}


def test_without_distractors_in_the_labels_none_are_counted() -> None:
    assert figures(replace(QUESTION, relevant={"d1": 1}))["distractors@4"] is None
    assert figures(replace(QUESTION, relevant={"d7": -1}))["distractors@4"] == 0.0
    assert figures(replace(QUESTION, relevant={"d7": -1}))["recall@4"] is None


def test_a_good_answer_has_the_keywords_it_should_and_none_that_it_should_not() -> None:
    found = figures()

    assert (found["keyword_hit"], found["required_hit"], found["forbidden_hit"], found["stale"]) == (1.0, 1.0, 0.0, 0.0)


def test_a_neighbour_and_an_old_value_are_told_from_the_right_ones() -> None:
    found = said("D40 runs at 38 bar.")

    assert (found["keyword_hit"], found["required_hit"], found["forbidden_hit"], found["stale"]) == (0.0, 0.0, 1.0, 1.0)


def test_all_required_keywords_must_be_there_and_one_acceptable_will_do() -> None:
    both = replace(QUESTION, required=("42 bar", "pump four"))

    assert said("Pump four runs.", both)["required_hit"] == 0.0
    assert said("Pump four runs.", both)["keyword_hit"] == 1.0
    assert said("Pump four runs at 42 bar.", both)["required_hit"] == 1.0


@pytest.mark.parametrize(
    ("is_answerable", "answer", "abstained", "right"),
    [(True, ANSWER, 0.0, 1.0), (True, DECLINED, 1.0, 0.0), (False, ANSWER, 0.0, 0.0), (False, DECLINED, 1.0, 1.0)],
)
def test_declining_is_right_where_nothing_answers_and_only_there(
    is_answerable: bool, answer: GivenAnswer, abstained: float, right: float
) -> None:
    found = figures(replace(QUESTION, is_answerable=is_answerable), answer)

    assert (found["abstained"], found["abstention_right"]) == (abstained, right)
    assert found["rightly_declined"] == (None if is_answerable else right)


def test_the_wording_of_i_dont_know_is_no_hit_where_an_answer_was_due() -> None:
    asked = replace(QUESTION, acceptable=("memory", "don't know"), required=("memory",), forbidden=("memory",))

    declined = figures(asked, DECLINED)
    assert (declined["keyword_hit"], declined["required_hit"], declined["forbidden_hit"], declined["stale"]) == (0, 0, 0, 0)
    assert figures(replace(asked, is_answerable=False), DECLINED)["keyword_hit"] == 1.0


def test_without_an_answerer_nothing_is_said_about_answers() -> None:
    found = figures(answer=None)

    assert all(found[name] is None for name in ("keyword_hit", "required_hit", "forbidden_hit", "stale", "abstained"))
    assert found["abstention_right"] is None
    assert found["recall@4"] == 1.0


def test_nothing_found_is_a_miss_and_the_widest_gap() -> None:
    found = score(QUESTION, (), (), (), np.zeros((0, 2), np.float32), DECLINED, 10)

    assert (found["recall@10"], found["mrr@10"], found["ndcg@10"], found["nudcg@10"], found["coverage_gap"]) == (0, 0, 0, 0, 1)
    assert found["source_diversity"] is found["near_duplicates"] is None


def test_a_score_that_is_not_a_number_is_an_error_and_others_are_brought_into_their_range() -> None:
    assert shown_scores([hit("a", -0.2), hit("b", 0.3), hit("c", 1.9)]) == [0.0, 0.3, 1.0]
    with pytest.raises(ValueError, match="is not a number"):
        shown_scores([hit("a", nan)])


def test_a_hit_without_its_kind_or_vector_is_an_error_and_not_a_shift_by_one() -> None:
    with pytest.raises(ValueError, match="there are 4, 3 and no"):
        score(QUESTION, FOUND, HITS, KINDS[:3], None, None, 10)
    with pytest.raises(ValueError, match="there are 4, 4 and 3"):
        score(QUESTION, FOUND, HITS, KINDS, VECTORS[:3], None, 10)
