"""Settings in, a memory or an agent out; what is missing is done without and told once."""

import asyncio
import logging
import re
from pathlib import Path

import pytest

from hive_mind import backends
from hive_mind.cognition.prompted import PromptedReader, QuotingInstead
from hive_mind.errors import BackendNotInstalled, InvalidInput, ModelOutputError, UnknownBackend
from hive_mind.runtime import wiring
from hive_mind.runtime.settings import Settings, database_path
from tests.builders import found, run


def settings(home: Path, **given: str) -> Settings:
    return Settings(**{"home": home, "embed": "none", "ann": "exact"} | given)


WRONG_NAMES = [
    *("", ".", "..", "../x", "a/b", "/etc/x", "a\\b", "a\0", "x\n", "-rf", "~", "a b", "é", "x" * 65),
    *(".hidden", "a/../../b"),
]


async def test_a_plain_name_is_a_folder_of_its_own_inside_and_one_that_would_leave_it_makes_no_file(tmp_path: Path):
    for name in WRONG_NAMES:
        with pytest.raises(InvalidInput, match="agent's name"):
            await wiring.open_agent(settings(tmp_path), name)
    assert list(tmp_path.iterdir()) == []
    for name in ("a", "agent-7", "Ines.v2_x", "x" * 64, "7", "a.."):
        assert database_path(settings(tmp_path), name).resolve().parent == (tmp_path / "agents" / name).resolve()


@pytest.mark.parametrize("why", ["no such model", "not installed"])
async def test_without_the_embedding_model_there_is_keyword_search_and_exactly_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, why: str
):
    load = backends.load

    def without_extra(kind: str, name: str) -> object:
        if (kind, name) == ("embed", "sentence_transformers"):
            raise BackendNotInstalled(kind, name, "embeddings")
        return load(kind, name)

    if why == "not installed":
        monkeypatch.setattr(backends, "load", without_extra)
    chosen = settings(tmp_path, embed="sentence_transformers", embed_model=str(tmp_path / "no-model"))
    async with await wiring.open_memory(chosen, "ines") as memory:
        await memory.store_fact("pump", "The pump is red.")
        assert await found(memory, "red pump") == ["The pump is red."]
        await memory.sleep()
        await memory.store_fact("door", "The door is blue.")

    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) == 1
    assert told[0].startswith("keyword search only: ")


@pytest.mark.parametrize(("kind", "known"), [("store", "sqlite"), ("embed", "none"), ("ann", "exact")])
@pytest.mark.parametrize("name", ["nonsense", "../kuzu", "os.path", "base", "_checks", ""])
async def test_an_unknown_back_end_is_refused_with_the_names_there_are(tmp_path: Path, kind: str, known: str, name: str):
    with pytest.raises(UnknownBackend, match=f"there is no {kind} back end .*{known}"):
        await wiring.open_memory(settings(tmp_path, **{kind: name}), "ines")


async def test_the_reader_is_that_of_the_settings(tmp_path: Path):
    async with await wiring.open_agent(settings(tmp_path), "ines") as plain:
        assert isinstance(plain.reader, wiring.LateReader)
    async with await wiring.open_agent(settings(tmp_path, llm="scripted:{}"), "ines") as prompted:
        assert isinstance(prompted.reader, QuotingInstead)
        assert isinstance(prompted.reader.reader, PromptedReader)


def test_what_a_language_model_cost_is_told_when_the_agent_closes(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    async def whole() -> None:
        async with await wiring.open_agent(settings(tmp_path, llm="scripted:nonsense"), "ines") as agent:
            with pytest.raises(ModelOutputError):
                await agent.learn_from_content("The pump is red.")

    with caplog.at_level(logging.INFO, "hive_mind"):
        run(whole())

    (told,) = [record.getMessage() for record in caplog.records if "tokens spent" in record.getMessage()]
    assert re.fullmatch(r"scripted:.*: [1-9]\d* calls, [1-9]\d* of \d+ tokens spent", told)


async def test_the_default_vector_index_falls_back_silently_a_chosen_one_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    load, missing = backends.load, Settings().ann

    def without_extra(kind: str, name: str) -> object:
        if kind == "ann" and name != "exact":
            raise BackendNotInstalled(kind, name, "ann")
        return load(kind, name)

    monkeypatch.setattr(backends, "load", without_extra)

    async with await wiring.open_memory(settings(tmp_path, ann=missing), "ines") as memory:
        await memory.store_fact("pump", "The pump is red.")
    with pytest.raises(BackendNotInstalled):
        await wiring.open_memory(settings(tmp_path, ann="usearch"), "ines")


async def test_a_database_that_another_has_is_waited_for(tmp_path: Path):
    patient = settings(tmp_path, lock_wait_s=30)

    async with await wiring.open_memory(settings(tmp_path), "ines") as first:
        await first.store_fact("pump", "The pump is red.")
        second = await wiring.open_memory(patient, "ines")
        waiting = asyncio.create_task(second.get_all_facts())
        await asyncio.sleep(0)
        assert not waiting.done()
    assert [fact.content for fact in await waiting] == ["The pump is red."]
    await second.close()
