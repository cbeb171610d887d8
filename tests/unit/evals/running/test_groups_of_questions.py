"""Questions of one conversation are alike, so every row says of which one it is."""

import json
from pathlib import Path

import pytest

from hive_mind.evals.datasets import pooled
from hive_mind.evals.datasets.load import load_dataset
from hive_mind.evals.experiments import Arm, DataSource, Experiment, Retrieval
from hive_mind.evals.running.harness import RetrievalRun, RunOrder, evaluate, run
from hive_mind.evals.scorecard import write_scorecard
from hive_mind.runtime.settings import Settings
from tests.unit.evals.datasets.data_files import asked, conversation
from tests.unit.evals.running.test_retrieval import quiet

pytestmark = pytest.mark.usefixtures("loaded_cells")

WORDS = Settings(embed="none")


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    """Two conversations in LoCoMo's format; the questions to the second are asked for what it does not say in these words."""
    folder = tmp_path / "talks"
    for name, words in (("26", "boat ferry lighthouse"), ("30", "piano violin trumpet")):
        turns = [{"speaker": "Ann", "dia_id": f"D1:{n}", "text": f"I saw a {word}."} for n, word in enumerate(words.split(), 1)]
        texts = [f"Where is the {word}?" if name == "26" else "Where?" for word in words.split()]
        questions = [asked([f"D1:{n}"], question=text, answer="") for n, text in enumerate(texts, 1)]
        conversation(folder, questions, f"{name}.json", session_1=turns)
    return folder


@pytest.mark.parametrize("is_pooled", [True, False])
def test_a_row_names_its_conversation_and_the_scorecard_counts_them(talks: Path, tmp_path: Path, is_pooled: bool):
    source = DataSource("talks", "locomo", talks, is_pooled=is_pooled)
    experiment = Experiment("talks", (source,), (Arm(),), (Retrieval("lexical", "lexical"),))

    done = run(RunOrder(experiment, tmp_path / "run", WORDS, tmp_path / "vectors"), quiet)

    lines = (done.folder / "cells" / "talks-single-lexical-s1" / "rows.jsonl").read_text().splitlines()
    told = {row["question"]: row["group"] for row in map(json.loads, lines)}
    assert told == {f"{talk}/q{number}": talk for talk in ("26", "30") for number in (1, 2, 3)}
    assert {cell.groups for cell in write_scorecard(done.folder).cells} == {2}


def test_one_conversation_alone_is_no_group(talks: Path):
    assert load_dataset(talks / "26.json", "", "locomo").groups == {}


def test_pooling_keeps_which_question_is_of_which_conversation(talks: Path):
    dataset = load_dataset(talks, "", "locomo")

    assert len(dataset.groups) == dataset.questions == 6
    assert (
        {question.id for question in pooled(dataset).scopes[0].questions}
        == dataset.groups.keys()
        == pooled(dataset).groups.keys()
    )


@pytest.mark.parametrize("scope", ["per-conversation", "pooled"])
def test_eval_retrieval_draws_conversations_too(talks: Path, scope):
    (row,) = evaluate(RetrievalRun("locomo", talks, "keyword", scope), WORDS, quiet)

    # One conversation is found whole and the other not at all: two of them rule out nothing.
    assert (row.groups, row.metrics["recall@10"], row.intervals["recall@10"]) == (2, 0.5, [0.0, 1.0])
