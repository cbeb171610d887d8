"""Measurements as people read them, and as programs do: means with intervals, the curve of UDCG, single questions."""

import sys
from collections.abc import Mapping, Sequence
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

SHOWN_AS: Mapping["Metric", str] = {
    "nudcg": "nUDCG",
    "udcg": "UDCG",
    "ndcg": "nDCG",
    "recall": "recall",
    "mrr": "MRR",
    "contamination": "contamination",
}
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


def plain_evaluation(one: "Evaluation", *, with_questions: bool = True) -> dict[str, Any]:
    summary: dict[str, Any] = {
        "config": one.config.name,
        "questions": one.split,
        "count": len(one.rows),
        "k": one.k,
        "metrics": {metric: _plain_metric(one, metric) for metric in SHOWN_AS},
        "distractors": one.distractors,
        "distractors_in_5": one.distractors_in(5),
        "contaminated_questions": one.contaminated,
        "results": one.results,
        "udcg_by_k": one.curve,
        "best_udcg_by_k": one.ideal_curve,
    }
    rows = zip(one.rows, one.measures(), strict=True)
    return summary | ({"by_question": [plain(row) | {"metrics": plain(m)} for row, m in rows]} if with_questions else {})


def questions_of(one: "Evaluation") -> str:
    """Which questions were asked, and how many of the results count."""
    asked = _QUESTIONS.get(one.split, one.split)
    named = asked.replace("questions", "question") if len(one.rows) == 1 else asked
    return f"{len(one.rows)} {named}, the first {one.k} results of each"


def show_evaluation(one: "Evaluation") -> None:
    """Means with their intervals, distractors, and the curve."""
    show(f"{one.config.name}: {questions_of(one)}", style="bold")
    show_table(["", "mean", "95 % interval", ""], [_mean_row(one, metric) for metric in SHOWN_AS], right=(1,))
    show(
        f"distractors: {one.distractors} shown, {one.distractors_in(5)} of them in the first 5, "
        f"at {one.contaminated} of {len(one.rows)} questions; {one.results} results in all"
    )
    show()
    cuts = range(1, one.k + 1)
    titles = ["k", *map(str, cuts)]
    curves = (("UDCG", one.curve), ("best possible", one.ideal_curve))
    show_table(titles, [(name, *(f"{value:.2f}" for value in values)) for name, values in curves], right=range(1, one.k + 1))


def show_questions(one: "Evaluation", count: int) -> None:
    pairs = sorted(zip(one.rows, one.measures(), strict=True), key=lambda pair: (pair[1].nudcg, pair[0].id))[:count]
    if pairs:
        show()
        show("Where it goes worst" if len(pairs) < len(one.rows) else "By question, worst first", style="bold")
        show_table(["question", "nUDCG", "distractors", "results", ""], [_question_row(*pair) for pair in pairs], right=(1, 2, 3))


def short(text: str) -> str:
    """A question in a line of a table; whole in a pipe."""
    text = printable(text)
    return text if len(text) <= _QUESTION_CHARACTERS or not sys.stdout.isatty() else text[: _QUESTION_CHARACTERS - 1] + "…"


def _plain_metric(one: "Evaluation", metric: "Metric") -> dict[str, object]:
    found = one.estimate(metric)
    if found is None:
        return {"mean": None, "interval": None, "questions": 0}
    return {"mean": found.mean, "interval": [found.low, found.high], "questions": found.n}


def _mean_row(one: "Evaluation", metric: "Metric") -> Sequence[str]:
    found = one.estimate(metric)
    left_out = len(one.rows) - (found.n if found else 0)
    note = f"without {left_out} that have no relevant document" if left_out else ""
    if found is None:
        return SHOWN_AS[metric], "–", "–", note
    return SHOWN_AS[metric], figure(found.mean), f"{found.low:.3f} to {found.high:.3f}", note


def _question_row(row: "QuestionRow", measures: "Measures") -> Sequence[str]:
    return row.id, figure(measures.nudcg), str(measures.distractors), str(measures.results), short(row.query)
