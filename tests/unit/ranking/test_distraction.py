"""What words promise and meaning does not keep: each signal is in [0, 1], and highest for what misleads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hive_mind.ranking import distraction

NONE = np.nan


def column(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_disagreement_is_the_difference_of_ranks_over_the_larger_one():
    keyword, semantic = column(9, 8, 7, 6), column(0.9, 0.2, 0.4, 0.3)
    found = distraction.disagreement(keyword, semantic, "abcd", depth=10)

    # By words 1 2 3 4, by meaning 1 4 2 3.
    assert found.tolist() == pytest.approx([0, 2 / 4, 1 / 3, 1 / 4])


def test_who_is_found_by_one_arm_only_has_the_length_of_the_other_and_one_as_rank():
    keyword, semantic = column(9, 8, 0), column(NONE, 0.2, 0.4)
    found = distraction.disagreement(keyword, semantic, "abc", depth=10)

    # By words 1 2 -, by meaning - 2 1: a has rank 3 in the second, c rank 3 in the first.
    assert found.tolist() == pytest.approx([2 / 3, 0, 2 / 3])


@pytest.mark.parametrize(
    ("keyword", "semantic"), [(column(0, 0, 0), column(0.9, 0.4, 0.2)), (column(9, 8, 7), column(NONE, NONE, NONE))]
)
def test_nothing_disagrees_with_an_arm_that_found_nothing(keyword: np.ndarray, semantic: np.ndarray):
    assert distraction.disagreement(keyword, semantic, "abc", depth=10).tolist() == [0, 0, 0]


def test_an_arm_ends_at_its_depth():
    assert distraction.ranks(column(5, 9, 7), "abc", depth=2, floor=0.0).tolist() == [0, 1, 2]


def test_equal_scores_have_ranks_by_id():
    assert distraction.ranks(column(1, 1, 1), ["c", "a", "b"], depth=3, floor=0.0).tolist() == [3, 1, 2]


def test_the_margin_is_large_where_words_promise_much_and_meaning_is_far():
    right, misleading, neither = distraction.margin(column(10, 9, 0), column(0.8, 0.3, 0.1))
    assert misleading > 0.9
    assert right == neither == 0


def test_meaning_that_is_half_as_near_is_all_the_way_behind_and_words_of_half_the_best_promise_in_full():
    assert distraction.margin(column(10, 5, 2.5), column(0.8, 0.6, 0.4)).tolist() == pytest.approx([0, 0.5, 0.5])


def test_what_is_missing_is_weighed_by_how_rare_it_is():
    for scale in (0.125, 1.0, 8.0):
        idf = {"token": 3.0 * scale, "the": scale}
        shares = distraction.missing(["token", "the", "unheard"], idf, [{"token"}, {"the"}, {"token", "the"}, set()])
        assert shares.tolist() == [0.25, 0.75, 0, 1]


def test_a_query_without_content_misses_nothing():
    assert distraction.missing([], {}, [{"a"}]).tolist() == [0]


@given(
    arrays(np.float32, 8, elements=st.floats(0, 100, width=32)),
    arrays(np.float32, 8, elements=st.floats(-1, 1, width=32) | st.just(float("nan"))),
)
def test_every_signal_is_in_bounds(keyword: np.ndarray, semantic: np.ndarray):
    for found in (distraction.disagreement(keyword, semantic, "abcdefgh", 5), distraction.margin(keyword, semantic)):
        assert ((found >= 0) & (found <= 1)).all()
