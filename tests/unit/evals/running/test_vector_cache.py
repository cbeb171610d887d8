"""Vectors on disk: each text is embedded once, half a record does no harm, and what a memory embeds is what was prepared."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hive_mind.embed import Matrix, rounded_unit_rows
from hive_mind.evals.arms import Means
from hive_mind.evals.datasets import Dataset
from hive_mind.evals.demo import demo_dataset
from hive_mind.evals.experiments import Arm, DataSource, Retrieval, cell_of
from hive_mind.evals.running.cell import open_arm
from hive_mind.evals.running.vector_cache import CachedEmbedder, Vectors, passages_of, queries_of, stored
from hive_mind.runtime.settings import Settings


@dataclass
class Counting:
    """An embedder whose vectors depend on letters alone, and that remembers what it was asked."""

    model: str = "letters"
    dimension: int = 26
    passages: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        self.passages += texts
        return self._rows(texts)

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        self.queries.append(text)
        return self._rows([text])[0]

    async def close(self) -> None:
        pass

    def _rows(self, texts: Sequence[str]) -> Matrix:
        counts = [[text.lower().count(chr(97 + letter)) + 0.01 * len(text) for letter in range(26)] for text in texts]
        return rounded_unit_rows(np.array(counts, np.float32).reshape(len(texts), 26))


@pytest.fixture
def vectors(tmp_path: Path) -> Vectors:
    return Vectors(tmp_path, "letters", 26)


def quiet(what: str, done: int, total: int) -> None:
    pass


def fill(vectors: Vectors, dataset: Dataset, real: Counting) -> int:
    return asyncio.run(stored(vectors, [dataset], real, quiet))


def nobody() -> Counting:
    raise AssertionError("the model is not needed")


def test_what_is_kept_is_there_for_the_next_process_to_the_last_bit(vectors: Vectors):
    rows = Counting()._rows(["one", "two"])

    vectors.open().keep("passage", ["one", "two"], rows)

    again = vectors.open()
    assert np.array_equal([again.get("passage", text) for text in ("one", "two")], rows)
    assert again.get("query", "one") is None
    assert again.get("passage", "three") is None


def test_half_a_record_is_not_read_and_not_built_upon(vectors: Vectors):
    rows = Counting()._rows(["one", "two", "three"])
    vectors.open().keep("passage", ["one", "two"], rows[:2])
    (file,) = vectors.folder.iterdir()
    file.write_bytes(file.read_bytes()[:-5])

    vectors.open().keep("passage", ["two", "three"], rows[1:])

    again = vectors.open()
    assert len(again) == 3
    assert np.array_equal([again.get("passage", text) for text in ("one", "two", "three")], rows)


def test_models_have_files_of_their_own(tmp_path: Path):
    for model in ("a/same", "b/same"):
        Vectors(tmp_path, model, 26).open().keep("passage", [model], Counting()._rows([model]))

    assert len(list(tmp_path.iterdir())) == 2


def test_no_text_is_embedded_twice(vectors: Vectors):
    real, dataset = Counting(), demo_dataset()

    first, second = fill(vectors, dataset, real), fill(vectors, dataset, real)

    assert (first, second) == (len(passages_of(dataset)) + len(queries_of(dataset)), 0)
    assert len(real.passages) == len(set(real.passages))


async def test_a_text_that_was_not_prepared_is_embedded_when_it_is_asked_for(vectors: Vectors):
    real = Counting()

    async def opened() -> Counting:
        return real

    embedder = CachedEmbedder(vectors, opened)
    assert np.array_equal(await embedder.embed_passages(["new", "new", "old"]), real._rows(["new", "new", "old"]))
    await embedder.embed_query("new")
    await embedder.embed_query("new")
    await embedder.close()
    assert (real.passages, real.queries) == (["new", "old"], ["new"])


@pytest.mark.parametrize("arm", [Arm(), Arm("federated", 4, 2), Arm("routed", 4, fan_out=2)])
def test_arms_need_no_model_for_what_was_prepared(vectors: Vectors, arm: Arm):
    dataset = demo_dataset()
    fill(vectors, dataset, Counting())

    async def opened() -> Counting:
        return nobody()

    async def ask() -> int:
        embedder = CachedEmbedder(vectors, opened)
        cell = cell_of(DataSource("demo", "demo"), arm, Retrieval(), 1)
        (scope,) = dataset.scopes
        open_ = await open_arm(cell, scope, Means(Settings(), embedder))
        try:
            for question in scope.questions:
                await open_.ask(question, 10)
        finally:
            await open_.close()
        return embedder.misses

    assert asyncio.run(ask()) == 0
