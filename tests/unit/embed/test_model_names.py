"""Names of models that nobody has: each gives one line that says what to do, whatever the name looks like.

What a database remembers a model by.
"""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hive_mind import backends
from hive_mind.embed.sentence_transformers import Prompts, identity_of, prompts_of
from hive_mind.errors import BackendUnavailable
from hive_mind.memory.reranking import CrossEncoders

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
    own = {"query": "query: ", "passage": "passage: "}
    assert prompts_of("BAAI/bge-base-en-v1.5", own) == Prompts("query: ", "passage: ")


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
