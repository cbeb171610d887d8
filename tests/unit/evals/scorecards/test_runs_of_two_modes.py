"""Two runs that rank in two ways are compared arm by arm, though no cell of theirs but the baselines has one name."""

from dataclasses import replace
from pathlib import Path

from hive_mind.evals.experiments import Retrieval
from hive_mind.evals.gating import compare_sides, judge_run, side_of
from tests.unit.evals.scorecards.written_runs import FLAT_ID, NOTES, SINGLE_ID, rows, written_run

LEXICAL = replace(NOTES, retrieval=(Retrieval("lexical", "lexical"),))
BOTH = replace(NOTES, retrieval=(Retrieval("words", "lexical"), Retrieval("meaning", "semantic")))


def lexical(id: str) -> str:
    return id.replace("hybrid", "lexical")


def test_arms_are_compared_across_modes(tmp_path: Path):
    good, bad = rows("ndcg@10", [0.9] * 30), rows("ndcg@10", [0.5] * 30)
    hybrid = side_of(str(written_run(tmp_path / "hybrid", {SINGLE_ID: good, FLAT_ID: good})))
    words = side_of(str(written_run(tmp_path / "words", {lexical(SINGLE_ID): bad, lexical(FLAT_ID): good}, LEXICAL)))

    found = compare_sides(hybrid, words)

    pairs = {(cell.before, cell.after) for cell in found.cells}
    assert {(SINGLE_ID, lexical(SINGLE_ID)), (FLAT_ID, lexical(FLAT_ID))} <= pairs
    assert found.left_out == ()
    assert [ground.about for ground in judge_run(hybrid, words).grounds] == [lexical(SINGLE_ID)]
    assert judge_run(words, hybrid).allowed


def test_where_one_run_ranks_in_several_ways_nothing_is_guessed(tmp_path: Path):
    asked = rows("ndcg@10", [0.9] * 30)
    one = side_of(str(written_run(tmp_path / "one", {SINGLE_ID: asked})))
    two = {SINGLE_ID.replace("hybrid", name): asked for name in ("words", "meaning")}

    found = compare_sides(one, side_of(str(written_run(tmp_path / "several", two, BOTH))))

    assert [cell.before for cell in found.cells] == ["notes-bm25-s1", "notes-random-s1"]
    assert (SINGLE_ID, f"only in {one.name}") in found.left_out


def test_cells_of_one_name_are_never_given_to_others(tmp_path: Path):
    asked = rows("ndcg@10", [0.9] * 30)
    both = replace(NOTES, retrieval=(Retrieval(), Retrieval("lexical", "lexical")))
    wide = side_of(str(written_run(tmp_path / "wide", {SINGLE_ID: asked, lexical(SINGLE_ID): asked}, both)))

    found = compare_sides(wide, side_of(str(written_run(tmp_path / "narrow", {SINGLE_ID: asked}))))

    assert (SINGLE_ID, SINGLE_ID) in {(cell.before, cell.after) for cell in found.cells}
    assert (lexical(SINGLE_ID), f"only in {wide.name}") in found.left_out
