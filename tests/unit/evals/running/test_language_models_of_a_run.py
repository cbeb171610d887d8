"""Whoever reads figures that a language model made must know which one, and of how many answers it said nothing.

What a whole run may cost one, however many cells and processes it has.
"""

import json
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.experiments import Arm, DataSource, Experiment, Retrieval
from hive_mind.evals.running.cell import UNANSWERED, UNJUDGED
from hive_mind.evals.running.harness import RunOrder, run
from hive_mind.runtime.settings import Settings
from tests.servers.openai_compatible import OpenAICompatibleServer, Reply
from tests.unit.evals.running.test_retrieval import quiet

pytestmark = pytest.mark.usefixtures("loaded_cells")

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


# Enough for a few questions of one cell.
BUDGET = 6_000
PAID = replace(JUDGED, arms=(Arm(),), limit=3, judge="none", subset=("q01", "q02", "q03", "q04", "q05"))


def order(folder: Path, server: OpenAICompatibleServer, experiment: Experiment = JUDGED) -> RunOrder:
    settings = Settings(embed="none", llm="openai:gpt-5-mini", llm_url=server.base_url)
    return RunOrder(experiment, folder / "run", settings, folder / "vectors", jobs=1)


def test_answers_without_a_verdict_are_left_out_by_number(tmp_path: Path):
    cells = 3
    with OpenAICompatibleServer([KNOWN, GROUNDED, KNOWN, Reply("Hard to say."), KNOWN, Reply("Who knows?")] * cells) as server:
        result = run(order(tmp_path, server), quiet)

    assert len(result.cells) == cells
    assert {cell.left_out[UNJUDGED] for cell in result.cells} == {2}
    notes = (tmp_path / "run" / "cells" / result.cells[0].id / "notes.txt").read_text()
    assert notes.count("gave no verdict on question") == 2


def test_a_run_names_its_language_model_and_goes_on_with_no_other(tmp_path: Path):
    answered = replace(JUDGED, judge="none", subset=("q01",))
    with OpenAICompatibleServer([KNOWN] * 3) as server:
        asked = order(tmp_path, server, answered)
        run(asked, quiet)
        run(asked, quiet)

        with pytest.raises(InvalidInput, match=r"begun with language model openai:gpt-5-mini and this run has .*gpt-5-nano"):
            run(replace(asked, settings=replace(asked.settings, llm="openai:gpt-5-nano")), quiet)

    known = json.loads((tmp_path / "run" / "environment.json").read_bytes())
    assert known["libraries"]["genai-prices"] == metadata.version("genai-prices")
    assert (known["language_model"], known["embedding"], known["vector_index"]) == ("openai:gpt-5-mini", "", "")


def tokens_in(folder: Path) -> int:
    lines = [line for path in folder.glob("cells/*/rows.jsonl") for line in path.read_text().splitlines()]
    return sum(row.get("tokens_in", 0) + row.get("tokens_out", 0) for row in map(json.loads, lines))


def test_all_cells_together_spend_no_more_than_the_setting_says_and_a_run_that_goes_on_goes_on_counting(tmp_path: Path):
    with OpenAICompatibleServer([KNOWN] * 40) as server:
        settings = Settings(embed="none", llm="openai:gpt-5-mini", llm_url=server.base_url, token_budget=BUDGET)
        paid = RunOrder(PAID, tmp_path / "run", settings, tmp_path / "vectors")

        result = run(paid, quiet)
        sent = len(server.requests)
        (tmp_path / "run" / "cells" / result.cells[0].id / "cell.json").unlink()
        (tmp_path / "run" / "cells" / result.cells[0].id / "rows.jsonl").unlink()
        run(paid, quiet)

    assert 0 < sent == len(server.requests) < 20
    assert sum(map(int, (tmp_path / "run" / "tokens.txt").read_text().split())) <= BUDGET
    assert tokens_in(tmp_path / "run") <= BUDGET
    assert {cell.status for cell in result.cells} == {"done"}
    reasons = [reason for cell in result.cells for reason in cell.left_out]
    assert reasons
    assert all(reason.startswith(f"{UNANSWERED}the run's token budget is spent") for reason in reasons)
