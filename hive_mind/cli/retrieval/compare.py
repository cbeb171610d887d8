"""`hive-mind retrieval evaluate|compare`: measurements of a configuration, and two of them side by side.

As people read them, and as programs do: means with intervals, the curve of UDCG, single questions, and settings that differ.
"""

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, Group, refuse_ineffective
from hive_mind.cli.output import (
    figure,
    picture_kind,
    plain,
    printable,
    say,
    show,
    show_indented,
    show_json,
    show_table,
    shown_source,
    write_picture,
)
from hive_mind.cli.retrieval import workspaces

if TYPE_CHECKING:
    from hive_mind.measure import MetricChange
    from hive_mind.retrieval import RetrievalConfig, Split
    from hive_mind.retrieval.measuring import Evaluation
    from hive_mind.retrieval.measuring.evaluation import Bench
    from hive_mind.retrieval.measuring.verdict import Comparison, ConfigVerdict
    from hive_mind.retrieval.workspace import Workspace


Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot", metavar="FILE", help="Draw score by rank with the cliff, UDCG by k, and UDCG against nDCG: an SVG or PNG file."
    ),
]


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
        from hive_mind.retrieval.measuring import drawn

        write_picture(plot, drawn(evaluations, kind))


def signed(value: float | None) -> str:
    return figure(value, "+.3f")


