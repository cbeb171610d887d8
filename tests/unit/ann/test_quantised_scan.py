"""A quantised index compares all vectors in full where that is cheaper, and nobody can tell from what is found."""

import numpy as np
import pytest

from hive_mind import backends
from hive_mind.model.gathered import Anchors, Probe
from hive_mind.ranking.index import FactIndex

quantised = pytest.importorskip("hive_mind.ann.quantised")

DIMENSION = 8


def unit_rows(count: int) -> np.ndarray:
    rows = np.random.default_rng(1).standard_normal((count, DIMENSION), dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def found(arm: str, rows: np.ndarray, depth: int) -> dict[str, float]:
    index = FactIndex(backends.load("ann", arm).open(DIMENSION))
    for number, row in enumerate(rows):
        index.add(f"{number:04}", {"red": 1.0}, row)
    pool = index.pool(Probe((), Anchors(), rows[0], depth))
    return dict(zip(pool.ids, pool.semantic.tolist(), strict=True))


@pytest.mark.parametrize("depth", [1, 3, 100])
def test_what_is_found_is_the_same_with_and_without_codes(depth: int) -> None:
    rows = unit_rows(60)
    assert found("quantised", rows, depth) == found("exact", rows, depth)


def test_all_are_compared_only_where_many_are_wanted() -> None:
    rows, arm = unit_rows(60), backends.load("ann", "quantised").open(DIMENSION)
    for position, row in enumerate(rows):
        arm.add(position, row)
    assert arm.scan(rows[0], 60, 1) is None
    assert arm.scan(rows[0], 60, 2).argmax() == 0


def test_among_many_that_take_half_the_room_the_nearest_are_the_same_to_the_last_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantised, "_NARROW_ABOVE", 100)
    rows = unit_rows(400).astype(np.float16).astype(np.float32)
    arms = [backends.load("ann", name).open(DIMENSION) for name in ("quantised", "exact")]
    for position, row in enumerate(rows):
        for arm in arms:
            arm.add(position, row)

    for query in rows[::40]:
        few, all_of_them = ([tuple(part.tolist()) for part in arm.top(query, 7)] for arm in arms)
        assert few == all_of_them
    assert arms[0].scan(rows[0], 400, 400) is None
    assert arms[0].vector(399).tolist() == rows[399].tolist()
