"""A handful of questions tunes whole, is not taken for a proof, and where it decides nothing that is told."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from hive_mind.errors import BackendUnavailable, InvalidInput, ModelOutputError
from hive_mind.retrieval import QUESTIONS_MIN, RetrievalConfig
from hive_mind.retrieval.measuring.evaluation import CROSSED_BELOW, train_test_split
from hive_mind.retrieval.tuning import Step, best_of, cross_validated, is_better
from hive_mind.retrieval.tuning.loop import TRIED_MIN, Order
from hive_mind.retrieval.tuning.tuners import SearchSettings, SearchTuner
from hive_mind.retrieval.validation import check_config
from hive_mind.retrieval.workspace import changed, differences, is_same, without, written
from tests.sampled import usually
from tests.unit.retrieval.measurements import config, evaluation
from tests.unit.retrieval.tuning_world import HelpfulIndex, Scripted, bench, only, tuned, world


def test_every_step_is_told_and_a_file_with_its_reason_and_figures_and_the_best_is_kept_under_the_name_that_was_asked_for(
    tmp_path,
):
    it, told = bench(tmp_path), []

    found = tuned(
        it, Scripted(only("faqs"), only("api"), only("news")), report=lambda step, is_best: told.append((step.number, is_best))
    )

    assert (found.name, found.best.config.name, found.best.nudcg) == ("better", "better-002", 1.0)
    assert it.workspace.config("better").filters == {"category": ["api"]}
    assert found.verdict.allowed
    assert told == [(0, True), (1, False), (2, True), (3, False)]
    text = (tmp_path / "configs" / "better-002.json").read_text()
    assert text.startswith("// Step 2 of tuning naive by script.\n// Why: try {")
    assert "Measured with 7 training questions: nUDCG 1.000 after" in text
    assert "distractors in the first 5 0 after 14." in text
    assert set(it.workspace.configs()) == {"naive", "better", *(f"better-00{number}" for number in (1, 2, 3))}
    assert check_config(it.workspace, "better-002", has_embeddings=False).findings == ()


def test_a_reason_of_many_lines_stays_a_comment(tmp_path):
    class Rude(Scripted):
        async def propose(self, situation):
            proposal = await super().propose(situation)
            return proposal and type(proposal)(proposal.config, 'it\n{"name": "evil"}\u2028\r*/' + "x" * 3000)

    it = bench(tmp_path)

    tuned(it, Rude(only("api")))

    assert it.workspace.config("better-001").filters == {"category": ["api"]}


def test_a_tuner_never_sees_a_question_that_decides(tmp_path):
    index = HelpfulIndex()
    tuner = Scripted(only("faqs"), only("api"))

    found = tuned(bench(tmp_path, index), tuner)

    seen = {row.query for situation in tuner.seen for step in situation.steps for row in step.measured.rows}
    assert seen == {f"question {number}" for number in range(1, 14, 2)}
    assert {row.query for row in found.verdict.candidate.rows} == {f"question {number}" for number in range(0, 14, 2)}
    assert [name for name, query in index.asked if query == "question 0"] == ["better", "naive"]


def test_where_nothing_is_better_there_is_nothing_to_deploy(tmp_path):
    found = tuned(bench(tmp_path), Scripted(only("faqs")))

    assert (found.name, found.verdict, found.best) == ("", None, found.start)
    assert not (tmp_path / "configs" / "better.json").exists()


def test_a_stop_keeps_the_best_and_waits_for_nobody(tmp_path):
    async def forever(situation):
        if len(situation.steps) == 1:
            return await Scripted(only("api")).propose(situation)
        stop.set()
        return await asyncio.get_running_loop().create_future()

    tuner, stop = Scripted(), asyncio.Event()
    tuner.propose = forever

    found = tuned(bench(tmp_path), tuner, stop=stop)

    assert (found.ended, found.name) == ("stopped", "better")
    assert found.verdict.allowed


def test_a_stop_while_a_step_is_measured_leaves_that_step_out(tmp_path):
    class Stopping(HelpfulIndex):
        async def search(self, query, config):
            if config.name == "better-002":
                stop.set()
                await asyncio.sleep(0)
            return await super().search(query, config)

    stop = asyncio.Event()

    found = tuned(bench(tmp_path, Stopping()), Scripted(only("api"), only("news")), stop=stop)

    assert (found.ended, len(found.steps), found.name) == ("stopped", 2, "better")


def test_a_kill_while_a_step_is_measured_leaves_the_best_and_the_reason(tmp_path):
    class Dying(HelpfulIndex):
        async def search(self, query, config):
            if config.name == "better-002":
                raise KeyboardInterrupt
            return await super().search(query, config)

    it = bench(tmp_path, Dying())

    with pytest.raises(KeyboardInterrupt):
        tuned(it, Scripted(only("api"), only("news")))

    assert it.workspace.config("better").filters == {"category": ["api"]}
    assert "Why: try" in (tmp_path / "configs" / "better-002.json").read_text()


@pytest.mark.parametrize("trouble", [BackendUnavailable("llm", "is down"), ModelOutputError("it raves")])
def test_trouble_with_a_model_ends_the_tuning_and_loses_nothing(tmp_path, trouble):
    found = tuned(bench(tmp_path), Scripted(only("api"), trouble, only("news")))

    assert (found.ended, found.name, len(found.steps)) == (str(trouble), "better", 2)


def test_steps_are_bounded(tmp_path):
    found = tuned(bench(tmp_path), Scripted(only("api"), only("news"), only("faqs")), Order(name="better", steps_max=2))

    assert (found.ended, len(found.steps)) == ("2 steps were allowed", 3)


def test_a_try_with_a_part_of_the_questions_is_no_step_and_never_the_best(tmp_path):
    found = tuned(bench(tmp_path), Scripted(only("api"), share=1 / 3))

    assert [(step.number, len(step.measured.rows)) for step in found.steps] == [(0, 7), (None, TRIED_MIN)]
    assert found.name == ""
    assert len(list((tmp_path / "configs").glob("better*"))) == 0


@pytest.mark.parametrize(
    ("proposed", "told"),
    [(["faq"], "proposed a configuration that can't be measured: .*mean faqs"), (["api"] * 2, "same as better-001")],
)
def test_what_makes_no_sense_or_was_measured_already_is_not_measured(tmp_path, proposed, told):
    with pytest.raises(InvalidInput, match=told):
        tuned(bench(tmp_path), Scripted(*map(only, proposed)))


def test_nothing_is_overwritten_and_numbers_go_on(tmp_path):
    it = bench(tmp_path)
    (tmp_path / "configs" / "better-004.json").write_text('{"name": "better-004", "collection": "kb"}')
    assert tuned(it, Scripted(only("api"))).best.config.name == "better-005"

    with pytest.raises(InvalidInput, match="a configuration better already"):
        tuned(it, Scripted(only("api")))


@pytest.mark.parametrize("name", ["", "a/b", "x" * 61, "naive-001", "../up"])
def test_a_name_that_would_be_no_file_or_a_step_is_refused(tmp_path, name):
    if not name:
        assert tuned(bench(tmp_path), Scripted(only("api")), Order()).name == "naive-tuned"
        return
    with pytest.raises(InvalidInput):
        tuned(bench(tmp_path), Scripted(only("api")), Order(name=name))


def test_a_golden_set_that_nobody_marked_is_parted_and_that_is_said(tmp_path):
    found = tuned(bench(tmp_path, marked=False, questions=CROSSED_BELOW), Scripted(only("api")))

    assert len(found.start.measured.rows) == len(found.verdict.candidate.rows) == CROSSED_BELOW // 2
    assert "every other one was held out" in found.notes[0]


def test_questions_are_mixed_in_a_way_that_stays_the_same(tmp_path):
    golden = world(tmp_path, marked=False, questions=CROSSED_BELOW).golden()
    backwards = golden.model_copy(update={"queries": golden.queries[::-1]})

    assert train_test_split(golden) == train_test_split(backwards)
    assert not {one.query for one in train_test_split(golden).training} & {one.query for one in train_test_split(golden).deciding}


def test_questions_that_are_all_held_out_or_all_for_training_are_refused(tmp_path):
    golden = world(tmp_path).golden()

    for split, told in (("test", 'is marked "split": "train"'), ("train", 'mark some "test"')):
        queries = [one.model_copy(update={"split": split}) for one in golden.queries]
        with pytest.raises(InvalidInput, match=told):
            train_test_split(golden.model_copy(update={"queries": queries}))


def test_a_step_that_shows_more_distractors_is_never_the_best(tmp_path):
    found = tuned(bench(tmp_path, Misled()), Scripted({("retrieval", "top_k"): 5}))

    assert found.steps[1].nudcg > found.start.nudcg
    assert found.name == ""


class Misled(HelpfulIndex):
    """With fewer results it shows everything that is relevant first, and a third distractor."""

    async def search(self, query, config):
        names = ["api/a.md", "api/b.md", "faqs/a.md", "faqs/b.md"] if config.retrieval.top_k == 5 else ["faqs/a.md"]
        found = await super().search(query, config)
        return replace(found, results=tuple(replace(one, document=name) for one, name in zip(found.results, names, strict=False)))


def test_a_configuration_survives_being_written_and_read():
    config = RetrievalConfig.model_validate(
        {
            "name": "all",
            "collection": "kb",
            "retrieval": {"fusion": "linear", "rrf_k": 30, "semantic_weight": 0.3},
            "diversity": {"enabled": True, "lambda": 0.5},
            "filters": {"category": ["api"]},
        }
    )

    again, problems = changed(config, {})

    assert problems == ()
    assert again == config
    assert written(config)["retrieval"]["fusion"] == "linear"


def test_changes_put_values_in_and_take_them_out_again():
    config, _ = changed(RetrievalConfig(name="v1"), {("dynamic_k", "enabled"): True, ("filters", "category"): ["api"]})

    assert config is not None
    assert set(differences(config, RetrievalConfig(name="v1"))) == {("filters", "category"), ("dynamic_k",)}
    bare = without(
        without(config, ("dynamic_k",), RetrievalConfig(name="v1")), ("filters", "category"), RetrievalConfig(name="v1")
    )
    assert is_same(bare, RetrievalConfig(name="v2"))


def test_a_change_of_what_is_no_field_is_told():
    config, problems = changed(RetrievalConfig(name="v1"), {("retrieval", "topk"): 5})

    assert config is None
    assert "did you mean top_k?" in problems[0].message


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


@pytest.mark.parametrize("seed", usually(range(4), 0))
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
    assert [ground.kind for ground in found.verdict.grounds] == ["too_few_questions"]
    assert f"label at least {QUESTIONS_MIN} in evals/golden.json, better 30" in found.verdict.as_text


def test_where_nothing_is_in_use_the_verdict_is_about_what_tuning_began_with(tmp_path: Path):
    it = bench(tmp_path)
    it.workspace.active_file.unlink()

    found = tuned(it, Scripted(only("api")), Order(start="naive", name="better"))

    assert (found.verdict.allowed, found.verdict.comparison.before.config.name) == (True, "naive")


def test_a_small_set_is_said_to_be_cross_validated_and_each_question_is_compared_once(tmp_path: Path):
    found = tuned(bench(tmp_path, marked=False), Scripted(only("faqs"), only("api"), only("news")))

    assert "all 14 questions tune" in found.notes[0]
    assert (found.verdict.allowed, found.verdict.candidate.split) == (True, "cross-validated")
    assert len({row.query for row in found.verdict.candidate.rows}) == 14


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


def test_a_higher_nudcg_is_better_then_fewer_words_for_which_a_little_at_one_question_alone_makes_not_up():
    good, plain, little = step(1, "rst", "rst"), step(1, "rs", "rs", "rs", "r.s"), step(4, "rs", "rs", "r.s", "r.s")
    at_one = step(2, "rs", "rs", "rs", "rs", boosts={"recency": 0.1})
    at_several = step(3, "rs", "rs", "rs.", "rs", boosts={"trust": 0.1})

    assert at_one.nudcg > plain.nudcg
    assert not is_better(good, good)
    longer = step(1, "rst", "rst", retrieval={"depth": 50})
    for better, worse in ((good, step(1, "rst", "r")), (good, longer), (plain, at_one), (at_several, little)):
        assert is_better(better, worse)
        assert not is_better(worse, better)
