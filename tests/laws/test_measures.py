"""What holds for every measure, whatever is measured: ranges, order, repetition, nothing at all, and values that are none."""

from math import nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hive_mind.evals.answering import GivenAnswer
from hive_mind.evals.datasets import LabelledQuestion
from hive_mind.evals.metrics import score
from hive_mind.measure.results import cohesion, coverage_gap, holds_all, holds_any, likeness, source_diversity
from tests.unit.cognition.reading import hit

KINDS = st.lists(st.sampled_from(["chat", "log", "note", ""]), max_size=12)
SCORES = st.lists(st.floats(0, 1), max_size=12)
ROWS = st.integers(0, 8).flatmap(
    lambda count: arrays.arrays(np.float32, (count, 3), elements=st.floats(-4, 4, width=32).map(lambda x: round(x, 2)))
)
TEXTS = st.text(max_size=60)
KEYWORDS = st.text(min_size=1, max_size=20).filter(lambda text: _is_visible(text))


def _is_visible(text: str) -> bool:
    try:
        holds_any("", [text])
    except ValueError:
        return False
    return True


@given(KINDS, st.integers(2, 4), st.randoms())
def test_diversity_is_in_its_range_and_depends_neither_on_the_order_nor_on_how_often_each_result_comes(kinds, times, chance):
    shuffled = chance.sample(kinds, len(kinds))
    value = source_diversity(kinds)
    assert value is None or 0.0 <= value <= 1.0
    assert source_diversity(shuffled) == value
    assert source_diversity(kinds * times) == pytest.approx(value)


@given(SCORES, st.floats(0, 1), st.randoms())
def test_the_gap_is_in_its_range_grows_with_the_threshold_and_does_not_depend_on_the_order(scores, threshold, chance):
    value = coverage_gap(scores, threshold)
    assert 0.0 <= value <= 1.0
    assert coverage_gap(chance.sample(scores, len(scores)), threshold) == value
    assert coverage_gap(scores, min(1.0, threshold + 0.1)) >= value


@given(SCORES, st.integers(0, 12))
def test_a_score_that_is_not_a_number_is_never_measured(scores, place):
    with pytest.raises(ValueError, match="nan"):
        coverage_gap([*scores[:place], nan, *scores[place:]])


@given(ROWS, st.randoms())
def test_likeness_is_in_its_range_and_does_not_depend_on_the_order(vectors, chance):
    order = chance.sample(range(len(vectors)), len(vectors))

    value, shuffled = likeness(vectors), likeness(vectors[order])

    if value is None:
        assert shuffled is None
        return
    assert 0.0 <= value.near_duplicates <= 1.0
    assert -1.0 <= value.mean_cosine <= 1.0
    assert shuffled is not None
    assert shuffled.mean_cosine == pytest.approx(value.mean_cosine, abs=1e-9)


@given(ROWS.filter(lambda rows: len(rows) > 0))
def test_results_that_all_come_twice_have_duplicates(vectors):
    value = likeness(np.concatenate([vectors, vectors]))
    seen = int((vectors != 0).any(axis=1).sum())
    assert (value is None) == (seen == 0)
    # Of the pairs of 2n results n are a result and its copy.
    assert value is None or value.near_duplicates >= seen / (seen * (2 * seen - 1)) - 1e-12


@given(ROWS, st.data())
def test_cohesion_over_all_pairs_does_not_depend_on_the_order_or_on_what_topics_are_called(vectors, data):
    topics = data.draw(st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=len(vectors), max_size=len(vectors)))
    order = data.draw(st.permutations(range(len(vectors))))
    other = {"a": "c", "b": "z", "c": "a", "": ""}

    value = cohesion(vectors, topics, np.random.default_rng(1))
    moved = cohesion(vectors[order], [other[topics[number]] for number in order], np.random.default_rng(2))

    # A mean across topics that is 0 but for its last bits is 0 in one order and not in another.
    if value is not None and moved is not None and abs(value) < 1e6:
        assert moved == pytest.approx(value, rel=1e-6, abs=1e-9)


@given(KEYWORDS, TEXTS, TEXTS)
def test_a_keyword_is_found_between_any_two_texts(keyword, before, after):
    assert holds_any(f"{before} {keyword} {after}", [keyword])


@given(st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True), st.sampled_from("abcxyz0189"))
def test_a_keyword_is_not_found_in_a_longer_word(keyword, letter):
    assert not holds_any(f"… {keyword}{letter}.", [keyword])
    assert not holds_any(f"… {letter}{keyword}.", [keyword])


@given(TEXTS, st.lists(KEYWORDS, max_size=4))
def test_any_and_all_are_what_each_keyword_says(text, keywords):
    each = [holds_any(text, [keyword]) for keyword in keywords]
    assert holds_any(text, keywords) == any(each)
    assert holds_all(text, keywords) == all(each)


DOCUMENTS = [f"d{number}" for number in range(8)]
QUESTIONS = st.builds(
    LabelledQuestion,
    id=st.just("q"),
    text=st.just("Which pump?"),
    relevant=st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 3)),
    required=st.lists(KEYWORDS, max_size=2).map(tuple),
    acceptable=st.lists(KEYWORDS, max_size=2).map(tuple),
    forbidden=st.lists(KEYWORDS, max_size=2).map(tuple),
    superseded=st.lists(KEYWORDS, max_size=2).map(tuple),
    is_answerable=st.booleans(),
)
ANSWERS = st.none() | st.builds(GivenAnswer, TEXTS, st.booleans())
SHOWN = st.lists(st.tuples(st.sampled_from(DOCUMENTS), st.floats(-1, 2), st.sampled_from(["chat", "log", ""])), max_size=12)


def scored(question, shown, answer, limit, vectors=None):
    hits = [hit(f"{number} {document}", points) for number, (document, points, _) in enumerate(shown)]
    return score(question, [document for document, _, _ in shown], hits, [kind for *_, kind in shown], vectors, answer, limit)


@given(QUESTIONS, SHOWN, ANSWERS, st.integers(1, 10))
def test_every_figure_has_its_name_and_stays_in_its_range(question, shown, answer, limit):
    figures = scored(question, shown, answer, limit, np.eye(12, dtype=np.float32)[: len(shown)])

    cut = [f"{name}@{limit}" for name in ("recall", "mrr", "ndcg", "nudcg", "distractors")]
    shown_only = ["source_diversity", "near_duplicates", "mean_cosine", "coverage_gap"]
    answers = ["keyword_hit", "required_hit", "forbidden_hit", "stale", "abstained", "abstention_right", "rightly_declined"]
    assert list(figures) == cut + shown_only + answers
    for name, value in figures.items():
        least = -1.0 if name.startswith(("nudcg", "mean_cosine")) else 0.0
        most = limit if name.startswith("distractors") else 1.0 + 1e-12
        assert value is None or least <= value <= most, name


@given(QUESTIONS, SHOWN, ANSWERS, st.integers(1, 10))
def test_what_stands_behind_the_cut_changes_nothing(question, shown, answer, limit):
    shown = list({document: (document, *rest) for document, *rest in shown}.values())
    assert scored(question, shown, answer, limit) == scored(question, shown[:limit], answer, limit)
