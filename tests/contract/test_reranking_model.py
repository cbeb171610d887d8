"""A real cross-encoder knows an answer from a text with as many words of the question."""

import subprocess

import pytest

from benchmarks.ms_marco import MsMarco, fetched
from hive_mind.memory.reranking import of_this_process
from hive_mind.ranking.pipeline import RankingSettings
from tests.builders import Home, found, said

pytestmark = [pytest.mark.slow, pytest.mark.embeddings]
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
            assert ((await found(memory, "How many people live in Berlin?"))[0] == ANSWER) is is_first
