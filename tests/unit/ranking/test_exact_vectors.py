"""The default vector arm is brute force; so it equals brute force written down in one line."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.ranking.vector import ExactVectors, best, floor_of_best

# Few directions, so that ties are common; rounded as embedders do.
DIRECTIONS = [
    (np.array(v) / np.linalg.norm(v)).astype(np.float16).astype(np.float32) for v in ([1, 0], [0, 1], [1, 1], [-1, 0], [3, 4])
]
STEPS = st.lists(st.tuples(st.sampled_from("aaar"), st.integers(0, 12), st.sampled_from(range(5))), max_size=40)


@given(STEPS, st.sampled_from(range(5)), st.integers(0, 15), st.sampled_from([0, 8, 1_000]))
def test_after_any_history_search_is_sorting_all_that_is_there(steps, asked: int, k: int, narrow_above: int):
    arm, kept, query = ExactVectors(2, narrow_above), {}, DIRECTIONS[asked]
    for step, position, direction in steps:
        if step == "a":
            arm.add(position, DIRECTIONS[direction])
            kept[position] = DIRECTIONS[direction]
        else:
            arm.remove(position)
            kept.pop(position, None)

    positions, cosines = arm.top(query, k)

    expected = sorted(kept, key=lambda p: (-np.vecdot(kept[p], query), p))[:k]
    assert positions.tolist() == expected
    assert cosines.tolist() == [np.vecdot(kept[p], query) for p in expected]
    assert len(arm) == len(kept)
    asked_for = np.arange(14, dtype=np.int64)
    assert [p for p in range(14) if not np.isnan(arm.cosines(query, asked_for)[p])] == sorted(kept)
    assert {p: tuple(vector) for p in range(14) if (vector := arm.vector(p)) is not None} == {p: tuple(kept[p]) for p in kept}


@given(st.lists(st.integers(-3, 3), max_size=400), st.integers(1, 200))
def test_the_best_are_the_largest_with_ties_by_position(numbers: list[int], k: int):
    positions, values = best(np.array(numbers, np.float32), k)
    expected = sorted(range(len(numbers)), key=lambda i: (-numbers[i], i))[:k]
    assert positions.tolist() == expected
    assert values.tolist() == [numbers[i] for i in expected]


@given(st.lists(st.floats(-1, 1, width=32), max_size=500), st.integers(1, 200))
def test_at_least_k_scores_reach_the_floor_of_the_best_k(numbers: list[float], k: int):
    floor = floor_of_best(np.array(numbers, np.float32), k)
    assert sum(number >= floor for number in numbers) >= min(k, len(numbers))


def test_a_floor_over_many_blocks_is_close_to_the_best():
    scores = np.arange(64 * 100, dtype=np.float32)
    assert floor_of_best(scores, 10) >= 64 * 90 - 1
    assert best(scores, 0)[0].tolist() == []
