"""`hive-mind eval compare`, `gate` and `report`, as a person or a pipeline calls them, on runs whose rows are known."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.acceptance.hive_mind_command import HiveMind
from tests.unit.evals.scorecards.written_runs import FLAT_ID, NOTES, SINGLE_ID, row, rows, written_run


@pytest.fixture
def hive_mind(tmp_path: Path) -> HiveMind:
    return HiveMind(tmp_path / "home")


def test_compare_says_which_differences_are_real_and_which_questions_count_on_neither_side(hive_mind: HiveMind, tmp_path: Path):
    before = written_run(tmp_path / "a", {SINGLE_ID: [*rows("ndcg@10", [0.9] * 12), row("old")]})
    after = written_run(tmp_path / "b", {SINGLE_ID: rows("ndcg@10", [0.4] * 12)})

    ended = hive_mind("eval", "compare", f"{before}:{SINGLE_ID}", f"{after}:{SINGLE_ID}")

    assert ended.code == 0
    (line,) = (line for line in ended.out.splitlines() if line.startswith("nDCG@10"))
    assert line.split()[1:4] == ["0.900", "0.400", "-0.500"]
    assert line.endswith("really worse")
    assert f"1 asked only in {before}:{SINGLE_ID}: old" in ended.out
    # One metric, and the four costs that every row has.
    assert "for all 5 comparisons" in " ".join(ended.out.split())


def test_compare_gives_everything_as_json(hive_mind: HiveMind, tmp_path: Path):
    run = written_run(tmp_path / "a", {SINGLE_ID: rows("m", [1.0, 0.0]), FLAT_ID: rows("m", [0.0, 0.0])})
    found = hive_mind("eval", "compare", f"{run}:{SINGLE_ID}", f"{run}:{FLAT_ID}", "--metric", "m", "--output", "json").json

    (cell,) = found["cells"]
    (metric,) = cell["metrics"]
    assert (metric["before"], metric["after"], metric["difference"]["difference"]) == (0.5, 0.0, -0.5)
    assert cell["identical_top_k"]["mean"] == 1.0


def test_a_run_that_is_not_there_is_a_wrong_call(hive_mind: HiveMind, tmp_path: Path):
    ended = hive_mind("eval", "compare", tmp_path / "nowhere", tmp_path / "nowhere")
    assert ended.code == 2
    assert "is not a run: experiment.json is missing; begin one with hive-mind eval run" in " ".join(ended.err.split())


def test_what_one_cell_lacks_is_told_of_that_cell_and_what_all_lack_once(hive_mind: HiveMind, tmp_path: Path):
    everywhere, there = {"questions without evidence": 2}, {"questions the answerer gave no answer to": 1}
    report = {id: {"left_out": everywhere} for id in (SINGLE_ID, "notes-bm25-s1", "notes-random-s1")}
    report[FLAT_ID] = {"left_out": everywhere | there}
    run = written_run(tmp_path / "a", {SINGLE_ID: rows("m", [0.9]), FLAT_ID: rows("m", [0.9])}, report=report)

    ended = hive_mind("eval", "report", run)

    assert (ended.out + ended.err).count("left out: 2 questions without evidence") == 1
    assert "evidence, left out" not in ended.out
    assert f"note: {FLAT_ID}: left out: 1 questions the answerer gave no answer to" in " ".join(ended.err.split())


def test_a_damaged_run_is_listed_as_that(hive_mind: HiveMind, tmp_path: Path):
    for name in ("whole", "bad"):
        written_run(tmp_path / name, {SINGLE_ID: rows("m", [0.9]), FLAT_ID: rows("m", [0.9])})
    (tmp_path / "bad" / "cells" / FLAT_ID / "cell.json").write_text("{")

    listed = hive_mind("eval", "list", tmp_path)

    assert "notes-and-hives" in listed.out
    told = " ".join(listed.err.split())
    assert f"bad can't be read: hive-mind eval report {tmp_path / 'bad'} says what is damaged" in told
    assert "is damaged; restore it" in hive_mind("eval", "report", tmp_path / "bad").err


@pytest.mark.parametrize(
    ("questions", "said"), [(19, f"note: {SINGLE_ID}: 19 questions: too few to see but a large drop; ask 20 or more"), (20, "")]
)
def test_the_gate_passes_what_is_not_worse_and_refuses_a_drop_with_the_evidence(hive_mind, tmp_path: Path, questions, said):
    run, bad = (
        f"{written_run(tmp_path / name, {SINGLE_ID: rows('ndcg@10', [value] * questions)})}:{SINGLE_ID}"
        for name, value in (("a", 0.9), ("bad", 0.8))
    )
    passed = hive_mind("eval", "gate", run, "--against", run)
    assert (passed.code, passed.err.strip(), "passes: no drop beyond a 95 % interval" in passed.out) == (0, said, True)
    refused = hive_mind("eval", "gate", bad, "--against", run)
    assert refused.code == 1
    assert "ndcg@10 is worse: 0.800 after 0.900 (-0.100, 95 % interval -0.100 to -0.100, p " in refused.err


def test_the_gate_does_not_pass_what_it_can_not_judge(hive_mind: HiveMind, tmp_path: Path):
    whole = written_run(tmp_path / "whole", {SINGLE_ID: [row("q1")], FLAT_ID: [row("q1")]})
    broken = written_run(tmp_path / "broken", {SINGLE_ID: [row("q1")], FLAT_ID: "the disk is full"})
    shorter = written_run(tmp_path / "shorter", {SINGLE_ID: [row("q1")], FLAT_ID: [row("q1")]}, replace(NOTES, limit=5))

    failed, cut = (hive_mind("eval", "gate", run, "--against", whole) for run in (broken, shorter))
    told = hive_mind("eval", "gate", broken, "--against", whole, "--output", "json")

    assert (failed.code, cut.code, told.code) == (2, 2, 2)
    assert "so it does not pass" in failed.err
    assert f"{FLAT_ID}: no figures in {broken}: the disk is full" in failed.err
    assert "the baseline measured the first 10 results of each question and this run the first 5" in cut.err
    assert told.json["allowed"] is False


def test_report_shows_every_arm_with_its_intervals_and_failed_ones_with_their_reason(hive_mind: HiveMind, tmp_path: Path):
    experiment = replace(NOTES, arms=(*NOTES.arms, replace(NOTES.arms[1], kind="sharded")))
    alone = [row(f"q{n:02}", metrics={"recall@10": 1.0, "ndcg@10": 0.8}, facts=["a"]) for n in range(12)]
    less = [
        row(f"q{n:02}", metrics={"recall@10": 0.25, "ndcg@10": 0.8}, facts=["a" if n else "b"], messages=7) for n in range(12)
    ]
    run = written_run(
        tmp_path / "run", {SINGLE_ID: alone, FLAT_ID: less, FLAT_ID.replace("flat", "sharded"): "no room"}, experiment
    )

    ended = hive_mind("eval", "report", run)

    assert ended.code == 0
    (flat,) = (line for line in ended.out.splitlines() if line.startswith("flat, 10 agents"))
    # Eleven of twelve questions have the facts of single, and each took seven messages.
    expected = "flat, 10 agents 0.250 [0.250–0.250] -0.750* 0.800 [0.800–0.800] +0.000 91.7 % 7 0 0 100.0 % 1.00 2.00"
    assert flat.split() == expected.split()
    (failed,) = (line for line in ended.out.splitlines() if "no room" in line)
    assert failed.split()[:2] == ["notes-sharded-10-round-robin-hybrid-s1", "failed"]
    assert (run / "scorecard.json").exists()


def test_report_gives_the_scorecard_as_json_that_is_also_on_disk(hive_mind: HiveMind, tmp_path: Path):
    run = written_run(tmp_path / "run", {SINGLE_ID: rows("recall@10", [0.5])})
    ended = hive_mind("eval", "report", run, "--output", "json")
    assert ended.json["cells"][0]["metrics"]["recall@10"] == {"mean": 0.5, "low": 0.5, "high": 0.5, "n": 1}
    assert ended.out == (run / "scorecard.json").read_text("utf-8")
