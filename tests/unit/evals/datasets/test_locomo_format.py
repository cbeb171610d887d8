import json

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets import pooled
from hive_mind.evals.datasets.conversations import load_locomo
from hive_mind.evals.datasets.load import load_dataset

CONVERSATION = {
    "speaker_a": "Ann",
    "speaker_b": "Bob",
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [
        {"speaker": "Ann", "dia_id": "D1:1", "text": "I bought a boat."},
        {"speaker": "Bob", "dia_id": "D1:2", "text": "Show me!"},
        {"speaker": "Ann", "dia_id": "D1:3", "text": "Here.", "blip_caption": "a photo of a red boat", "img_url": ["x"]},
    ],
    "session_2_date_time": "12:05 am on 1 January, 2024",
    "session_2": [{"speaker": "Bob", "dia_id": "D2:1", "text": "Happy new year."}],
    "session_10_date_time": "9:00 am on 2 January, 2024",
    "session_10": [{"speaker": "Ann", "dia_id": "D10:1", "text": "", "query": "nothing"}],
    "session_11_date_time": "9:00 am on 3 January, 2024",
    "session_1_summary": "not a turn",
}


def question(evidence, **more):
    return {"question": "What colour is the boat?", "answer": "red", "evidence": evidence, "category": 4} | more


def written(tmp_path, questions, name="26.json", conversation=CONVERSATION):
    path = tmp_path / name
    path.write_text(json.dumps(conversation | {"qa": questions}), "utf-8")
    return path


def test_a_turn_knows_who_said_it_when_and_after_what(tmp_path):
    boat, show, here, new_year = load_locomo(written(tmp_path, [])).scopes[0].documents

    assert (boat.id, boat.speaker, boat.section, boat.source) == ("D1:1", "Ann", "session_1", "26/session_1")
    assert (boat.said_at, new_year.said_at) == ("2023-05-08T13:56", "2024-01-01T00:05")
    assert (boat.before, show.before, here.before) == ("", "Ann: I bought a boat.", "Bob: Show me!")
    assert (new_year.before, new_year.kind) == ("", "chat"), "a new session"


def test_a_shared_picture_is_told_by_its_caption(tmp_path):
    here = load_locomo(written(tmp_path, [])).scopes[0].documents[2]

    assert here.text == "Here. [shares a photo of a red boat]"
    assert here.meta == {"picture": "a photo of a red boat"}


@pytest.mark.parametrize(
    ("evidence", "turns", "mended"),
    [
        (["D1:1", "D1:3"], {"D1:1", "D1:3"}, 0),
        (["D1:1; D2:1"], {"D1:1", "D2:1"}, 1),
        (["D1:1 D1:2 D2:1"], {"D1:1", "D1:2", "D2:1"}, 1),
        (["D:2:1"], {"D2:1"}, 1),
        (["D1:03"], {"D1:3"}, 1),
        (["D1:1", "D"], {"D1:1"}, 0),
        (["D1:1", "D1:1", "D9:9"], {"D1:1"}, 0),
    ],
)
def test_misspelt_evidence_is_mended_where_it_can_be(tmp_path, evidence, turns, mended):
    dataset = load_locomo(written(tmp_path, [question(evidence)]))

    assert dataset.scopes[0].questions[0].relevant == dict.fromkeys(turns, 1)
    assert dataset.mended == mended


def test_questions_keep_their_category_in_words_and_their_answer_as_text(tmp_path):
    questions = [question(["D1:1"], answer=2022, category=2), question(["D1:1"], category=5)]

    temporal, adversarial = load_locomo(written(tmp_path, questions)).scopes[0].questions

    assert (temporal.id, temporal.category, temporal.answer) == ("q1", "temporal", "2022")
    assert (adversarial.id, adversarial.category) == ("q2", "adversarial")


UNSAID = "the conversation does not say it"