def plain_evaluation(evaluation: "Evaluation", *, with_questions: bool = True) -> dict[str, Any]:
    summary: dict[str, Any] = {
        "config": evaluation.config.name,
        "questions": evaluation.split,
        "count": len(evaluation.rows),
        "k": evaluation.k,
        "metrics": {
            metric: {"mean": mean.mean, "interval": [mean.low, mean.high], "questions": mean.n}
            if (mean := evaluation.estimate(metric))
            else {"mean": None, "interval": None, "questions": 0}
            for metric in evaluation.metrics
        },
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
    rows = []
    for metric, (title, _) in evaluation.metrics.items():
        mean = evaluation.estimate(metric)
        left_out = len(evaluation.rows) - (mean.n if mean else 0)
        note = f"without {left_out} that have no relevant document" if left_out else ""
        figures = (figure(mean.mean), f"{mean.low:.3f} to {mean.high:.3f}") if mean else ("–", "–")
        rows.append((title, *figures, note))
    show_table(["", "mean", "95 % interval", ""], rows, right=(1,))
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
        rows = [
            (row.id, figure(measures.nudcg), str(measures.distractors), str(measures.results), short(row.query))
            for row, measures in pairs
        ]
        show_table(["question", "nUDCG", "distractors", "results", ""], rows, right=(1, 2, 3))


def short(text: str) -> str:
    """A question in a line of a table; whole in a pipe."""
    text = printable(text)
    return text if len(text) <= _QUESTION_CHARACTERS or not sys.stdout.isatty() else text[: _QUESTION_CHARACTERS - 1] + "…"


group = Group()


class Questions(StrEnum):
    """Which part of the golden set."""

    ALL = "all"
    TRAIN = "train"
    TEST = "test"


Part = Annotated[Questions, typer.Option("--questions", "-q", help="train: those to tune on. test: those held out.")]


@group.called_as(
    "hive-mind retrieval evaluate v1-naive",
    "hive-mind retrieval evaluate --questions test --plot evaluation.svg",
    "hive-mind retrieval evaluate v1-naive -o json",
)
async def evaluate(
    config: workspaces.Config = "",
    questions: Part = Questions.ALL,
    worst: Annotated[int, typer.Option("--worst", min=0, max=10_000, help="Number of questions to list, the worst first.")] = 5,
    plot: Plot = None,
    workspace: workspaces.Folder = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Measure a configuration with the golden set.

    nUDCG counts +1 for a relevant document and -1 for a distractor, less the further down, over the best there could be: -1 to 1.
    nDCG beside it does not see distractors. Contamination is the share of shown chunks that come from distractors. The result is
    kept under results/.
    """
    from hive_mind.retrieval.measuring.evaluation import environment, write_results

    kind = picture_kind(plot)
    folder = workspaces.opened(workspace)
    chosen = workspaces.usable(folder, workspaces.config_of(folder, config))
    async with workspaces.bench_for(folder, [chosen], embed, model) as bench:
        measured = await evaluated(bench, chosen, questions)
        file = write_results(folder, measured, environment(bench), datetime.now(UTC))
    if output is Format.JSON:
        show_json(plain_evaluation(measured) | {"file": str(file)})
    else:
        show_evaluation(measured)
        show_questions(measured, worst)
        say(f"kept as {shown_source(str(file.absolute()))}", style="dim")
    draw(plot, kind, [measured])


async def evaluated(bench: "Bench", config: "RetrievalConfig", questions: Questions) -> "Evaluation":
    """The measurements. Deviations from the configuration are named."""
    from hive_mind.retrieval.measuring.evaluation import evaluate

    golden = workspaces.golden_of(bench.workspace, config)
    splits: dict[Questions, Split] = {Questions.TRAIN: "train", Questions.TEST: "test"}
    async with bench.open(config.collection) as index:
        measured = await evaluate(index, config, golden, splits.get(questions), bench.progress)
    for note in measured.notes:
        say(f"note: {config.name}: {note}", style="yellow")
    return measured


_MOVES = 10

Second = Annotated[
    str,
    typer.Argument(
        metavar="B", help="The one to look at.", show_default="A, and the active one in place of A",
        autocompletion=workspaces.config_names,
    ),
]  # fmt: skip
Settings = Annotated[bool, typer.Option("--settings", help="Only show in which settings they differ; nothing is measured.")]


@group.called_as(
    "hive-mind retrieval compare v1-naive better",
    "hive-mind retrieval compare better -o json",
    "hive-mind retrieval compare better --settings",
)
async def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="The one to compare with.", autocompletion=workspaces.config_names)],
    b: Second = "",
    settings: Settings = False,
    questions: Part = Questions.ALL,
    moves: Annotated[
        int | None,
        typer.Option(
            "--moves", min=0, max=10_000, help="Number of questions to list, the greatest loss first.", show_default=str(_MOVES)
        ),
    ] = None,
    plot: Plot = None,
    workspace: workspaces.Folder = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Measure two configurations with the same questions, and say what moved and whether that is more than noise.

    Differences are paired: the interval is a bootstrap over questions, p a randomisation test. Nothing is deployed.
    """
    if settings:
        part = "" if questions is Questions.ALL else questions
        refuse_ineffective("--settings, which measures nothing", questions=part, moves=moves, plot=plot, embed=embed, model=model)
        _show_settings(*_pair(workspaces.opened(workspace), a, b), output)
        return
    from hive_mind.retrieval.measuring.verdict import compare as compared

    kind = picture_kind(plot)
    folder = workspaces.opened(workspace)
    configs = [workspaces.usable(folder, config) for config in _pair(folder, a, b)]
    async with workspaces.bench_for(folder, configs, embed, model) as bench:
        before, after = [await evaluated(bench, config, questions) for config in configs]
    comparison = compared(before, after)
    if output is Format.JSON:
        show_json(plain_comparison(comparison))
    else:
        show_comparison(comparison, _MOVES if moves is None else moves, can_show_more=True)
    draw(plot, kind, [comparison.before, comparison.after])


def _show_settings(before: "RetrievalConfig", after: "RetrievalConfig", output: Format) -> None:
    """The settings in which two configurations differ, defaults included. The active one is taken as it was deployed."""
    old_values, new_values = (_flat(config.model_dump(by_alias=True)) for config in (before, after))
    places = [path for path in dict.fromkeys((*old_values, *new_values)) if path != "name"]
    values = [(path, old_values.get(path), new_values.get(path)) for path in places]
    changes = [(path, old, new) for path, old, new in values if old != new]
    if output is Format.JSON:
        rows = [{"setting": path, "before": old, "after": new} for path, old, new in changes]
        show_json({"before": before.name, "after": after.name, "changes": rows})
        return
    show(f"{before.name} → {after.name}", style="bold")
    if not changes:
        show("no setting differs")
    for path, old, new in changes:
        show(f"  {path}: {_value_text(old)} → {_value_text(new)}")


def plain_grounds(verdict: "ConfigVerdict") -> list[dict[str, str]]:
    return [{"kind": ground.kind, "message": ground.message} for ground in verdict.grounds]


def plain_comparison(comparison: "Comparison") -> dict[str, Any]:
    differences: dict[str, dict[str, Any]] = {}
    for change in comparison.changes:
        interval, moved = None, change.difference
        if moved is not None:
            interval = {"mean": moved.difference, "low": moved.low, "high": moved.high, "confidence": 0.95}
        means = {"metric": change.metric, "before": change.before, "after": change.after, "interval": interval}
        tested = {"p": moved.p, "change": moved.difference} if moved else {"p": None, "change": 0.0}
        differences[change.metric] = means | tested
    return {
        "before": plain_evaluation(comparison.before, with_questions=False),
        "after": plain_evaluation(comparison.after, with_questions=False),
        "differences": differences,
        **{name: getattr(comparison, name) for name in ("won", "lost", "more_distractors")},
        "moves": [plain(move) | {"change": move.change, "came": move.came, "went": move.went} for move in comparison.moves],
    }


def show_comparison(comparison: "Comparison", moves: int, *, can_show_more: bool = False) -> None:
    """Means of both, what became of the distractors, and the questions that moved."""
    before, after = comparison.before, comparison.after
    count = len(after.rows)
    names = f"{before.config.name} → {after.config.name}"
    show(f"{names}: {questions_of(after)}", style="bold")
    titles = ["", "before", "after", "change", "95 % interval", "p"]
    show_table(titles, [_difference_row(after.metrics, change) for change in comparison.changes], right=range(1, len(titles)))
    show(
        f"distractors: {before.distractors} → {after.distractors}, in the first 5 {before.distractors_in(5)} → "
        f"{after.distractors_in(5)}; at {before.contaminated} → {after.contaminated} questions; "
        f"results {before.results} → {after.results}"
    )
    same = count - comparison.won - comparison.lost
    show(f"questions: {comparison.won} better, {comparison.lost} worse, {same} with the same nUDCG")
    for move in comparison.moves[:moves]:
        show()
        style = "red" if move.change < 0 else "green" if move.change > 0 else ""
        show(f"{move.id}  nUDCG {move.before:.3f} → {move.after:.3f} ({move.change:+.3f})  {short(move.query)}", style=style)
        for place in move.places:
            before_rank, after_rank = ("not shown" if rank is None else str(rank) for rank in (place.before, place.after))
            show_indented(f"{place.label} {place.document}: {before_rank} → {after_rank}")
    if can_show_more and moves < len(comparison.moves):
        show(
            f"\n{len(comparison.moves) - moves} more questions moved; see them with --moves {len(comparison.moves)}", style="dim"
        )


def _pair(folder: "Workspace", a: str, b: str) -> tuple["RetrievalConfig", "RetrievalConfig"]:
    first, second = (a, b) if b else ("active", a)
    return workspaces.config_of(folder, first), workspaces.config_of(folder, second)


def _difference_row(metrics: Mapping[Any, Any], change: "MetricChange") -> Sequence[str]:
    difference, means = change.difference, (metrics[change.metric][0], figure(change.before), figure(change.after))
    if difference is None:
        return *means, "–", "–", "–"
    return *means, signed(difference.difference), f"{difference.low:+.3f} to {difference.high:+.3f}", figure(difference.p, ".4f")


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, inner in value.items():
        # Filters are a table of their own: a field that is not there is no value.
        flat |= _flat(inner, f"{prefix}{name}.") if isinstance(inner, dict) else {f"{prefix}{name}": inner}
    return flat


def _value_text(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value) or '""'
