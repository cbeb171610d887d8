"""Two runs side by side: paired by question, corrected for looking often, and nothing left out silently."""

from dataclasses import replace
from pathlib import Path

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.gating import CellChange, RunChange, compare_sides, side_of
from hive_mind.measure import MetricChange
from tests.unit.evals.scorecards.written_runs import FLAT_ID, NOTES, SINGLE_ID, Rows, row, rows, written_run


def compared(folder: Path, before: Rows, after: Rows, *wanted: str) -> RunChange:
    """The single memory's cell of two runs."""
    sides = [f"{written_run(folder / name, {SINGLE_ID: one})}:{SINGLE_ID}" for name, one in (("a", before), ("b", after))]
    return compare_sides(side_of(sides[0]), side_of(sides[1]), wanted)


def only(found: RunChange) -> CellChange:
    (cell,) = found.cells
    return cell


def metric(found: RunChange, name: str) -> MetricChange:
    return next(one for one in only(found).metrics if one.metric == name)


def test_a_difference_is_told_with_both_means_its_interval_and_p(tmp_path: Path):
    change = metric(
        compared(tmp_path, rows("recall@10", [0.0, 0.5, 0.5, 1.0]), rows("recall@10", [1.0, 1.0, 1.0, 1.0])), "recall@10"
    )

    assert (change.before, change.after) == (0.5, 1.0)
    assert change.difference is not None
    # Three questions moved, all the same way: 2 of 8 flips.
    assert (change.difference.difference, change.difference.p, change.difference.n) == (0.5, 0.25, 4)


def test_more_of_what_is_bad_is_worse_and_less_of_it_is_not(tmp_path: Path):
    few, many = rows("stale", [0.0] * 20), rows("stale", [1.0] * 20)

    assert metric(compared(tmp_path / "up", few, many), "stale").is_worse
    assert not metric(compared(tmp_path / "down", many, few), "stale").is_worse


def test_the_same_difference_is_less_sure_the_more_is_compared(tmp_path: Path):
    def asked(value: float, count: int) -> Rows:
        return [row(f"q{n}", metrics={f"m{m}": value for m in range(count)}) for n in range(8)]

    alone = metric(compared(tmp_path / "one", asked(0.0, 1), asked(1.0, 1), "m0"), "m0").difference
    among = metric(compared(tmp_path / "ten", asked(0.0, 10), asked(1.0, 10)), "m0").difference

    assert alone is not None
    assert alone.p == among.p == alone.p_holm == 2 / 2**8
    # Ten metrics, and the four costs every row has.
    assert among.p_holm == pytest.approx(10 * 2 / 2**8 + 4 * 2 / 2**8)


def test_questions_of_one_side_are_counted_and_named_and_change_no_mean(tmp_path: Path):
    before = [*rows("m", [1.0, 0.0]), row("old", metrics={"m": 1.0}), row("lost", metrics={"m": 1.0})]
    after = [*rows("m", [1.0, 0.0]), row("new", metrics={"m": 0.0}), row("lost", error="timed out")]

    found = compared(tmp_path, before, after)

    cell = only(found)
    assert cell.questions == 2
    assert cell.unpaired == {
        f"asked only in {found.before}": ("old",),
        f"asked only in {found.after}": ("new",),
        f"without a result in {found.after}": ("lost",),
    }
    assert (metric(found, "m").before, metric(found, "m").after) == (0.5, 0.5)


def test_a_metric_of_one_side_only_is_there_without_a_difference(tmp_path: Path):
    change = metric(compared(tmp_path, rows("recall@10", [1.0]), rows("ndcg@10", [1.0])), "ndcg@10")

    assert (change.difference, change.before, change.defined) == (None, None, (0, 1))


def test_what_questions_cost_is_compared_like_any_metric(tmp_path: Path):
    change = metric(compared(tmp_path, [row("q1", messages=10)], [row("q1", messages=4)], "messages"), "messages")

    assert (change.before, change.after, change.sense) == (10.0, 4.0, "worse")


