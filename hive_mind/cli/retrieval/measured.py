"""Measurements as people read them, and as programs do: means with intervals, the curve of UDCG, single questions."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli.output import figure, plain, printable, show, show_table
from hive_mind.cli.pictures import write_picture

Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot", metavar="FILE", help="Draw score by rank with the cliff, UDCG by k, and UDCG against nDCG: an SVG or PNG file."
    ),
]

if TYPE_CHECKING:
    from hive_mind.retrieval.measuring.measured import Evaluation, Measures, Metric, QuestionRow

_QUESTIONS = {
    "test": "held-out questions",
    "train": "training questions",
    "all": "questions",
    "unmarked": "unmarked questions",
    "cross-validated": "questions, each answered by what the others choose",
}
_QUESTION_CHARACTERS = 60


def draw(plot: Path | None, kind: str, evaluations: Sequence["Evaluation"]) -> None:
    """Write the picture where one is wanted. Raises `InvalidInput` where the file can't be written."""
    if plot is not None:
        from hive_mind.retrieval.measuring.plotting import drawn

        write_picture(plot, drawn(evaluations, kind))


def signed(value: float | None) -> str:
    return figure(value, "+.3f")


def plain_evaluation(evaluation: "Evaluation", *, with_questions: bool = True) -> dict[str, Any]:
    summary: dict[str, Any] = {
        "config": evaluation.config.name,
        "questions": evaluation.split,
        "count": len(evaluation.rows),
        "k": evaluation.k,
        "metrics": {metric: _plain_metric(evaluation, metric) for metric in evaluation.metrics},
        "distractors": evaluation.distractors,
        "distractors_in_5": evaluation.distractors_in(5),
        "contaminated_questions": evaluation.contaminated,
        "results": evaluation.results,
        "udcg_by_k": evaluation.curve,
        "best_udcg_by_k": evaluation.ideal_curve,
    }
    rows = zip(evaluation.rows, evaluation.measures(), strict=True)
    return summary | ({"by_question": [plain(row) | {"metrics": plain(m)} for row, m in rows]} if with_questions else {})


def questions_of(evaluation: "Evaluation") -> str:
    """Which questions were asked, and how many of the results count."""
    questions = _QUESTIONS.get(evaluation.split, evaluation.split)
    noun = questions.replace("questions", "question") if len(evaluation.rows) == 1 else questions
    return f"{len(evaluation.rows)} {noun}, the first {evaluation.k} results of each"


def show_evaluation(evaluation: "Evaluation") -> None:
    show(f"{evaluation.config.name}: {questions_of(evaluation)}", style="bold")
    show_table(["", "mean", "95 % interval", ""], [_mean_row(evaluation, metric) for metric in evaluation.metrics], right=(1,))
    show(
        f"distractors: {evaluation.distractors} shown, {evaluation.distractors_in(5)} of them in the first 5, "
        f"at {evaluation.contaminated} of {len(evaluation.rows)} questions; {evaluation.results} results in all"
    )
    show()
    cuts = range(1, evaluation.k + 1)
    titles = ["k", *map(str, cuts)]
    curves = (("UDCG", evaluation.curve), ("best possible", evaluation.ideal_curve))
    show_table(
        titles, [(name, *(f"{value:.2f}" for value in values)) for name, values in curves], right=range(1, evaluation.k + 1)
    )


def show_questions(evaluation: "Evaluation", count: int) -> None:
    pairs = sorted(zip(evaluation.rows, evaluation.measures(), strict=True), key=lambda pair: (pair[1].nudcg, pair[0].id))[:count]
    if pairs:
        show()
        show("Where it goes worst" if len(pairs) < len(evaluation.rows) else "By question, worst first", style="bold")
        show_table(["question", "nUDCG", "distractors", "results", ""], [_question_row(*pair) for pair in pairs], right=(1, 2, 3))


def short(text: str) -> str:
    """A question in a line of a table; whole in a pipe."""
    text = printable(text)
    return text if len(text) <= _QUESTION_CHARACTERS or not sys.stdout.isatty() else text[: _QUESTION_CHARACTERS - 1] + "…"


def _plain_metric(evaluation: "Evaluation", metric: "Metric") -> dict[str, object]:
    estimate = evaluation.estimate(metric)
    if estimate is None:
        return {"mean": None, "interval": None, "questions": 0}
    return {"mean": estimate.mean, "interval": [estimate.low, estimate.high], "questions": estimate.n}


def _mean_row(evaluation: "Evaluation", metric: "Metric") -> Sequence[str]:
    estimate = evaluation.estimate(metric)
    left_out = len(evaluation.rows) - (estimate.n if estimate else 0)
    note = f"without {left_out} that have no relevant document" if left_out else ""
    title, _ = evaluation.metrics[metric]
    if estimate is None:
        return title, "–", "–", note
    return title, figure(estimate.mean), f"{estimate.low:.3f} to {estimate.high:.3f}", note


def _question_row(row: "QuestionRow", measures: "Measures") -> Sequence[str]:
    return row.id, figure(measures.nudcg), str(measures.distractors), str(measures.results), short(row.query)
