"""What a judge says nothing of is counted: a mean over the other answers would pass for one over all."""

import json
from pathlib import Path

from hive_mind.evals.experiments.values import Arm, DataSource, Experiment, Retrieval
from hive_mind.evals.running.cell import UNJUDGED
from hive_mind.evals.running.harness import RunOrder, run
from hive_mind.runtime.settings import Settings
from tests.servers.openai_compatible import OpenAICompatibleServer, Reply

KNOWN = Reply(json.dumps({"known": True, "answer": "Nadia [1]", "citations": [1]}))
GROUNDED = Reply(json.dumps({"unsupported": [], "grounded": True}))
JUDGED = Experiment(
    "judged",
    (DataSource("demo", "demo"),),
    (Arm("full-context"),),
    (Retrieval("lexical", "lexical"),),
    answerer="model",
    judge="model",
    subset=("q01", "q02", "q03"),
)


def test_answers_without_a_verdict_are_left_out_by_number(tmp_path: Path):
    cells = 3
    with OpenAICompatibleServer([KNOWN, GROUNDED, KNOWN, Reply("Hard to say."), KNOWN, Reply("Who knows?")] * cells) as server:
        settings = Settings(embed="none", llm="openai:gpt-5-mini", llm_url=server.base_url)
        result = run(RunOrder(JUDGED, tmp_path / "run", settings, tmp_path / "vectors", jobs=1), lambda *_: None)

    assert len(result.cells) == cells
    assert {cell.left_out[UNJUDGED] for cell in result.cells} == {2}
    notes = (tmp_path / "run" / "cells" / result.cells[0].id / "notes.txt").read_text()
    assert notes.count("gave no verdict on question") == 2
