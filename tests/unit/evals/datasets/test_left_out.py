"""What can't be used of a data set is counted exactly, by its reason, and the rest is read."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hive_mind.evals.datasets import LeftOut
from hive_mind.evals.datasets.load import load_dataset
from tests.unit.evals.datasets.data_files import D1, Q1, asked, beir, conversation, entry, exchange, longmemeval, qrels

Made = Callable[[Path], Path]


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


COUNTED: Mapping[str, tuple[Made, int, list[str], dict[str, int]]] = {
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
