"""The gate refuses what is worse beyond doubt, and lets nothing pass that it can't judge."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hive_mind.evals.gating import Judgement, Side, judge_run, side_of
from tests.unit.evals.scorecards.written_runs import FLAT_ID, NOTES, SINGLE_ID, Rows, row, rows, written_run

ONE = replace(NOTES, arms=NOTES.arms[:1])


def judged(folder: Path, baseline: Rows, run: Rows | str | None, *metrics: str, certain: tuple[str, ...] = ()) -> Judgement:
    sides = [written_run(folder / name, {SINGLE_ID: one}, ONE) for name, one in (("baseline", baseline), ("run", run))]
    return judge_run(*(side_of(f"{side}:{SINGLE_ID}") for side in sides), metrics, certain=certain)


def test_the_same_results_and_better_ones_pass(tmp_path: Path):
    assert judged(tmp_path / "better", rows("ndcg@10", [0.2] * 12), rows("ndcg@10", [0.9] * 12)).allowed
    found = judged(tmp_path / "same", rows("ndcg@10", [0.2, 0.9, 0.4]), rows("ndcg@10", [0.2, 0.9, 0.4]), certain=("ndcg",))

    assert found.allowed
    assert not found.grounds
    assert not found.unjudged


def test_without_a_label_a_loss_is_never_ruled_out(tmp_path: Path):
    found = judged(tmp_path, rows("keyword_hit", [1.0]), rows("keyword_hit", [1.0]), certain=("ndcg", "distractors"))

    assert found.unjudged == (
        f"{SINGLE_ID}: none of ndcg, distractors is defined for any question: the data has no labels for them",
    )


def test_a_drop_within_the_interval_passes_unless_more_is_asked_of_the_metric(tmp_path: Path):
    before, after = rows("ndcg@10", [0.5] * 10), rows("ndcg@10", [0.3, 0.7, 0.4, 0.6, 0.5, 0.5, 0.2, 0.8, 0.4, 0.5])

    assert judged(tmp_path / "a", before, after).allowed
    (ground,) = judged(tmp_path / "b", before, after, certain=("ndcg",)).grounds
    assert ground.message.startswith("a loss of up to 0.1")
    assert "ndcg@10 can't be ruled out" in ground.message


def test_only_what_could_have_been_a_ground_counts_as_judged(tmp_path: Path):
    every = [row("q1", metrics={"ndcg@10": 0.5, "distractors@10": 0.0, "abstained": 1.0, "stale": None})]

    # nDCG, distractors, and completeness, which every row has.
    assert judged(tmp_path / "a", every, every).judged == 3
    assert judged(tmp_path / "b", every, every, "ndcg", "messages").judged == 2


def test_more_of_what_is_bad_is_refused(tmp_path: Path):
    (ground,) = judged(tmp_path, rows("distractors@10", [0.0] * 9), rows("distractors@10", [2.0] * 9)).grounds

    assert ground.message.startswith("distractors@10 is worse: 2.000 after 0.000")


def test_less_of_a_hive_reached_is_refused_without_being_asked_for(tmp_path: Path):
    whole, half = ([row(f"q{n}", completeness=share) for n in range(9)] for share in (1.0, 0.5))

    (ground,) = judged(tmp_path, whole, half).grounds

    assert ground.kind == "completeness"


def test_messages_are_judged_only_where_they_are_named(tmp_path: Path):
    few, many = ([row(f"q{n}", messages=count) for n in range(9)] for count in (4, 40))

    assert judged(tmp_path / "a", few, many).allowed
    assert [one.kind for one in judged(tmp_path / "b", few, many, "messages").grounds] == ["messages"]


def test_a_metric_that_is_neither_good_nor_bad_is_not_judged_and_can_not_be(tmp_path: Path):
    before, after = rows("abstained", [0.0] * 9), rows("abstained", [1.0] * 9)

    assert judged(tmp_path / "a", before, after).allowed
    assert "neither better nor worse" in judged(tmp_path / "b", before, after, "abstained").unjudged[0]


@pytest.mark.parametrize(
    ("baseline", "run", "told"),
    [
        (rows("m", [1.0]), rows("m", [1.0, 1.0]), "question q02 asked only in this run"),
        (rows("m", [1.0] * 6), rows("m", [1.0]), "questions q02, q03, q04 and 2 more asked only in the baseline"),
        (rows("m", [1.0]), [row("q01", error="timed out")], "question q01 without a result in this run: timed out"),
        (rows("m", [1.0]), "the disk is full", "no figures in .*: the disk is full"),
        (rows("m", [1.0]), None, "no figures in .*: it was not finished"),
        ([], [], "no question was answered"),
        (rows("ndcg@10", [1.0]), rows("ndcg@10", [None]), "ndcg@10 is defined for 1 questions of the baseline and 0 of this run"),
    ],
)
def test_what_can_not_be_judged_does_not_pass_and_says_why(baseline: Rows, run: Rows | str | None, told: str, tmp_path: Path):
    found = judged(tmp_path, baseline, run)

    assert not found.allowed
    assert not found.grounds
    assert any(re.search(told, line) for line in found.unjudged)


def test_answers_that_were_not_given_can_not_be_judged_by_the_others(tmp_path: Path):
    before = rows("keyword_hit", [1.0, 0.0, 0.0])
    after = [*before[:1], *(row(f"q0{n}", metrics={"keyword_hit": None}, unanswered="the budget is spent") for n in (2, 3))]

    (told,) = judged(tmp_path / "a", before, after).unjudged
    assert told == f"{SINGLE_ID}: questions q02, q03 without an answer in this run: the budget is spent"
    assert judged(tmp_path / "b", before, after, "completeness").allowed


def test_answers_the_judge_said_nothing_of_can_not_be_judged_by_the_others(tmp_path: Path):
    def verdicts(*given: float | None) -> Rows:
        return [row(f"q{n:02}", metrics={"abstained": 0.0, "grounded": one}) for n, one in enumerate(given, 1)]

    before, after = verdicts(1.0, 0.0, 0.0), verdicts(1.0, None, None)
    declined = [*before[:1], *(row(f"q0{n}", metrics={"abstained": 1.0, "grounded": None}) for n in (2, 3))]

    (told,) = judged(tmp_path / "a", before, after).unjudged
    assert told == f"{SINGLE_ID}: questions q02, q03 without the judge's verdict in this run"
    assert judged(tmp_path / "b", before, after, "completeness").allowed
    assert judged(tmp_path / "c", before, declined, "grounded").allowed


def test_other_cells_another_cut_and_other_documents_can_not_be_judged(tmp_path: Path):
    baseline = side_of(str(written_run(tmp_path / "a", {SINGLE_ID: [row("q1")], FLAT_ID: [row("q1")]})))
    fewer = side_of(str(written_run(tmp_path / "b", {SINGLE_ID: [row("q1")]}, ONE)))
    shorter = side_of(str(written_run(tmp_path / "c", {SINGLE_ID: [row("q1")], FLAT_ID: [row("q1")]}, replace(NOTES, limit=5))))
    other: Mapping[str, Mapping[str, Any]] = {FLAT_ID: {"documents": 6}}
    smaller = side_of(str(written_run(tmp_path / "d", {SINGLE_ID: [row("q1")], FLAT_ID: [row("q1")]}, report=other)))

    assert judge_run(baseline, fewer).unjudged == (f"{FLAT_ID}: only in {baseline.name}",)
    assert judge_run(baseline, shorter).unjudged == (
        "the baseline measured the first 10 results of each question and this run the first 5",
    )
    assert judge_run(baseline, smaller).unjudged == (f"{FLAT_ID}: the baseline searched 7 documents and this run 6",)
    assert judge_run(baseline, baseline).allowed


def test_as_many_other_documents_or_other_labels_can_not_be_judged(tmp_path: Path):
    def side(name: str, data: Mapping[str, str]) -> Side:
        return side_of(f"{written_run(tmp_path / name, {SINGLE_ID: [row('q1')]}, ONE, data=data)}:{SINGLE_ID}")

    baseline, same = side("a", {"notes-s1": "f25f"}), side("b", {"notes-s1": "f25f"})
    corrected, older = side("c", {"notes-s1": "727a"}), side("d", {})

    assert judge_run(baseline, same).allowed
    assert judge_run(baseline, older).allowed
    assert judge_run(baseline, corrected).unjudged == (
        f"{SINGLE_ID}: documents, questions or labels are not those of the baseline, though there are as many",
    )