@pytest.mark.parametrize(
    ("answers", "gap", "forbidden"),
    [
        ({"adversarial_answer": "Ann"}, UNSAID, ("Ann",)),
        # To decline is no trap.
        *(({"adversarial_answer": text}, UNSAID, ()) for text in ("Not mentioned", "No information available", "", None, "?")),
        ({"answer": "No", "adversarial_answer": "Yes"}, "", ()),
    ],
)
def test_an_adversarial_question_is_answerable_where_it_has_a_plain_answer_and_elsewhere_its_trap_is_forbidden(
    tmp_path, answers, gap, forbidden
):
    path = written(tmp_path, [{"question": "Who sold it?", "evidence": ["D1:1"], "category": 5} | answers])

    (question_,) = load_locomo(path).scopes[0].questions

    assert (question_.is_answerable, question_.gap, question_.forbidden) == (not gap, gap, forbidden)
    assert (question_.answer, question_.relevant) == (answers.get("answer", ""), {"D1:1": 1})


def test_the_list_format_gives_the_same_data_set(tmp_path):
    alone = load_locomo(written(tmp_path, [question(["D1:1"])]))
    listed = tmp_path / "locomo10.json"
    sample = {"sample_id": "conv-26", "conversation": CONVERSATION, "qa": [question(["D1:1"])]}
    listed.write_text(json.dumps([sample]), "utf-8")

    assert load_locomo(listed) == alone


def test_a_folder_gives_one_scope_a_conversation_in_the_order_of_their_numbers(tmp_path):
    for name in ("30.json", "4.json", "26.json"):
        written(tmp_path, [question(["D1:1"])], name)

    assert [scope.name for scope in load_dataset(tmp_path).scopes] == ["4", "26", "30"]


def test_pooling_makes_ids_unique_and_keeps_the_judgements_with_them(tmp_path):
    for name in ("26.json", "30.json"):
        written(tmp_path, [question(["D1:3"])], name)

    together = pooled(load_locomo(tmp_path))

    (scope,) = together.scopes
    assert len({document.id for document in scope.documents}) == together.documents == 8
    assert [dict(q.relevant) for q in scope.questions] == [{"26/D1:3": 1}, {"30/D1:3": 1}]
    assert [q.id for q in scope.questions] == ["26/q1", "30/q1"]


def changed(**changes):
    return {key: value for key, value in (CONVERSATION | changes).items() if value is not None}


@pytest.mark.parametrize(
    ("conversation", "said"),
    [
        (changed(session_1_date_time="yesterday"), r"session_1_date_time: 'yesterday' is not a time; write it like"),
        (changed(session_1_date_time="1:56 pm on 31 June, 2023"), "does not exist"),
        (changed(session_1_date_time=5), "session_1_date_time: Expected `str`"),
        (changed(session_2=[{"speaker": "Bob", "dia_id": "D2:1"}]), r"session_2: .*`text` - at `\$\[0\]`"),
        (changed(session_2="hello"), "session_2: Expected `array`"),
        ({"speaker_a": "Ann"}, "holds no session_1"),
    ],
)
def test_a_damaged_conversation_is_refused_with_its_place(tmp_path, conversation, said):
    path = written(tmp_path, [], conversation=conversation)

    with pytest.raises(InvalidInput, match=said) as caught:
        load_locomo(path)

    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"a": 1,\n "b": "\xff"}', "line 2: not UTF-8"),
        (b"[" * 100_000, "line 1: not JSON"),
        (b"[1]", "entry 1: not a conversation"),
        (b'[{"sample_id": "x", "conversation": 4}]', "'conversation' is not an object"),
    ],
)
def test_a_file_that_is_something_else_is_refused_with_its_line(tmp_path, body, said):
    path = tmp_path / "26.json"
    path.write_bytes(body)

    with pytest.raises(InvalidInput, match=said):
        load_locomo(path)


def test_the_same_conversation_twice_is_refused(tmp_path):
    listed = tmp_path / "list.json"
    sample = {"sample_id": "conv-26", "conversation": CONVERSATION, "qa": []}
    listed.write_text(json.dumps([sample, sample]), "utf-8")

    with pytest.raises(InvalidInput, match="'26' comes twice"):
        load_locomo(listed)
