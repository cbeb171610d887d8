"""Which vector a fact gets."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import pytest

from hive_mind.errors import ConfigError
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.bounds import DIMENSIONS_MAX
from hive_mind.model.query import Query
from tests.builders import BagOfWords, Home, said

FIRST, AGAIN = "The boiler leaks.", "The cellar is dry."


async def _scores(memory: CognitiveMemory) -> list[float | None]:
    hits = await memory.search_facts(Query(FIRST, 5, "vector"))
    return [hit.components.semantic for hit in hits]


async def test_the_same_words_twice_in_one_batch_mean_what_they_meant_the_first_time() -> None:
    words = [said("Shut it down.", before=FIRST), said("Shut it down.", before=AGAIN)]

    async with Home().memory(BagOfWords()) as memory:
        for word in words:
            await memory.store_facts([word], source="talk")
        apart = await _scores(memory)
    async with Home().memory(BagOfWords()) as memory:
        await memory.store_facts(words, source="talk")
        together = await _scores(memory)

    assert len(apart) == 1
    assert together == apart


def test_a_model_whose_vectors_a_hive_refuses_is_refused_before_anything_is_learned() -> None:
    with pytest.raises(ConfigError, match="has 8,193 dimensions, and a memory takes at most 8,192; choose a model with fewer"):
        Home().memory(BagOfWords(dimension=DIMENSIONS_MAX + 1))


def _raises(*_: object) -> NoReturn:
    raise RuntimeError("out of memory on device 0")


@pytest.mark.parametrize(
    "spoilt",
    [_raises, lambda *_: np.zeros((1, 3), np.float32), lambda *_: "no numbers", lambda *_: [[1.0], [1.0, 2.0]], lambda *_: None],
    ids=["raises", "another length", "text", "ragged", "nothing"],
)
async def test_whatever_an_embedder_does_facts_are_kept_and_found_by_keywords_and_one_line_says_so(
    spoilt: Callable[..., object], caplog: pytest.LogCaptureFixture
) -> None:
    class Spoilt(BagOfWords):
        async def embed_passages(self, texts: Sequence[str]) -> Any:
            return spoilt(texts)

        async def embed_query(self, text: str) -> Any:
            return spoilt(text)

    async with Home().memory(Spoilt()) as memory:
        await memory.store_fact("boiler", FIRST)
        assert [hit.fact.content for hit in await memory.search_facts(Query("boiler leaks", 5))] == [FIRST]
        assert [hit.fact.content for hit in await memory.search_facts(Query("the boiler", 5))] == [FIRST]

    assert caplog.text.count("no embeddings for now, keywords have to do") == 1
