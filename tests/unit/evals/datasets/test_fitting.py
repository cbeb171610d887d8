"""Documents that no memory would keep whole: cut in one place, and counted."""

from pathlib import Path

from hive_mind.evals.arms import candidate_of
from hive_mind.evals.datasets import Dataset, Document, LeftOut, Scope, pooled
from hive_mind.evals.datasets.load import fitting, load_dataset
from hive_mind.memory.intake import STATEMENT_CHARACTERS_MAX, new_fact
from tests.unit.evals.datasets.data_files import asked, conversation

# Decomposed and composed again: as long as what is kept of it, and longer.
GROWS, SHRINKS = "\u0958", "e\u0301"


def of(*documents: Document) -> Dataset:
    return Dataset("long", (Scope("long", documents, ()),), {"turns without a word": 2})


def test_every_document_becomes_a_fact_with_the_beginning_of_what_it_said():
    long = "Ines moors the ferry. " * 2_000
    given = [
        Document("plain", long, "x"),
        Document("said", long, "x", speaker="Ines " * 30),
        Document("grows", GROWS * STATEMENT_CHARACTERS_MAX, "x", speaker="a"),
        Document("after", "Yes.", "x", before=long),
        Document("whoever", "Yes.", "x", speaker="Ines" * 1_000),
    ]

    dataset = fitting(of(*given))

    for document, before in zip(dataset.scopes[0].documents, given, strict=True):
        assert document.text[:1000] in new_fact(candidate_of(document), "x", 0).content
        assert before.text.startswith(document.text[:10]) or document.id == "grows"
    assert dataset.left_out == {"turns without a word": 2, LeftOut.LONG_DOCUMENT: 3}


def test_what_fits_stays_as_it_is():
    exactly = Document("full", "a" * STATEMENT_CHARACTERS_MAX, "x")
    shrinks = Document("accents", SHRINKS * (STATEMENT_CHARACTERS_MAX // 2), "x", speaker="b")

    assert fitting(of(exactly, shrinks)) == of(exactly, shrinks)


def test_first_sessions_of_different_conversations_are_not_one(tmp_path: Path):
    (scope,) = pooled(load_dataset(conversation(tmp_path, [asked(["D1:1"])]))).scopes

    assert {document.section for document in scope.documents} == {"26/session_1"}
    # What belongs to no section still belongs to none.
    assert pooled(of(Document("d", "Yes.", "x"))).scopes[0].documents[0].section == ""
