"""Document 003's question file."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets import Dataset, Document, LabelledQuestion, Scope, pooled
from hive_mind.evals.datasets.jsonl import Intent, with_questions
from tests.unit.evals.datasets.data_files import question_file

NODE = "e4397aa3-520d-4d5e-a1ab-56f9411bba2b"
DOCUMENTS = (Document(NODE, "We replaced LanceDB with sqlite-vec.", "claude"), Document("n2", "The queue is full.", "shell"))
DATA = Dataset(
    "notes",
    (Scope("notes", DOCUMENTS, (LabelledQuestion("old", "An old question?", {"n2": 1}),)),),
    {"documents without a word": 2, "questions without evidence": 5},
    mended=3,
)


def question(**changes: Any) -> dict[str, Any]:
    """The document's own example. None takes a key away."""
    whole = {
        "id": "q01",
        "question": "Why did we replace LanceDB with sqlite-vec?",
        "intent": "why-decision",
        "relevant_knowledge_node_uuids": [NODE],
        "acceptable_answer_keywords": ["sqlite-vec", "consolidation"],
        "source_bias": "claude",
        "coverage_gap_reason": "",
    }
    return {key: value for key, value in (whole | changes).items() if value is not None}


def asked(folder: Path, *questions: dict[str, Any]) -> tuple[LabelledQuestion, ...]:
    return with_questions(DATA, question_file(folder, *questions)).scopes[0].questions


def test_every_field_of_a_question_is_read(tmp_path: Path) -> None:
    (only,) = asked(tmp_path, question())

    assert only == LabelledQuestion(
        id="q01",
        text="Why did we replace LanceDB with sqlite-vec?",
        relevant={NODE: 1},
        intent="why-decision",
        source_bias="claude",
        acceptable=("sqlite-vec", "consolidation"),
    )


def test_the_documents_stay_with_what_was_left_out_of_them_and_the_questions_are_replaced(tmp_path: Path) -> None:
    dataset = with_questions(DATA, question_file(tmp_path, question(), question(id="q02")))

    assert (dataset.name, dataset.scopes[0].documents) == ("notes", DOCUMENTS)
    assert [one.id for one in dataset.scopes[0].questions] == ["q01", "q02"]
    assert (dataset.left_out, dataset.mended) == ({"documents without a word": 2}, 0)


@pytest.mark.parametrize(
    ("changes", "is_answerable"),
    [
        ({"relevant_knowledge_node_uuids": [], "coverage_gap_reason": "never written down", "intent": "adversarial"}, False),
        ({"coverage_gap_reason": "half of it is missing"}, True),
        ({"relevant_knowledge_node_uuids": []}, True),
    ],
    ids=["a reason without documents is a gap", "a reason beside documents is a note", "keywords are enough to measure"],
)
def test_a_question_is_answerable_unless_a_reason_says_why_it_names_no_document(
    tmp_path: Path, changes: Any, is_answerable: bool
):
    (only,) = asked(tmp_path, question(**changes))

    assert (only.is_answerable, only.gap) == (is_answerable, changes.get("coverage_gap_reason", ""))
    assert only.relevant == ({} if "relevant_knowledge_node_uuids" in changes else {NODE: 1})
    assert only.acceptable == ("sqlite-vec", "consolidation")


@pytest.mark.parametrize("intent", get_args(Intent))
def test_every_intent_of_the_document_is_known(tmp_path: Path, intent: str) -> None:
    assert asked(tmp_path, question(intent=intent))[0].intent == intent


def test_what_may_be_missing_may_be_missing(tmp_path: Path) -> None:
    bare = {"id": "q1", "question": "Why?", "relevant_knowledge_node_uuids": ["n2"]}

    assert asked(tmp_path, bare) == (LabelledQuestion("q1", "Why?", {"n2": 1}),)


def test_what_cannot_be_used_is_counted(tmp_path: Path) -> None:
    file = question_file(
        tmp_path,
        question(id="half", relevant_knowledge_node_uuids=[NODE, "gone", "gone"]),
        question(id="lost", relevant_knowledge_node_uuids=["gone", "lost"]),
        question(id="blank", question=" "),
        question(id="empty", relevant_knowledge_node_uuids=[], acceptable_answer_keywords=[]),
    )

    dataset = with_questions(DATA, file)

    assert [one.id for one in dataset.scopes[0].questions] == ["half"]
    assert dataset.left_out == {
        "documents without a word": 2,
        "judgements of documents that are not in the corpus": 3,
        "questions whose judgements name no document that can be found": 1,
        "questions without a word": 1,
        "questions without documents, keywords or a reason for their absence": 1,
    }


def test_several_scopes_are_refused_until_they_are_pooled(tmp_path: Path) -> None:
    several = Dataset("talks", (Scope("a", DOCUMENTS, ()), Scope("b", DOCUMENTS, ())))
    file = question_file(tmp_path, question(relevant_knowledge_node_uuids=[f"b/{NODE}"]))

    with pytest.raises(InvalidInput, match="its questions are asked of one scope, and 'talks' has 2; pool it"):
        with_questions(several, file)
    assert with_questions(pooled(several), file).scopes[0].questions[0].relevant == {f"b/{NODE}": 1}


@pytest.mark.parametrize(
    ("questions", "said"),
    [
        ([question(intent="why")], r"question 1: Invalid enum value 'why' - at `\$\.intent`"),
        ([question(), question(relevant_knowledge_node_uuids=None)], "question 2: .*`relevant_knowledge_node_uuids`"),
        ([question(id="")], r"question 1: .*length >= 1 - at `\$\.id`"),
        ([question(acceptable_answer_keywords=["a", " "])], r"question 1: .*at `\$\.acceptable_answer_keywords\[1\]`"),
        ([question(acceptable_answer_keywords="sqlite")], r"question 1: Expected `array`, got `str`"),
        ([question(), question(id="q02"), question()], "question 3: 'q01' is already question 1; rename one"),
    ],
)
def test_a_damaged_question_is_refused_with_its_number(tmp_path: Path, questions: list[dict[str, Any]], said: str) -> None:
    file = question_file(tmp_path, *questions)

    with pytest.raises(InvalidInput, match=said) as caught:
        with_questions(DATA, file)

    assert str(file) in str(caught.value)


@pytest.mark.parametrize("value", [[question()], {"queries": []}, {"questions": {}}])
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, value: Any) -> None:
    file = tmp_path / "questions.json"
    file.write_text(json.dumps(value), "utf-8")

    with pytest.raises(InvalidInput, match="no object with a list of `questions`; give a question file"):
        with_questions(DATA, file)
