"""A handful of questions tunes whole, is not taken for a proof, and where it decides nothing that is told."""

from dataclasses import replace
from pathlib import Path

import pytest

from hive_mind.retrieval import QUESTIONS_MIN, RetrievalConfig
from hive_mind.retrieval.measuring.evaluation import CROSSED_BELOW, train_test_split
from hive_mind.retrieval.tuning import Step, best_of, cross_validated, is_better
from hive_mind.retrieval.tuning.loop import Order
from hive_mind.retrieval.tuning.tuners import SearchSettings, SearchTuner
from tests.unit.retrieval.measurements import config, evaluation
from tests.unit.retrieval.tuning_world import HelpfulIndex, Scripted, bench, only, tuned, world


class HalfHelpful(HelpfulIndex):
    """To some questions the best chunk of each document alone shows no distractor either; a filter does so for all."""

    def __init__(self, easy: frozenset[str]) -> None:
        super().__init__()
        self._easy = easy

    async def search(self, query, config):
        found = await super().search(query, config)
        if config.deduplicate != "document" or query not in self._easy:
            return found
        return replace(found, results=tuple(one for one in found.results if not one.document.startswith("faqs/")))


@pytest.mark.parametrize("seed", range(4))
def test_what_helps_every_question_of_a_small_set_is_chosen_and_not_what_helps_half_of_them(tmp_path: Path, seed: int):
    ordered = train_test_split(world(tmp_path / "looked", marked=False, questions=5).golden()).training
    easy = frozenset(one.query for one in ordered[::2])

    found = tuned(bench(tmp_path / "tuned", HalfHelpful(easy), marked=False, questions=5), SearchTuner(SearchSettings(seed=seed)))

    assert (len(found.start.measured.rows), found.best.nudcg) == (5, 1.0)
    assert found.best.config.filters == {"category": ["api"]} or "faqs" not in found.best.config.filters["category"]


@pytest.mark.parametrize("has_active", [True, False])
@pytest.mark.parametrize("marked", [True, False])
def test_too_few_questions_are_no_decision_whatever_they_say(tmp_path: Path, marked: bool, has_active: bool):
    it = bench(tmp_path, marked=marked, questions=QUESTIONS_MIN - 2)
    if not has_active:
        it.workspace.active_file.unlink()

    found = tuned(it, Scripted(only("api")), Order(start="naive", name="better"))

    assert found.name == "better"
    assert found.verdict
    assert [ground.kind for ground in found.verdict.grounds] == ["too_few_questions"]
    assert f"label at least {QUESTIONS_MIN} in evals/golden.json, better 30" in found.verdict.as_text


def test_where_nothing_is_in_use_the_verdict_is_about_what_tuning_began_with(tmp_path: Path):
    it = bench(tmp_path)
    it.workspace.active_file.unlink()

    found = tuned(it, Scripted(only("api")), Order(start="naive", name="better"))

    assert found.verdict
    assert found.verdict.comparison
    assert found.verdict.comparison.before.config.name == "naive"
    assert found.verdict.allowed


def test_a_small_set_is_said_to_be_cross_validated_and_each_question_is_compared_once(tmp_path: Path):
    found = tuned(bench(tmp_path, marked=False), Scripted(only("faqs"), only("api"), only("news")))

    assert "all 14 questions tune" in found.notes[0]
    assert found.verdict
    assert found.verdict.candidate
    assert found.verdict.candidate.split == "cross-validated"
    assert len({row.query for row in found.verdict.candidate.rows}) == 14
    assert found.verdict.allowed


def test_from_thirty_questions_on_half_of_them_decides(tmp_path: Path):
    small, large = (
        train_test_split(world(tmp_path / str(count), marked=False, questions=count).golden())
        for count in (CROSSED_BELOW - 1, CROSSED_BELOW)
    )

    assert small.training == small.deciding
    assert not set(map(str, large.training)) & set(map(str, large.deciding))


def step(number: int, *answers: str, **sections: object) -> Step:
    return Step(number, config(**sections), "", evaluation(*answers, of=config(**sections)))


def test_luck_at_one_question_is_not_counted_for_the_choice_it_brought_about():
    # The second is better at the first question alone, and hurts the third a little: without the first nobody would take it.
    steps = [step(0, "D", "rs", "rs", "rs"), step(1, "rs", "rs", ".rs", "rs", boosts={"recency": 0.1})]

    chosen = best_of(steps)
    crossed = cross_validated(steps, RetrievalConfig(name="better"))

    assert chosen.number == 1
    assert crossed.rows[0] == steps[0].measured.rows[0]
    assert crossed.nudcg < steps[0].measured.nudcg < chosen.nudcg


def test_a_choice_that_every_question_bears_out_is_worth_what_it_was_measured_to_be():
    steps = [step(0, *["D"] * 4), step(1, *["r"] * 4), step(2, *["rs"] * 4, boosts={"recency": 0.1})]

    assert cross_validated(steps, steps[2].config).rows == steps[2].measured.rows


def test_a_little_at_one_question_alone_is_no_reason_for_more_words_and_a_little_at_several_is():
    plain = step(1, "rs", "rs", "rs", "r.s")
    one, several = (
        step(2, "rs", "rs", "rs", "rs", boosts={"recency": 0.1}),
        step(3, "rs", "rs", "rs.", "rs", boosts={"trust": 0.1}),
    )
    little = step(4, "rs", "rs", "r.s", "r.s")

    assert one.nudcg > plain.nudcg
    assert not is_better(one, plain)
    assert is_better(plain, one)
    assert is_better(several, little)
    assert not is_better(little, several)
