"""What an agent remembers as a data set."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets import Dataset
from hive_mind.evals.datasets.jsonl import with_questions
from hive_mind.evals.datasets.load import facts_as_dataset, load_dataset, load_memory
from hive_mind.memory.intake import new_fact, statement
from hive_mind.model.fact import Sharing
from hive_mind.model.ids import fact_id
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_memory
from tests.builders import FIRST_US, fact, said
from tests.unit.evals.datasets.data_files import question_file


async def _taught(settings: Settings) -> list[str]:
    """An agent that learned three things, of which one was replaced and one taken back; and its export."""
    async with await open_memory(settings, "ines") as memory:
        seal = said("I replaced the seal.", said_at="2025-03-10", speaker="Ines", before="Otto: It leaks.")
        kept, old, wrong = await memory.store_facts([seal, said("It is red."), said("It is loud.")], "notes.md")
        await memory.supersede(old.id, said("It is green."), "shift.md")
        await memory.retract_fact(wrong.id)
        assert kept.content == "Ines: I replaced the seal."
        return [line async for line in memory.export()]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, embed="none")


def test_the_facts_an_agent_may_find_are_its_documents(settings: Settings) -> None:
    asyncio.run(_taught(settings))

    dataset = asyncio.run(load_memory(settings, "ines"))

    (scope,) = dataset.scopes
    assert (dataset.name, scope.name, scope.questions) == ("ines", "ines", ())
    assert {document.text for document in scope.documents} == {"I replaced the seal.", "It is green."}
    assert dataset.left_out == {"facts that a newer one replaced": 1, "facts that were taken back": 1}


def test_a_document_keeps_who_said_it_when_and_where_it_came_from(settings: Settings) -> None:
    asyncio.run(_taught(settings))

    seal = next(one for one in asyncio.run(load_memory(settings, "ines")).scopes[0].documents if one.speaker)

    assert (seal.speaker, seal.said_at, seal.before) == ("Ines", "2025-03-10", "Otto: It leaks.")
    assert (seal.source, seal.section, seal.topic) == ("notes.md", "notes.md", "pump")
    assert seal.meta == {"confidence": "0.8"}


@pytest.mark.parametrize(
    ("source", "speaker", "kind"),
    [
        ("notes/a.MD", "", "md"),
        ("log/2024", "", "log"),
        ("v1.2 of it", "", "v1.2 of it"),
        (".", "", "."),
        ("a.md", "Ines", "chat"),
    ],
)
def test_the_kind_of_a_document_is_that_of_its_source(source: str, speaker: str, kind: str) -> None:
    dataset = facts_as_dataset("ines", [fact(sources=(source,), speaker=speaker)])

    assert [document.kind for document in dataset.scopes[0].documents] == [kind]


def test_an_export_gives_the_same_documents_as_the_memory_it_came_from(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "ines.jsonl"
    path.write_text("\n".join(asyncio.run(_taught(settings))) + "\n", "utf-8")

    assert load_dataset(path) == asyncio.run(load_memory(settings, "ines"))


@given(st.text(max_size=30), st.sampled_from(["", "Ines", " Dr  Li", "Ines: Otto"]), st.booleans())
def test_a_document_that_is_learned_again_becomes_the_same_fact(text: str, speaker: str, is_quoted: bool) -> None:
    candidate = said(f"{speaker}: {speaker}: {text} a" if is_quoted else f"{text} a", speaker=speaker)

    (document,) = facts_as_dataset("x", [new_fact(candidate, "notes", FIRST_US)]).scopes[0].documents

    assert fact_id(statement(said(document.text, speaker=document.speaker))) == document.id


def test_documents_are_in_the_order_in_which_they_were_learned() -> None:
    facts = [fact(f"Number {number}.", learned_at_us=FIRST_US - number) for number in range(5)]

    documents = facts_as_dataset("x", facts).scopes[0].documents

    assert [document.text for document in documents] == [f"Number {number}." for number in (4, 3, 2, 1, 0)]


def test_a_fact_that_is_both_replaced_and_taken_back_is_counted_once() -> None:
    gone = replace(fact(), superseded_by="0" * 32, sharing=Sharing.RETRACTED)

    assert facts_as_dataset("x", [gone]).left_out == {"facts that were taken back": 1}


def test_a_question_file_asks_an_agents_own_facts_by_their_ids(tmp_path: Path) -> None:
    known = fact("The pump is red.")
    file = question_file(tmp_path, {"id": "q1", "question": "What colour?", "relevant_knowledge_node_uuids": [known.id]})

    dataset: Dataset = with_questions(facts_as_dataset("ines", [known]), file)

    assert dataset.scopes[0].questions[0].relevant == {known.id: 1}


def test_an_agent_that_does_not_exist_is_not_made(settings: Settings) -> None:
    with pytest.raises(InvalidInput, match=r"agent 'otto' has learned nothing yet in .*: hive-mind learn PATH --agent otto"):
        asyncio.run(load_memory(settings, "otto"))

    assert list(settings.home.iterdir()) == []


def test_a_bad_line_of_an_export_is_said_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "ines.jsonl"
    path.write_text('{"type":"fact","content":"x","confidence":2,"sources":["a"],"learned_at_us":0}\n', "utf-8")

    with pytest.raises(InvalidInput, match=r"ines\.jsonl: nothing was imported:\n  line 1: "):
        load_dataset(path)
