import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets.jsonl import load_jsonl
from hive_mind.evals.datasets.load import load_dataset
from tests.unit.evals.datasets.data_files import lines

CORPUS = [
    {"_id": "d1", "text": "I bought a boat.", "meta": {"speaker": "Ann", "said_at": "2023-05-08", "section": "s1", "n": 3}},
    {"_id": "d2", "text": "Show me!", "meta": {"section": "s1", "source": "chat"}},
    {"_id": "d3", "text": "Good morning.", "meta": {"section": "s2"}},
    {"_id": "d4", "text": "No section."},
]
QUERIES = [
    {"_id": "q1", "text": "Who has a boat?", "qrels": {"d1": 2, "d2": -1}, "meta": {"category": "person", "answer": "Ann"}},
    {"_id": "q2", "text": "Only a distractor", "qrels": {"d3": -1, "gone": 1}},
]


@pytest.fixture
def folder(tmp_path):
    lines(tmp_path / "boats.corpus.jsonl", CORPUS)
    lines(tmp_path / "boats.queries.jsonl", QUERIES)
    return tmp_path


def test_documents_carry_what_their_meta_says(folder):
    first, second, third, fourth = load_jsonl(folder).scopes[0].documents

    assert (first.speaker, first.said_at, first.section, first.meta) == ("Ann", "2023-05-08", "s1", {"n": "3"})
    assert (first.source, second.source) == ("boats/d1", "chat")
    assert [first.before, second.before, third.before, fourth.before] == ["", "Ann: I bought a boat.", "", ""]


def test_questions_keep_grades_and_distractors(folder):
    first, second = load_jsonl(folder).scopes[0].questions

    assert first.relevant == {"d1": 2, "d2": -1}
    assert (first.category, first.answer) == ("person", "Ann")
    assert second.relevant == {"d3": -1}


def test_a_document_says_its_kind_its_topic_and_what_came_before_it(tmp_path):
    meta = {"kind": "log", "topic": "pumps", "before": "Bob: And now?", "section": None}
    lines(tmp_path / "x.corpus.jsonl", [{"_id": "d1", "text": "Pump 3 stopped.", "meta": meta}])
    lines(tmp_path / "x.queries.jsonl", [])

    (document,) = load_jsonl(tmp_path).scopes[0].documents

    assert (document.kind, document.topic, document.before) == ("log", "pumps", "Bob: And now?")
    assert (document.section, document.meta) == ("", {})


def test_a_question_says_what_a_good_answer_has_and_has_not(tmp_path):
    meta = {
        "category": 4,
        "answer": None,
        "intent": "state-lookup",
        "source_bias": "log",
        "required": ["7 bar"],
        "acceptable": ["pump", "the pump"],
        "forbidden": ["8 bar"],
        "superseded": ["6 bar", "5 bar"],
        "is_answerable": False,
        "gap": "nobody measured it",
        "asked_at": "2025-03-10",
        "labels": {"of": "another program"},
    }
    lines(tmp_path / "x.corpus.jsonl", CORPUS)
    lines(tmp_path / "x.queries.jsonl", [{"_id": "q1", "text": "What pressure?", "qrels": {}, "meta": meta}])

    (question,) = load_jsonl(tmp_path).scopes[0].questions

    assert (question.category, question.answer) == ("4", "")
    assert (question.intent, question.source_bias) == ("state-lookup", "log")
    assert (question.required, question.acceptable) == (("7 bar",), ("pump", "the pump"))
    assert (question.forbidden, question.superseded) == (("8 bar",), ("6 bar", "5 bar"))
    assert (question.is_answerable, question.gap, question.asked_at) == (False, "nobody measured it", "2025-03-10")


def test_a_document_without_a_word_comes_before_nothing(tmp_path):
    rows = [CORPUS[0], {"_id": "x", "text": "…", "meta": {"section": "s1"}}, CORPUS[1]]
    lines(tmp_path / "x.corpus.jsonl", rows)
    lines(tmp_path / "x.queries.jsonl", [])

    assert load_jsonl(tmp_path).scopes[0].documents[1].before == "Ann: I bought a boat."


@pytest.mark.parametrize("name", ["boats.corpus.jsonl", "boats.queries.jsonl"])
def test_either_file_may_be_given(folder, name):
    assert load_dataset(folder / name) == load_dataset(folder)


def test_another_set_of_questions_is_read_by_its_own_file(folder):
    lines(folder / "boats.train_queries.jsonl", QUERIES[:1])

    assert load_dataset(folder / "boats.train_queries.jsonl").questions == 1


def test_a_folder_with_several_sets_wants_a_name_and_lists_them(folder):
    lines(folder / "cars.corpus.jsonl", CORPUS)
    lines(folder / "cars.queries.jsonl", [])

    with pytest.raises(InvalidInput, match="name one of boats, cars"):
        load_dataset(folder)
    with pytest.raises(InvalidInput, match="no data set 'ships'; name one of boats, cars"):
        load_dataset(folder, "ships")
    assert load_dataset(folder, "cars").questions == 0


def test_a_byte_order_mark_windows_line_ends_and_empty_lines_are_taken(tmp_path):
    (tmp_path / "x.corpus.jsonl").write_bytes(b'\xef\xbb\xbf{"_id": "a", "text": "t"}\r\n\r\n{"_id": "b", "text": "u"}\r\n')
    lines(tmp_path / "x.queries.jsonl", [])

    assert load_dataset(tmp_path).documents == 2


@pytest.mark.parametrize("name", ["notes.txt", "notes.jsonl", "x.other.jsonl"])
def test_a_file_of_another_kind_is_refused_with_what_to_give(tmp_path, name):
    (tmp_path / name).write_text("hello", "utf-8")

    with pytest.raises(InvalidInput, match=r"NAME\.corpus\.jsonl"):
        load_dataset(tmp_path / name)


def test_an_empty_folder_is_said_to_hold_nothing(tmp_path):
    with pytest.raises(InvalidInput, match=r"holds no \.json file"):
        load_dataset(tmp_path)
