"""The gate and a deployment over the real index, by words alone."""

import asyncio
import json
from pathlib import Path

import pytest

from hive_mind import backends
from hive_mind.errors import BackendUnavailable
from hive_mind.retrieval.deploying.deploying import Order, deploy
from hive_mind.retrieval.deploying.gate import judge
from hive_mind.retrieval.files.workspace import Workspace
from hive_mind.retrieval.measuring.evaluation import bench_of, evaluate
from hive_mind.runtime.settings import Settings
from tests.builders import BagOfWords
from tests.unit.retrieval.measurements import config

TOPICS = ("tokens", "limits", "webhooks", "errors", "paging", "uploads", "exports", "audits")
SETTINGS = Settings(embed="none")
NAIVE = config("naive", retrieval={"method": "keyword"})
FILTERED = config("filtered", retrieval={"method": "keyword"}, filters={"category": ["api"]})


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Every topic has a document that explains it and a FAQ that only says the word more often."""
    files = {"collections/kb.json": '{"name": "kb", "filterable_fields": ["category"]}'}
    for topic in TOPICS:
        files[f"documents/api/{topic}.md"] = f"# Using {topic}\n\nHow the service deals with {topic}, with an example.\n"
        files[f"documents/faqs/{topic}.md"] = f"# {topic}\n\n{topic}? Ask about {topic} at the desk.\n"
    queries = [
        {"query": f"How do {topic} work?", "relevant": [f"api/{topic}.md"], "distractors": [f"faqs/{topic}.md"], "split": "test"}
        for topic in TOPICS
    ]
    files["evals/golden.json"] = json.dumps({"queries": queries})
    files |= {f"configs/{one.name}.json": one.model_dump_json(by_alias=True) for one in (NAIVE, FILTERED)}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Workspace.open(tmp_path)


def measured(workspace, work):
    """What some work on a bench over the real index comes to."""

    async def run():
        embedder = await backends.load("embed", "none").open()
        return await work(bench_of(workspace, SETTINGS, embedder))

    return asyncio.run(run())


def test_a_filter_that_keeps_distractors_out_is_let_through(workspace):
    found = measured(workspace, lambda bench: judge(bench, NAIVE, FILTERED))

    assert found.allowed
    assert (found.comparison.before.distractors, found.comparison.after.distractors) == (8, 0)
    assert found.comparison.nudcg.after == 1.0


def test_the_other_way_round_is_refused(workspace):
    found = measured(workspace, lambda bench: judge(bench, FILTERED, NAIVE))

    assert [one.kind for one in found.grounds] == ["lower_nudcg", "more_distractors"]


def test_what_needs_a_cross_encoder_that_can_not_be_had_is_not_let_through_by_what_words_find(workspace):
    reranked = config(**FILTERED.model_dump(by_alias=True) | {"rerank": {"model": str(workspace.root / "no-model")}})

    found = measured(workspace, lambda bench: judge(bench, NAIVE, reranked))

    assert [one.kind for one in found.grounds] == ["unmeasurable"]
    assert found.told.startswith("'filtered' could not be measured: not reranked: ")
    assert found.remarks == ()


def test_what_needs_embeddings_that_were_not_made_is_not_let_through_by_what_words_find(workspace):
    class Overloaded(BagOfWords):
        async def embed_passages(self, _texts):
            raise BackendUnavailable("openai", "too many requests; try again later")

    hybrid = config(**FILTERED.model_dump(by_alias=True) | {"retrieval": {"method": "hybrid"}})

    found = asyncio.run(judge(bench_of(workspace, Settings(ann="exact"), Overloaded()), NAIVE, hybrid))

    assert [one.kind for one in found.grounds] == ["unmeasurable"]
    assert found.told.startswith("'filtered' could not be measured: 16 chunks have no embedding")


def test_it_is_measured_on_the_documents_as_they_are_now(workspace):
    measured(workspace, lambda bench: judge(bench, None, FILTERED))
    for path in (workspace.root / "documents/api").iterdir():
        path.write_text("# Moved\n\nThis page is empty now.\n")

    found = measured(workspace, lambda bench: judge(bench, None, FILTERED))

    assert found.candidate.nudcg == 0.0


def test_measuring_twice_gives_the_same(workspace):
    async def twice(bench):
        async with bench.open("kb") as index:
            return [await evaluate(index, NAIVE, workspace.golden()) for _ in range(2)]

    first, second = measured(workspace, twice)

    assert first == second
    assert first.estimate("nudcg") == second.estimate("nudcg")


def test_a_deployment_from_nothing_to_something_better(workspace):
    first = measured(workspace, lambda bench: deploy(bench, Order("naive", "ines", "to begin with"))).verdict
    better = measured(workspace, lambda bench: deploy(bench, Order("filtered", "ines", "without FAQs")))

    # The FAQs come first, so showing nothing at all is better.
    assert [one.kind for one in first.grounds] == ["misleads"]
    assert better.entry.what == "deploy"
    assert workspace.active() == FILTERED
