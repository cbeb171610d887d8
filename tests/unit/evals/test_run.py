"""A retrieval evaluation from start to end."""

import asyncio

import numpy as np

from hive_mind.evals.run import Remembering, RetrievalRun, evaluate
from hive_mind.runtime.settings import Settings
from tests.builders import BagOfWords


def test_a_data_set_may_be_called_what_no_agent_may_be_called(tmp_path):
    (tmp_path / "mün chen+1.corpus.jsonl").write_text('{"_id": "d1", "text": "The ferry leaves at nine."}\n')
    (tmp_path / "mün chen+1.queries.jsonl").write_text(
        '{"_id": "q1", "text": "When does the ferry leave?", "qrels": {"d1": 1}}\n'
    )

    (row,) = asyncio.run(evaluate(RetrievalRun("jsonl", tmp_path, "keyword"), Settings(embed="none")))

    assert row["dataset"] == "mün chen+1"
    assert row["metrics"]["recall@10"] == 1.0


def test_the_folder_of_all_data_sets_is_as_good_as_that_of_one(tmp_path):
    notes = tmp_path / "sets" / "notes"
    notes.mkdir(parents=True)
    (notes / "notes.corpus.jsonl").write_text('{"_id": "d1", "text": "The ferry leaves at nine."}\n')
    (notes / "notes.queries.jsonl").write_text('{"_id": "q1", "text": "When does the ferry leave?", "qrels": {"d1": 1}}\n')

    inside, above = (
        asyncio.run(evaluate(run, Settings(embed="none")))
        for run in (RetrievalRun("auto", notes, "keyword"), RetrievalRun("auto", tmp_path / "sets", "keyword", name="notes"))
    )

    assert inside[0]["metrics"] == above[0]["metrics"]
    assert above[0]["questions"] == 1


def test_a_question_is_embedded_once_for_all_runs_with_the_same_folder(tmp_path):
    async def embedded(folder):
        model = BagOfWords()
        vectors = [await Remembering(model, folder).embed_query(text) for text in ("red pump", "red pump", "blue door")]
        return len(model.queries), [vector.astype(np.float16).tolist() for vector in vectors]

    first, again, elsewhere = (asyncio.run(embedded(folder)) for folder in (tmp_path, tmp_path, None))

    assert (first[0], again[0], elsewhere[0]) == (2, 0, 3)
    assert first[1] == again[1] == elsewhere[1]
