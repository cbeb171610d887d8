"""Embeddings are derived data: made once, kept, done without, and made again by another model. Over every store."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hive_mind import backends
from hive_mind.embed import Embedder
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.query import Query
from tests.builders import BagOfWords, Home, found, said

DOWN = BackendUnavailable("openai", "not reachable")


@pytest.fixture(params=backends.known("store"))
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    return Home(request.param, tmp_path / "memory.db")


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


async def test_a_text_is_embedded_once_for_all_its_uses_and_never_again_after_opening(home: Home):
    async with home.memory(embedder := BagOfWords()) as memory:
        await memory.store_facts([said("Red pump."), said("Blue door.", before="Red pump.")], "ines")
        await memory.store_facts([said("Green tank.", before="Blue door."), said("Red pump.")], "otto")
        assert embedder.passages == ["Red pump.", "Blue door.", "Green tank."]
        before = await memory.search_facts("red thing")
    async with home.memory(embedder := BagOfWords()) as memory:
        assert await memory.search_facts("red thing") == before
        await memory.sleep()
        await memory.store_fact("pump", "Red pump.", source="zoe")
        assert embedder.passages == []
        assert embedder.queries == ["red thing"]


async def test_a_question_asked_again_and_a_bare_code_cost_no_embedding(home: Home):
    async with home.memory(embedder := BagOfWords()) as memory:
        await memory.store_fact("room", "Region D40 holds a well.")
        for query in ("a deep well", "a deep well", "D40", "Tell me about D40", "D41"):
            await memory.search_facts(query)

        assert embedder.queries == ["a deep well", "D41"], "nobody names D41, so meaning may help"


async def test_while_the_model_is_down_facts_are_kept_and_found_by_keywords_and_one_line_says_so(home: Home, caplog):
    async with home.memory(embedder := BagOfWords()) as memory:
        embedder.failure = DOWN
        for n in range(3):
            await memory.store_fact("pump", f"Pump {n} is red.")
            assert await found(memory, f"pump {n}", 1) == [f"Pump {n} is red."]

        assert len(warnings_in(caplog)) == 1
        assert "not reachable" in warnings_in(caplog)[0]
        assert (await memory.get_statistics()).without_vector == 3

        embedder.failure = None
        await memory.store_fact("pump", "Pump 3 is red.")
        assert await memory.reembed() == 3
        assert (await memory.get_statistics()).without_vector == 0


class Short(BagOfWords):
    async def embed_passages(self, texts):
        return (await super().embed_passages(texts))[:, :-1]

    async def embed_query(self, text):
        return (await super().embed_query(text))[:-1]


class Few(BagOfWords):
    async def embed_passages(self, texts):
        return (await super().embed_passages(texts))[:-1]


class NotNumbers(BagOfWords):
    async def embed_passages(self, texts):
        return np.full((len(texts), self.dimension), np.nan, np.float32)

    async def embed_query(self, text):  # noqa: ARG002 - the protocol's name
        return np.full(self.dimension, np.nan, np.float32)


@pytest.mark.parametrize("broken", [Short, Few, NotNumbers])
async def test_vectors_that_can_not_be_right_are_done_without(home: Home, caplog, broken: Callable[[], Embedder]):
    async with home.memory(broken()) as memory:
        await memory.store_fact("pump", "The pump is red.")

        assert await found(memory, "the red pump") == ["The pump is red."]
        held = await memory.get_statistics()
        assert (held.facts, held.vectors, held.without_vector) == (1, 0, 1)
        assert len(warnings_in(caplog)) == 1
    async with home.memory(BagOfWords()) as memory:
        assert await memory.reembed() == 1
        assert await found(memory, Query("pump", method="vector")) == ["The pump is red."]


async def test_another_model_is_not_mixed_in_until_everything_is_embedded_again(home: Home, caplog):
    async with home.memory(BagOfWords("old")) as memory:
        await memory.store_facts([said("Red pump.", before="Which?"), said("Blue door.", "door")], "ines")
    async with home.memory(new := BagOfWords("new", 32)) as memory:
        assert "reembed" in warnings_in(caplog)[0]
        await memory.store_fact("tank", "Green tank.")
        assert await found(memory, "red pump") == ["Red pump."]
        assert new.passages == new.queries == []
        assert (await memory.get_statistics()).embedding == ""

        steps: list[tuple[int, int]] = []
        assert await memory.reembed(lambda done, total: steps.append((done, total))) == 4
        assert steps[0] == (0, 4)
        assert steps[-1] == (4, 4)
        held = await memory.get_statistics()
        assert (held.embedding, held.dimension, held.vectors, held.without_vector) == ("new", 32, 4, 0)
        assert await found(memory, Query("green tank", 1, "vector")) == ["Green tank."]
    async with home.memory(new := BagOfWords("new", 32)) as memory:
        assert await memory.reembed() == 0
        assert new.passages == []


async def test_embedding_again_goes_on_where_it_was_interrupted(home: Home):
    async def interrupted(memory: CognitiveMemory) -> None:
        def stop_at_the_third(done: int, total: int) -> None:
            if done > total / 2:
                raise KeyboardInterrupt

        try:
            await memory.reembed(stop_at_the_third)
        except KeyboardInterrupt:
            return

    async with home.memory(BagOfWords("old")) as memory:
        await memory.store_facts([said(f"Pump {n}.") for n in range(200)], "ines")
    async with home.memory(BagOfWords("abandoned")) as memory:
        await interrupted(memory)
    async with home.memory(new := BagOfWords("new")) as memory:
        await interrupted(memory)
        first = len(new.passages)
        assert 0 < first < 200
        assert (await memory.get_statistics()).embedding == "", "still that of the old model"
    async with home.memory(new := BagOfWords("new")) as memory:
        assert await memory.reembed() == 200 - first == len(new.passages)
        held = await memory.get_statistics()
        assert (held.vectors, held.without_vector) == (200, 0), "vectors of the models before are gone"
    async with home.memory(BagOfWords("old")) as memory:
        assert (await memory.get_statistics()).embedding == ""


async def test_a_model_that_changed_under_its_name_is_not_compared_with(home: Home, caplog):
    async with home.memory(BagOfWords("model", 64)) as memory:
        await memory.store_fact("pump", "The pump is red.")
    async with home.memory(BagOfWords("model", 48)) as memory:
        assert "1 facts have no embedding" in warnings_in(caplog)[0]
        assert await found(memory, "pump") == ["The pump is red."]
        assert await memory.reembed() == 1
        assert (await memory.get_statistics()).without_vector == 0


async def test_without_a_model_there_is_nothing_to_embed_with_and_facts_get_their_vectors_later(home: Home):
    async with home.memory() as memory:
        await memory.supersede((await memory.store_fact("pump", "The pump is red.")).id, said("The pump is blue."), "otto")
        with pytest.raises(InvalidInput, match="no embedding model"):
            await memory.reembed()
    async with home.memory(BagOfWords()) as memory:
        assert await memory.reembed() == 2
        both = await found(memory, Query("pump", method="vector", with_superseded=True))
        assert set(both) == {"The pump is red.", "The pump is blue."}


async def test_a_write_given_up_while_it_is_embedded_leaves_nothing_behind(home: Home):
    begun = asyncio.Event()

    class Slow(BagOfWords):
        async def embed_passages(self, texts):
            begun.set()
            await asyncio.Event().wait()
            return await super().embed_passages(texts)

    async with home.memory(Slow()) as memory:
        task = asyncio.create_task(memory.store_fact("pump", "The pump is red."))
        await begun.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

        assert await memory.get_all_facts() == []
        assert (await memory.get_statistics()).vectors == 0


async def test_a_query_by_meaning_alone_is_refused_where_there_are_no_vectors_and_never_ranked_by_words(home: Home):
    by_meaning = Query("the red pump", method="vector")
    async with home.memory() as memory:
        await memory.store_fact("pump", "The pump is red.")
        for question in (by_meaning, Query("D40", method="vector")):
            with pytest.raises(InvalidInput, match="without a model: choose one with --embed"):
                await memory.search_facts(question)
    async with home.memory(BagOfWords("old")) as memory:
        await memory.reembed()
    async with home.memory(BagOfWords("new", 32)) as memory:
        with pytest.raises(InvalidInput, match="has those of 'old' and is open with 'new': hive-mind reembed"):
            await memory.search_facts(by_meaning)
    async with home.memory(embedder := BagOfWords("old")) as memory:
        embedder.failure = DOWN
        with pytest.raises(BackendUnavailable):
            await memory.search_facts(by_meaning)
        embedder.failure = None
        assert await found(memory, by_meaning) == ["The pump is red."]
