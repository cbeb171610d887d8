"""What a whole run may cost a language model, however many cells and processes it has."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hive_mind.evals.experiments import Arm, DataSource, Experiment, Retrieval
from hive_mind.evals.running.cell import UNANSWERED
from hive_mind.evals.running.harness import RunOrder, run
from hive_mind.runtime.settings import Settings
from tests.servers.openai_compatible import OpenAICompatibleServer, Reply
from tests.unit.evals.running.test_retrieval import quiet

pytestmark = pytest.mark.usefixtures("loaded_cells")

KNOWN = json.dumps({"known": True, "answer": "Nadia [1]", "citations": [1]})
# Enough for a few questions of one cell.
BUDGET = 6_000
EXPERIMENT = Experiment(
    "paid",
    (DataSource("demo", "demo"),),
    (Arm(),),
    (Retrieval("lexical", "lexical"),),
    limit=3,
    answerer="model",
    subset=("q01", "q02", "q03", "q04", "q05"),
)


def tokens_in(folder: Path) -> int:
    lines = [line for path in folder.glob("cells/*/rows.jsonl") for line in path.read_text().splitlines()]
    return sum(row.get("tokens_in", 0) + row.get("tokens_out", 0) for row in map(json.loads, lines))


def test_all_cells_together_spend_no_more_than_the_setting_says_and_a_run_that_goes_on_goes_on_counting(tmp_path: Path):
    with OpenAICompatibleServer([Reply(KNOWN)] * 40) as server:
        settings = Settings(embed="none", llm="openai:gpt-5-mini", llm_url=server.base_url, token_budget=BUDGET)
        order = RunOrder(EXPERIMENT, tmp_path / "run", settings, tmp_path / "vectors")

        result = run(order, quiet)
        sent = len(server.requests)
        (tmp_path / "run" / "cells" / result.cells[0].id / "cell.json").unlink()
        (tmp_path / "run" / "cells" / result.cells[0].id / "rows.jsonl").unlink()
        run(replace(order), quiet)

    assert 0 < sent == len(server.requests) < 20
    assert sum(map(int, (tmp_path / "run" / "tokens.txt").read_text().split())) <= BUDGET
    assert tokens_in(tmp_path / "run") <= BUDGET
    assert {cell.status for cell in result.cells} == {"done"}
    reasons = [reason for cell in result.cells for reason in cell.left_out]
    assert reasons
    assert all(reason.startswith(f"{UNANSWERED}the run's token budget is spent") for reason in reasons)
