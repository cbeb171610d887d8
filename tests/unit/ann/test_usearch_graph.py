"""The graph walk itself, which small indexes never take: here a full scan is forbidden."""

import numpy as np
import pytest

from hive_mind.ann.exact import open as open_exact

usearch = pytest.importorskip("hive_mind.ann.usearch")

WALK_ONLY = usearch.UsearchSettings(scan_below=0)


def clustered(count: int, dimension: int = 32, clusters: int = 40) -> np.ndarray:
    """Unit rows around centres: on rows without any structure a graph finds nothing, and real embeddings have some."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(clusters, dimension))[rng.integers(clusters, size=count)] + 0.4 * rng.normal(size=(count, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16).astype(np.float32)


def test_a_walk_finds_nearly_all_of_the_ten_nearest():
    rows = clustered(3_000)
    graph, exact = usearch.open(32, WALK_ONLY), open_exact(32)
    for position, row in enumerate(rows):
        graph.add(position, row)
        exact.add(position, row)

    assert np.mean([len(set(graph.top(q, 10)[0]) & set(exact.top(q, 10)[0])) / 10 for q in rows[::60]]) >= 0.95


def test_a_walk_never_returns_what_was_removed_and_still_returns_enough():
    rows = clustered(600)
    graph = usearch.open(32, WALK_ONLY)
    for position, row in enumerate(rows):
        graph.add(position, row)
    for position in range(0, 600, 2):
        graph.remove(position)

    for query in rows[:20]:
        found = graph.top(query, 20)[0]
        assert len(found) == 20
        assert (found % 2 == 1).all()
