"""A run ranks as it is told, in one memory and in a hive."""

import asyncio
import json

import pytest

from hive_mind.evals.fleets import Arrangement
from hive_mind.evals.run import RetrievalRun, evaluate
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.settings import Settings


@pytest.mark.parametrize("topology", ["single", "flat"])
def test_what_a_configuration_says_reaches_every_memory(tmp_path, topology, monkeypatch):
    (tmp_path / "x.corpus.jsonl").write_text(json.dumps({"_id": "d1", "text": "The ferry leaves at nine."}))
    (tmp_path / "x.queries.jsonl").write_text(json.dumps({"_id": "q1", "text": "When does the ferry leave?", "qrels": {"d1": 1}}))
    wanted, used = RankingSettings(fusion="rrf", rrf_k=7), []
    for searching in ("recall", "asking"):
        monkeypatch.setattr(f"hive_mind.memory.{searching}.rank", _noting(used))
    arrangements = (Arrangement(topology, 2),)

    run = RetrievalRun("jsonl", tmp_path, "keyword", arrangements=arrangements, ranking=wanted)
    asyncio.run(evaluate(run, Settings(home=tmp_path, embed="none")))

    assert used
    assert set(used) == {wanted}


def _noting(used):
    from hive_mind.ranking.pipeline import rank

    def noting(*arguments):
        used.extend(one for one in arguments if isinstance(one, RankingSettings))
        return rank(*arguments)

    return noting
