"""Rows of two cells, paired by question."""

from hive_mind.evals.metrics import identical, paired
from tests.unit.evals.scorecards.written_runs import row


def test_questions_are_paired_by_name_and_an_unanswered_one_is_undefined():
    new = {
        "a": row("a", metrics={"m": 1.0}),
        "b": row("b", error="timed out", metrics={"m": 0.0}),
        "c": row("c", metrics={"m": 0.5}),
    }
    old = {"b": row("b", metrics={"m": 0.7}), "a": row("a", metrics={"m": 0.2})}

    assert paired(new, old, "m") == [(1.0, 0.2), (None, 0.7)]


def test_identical_means_the_same_facts_in_the_same_order_up_to_the_cut():
    new = {"a": row("a", facts=["x", "y", "z"]), "b": row("b", facts=["y", "x"]), "c": row("c", error="no")}
    old = {"a": row("a", facts=["x", "y", "w"]), "b": row("b", facts=["x", "y"]), "c": row("c")}

    assert identical(new, old, 2) == [1.0, 0.0, None]
    assert identical(new, old, 3) == [0.0, 0.0, None]
