"""BEIR's folders."""

from pathlib import Path

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets.load import load_beir, load_dataset
from tests.unit.evals.datasets.data_files import beir, lines, qrels

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
