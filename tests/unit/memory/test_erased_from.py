"""Erasing from one agent's memory: nothing of it is left on disk, the rest stays, and it is refused from then on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_mind import backends
from hive_mind.errors import InvalidInput
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.memory.erased_from import erase_from
from hive_mind.model.content import Candidate, Content
from hive_mind.model.erasure import Erasure, Erasures, erasure_of, words_of
from hive_mind.model.ids import erasure_digest
from hive_mind.ranking.tokens import terms_in
from tests.builders import BagOfWords

ADA = "Ada Lovelace lives at 12 Elm Street."
FERRY = "The ferry to Corrin leaves at nine."
TALK = f"{ADA} {FERRY}"


def memory_at(path: Path) -> CognitiveMemory:
    return CognitiveMemory(lambda: backends.load("store", "sqlite").open(path), BagOfWords())


async def taught(memory: CognitiveMemory) -> None:
    episode = await memory.store_episode(Content(TALK, "talk.txt"))
    said = [
        Candidate(ADA, "Ada Lovelace", 0.9, entities=("Ada Lovelace", "Elm Street")),
        Candidate(FERRY, "ferry", 0.9, before=ADA),
    ]
    await memory.store_facts(said, "talk.txt", episode)
    await memory.store_fact("ferry", FERRY, source="port")
    await memory.sleep()


def files_with(folder: Path, text: str) -> Iterator[str]:
    wanted = text.casefold().encode()
    return (file.name for file in sorted(folder.rglob("*")) if file.is_file() and wanted in file.read_bytes().lower())


def is_remembered(text: str) -> bool:
    """Whether this process had the terms of a text at hand; it has then."""
    before = terms_in.cache_info().hits
    terms_in(text)
    return terms_in.cache_info().hits > before


async def test_of_a_subject_no_byte_is_left_and_everything_else_stays(tmp_path: Path) -> None:
    memory = memory_at(tmp_path / "memory.sqlite")
    await taught(memory)
    assert list(files_with(tmp_path, "lovelace"))
    terms_in(ADA)
    assert is_remembered(ADA)

    found = await erase_from(memory, [erasure_of("subject", "ada  LOVELACE")], 1)

    assert not is_remembered(ADA)
    assert [fact.content for fact in found.facts] == [ADA]
    assert [episode.text for episode in found.episodes] == [TALK]
    assert list(files_with(tmp_path, "lovelace")) == []
    assert list(files_with(tmp_path, "elm street")) == []
    (ferry,) = await memory.get_all_facts()
    assert (ferry.content, ferry.sources, ferry.before) == (FERRY, ("talk.txt", "port"), "")
    assert [hit.fact.content for hit in await memory.search_facts("When does the ferry leave?")] == [FERRY]
    async with memory.awake() as awake:
        assert awake.recall.vectors_missing == 0
    await memory.close()
    assert list(files_with(tmp_path, "lovelace")) == []
    assert backends.load("store", "sqlite").problems(tmp_path / "memory.sqlite") == []


async def test_what_was_erased_is_refused_whoever_says_it_and_after_a_restart(tmp_path: Path) -> None:
    memory = memory_at(tmp_path / "memory.sqlite")
    await taught(memory)
    lines = [line async for line in memory.export()]
    await erase_from(memory, [erasure_of("subject", "Ada Lovelace")], 1)
    await memory.close()

    memory = memory_at(tmp_path / "memory.sqlite")
    with pytest.raises(InvalidInput, match="was erased"):
        await memory.store_fact("neighbours", "Our neighbour is Ada Lovelace.", source="mail")
    await taught(memory)
    await memory.import_lines(lines)
    await memory.close()

    assert list(files_with(tmp_path, "lovelace")) == []
    assert "memory.sqlite" in files_with(tmp_path, "ferry")


async def test_a_fact_that_another_source_vouches_for_loses_the_erased_source_alone(tmp_path: Path) -> None:
    memory = memory_at(tmp_path / "memory.sqlite")
    await taught(memory)

    found = await erase_from(memory, [erasure_of("source", "talk.txt")], 1)

    assert [fact.content for fact in found.facts] == [ADA]
    assert [(fact.content, fact.sources) for fact in await memory.get_all_facts()] == [(FERRY, ("port",))]
    assert list(files_with(tmp_path, "talk.txt")) == []
    await memory.close()


async def test_of_much_that_was_erased_no_page_and_no_term_is_left(tmp_path: Path) -> None:
    memory = memory_at(tmp_path / "memory.sqlite")
    await memory.store_fact("ferry", FERRY)
    await memory.sleep()
    before = (tmp_path / "memory.sqlite").stat().st_size
    said = [Candidate(f"Ada Lovelace has the key of vault zanzibar{number}.", "key", 0.9) for number in range(300)]
    await memory.store_facts(said, "talk.txt")

    assert len((await erase_from(memory, [erasure_of("subject", "Ada Lovelace")], 1)).facts) == 300
    assert (tmp_path / "memory.sqlite").stat().st_size <= before + 4096
    assert list(files_with(tmp_path, "zanzibar")) == []
    await memory.close()
    assert list(files_with(tmp_path, "zanzibar")) == []


async def test_one_fact_goes_by_its_id(tmp_path: Path) -> None:
    memory = memory_at(tmp_path / "memory.sqlite")
    fact = await memory.store_fact("pump", "Pump seven leaks.")
    await memory.store_fact("pump", "Pump eight is new.")
    await erase_from(memory, [erasure_of("fact", fact.id)], 1)

    assert [one.content for one in await memory.get_all_facts()] == ["Pump eight is new."]
    assert list(files_with(tmp_path, "pump seven")) == []
    with pytest.raises(InvalidInput, match="was erased"):
        await memory.store_fact("pump", "Pump  seven leaks.", source="another")
    await memory.close()


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("I met ada lovelace.", True),
        ("ADA\nLOVELACE!", True),
        ("Ada Lovelace's engine", True),
        ("the ada_lovelace.txt file", True),
        ("A\u200bda Love\u00adlace", True),
        ("Ａｄａ Lovelace", True),
        ("Ada and Lovelace", False),
        ("Adalovelace", False),
        ("Lovelace Ada", False),
    ],
)
def test_a_subject_is_named_word_for_word(text: str, is_named: bool) -> None:
    assert Erasures([erasure_of("subject", "Ada Lovelace")]).names_subject([text]) is is_named


def test_a_subject_is_named_in_the_digits_of_any_script_also_by_an_erasure_of_an_earlier_version() -> None:
    earlier = Erasure("subject", 2, erasure_digest("subject", "محطة ٤"))
    for wanted in (erasure_of("subject", "محطة 4"), erasure_of("subject", "محطة ٤"), earlier):
        assert Erasures([wanted]).names_subject(["في محطة ٤ اليوم"])
    assert Erasures([erasure_of("subject", "محطة 4")]).names_subject(["محطة 4"])


def test_an_erasure_says_nothing_of_what_it_means() -> None:
    key = erasure_of("subject", "Ada Lovelace").key
    assert not set(words_of("Ada Lovelace")) & set(words_of(key))
    with pytest.raises(InvalidInput, match="1 to 8"):
        erasure_of("subject", "...")
