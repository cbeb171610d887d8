"""Where questions come in conversations, every interval of a run is drawn by conversation."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from hive_mind.evals.experiments import Row
from hive_mind.evals.gating import compare_sides, side_of
from hive_mind.evals.scorecard import write_scorecard
from hive_mind.measure import Difference, Estimate
from tests.unit.evals.scorecards.written_runs import FLAT_ID, SINGLE_ID, row, written_run

# Eight conversations of ten questions each: what one question finds, all of its conversation find.
HARD = [number % 3 for number in range(8)]


def asked(gain: float, *, with_groups: bool = True) -> list[Row]:
    return [
        row(
            f"{talk}/q{number}",
            metrics={"recall@10": 0.1 * (hard + number % 2) + gain * hard},
            category="temporal",
            messages=10 * hard,
            facts=["f1"] if hard and gain else ["f2"],
            group=str(talk) if with_groups else "",
        )
        for talk, hard in enumerate(HARD)
        for number in range(10)
    ]


def width(one: Estimate | Difference | None) -> float:
    assert one is not None
    return one.high - one.low


def widths(folder: Path, alone: Sequence[Row], shared: Sequence[Row]) -> dict[str, float]:
    run = written_run(folder, {SINGLE_ID: alone, FLAT_ID: shared})
    flat = next(cell for cell in write_scorecard(run).cells if cell.id == FLAT_ID)
    against = flat.against_single
    assert against
    assert flat.system
    # Two cells are compared as they are in a scorecard.
    compared = compare_sides(side_of(f"{run}:{SINGLE_ID}"), side_of(f"{run}:{FLAT_ID}"), ["recall"]).cells[0].metrics[0]
    assert msgspec.structs.replace(against.metrics["recall@10"], p_holm=0.0) == (
        compared.difference and msgspec.structs.replace(compared.difference, p_holm=0.0)
    )
    return {
        "metric": width(flat.metrics["recall@10"]),
        "category": width(flat.by["category"]["temporal"]["recall@10"]),
        "messages": width(flat.system.messages),
        "difference": width(against.metrics["recall@10"]),
        "identical": width(against.identical_top_k),
    }


def test_intervals_by_conversation_are_those_of_so_many_conversations_and_not_of_so_many_questions(tmp_path: Path):
    by_talk = widths(tmp_path / "by-talk", asked(0.0), asked(0.2))
    by_question = widths(tmp_path / "by-question", asked(0.0, with_groups=False), asked(0.2, with_groups=False))

    for name, interval in by_talk.items():
        # Questions of a conversation are copies but for one tenth: eight of them say about as much as eighty.
        assert interval > 2 * by_question[name], name


def test_the_number_of_conversations_is_told(tmp_path: Path):
    run = written_run(tmp_path / "run", {SINGLE_ID: asked(0.0), FLAT_ID: asked(0.2, with_groups=False)})

    assert {cell.id: cell.groups for cell in write_scorecard(run).cells if cell.id in (SINGLE_ID, FLAT_ID)} == {
        SINGLE_ID: 8,
        FLAT_ID: 0,
    }


def test_a_run_of_before_that_says_nothing_of_conversations_is_compared_by_those_of_the_other(tmp_path: Path):
    before = written_run(tmp_path / "before", {SINGLE_ID: asked(0.0, with_groups=False)})
    grouped, plain = (
        written_run(tmp_path / f"after-{with_groups}", {SINGLE_ID: asked(0.2, with_groups=with_groups)})
        for with_groups in (True, False)
    )

    by_talk, by_question = (
        compare_sides(side_of(f"{before}:{SINGLE_ID}"), side_of(f"{one}:{SINGLE_ID}"), ["recall"]).cells[0].metrics[0].difference
        for one in (grouped, plain)
    )

    assert width(by_talk) > 2 * width(by_question)
    assert by_talk
    assert by_question
    assert by_talk.difference == pytest.approx(by_question.difference)
