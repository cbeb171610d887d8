"""The real files, where they are: in the folder HIVE_MIND_DATA names, or in ../shared/data beside the repository."""

import os
from pathlib import Path

import pytest

from hive_mind.evals.datasets import pooled
from hive_mind.evals.datasets.load import load_dataset

pytestmark = pytest.mark.data

REPOSITORY = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def data():
    folder = Path(os.environ.get("HIVE_MIND_DATA") or REPOSITORY.parent / "shared" / "data")
    if not (folder / "locomo").is_dir():
        pytest.skip(f"no public data in {folder}; set HIVE_MIND_DATA to the folder that holds locomo/ and scifact.*.jsonl")
    return folder


def test_the_locomo_half_has_997_questions_that_can_be_judged_out_of_999_and_what_is_malformed_is_mended_or_counted(data):
    dataset = load_dataset(data / "locomo")

    assert [scope.name for scope in dataset.scopes] == ["26", "30", "41", "42", "43"]
    assert (dataset.documents, dataset.questions, dataset.mended) == (2_760, 997, 2)
    assert dataset.left_out == {
        "questions without evidence": 2,
        "evidence entries that name no turn that exists": 1,
        "evidence entries that name nothing": 1,
    }
    assert all(document.speaker and document.said_at for scope in dataset.scopes for document in scope.documents)
    (scope,) = pooled(dataset).scopes
    known = {document.id for document in scope.documents}
    assert len(known) == len(scope.documents) == 2_760
    assert all(set(question.relevant) <= known for question in scope.questions)

    questions = [question for scope in dataset.scopes for question in scope.questions]
    adversarial = [question for question in questions if question.category == "adversarial"]
    assert (len(questions) - len(adversarial), len(adversarial)) == (760, 237)
    # Unless they have an answer.
    assert sum(not question.is_answerable for question in questions) == 235
    assert all(question.is_answerable or (question.gap and question.category == "adversarial") for question in questions)


def test_every_abstract_of_scifact_is_read(data):
    dataset = load_dataset(data, "scifact")

    assert (dataset.documents, dataset.questions, dict(dataset.left_out)) == (5_183, 300, {})


def test_cranfields_two_empty_abstracts_are_left_out_and_counted(data):
    dataset = load_dataset(data, "cranfield")

    assert (dataset.documents, dataset.questions) == (1_400 - 2, 225)
    assert dataset.left_out == {"documents without a word": 2, "judgements of documents without a word": 1}


def test_scifacts_training_questions_are_another_set(data):
    assert load_dataset(data / "scifact.train_queries.jsonl").questions == 809
