"""What every vector index promises, compared with a plain dictionary that is searched by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hive_mind import backends
from hive_mind.errors import BackendNotInstalled
from hive_mind.ranking.vector import VectorArm

DIMENSION = 6
Vector = NDArray[np.float32]
NAMES = backends.known("ann")


def opened(name: str, dimension: int = DIMENSION) -> VectorArm:
    try:
        index: VectorArm = backends.load("ann", name).open(dimension)
    except BackendNotInstalled as error:
        pytest.skip(str(error))
    return index


def unit_vectors(count: int, seed: int, dimension: int = DIMENSION) -> Vector:
    """Unit rows rounded to float16, as embedders give them."""
    rows = np.random.default_rng(seed).normal(size=(count, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16).astype(np.float32)


def positions(*values: int) -> NDArray[np.int64]:
    return np.asarray(values, np.int64)


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    value: str = request.param
    return value


def test_the_nearest_come_best_first_with_their_exact_cosines(name: str) -> None:
    index, exact, rows = opened(name), opened("exact"), unit_vectors(50, seed=1)
    for position, row in enumerate(rows):
        index.add(position, row)
        exact.add(position, row)

    found, cosines = index.top(rows[7], 5)

    expected = rows @ rows[7]
    assert found.dtype == np.int64
    assert found.tolist() == np.argsort(-expected, kind="stable")[:5].tolist()
    np.testing.assert_allclose(cosines, expected[found], atol=1e-6)
    np.testing.assert_array_equal(cosines, exact.cosines(rows[7], found))


def test_equally_near_ones_come_by_position(name: str) -> None:
    index, row = opened(name), unit_vectors(1, seed=3)[0]
    for position in (0, 1, 2, 3):
        index.add(position, row)
    assert index.top(row, 4)[0].tolist() == [0, 1, 2, 3]


def test_an_empty_index_finds_nothing(name: str) -> None:
    index, row = opened(name), unit_vectors(1, seed=4)[0]
    found, cosines = index.top(row, 3)
    assert (len(index), len(found), len(cosines)) == (0, 0, 0)
    assert np.isnan(index.cosines(row, positions(0, 5))).all()
    assert index.cosines(row, positions()).shape == (0,)


def test_what_is_kept_can_be_had_back_bit_for_bit_and_what_is_not_is_none(name: str) -> None:
    index, rows = opened(name), unit_vectors(3, seed=11)
    index.add(0, rows[0])
    index.add(2, rows[2])
    index.remove(2)

    kept = index.vector(0)

    assert kept is not None
    assert kept.dtype == np.float32
    assert kept.tolist() == rows[0].tolist()
    assert [index.vector(1), index.vector(2), index.vector(7)] == [None, None, None]


def test_positions_may_have_gaps_and_removing_what_is_not_there_changes_nothing(name: str) -> None:
    index, rows = opened(name), unit_vectors(2, seed=6)
    index.add(3, rows[0])
    index.add(900, rows[1])
    for absent in (4, 1_000_000):
        index.remove(absent)
    assert len(index) == 2
    assert index.top(rows[1], 1)[0].tolist() == [900]
    assert np.isnan(index.cosines(rows[0], positions(0, 3, 900, 901))).tolist() == [True, False, False, True]


def test_a_zero_vector_has_cosine_zero_with_everything(name: str) -> None:
    index, rows = opened(name), unit_vectors(1, seed=10)
    index.add(0, np.zeros(DIMENSION, np.float32))
    index.add(1, rows[0])
    assert index.cosines(rows[0], positions(0)).tolist() == [0.0]
    assert index.top(np.zeros(DIMENSION, np.float32), 2)[1].tolist() == [0.0, 0.0]


def test_the_caller_may_reuse_its_array(name: str) -> None:
    index, rows = opened(name), unit_vectors(2, seed=11)
    buffer = rows[0].copy()
    index.add(0, buffer)
    buffer[:] = rows[1]
    np.testing.assert_allclose(index.cosines(rows[0], positions(0)), [1.0], atol=1e-3)


STEPS = st.lists(st.tuples(st.sampled_from(["add", "add", "again", "remove"]), st.integers(0, 30)), max_size=60)


@pytest.mark.parametrize("kind", NAMES)
@given(steps=STEPS, seed=st.integers(0, 1_000), k=st.integers(1, 40))
def test_after_any_history_search_equals_that_of_a_dictionary(kind: str, steps: list[tuple[str, int]], seed: int, k: int) -> None:
    index, rows = opened(kind), unit_vectors(len(steps) + 1, seed)
    kept: dict[int, Vector] = {}
    next_position = 0
    for row, (step, choice) in zip(rows, steps, strict=False):
        position = next_position if step == "add" else choice % (next_position + 1)
        if step == "remove":
            index.remove(position)
            kept.pop(position, None)
        else:
            index.add(position, row)
            kept[position] = row
            next_position = max(next_position, position + 1)

    query = rows[-1]
    expected = sorted(((-float(np.vecdot(row, query)), position) for position, row in kept.items()))[:k]

    assert len(index) == len(kept)
    assert index.top(query, k)[0].tolist() == [position for _, position in expected]
