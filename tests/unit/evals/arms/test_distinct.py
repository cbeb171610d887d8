"""A text that a data set has several times counts once, whichever of its documents is judged."""

from hive_mind.evals.arms import by_texts, firsts_of, texts_found
from hive_mind.evals.datasets import LabelledQuestion
from hive_mind.evals.experiments import Arm
from hive_mind.evals.metrics import score
from hive_mind.model.query import ComponentScores, Hit
from tests.builders import fact
from tests.unit.evals.arms.notes import scope_of, told

DOCUMENTS = {"a" * 32: ["d1", "d3"], "b" * 32: ["d2"]}


def hit(id: str) -> Hit:
    return Hit(fact(id=id), 1.0, ComponentScores(1.0, None, 0.0, 0.0, 0.0))


def test_all_documents_of_a_text_are_one_and_the_best_judgement_holds():
    question = LabelledQuestion("q", "Which?", {"d1": -1, "d3": 1, "d2": 1, "elsewhere": 1})

    assert by_texts(question, firsts_of(DOCUMENTS)).relevant == {"d1": 1, "d2": 1, "elsewhere": 1}


def test_who_finds_a_text_finds_its_first_document():
    assert texts_found([hit("b" * 32), hit("c" * 32), hit("a" * 32)], DOCUMENTS) == ["d2", "d1"]


def test_copies_of_one_text_neither_fill_the_first_k_nor_have_to_be_found_one_by_one():
    scope = scope_of(["red pump", *["red pump red"] * 5, "pump"], ["red pump"])
    arm = told(Arm(), scope, limit=3)
    question = by_texts(LabelledQuestion("q", "red pump", {"d5": 1, "d4": 1, "d6": 1}), firsts_of(arm.documents))
    found = texts_found(arm.outcomes[0].hits, arm.documents)

    assert set(found) == {"d0", "d1", "d6"}
    assert score(question, found, (), (), None, None, 3)["recall@3"] == 1.0
