"""Every figure of a scorecard comes from what cells wrote down; what did not come out well is in it with its reason.

A damaged run is an error that names file and line, never a figure over what was left of it.
Rows of two cells, paired by question.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.experiments import Arm, DataSource, Experiment, Fault, Learned, Retrieval, cells_of
from hive_mind.evals.metrics import identical, paired
from hive_mind.evals.running import read_run
from hive_mind.evals.scorecard import CellCard, Scorecard, read_scorecard, write_scorecard
from tests.unit.evals.scorecards.written_runs import FLAT_ID, SINGLE_ID, row, rows, written_run


def card_of(card: Scorecard, id: str) -> CellCard:
    return next(cell for cell in card.cells if cell.id == id)


def test_figures_worked_by_hand(tmp_path: Path):
    asked = [
        row("q1", metrics={"recall@10": 1.0, "stale": 1.0}, messages=4, bytes=100, fan_out=2, completeness=1.0),
        row("q2", metrics={"recall@10": 0.5, "stale": None}, messages=6, bytes=300, fan_out=2, completeness=0.5),
        row("q3", metrics={"recall@10": None, "stale": 0.0}, messages=8, bytes=200, fan_out=5, completeness=1.0),
    ]
    times = {"q1": (1.0, 10.0), "q2": (3.0, 40.0), "q3": (2.0, 20.0)}
    learned = Learned(facts=4, messages=10, bytes=800, replica_lag_s=0.5)
    run = written_run(
        tmp_path / "run",
        {FLAT_ID: asked},
        times=lambda question: times.get(question, (0.0, 0.0)),
        report={FLAT_ID: {"learned": learned}},
    )

    flat = card_of(write_scorecard(run), FLAT_ID)

    assert (flat.questions, flat.documents) == (3, 7)
    assert (flat.metrics["recall@10"].mean, flat.metrics["recall@10"].n) == (0.75, 2)
    assert (flat.metrics["stale"].mean, flat.metrics["stale"].n) == (0.5, 2)
    assert (flat.system.messages.mean, flat.system.bytes.mean, flat.system.fan_out.mean) == (6.0, 200.0, 3.0)
    assert flat.system.completeness.mean == pytest.approx(2.5 / 3)
    assert (flat.system.cpu_ms.median, flat.system.wall_ms.median) == (2.0, 20.0)
    learning = flat.system.learning
    assert (learning.messages_per_fact, learning.bytes_per_fact, learning.replica_lag_s) == (2.5, 200.0, 0.5)


def test_what_was_not_measured_while_learning_stays_unknown(tmp_path: Path):
    card = card_of(write_scorecard(written_run(tmp_path / "run", {FLAT_ID: [row("q1")]})), FLAT_ID)

    assert card.system.learning.messages_per_fact is card.system.learning.memory_per_agent_bytes is None


def test_metrics_are_broken_out_by_category_intent_and_source(tmp_path: Path):
    asked = [
        row("q1", metrics={"m": 1.0}, category="temporal", intent="recall"),
        row("q2", metrics={"m": 0.0}, category="temporal"),
        row("q3", metrics={"m": 0.5}, category="single-hop", intent="recall"),
    ]

    single = card_of(write_scorecard(written_run(tmp_path / "run", {SINGLE_ID: asked})), SINGLE_ID)

    assert {value: metrics["m"].mean for value, metrics in single.by["category"].items()} == {"single-hop": 0.5, "temporal": 0.5}
    assert {value: metrics["m"].n for value, metrics in single.by["intent"].items()} == {"recall": 2, "not given": 1}
    assert "source" not in single.by


def test_an_arm_is_paired_with_the_single_memory_of_its_data(tmp_path: Path):
    alone = [row(f"q{n}", metrics={"m": value}, facts=["a", "b"]) for n, value in enumerate((1.0, 0.5, 0.0))]
    # One question better, one the same, and one that the arm found other facts for.
    shared = [row(f"q{n}", metrics={"m": 1.0 if n < 2 else 0.0}, facts=["a", "b"] if n else ["b", "a"]) for n in range(3)]

    card = write_scorecard(written_run(tmp_path / "run", {SINGLE_ID: alone, FLAT_ID: shared}))

    assert card_of(card, SINGLE_ID).against_single is None
    against = card_of(card, FLAT_ID).against_single
    assert (against.reference, against.metrics["m"].p) == (SINGLE_ID, 1.0)
    assert against.metrics["m"].difference == pytest.approx(0.5 / 3)
    assert against.identical_top_k.mean == pytest.approx(2 / 3)


def test_a_cell_is_compared_with_the_single_memory_of_its_own_data_retrieval_and_seed_without_a_fault(tmp_path: Path):
    wanted = Experiment(
        "wide",
        (DataSource("notes", "demo"), DataSource("logs", "demo")),
        (Arm(), Arm("sharded", agents=4)),
        retrieval=(Retrieval(), Retrieval("words", "lexical")),
        seeds=(1, 2),
        faults=(Fault(), Fault(down=1)),
    )
    run = written_run(tmp_path / "run", {cell.id: [row("q1", metrics={"m": 1.0})] for cell in cells_of(wanted)}, wanted)

    found = {cell.id: cell.against_single.reference for cell in write_scorecard(run).cells if cell.against_single}

    assert found["logs-sharded-4-round-robin-words-s2-down1"] == "logs-single-words-s2"
    assert found["notes-sharded-4-round-robin-hybrid-s1"] == "notes-single-hybrid-s1"
    # A baseline is measured once, whatever the ways to rank.
    assert found["notes-bm25-s2"] == "notes-single-hybrid-s2"


def test_without_a_single_memory_nothing_is_compared(tmp_path: Path):
    card = write_scorecard(written_run(tmp_path / "run", {FLAT_ID: [row("q1")], SINGLE_ID: "out of memory"}))

    assert card_of(card, FLAT_ID).against_single is None


def test_a_failed_cell_is_there_with_its_reason_and_without_figures(tmp_path: Path):
    card = write_scorecard(written_run(tmp_path / "run", {SINGLE_ID: [row("q1")], FLAT_ID: "the disk is full"}))

    flat = card_of(card, FLAT_ID)
    assert (flat.status, flat.why, flat.metrics, flat.system) == ("failed", "the disk is full", {}, None)
    assert [cell.id for cell in card.without_figures] == [FLAT_ID]


def test_a_cell_that_was_not_finished_or_not_begun_is_there_too(tmp_path: Path):
    card = write_scorecard(written_run(tmp_path / "run", {SINGLE_ID: None}))

    assert {cell.id: cell.status for cell in card.cells if cell.arm.kind in ("single", "flat")} == {
        SINGLE_ID: "unfinished",
        FLAT_ID: "unfinished",
    }
    assert all("hive-mind eval run" in cell.why for cell in card.without_figures)
    assert card_of(card, FLAT_ID).arm == Arm("flat", agents=10)


def test_a_question_without_a_result_is_counted_by_its_reason_and_is_part_of_no_mean(tmp_path: Path):
    asked = [row("q1", metrics={"m": 1.0}, messages=2), row("q2", metrics={"m": 0.0}, messages=90, error="timed out")]

    card = write_scorecard(written_run(tmp_path / "run", {FLAT_ID: asked, SINGLE_ID: [row("q1", error="no such model")]}))

    flat = card_of(card, FLAT_ID)
    assert card_of(card, SINGLE_ID).system is None, "where none was answered"
    assert (flat.questions, flat.errors) == (2, {"timed out": 1})
    assert flat.metrics["m"].mean == 1.0
    assert (flat.system.messages.mean, flat.system.wall_ms.n) == (2.0, 1)


def test_money_is_added_up_and_unknown_where_a_price_is_missing(tmp_path: Path):
    known = [row("q1", tokens_in=100, tokens_out=10, usd=0.02), row("q2", tokens_in=50, tokens_out=5, usd=0.01), row("q3")]
    unknown = [*known, row("q4", tokens_in=1)]

    card = write_scorecard(written_run(tmp_path / "run", {SINGLE_ID: known, FLAT_ID: unknown}))

    priced, unpriced = card_of(card, SINGLE_ID).system, card_of(card, FLAT_ID).system
    assert (priced.tokens_in_total, priced.tokens_out_total) == (150, 15)
    assert priced.usd_total == pytest.approx(0.03)
    assert priced.usd == pytest.approx(0.01)
    assert (unpriced.tokens_in_total, unpriced.usd_total, unpriced.usd) == (151, None, None)


def test_cells_stand_in_the_order_of_the_experiment_and_are_written_down(tmp_path: Path):
    run = written_run(tmp_path / "run", {SINGLE_ID: [row("q1")], FLAT_ID: [row("q1")]})

    card = write_scorecard(run)

    assert [cell.id for cell in card.cells] == [SINGLE_ID, FLAT_ID, "notes-bm25-s1", "notes-random-s1"]
    assert (card.name, card.limit, card.environment["cpu"]) == ("notes-and-hives", 10, "abacus")
    assert read_scorecard(run) == card


def test_the_same_rows_make_the_same_bytes(tmp_path: Path):
    values = [0.1 * n for n in range(10)]
    run = written_run(tmp_path / "run", {SINGLE_ID: rows("m", values), FLAT_ID: rows("m", values[::-1])})

    write_scorecard(run)
    first = (run / "scorecard.json").read_bytes()
    write_scorecard(run)

    assert (run / "scorecard.json").read_bytes() == first


def test_a_missing_or_damaged_scorecard_is_told_with_how_to_make_it(tmp_path: Path):
    run = written_run(tmp_path / "run", {SINGLE_ID: [row("q1")]})

    with pytest.raises(InvalidInput, match=r"scorecard.json is not there: make it with hive-mind eval report"):
        read_scorecard(run)
    (run / "scorecard.json").write_bytes(b'{"name": 3}')
    with pytest.raises(InvalidInput, match=r"scorecard.json can't be read .*name.*hive-mind eval report"):
        read_scorecard(run)


CELL = f"cells/{SINGLE_ID}"


def test_a_run_is_read_as_it_was_written(tmp_path: Path):
    asked = [row("q1", metrics={"m": 0.5}), row("q2", error="timed out")]

    cell = read_run(written_run(tmp_path / "run", {SINGLE_ID: asked})).cell(SINGLE_ID)

    assert list(cell.rows.values()) == asked
    assert [one.question for one in cell.answered] == ["q1"]


def test_rows_of_a_cell_that_is_not_finished_are_not_looked_at(tmp_path: Path):
    run = written_run(tmp_path / "run", {SINGLE_ID: None})
    (run / CELL / "rows.jsonl").write_bytes(b'{"question": "q1"}\n{"quest')

    cell = read_run(run).cell(SINGLE_ID)

    assert not cell.is_done
    assert not cell.rows


ROWS, TIMES, REPORT = (f"{CELL}/{name}" for name in ("rows.jsonl", "times.jsonl", "cell.json"))


@pytest.mark.parametrize(
    ("file", "damage", "told"),
    [
        (ROWS, lambda body: body[:-4], rf"{SINGLE_ID}/rows.jsonl:2: .*truncated"),
        (ROWS, lambda body: body.splitlines(keepends=True)[0], r"rows.jsonl has 1 question and cell.json says 2: delete"),
        (ROWS, lambda body: body + body.splitlines(keepends=True)[0], r"rows.jsonl:3: question 'q1' is there twice"),
        (
            ROWS,
            lambda body: body.replace(b'"m":1.0', b'"m":"good"'),
            r"rows.jsonl:1: Expected `float \| null`, got `str` - at `\$.metrics",
        ),
        (ROWS, lambda body: body.replace(b"q2", b"q\xff"), r"rows.jsonl:2: .*damaged"),
        (ROWS, None, r"rows.jsonl is missing"),
        (TIMES, lambda body: body.splitlines(keepends=True)[1], r"times.jsonl has no times of question 'q1'"),
        (
            TIMES,
            lambda body: body + b'{"question": "q9", "cpu_ms": 1, "wall_ms": 1}\n',
            r"times.jsonl has times of question 'q9', which was not asked",
        ),
        (REPORT, lambda _: b"", r"cell.json: Input data was truncated"),
        ("environment.json", None, r"environment.json is missing"),
        ("experiment.json", lambda body: body.replace(b'"data"', b'"date"'), r"experiment.json is not an experiment: .*`data`"),
    ],
)
def test_a_damaged_run_is_an_exact_error(file: str, damage: Callable[[bytes], bytes] | None, told: str, tmp_path: Path):
    run = written_run(tmp_path / "run", {SINGLE_ID: [row("q1", metrics={"m": 1.0}), row("q2")]})
    if damage:
        (run / file).write_bytes(damage((run / file).read_bytes()))
    else:
        (run / file).unlink()

    with pytest.raises(InvalidInput, match=told):
        read_run(run)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("notes-flat-10-round-robin-hybrid-s1", r"is of cell 'notes-single-hybrid-s1', and its folder is called 'notes-flat-"),
        ("letters-single-hybrid-s1", r"letters-single-hybrid-s1 is not a cell of .*experiment.json"),
    ],
)
def test_a_folder_by_a_wrong_name_is_an_error(name: str, told: str, tmp_path: Path):
    run = written_run(tmp_path / "run", {SINGLE_ID: [row("q1")]})
    (run / CELL).rename(run / "cells" / name)

    with pytest.raises(InvalidInput, match=told):
        read_run(run)


def test_a_cell_that_is_not_there_is_told_with_those_that_are(tmp_path: Path):
    run = read_run(written_run(tmp_path / "run", {SINGLE_ID: [row("q1")]}))

    with pytest.raises(InvalidInput, match=rf"has no cell 'flat'; it has: {SINGLE_ID}, "):
        run.cell("flat")


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
