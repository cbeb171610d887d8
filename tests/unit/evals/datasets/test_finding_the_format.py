"""Reading a data set without saying which format it is in."""

import json
from pathlib import Path

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets.load import FORMATS, detected, load_dataset
from tests.unit.evals.datasets.data_files import beir, conversation, entry, lines, longmemeval


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
