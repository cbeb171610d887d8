"""BEIR's folders.

Reading a data set without saying which format it is in.
What can't be used of a data set is counted exactly, by its reason, and the rest is read.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets import LeftOut
from hive_mind.evals.datasets.load import FORMATS, detected, load_beir, load_dataset
from tests.unit.evals.datasets.data_files import D1, Q1, asked, beir, conversation, entry, exchange, lines, longmemeval, qrels

CORPUS = [
    {"_id": "d1", "title": "Boats", "text": "A boat floats.", "metadata": {"url": "http://a.example", "year": 1999, "doi": None}},
    {"_id": "d2", "title": "Why do planes fly?", "text": "By lift."},
    {"_id": "d3", "title": "", "text": "Trains roll."},
    {"_id": "d4", "title": "Only a title", "text": ""},
    {"_id": "d5", "text": "No title."},
]
QUERIES = [{"_id": "q1", "text": "What floats?", "metadata": {}}, {"_id": "q2", "text": "What flies?"}]


def test_a_document_is_its_title_and_its_text(tmp_path: Path) -> None:
    (scope,) = load_beir(beir(tmp_path, corpus=CORPUS)).scopes

    assert [document.text for document in scope.documents] == [
        "Boats. A boat floats.",
        "Why do planes fly? By lift.",
        "Trains roll.",
        "Only a title",
        "No title.",
    ]


def test_a_document_keeps_its_metadata_as_text(tmp_path: Path) -> None:
    first = load_beir(beir(tmp_path / "boats", corpus=CORPUS)).scopes[0].documents[0]

    assert (first.id, first.source) == ("d1", "boats/d1")
    assert first.meta == {"url": "http://a.example", "year": "1999", "doi": ""}


def test_the_set_is_called_as_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(beir(tmp_path / "boats"))

    assert load_beir(Path()).name == "boats"


def test_judgements_keep_their_grades_and_distractors(tmp_path: Path) -> None:
    folder = beir(tmp_path, corpus=CORPUS, queries=QUERIES, test="q1 d1 2|q1 d2 -1|q1 d3 0|q2 d2 1.0")

    first, second = load_beir(folder).scopes[0].questions

    assert (first.id, first.text, first.relevant) == ("q1", "What floats?", {"d1": 2, "d2": -1, "d3": 0})
    assert second.relevant == {"d2": 1}


def test_the_part_test_is_taken_where_none_is_named(tmp_path: Path) -> None:
    folder = beir(tmp_path, corpus=CORPUS, queries=QUERIES, test="q1 d1 1", dev="q2 d2 1")

    assert [question.id for question in load_beir(folder).scopes[0].questions] == ["q1"]
    assert [question.id for question in load_dataset(folder, "dev").scopes[0].questions] == ["q2"]
    assert load_dataset(folder / "qrels" / "dev.tsv") == load_beir(folder, "dev")


def test_the_only_part_is_taken_and_one_of_several_must_be_named(tmp_path: Path) -> None:
    folder = beir(tmp_path, dev="q1 d1 1")
    assert load_beir(folder).questions == 1

    qrels(folder, "train", "q1 d1 1")

    with pytest.raises(InvalidInput, match=r"holds several parts; name one of dev, train"):
        load_beir(folder)
    with pytest.raises(InvalidInput, match=r"holds no part 'tset'; name one of dev, train"):
        load_beir(folder, "tset")


def test_questions_of_another_part_are_not_left_out_and_those_of_no_part_are(tmp_path: Path) -> None:
    queries = [*QUERIES, {"_id": "q3", "text": "Judged nowhere"}, {"_id": "q4", "text": "Nor this"}]

    dataset = load_beir(beir(tmp_path, corpus=CORPUS, queries=queries, test="q1 d1 1", train="q2 d2 1"))

    assert (dataset.questions, dataset.left_out) == (1, {"questions without a judgement": 2})


def test_judgements_are_read_without_titles_and_with_windows_line_ends(tmp_path: Path) -> None:
    folder = beir(tmp_path)
    (folder / "qrels" / "test.tsv").write_bytes(b"q1\td1\t1\r\n\r\n")

    assert load_beir(folder).scopes[0].questions[0].relevant == {"d1": 1}


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl"])
def test_any_file_of_the_folder_may_be_given(tmp_path: Path, name: str) -> None:
    folder = beir(tmp_path)

    assert load_dataset(folder / name) == load_dataset(folder) == load_beir(folder)


def test_the_same_texts_are_the_same_documents_in_either_format(tmp_path: Path) -> None:
    lines(tmp_path / "boats.corpus.jsonl", [{"_id": "d1", "text": "Boats. A boat floats."}])
    lines(tmp_path / "boats.queries.jsonl", [{"_id": "q1", "text": "What floats?", "qrels": {"d1": 1}}])

    assert load_dataset(tmp_path / "boats.corpus.jsonl") == load_beir(beir(tmp_path / "boats"))


def test_a_file_is_known_by_its_name_or_by_what_is_in_it(tmp_path: Path) -> None:
    spaced = tmp_path / "spaced.jsonl"
    spaced.write_text('\n {"type":"episode"}', "utf-8")

    assert detected(lines(tmp_path / "notes.corpus.jsonl", [])) == "jsonl"
    assert detected(lines(tmp_path / "notes.train_queries.jsonl", [])) == "jsonl"
    assert detected(beir(tmp_path / "boats") / "qrels" / "test.tsv") == "beir"
    assert detected(lines(tmp_path / "ines.jsonl", [{"type": "fact"}])) == detected(spaced) == "memory"
    assert detected(conversation(tmp_path)) == "locomo"
    assert detected(longmemeval(tmp_path, entry(), name="longmemeval_s")) == "longmemeval"


def test_a_folder_is_known_by_the_files_in_it(tmp_path: Path) -> None:
    conversation(tmp_path / "talks")
    longmemeval(tmp_path / "long", entry())
    (tmp_path / "half" / "qrels").mkdir(parents=True)

    assert detected(tmp_path / "talks") == "locomo"
    assert detected(tmp_path / "long") == "longmemeval"
    assert detected(beir(tmp_path / "boats")) == detected(tmp_path / "half") == "beir"


def test_what_somebody_said_is_not_taken_for_a_key(tmp_path: Path) -> None:
    talk = [{"speaker": "Ann", "dia_id": "D1:1", "text": 'The key is "haystack_sessions" or "relevant_knowledge_node_uuids".'}]

    assert detected(conversation(tmp_path, session_1=talk)) == "locomo"


def test_a_named_format_is_believed(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidInput, match="conversation longmemeval_s: holds no session_1, session_2, …; give a file in LoCoMo's format"
    ):
        load_dataset(longmemeval(tmp_path, entry()), format="locomo")


@pytest.mark.parametrize("format", FORMATS)
def test_no_format_makes_sense_of_something_else(tmp_path: Path, format: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"hello": 1}), "utf-8")

    with pytest.raises(InvalidInput, match=str(tmp_path)):
        load_dataset(path, format=format)


def test_a_format_that_does_not_exist_is_refused_with_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidInput, match="unknown data set format 'csv'; known: auto, locomo, longmemeval, beir, jsonl, memory"
    ):
        load_dataset(tmp_path, format="csv")


def test_a_name_is_refused_where_there_is_nothing_to_choose(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no part '26' to choose; LoCoMo's conversations are read together"):
        load_dataset(conversation(tmp_path), "26")
    with pytest.raises(InvalidInput, match="an export has one agent's facts, so leave it out"):
        load_dataset(lines(tmp_path / "ines.jsonl", []), "ines", format="memory")


def exchange_with_holes(tmp: Path) -> Path:
    corpus = [D1, {"_id": "d2", "text": " "}, {"_id": "d3", "text": "…!"}, {"_id": "d4", "text": "A plane flies."}]
    queries = [
        Q1 | {"qrels": {"d1": 1, "d2": 1, "gone": 1, "lost": -1}},
        {"_id": "q2", "text": "", "qrels": {"d1": 1, "gone": 1}},
        {"_id": "q3", "text": "Only a distractor?", "qrels": {"d4": -1, "d3": 1}},
        {"_id": "q4", "text": "???", "qrels": {}},
    ]
    return exchange(tmp, [*corpus], [*queries])


def beir_with_holes(tmp: Path) -> Path:
    corpus = [{"_id": "d1", "title": "A", "text": ""}, {"_id": "d2", "title": " ", "text": "\n"}, {"_id": "d3", "text": "C"}]
    queries = [{"_id": f"q{number}", "text": text} for number, text in enumerate(["One?", " ", "Three?", "Four?", "Five?"], 1)]
    judged = "q1 d1 1|q1 d1 1|q1 gone 1|q1 d2 1|q2 d1 1|q3 gone 1|q3 d2 1|q9 d1 1|q9 d3 1"
    folder = beir(tmp, corpus=corpus, queries=queries, test=judged)
    qrels(folder, "train", "q4 d3 1")
    return folder


def longmemeval_with_holes(tmp: Path) -> Path:
    session = entry()["haystack_sessions"][0]
    silent = [{"role": "user", "content": ""}, {"role": "assistant", "content": "…", "has_answer": True}]
    return longmemeval(
        tmp,
        entry(answer_session_ids=["answer_1", "gone"]),
        entry(question_id="2", haystack_session_ids=["a", "a"], haystack_sessions=[session, session], answer_session_ids=["a"]),
        entry(question_id="3", haystack_sessions=[session, silent]),
        entry(question_id="4", haystack_sessions=[session, silent], answer_session_ids=None),
        entry(question_id="5", question="  "),
        entry(question_id="6_abs", haystack_sessions=[session, session], answer_session_ids=["gone"]),
    )


def locomo_with_holes(tmp: Path) -> Path:
    questions = [
        asked(["D1:1", "D9:9", "D"]),
        asked(["D:1:1; D1:02"]),
        asked([]),
        asked(["D9:9", "D8:8"]),
        asked(["D1:1"], question=" "),
    ]
    return conversation(tmp, questions, session_2=[{"speaker": "Bob", "dia_id": "D2:1", "text": ""}])


COUNTED: Mapping[str, tuple[Callable[[Path], Path], int, list[str], dict[str, int]]] = {
    "exchange": (
        exchange_with_holes,
        2,
        ["q1", "q3"],
        {
            "documents without a word": 2,
            "questions without a word": 2,
            "judgements of documents without a word": 2,
            "judgements of documents that are not in the corpus": 2,
        },
    ),
    "BEIR": (
        beir_with_holes,
        2,
        ["q1"],
        {
            "documents without a word": 1,
            "questions without a word": 1,
            "questions without a judgement": 1,
            "questions whose judgements name no document that can be found": 1,
            "judgements of documents that are not in the corpus": 2,
            "judgements of documents without a word": 2,
            "judgements of questions that are not in the file of questions": 2,
            "judgements that are given twice": 1,
        },
    ),
    "LongMemEval": (
        longmemeval_with_holes,
        4 + 2 + 2 + 2 + 4 + 4,
        ["e47b", "6_abs"],
        {
            "turns without a word": 4,
            "sessions that come twice in one history": 1,
            "evidence sessions that are not in the history": 1,
            "evidence sessions without a marked turn": 2,
            "questions whose evidence names no turn that exists": 2,
            "questions without evidence": 1,
            "questions without a word": 1,
        },
    ),
    "LoCoMo": (
        locomo_with_holes,
        2,
        ["q1", "q2"],
        {
            "turns without text or picture": 1,
            "evidence entries that name no turn that exists": 3,
            "evidence entries that name nothing": 1,
            "questions without evidence": 1,
            "questions whose evidence names no turn that exists": 1,
            "questions without a word": 1,
        },
    ),
}


@pytest.mark.parametrize("case", COUNTED)
def test_what_cannot_be_used_is_counted_by_its_reason(tmp_path: Path, case: str) -> None:
    make, documents, questions, left_out = COUNTED[case]

    dataset = load_dataset(make(tmp_path))

    assert dataset.documents == documents
    assert [question.id for scope in dataset.scopes for question in scope.questions] == questions
    assert dataset.left_out == left_out


# Those of a memory, of a question file and of what is too long are counted in their own tests.
ELSEWHERE = {LeftOut.LONG_DOCUMENT, LeftOut.SUPERSEDED_FACT, LeftOut.RETRACTED_FACT, LeftOut.NOTHING_TO_MEASURE}


def test_every_reason_that_exists_is_met_in_some_broken_data_set() -> None:
    exist = {value for name, value in vars(LeftOut).items() if name.isupper() and isinstance(value, str)}

    assert {reason for _, _, _, left_out in COUNTED.values() for reason in left_out} | ELSEWHERE == exist
    assert exist >= LeftOut.ABOUT_DOCUMENTS
