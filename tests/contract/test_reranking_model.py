"""A real cross-encoder knows an answer from a text with as many words of the question, in every hive as in one memory."""

import subprocess

import pytest

from benchmarks.ms_marco import MsMarco, fetched
from hive_mind.evals.experiments import Arm
from hive_mind.evals.generating import generate
from hive_mind.memory.reranking import of_this_process
from hive_mind.ranking.pipeline import RankingSettings
from tests.builders import Home, found, said
from tests.unit.evals.arms.notes import told

pytestmark = [pytest.mark.slow, pytest.mark.embeddings]
QUESTION = "How many people live in Berlin?"
ANSWER = "Berlin had a population of 3,520,031 registered inhabitants."
MISLEADING = ("Berlin is well known for its museums.", "Berlin is also known for its lakes.")


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> RankingSettings:
    """Settings by which it looks at the best again."""
    pytest.importorskip("onnxruntime")
    try:
        model = MsMarco(fetched(tmp_path_factory.mktemp("ms-marco")))
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"no real cross-encoder: {error}")
    of_this_process().put("ms-marco", model)
    return RankingSettings(rerank=20, rerank_model="ms-marco", refine_within_ms=60_000)


async def test_an_answer_comes_before_shorter_texts_with_as_many_words_of_the_question(again: RankingSettings):
    for ranking, is_first in ((RankingSettings(), False), (again, True)):
        async with Home().memory(ranking=ranking) as memory:
            await memory.store_facts([said(text, concept="") for text in (ANSWER, *MISLEADING)], "log")
            assert ((await found(memory, QUESTION))[0] == ANSWER) is is_first


def test_every_hive_finds_what_one_memory_finds(again: RankingSettings):
    (scope,) = generate(200, 6, 1).scopes
    few = slice(None, None, 29)
    alone = told(Arm(), scope, "hybrid", asked=few, ranking=again)
    for arm in (Arm("flat", 6), Arm("federated", 6, groups=3), Arm("sharded", 6, replicas=2)):
        assert told(arm, scope, "hybrid", asked=few, ranking=again).scored == alone.scored, arm