def test_times_are_medians_with_the_median_difference(tmp_path: Path):
    asked = rows("m", [1.0] * 7)
    slow = written_run(tmp_path / "slow", {SINGLE_ID: asked}, times=lambda question: (5.0, float(question[1:]) * 10))
    fast = written_run(tmp_path / "fast", {SINGLE_ID: asked}, times=lambda question: (2.0, float(question[1:])))

    cell = next(one for one in compare_sides(side_of(str(slow)), side_of(str(fast))).cells if one.before == SINGLE_ID)

    cpu, wall = cell.times
    assert (cpu.before, cpu.after, cpu.difference, cpu.low, cpu.high) == (5.0, 2.0, -3.0, -3.0, -3.0)
    # Differences are -9, -18 … -63; the exact interval of seven is from the least to the greatest.
    assert (wall.before, wall.after, wall.difference, wall.low, wall.high) == (40.0, 4.0, -36.0, -63.0, -9.0)


def test_cells_of_the_same_name_are_compared_and_others_named_with_the_reason(tmp_path: Path):
    before = written_run(tmp_path / "a", {SINGLE_ID: [row("q1")], FLAT_ID: "out of memory"})
    after = written_run(tmp_path / "b", {SINGLE_ID: [row("q1")]}, replace(NOTES, arms=NOTES.arms[:1]))

    found = compare_sides(side_of(str(before)), side_of(str(after)))

    assert [cell.before for cell in found.cells] == [SINGLE_ID, "notes-bm25-s1", "notes-random-s1"]
    assert found.left_out == ((FLAT_ID, f"only in {before}"),)


def test_nothing_to_compare_is_an_error_that_says_why(tmp_path: Path):
    run = written_run(tmp_path / "a", {SINGLE_ID: rows("m", [1.0]), FLAT_ID: "the disk is full"})

    with pytest.raises(InvalidInput, match=r"nothing to compare: .*no figures in .*: the disk is full"):
        compare_sides(side_of(f"{run}:{SINGLE_ID}"), side_of(f"{run}:{FLAT_ID}"))


def test_other_cuts_are_not_compared(tmp_path: Path):
    ten = written_run(tmp_path / "ten", {SINGLE_ID: [row("q1")]})
    five = written_run(tmp_path / "five", {SINGLE_ID: [row("q1")]}, replace(NOTES, limit=5))

    with pytest.raises(InvalidInput, match=r"measured the first 10 results and .* the first 5"):
        compare_sides(side_of(str(ten)), side_of(str(five)))


def test_an_unknown_metric_is_told_with_those_that_are_known(tmp_path: Path):
    with pytest.raises(InvalidInput, match=r"no question has a metric 'recal'; there are: recall@10, messages, bytes"):
        compared(tmp_path, rows("recall@10", [1.0]), rows("recall@10", [1.0]), "recal")


def test_a_metric_may_be_named_without_its_cut(tmp_path: Path):
    found = compared(tmp_path, rows("recall@10", [1.0]), rows("recall@10", [1.0]), "recall")

    assert [one.metric for one in only(found).metrics] == ["recall@10"]


def test_a_folder_may_have_a_colon_in_its_name(tmp_path: Path):
    run = written_run(tmp_path / "at 10:30", {SINGLE_ID: [row("q1")]})

    assert len(side_of(str(run)).cells) == 4
    assert [cell.id for cell in side_of(f"{run}:{SINGLE_ID}").cells] == [SINGLE_ID]


def test_documents_or_labels_that_are_others_now_are_told(tmp_path: Path):
    measured = {SINGLE_ID: rows("ndcg@10", [0.5, 1.0])}
    runs = [written_run(tmp_path / name, measured, data={"notes-s1": name}) for name in ("before", "after")]
    before, after = (side_of(f"{run}:{SINGLE_ID}") for run in runs)

    assert only(compare_sides(before, after)).has_other_data
    assert not only(compare_sides(before, before)).has_other_data
