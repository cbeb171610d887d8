"""LongMemEval's format."""

from pathlib import Path

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets.conversations import load_longmemeval
from hive_mind.evals.datasets.load import load_dataset
from tests.unit.evals.datasets.data_files import entry, longmemeval


def test_every_question_has_a_history_of_its_own(tmp_path: Path) -> None:
    dataset = load_longmemeval(longmemeval(tmp_path, entry(), entry(question_id="9f0a")))

    assert dataset.name == "longmemeval_s"
    assert [(scope.name, len(scope.documents), len(scope.questions)) for scope in dataset.scopes] == [
        ("e47b", 4, 1),
        ("9f0a", 4, 1),
    ]


def test_a_turn_knows_its_session_its_date_who_spoke_and_after_what(tmp_path: Path) -> None:
    planes, lift, boat, _ = load_longmemeval(longmemeval(tmp_path, entry())).scopes[0].documents

    assert (planes.id, planes.section, planes.said_at) == ("sharegpt_7:1", "sharegpt_7", "2023-05-20T02:21")
    assert (boat.id, boat.text, boat.said_at) == ("answer_1:1", "I named my boat Marlin.", "2023-05-30T23:40")
    assert (lift.speaker, lift.source, lift.kind) == ("assistant", "e47b/sharegpt_7", "chat")
    assert [planes.before, lift.before, boat.before] == ["", "user: How do planes fly?", ""]


def test_marked_turns_answer_the_question_and_its_type_is_its_category(tmp_path: Path) -> None:
    (question,) = load_longmemeval(longmemeval(tmp_path, entry())).scopes[0].questions

    assert (question.id, question.text, question.answer) == ("e47b", "What did I name my boat?", "Marlin")
    assert (question.category, question.asked_at) == ("single-session-user", "2023-06-01T09:15")
    assert question.relevant == {"answer_1:1": 1}
    assert (question.is_answerable, question.gap) == (True, "")


def test_an_answer_that_is_a_number_becomes_text(tmp_path: Path) -> None:
    assert load_longmemeval(longmemeval(tmp_path, entry(answer=3))).scopes[0].questions[0].answer == "3"


def test_what_the_history_does_not_hold_is_not_answerable(tmp_path: Path) -> None:
    asked = entry(question_id="e47b_abs", question="What did I name my plane?", answer="You never said you have one.")

    (question,) = load_longmemeval(longmemeval(tmp_path, asked)).scopes[0].questions

    assert (question.is_answerable, question.gap) == (False, "the history does not hold the answer")
    assert (question.relevant, question.category) == ({}, "single-session-user")


def test_the_oracle_file_in_any_order_and_days_without_a_time_are_read(tmp_path: Path) -> None:
    dates = ["2023/05/30", "2023/5/2 (Tue) 7:05"]

    documents = load_longmemeval(longmemeval(tmp_path, entry(haystack_dates=dates))).scopes[0].documents

    assert [document.said_at for document in documents[1:3]] == ["2023-05-30", "2023-05-02T07:05"]


def test_one_of_several_files_of_a_folder_is_named(tmp_path: Path) -> None:
    longmemeval(tmp_path, entry(), name="longmemeval_oracle.json")
    assert load_dataset(tmp_path).name == "longmemeval_oracle"

    longmemeval(tmp_path, entry(), entry(question_id="2"))

    assert load_dataset(tmp_path, "longmemeval_s").questions == 2
    with pytest.raises(InvalidInput, match="holds several files; name one of longmemeval_oracle, longmemeval_s"):
        load_dataset(tmp_path)
    with pytest.raises(InvalidInput, match=r"holds no longmemeval_x\.json; give the file in LongMemEval's format"):
        load_dataset(tmp_path, "longmemeval_x")
