"""`hive-mind retrieval compare`: two configurations side by side, by what they find and by what they say."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, Group, refuse_ineffective
from hive_mind.cli.output import figure, plain, show, show_indented, show_json, show_table
from hive_mind.cli.pictures import picture_kind
from hive_mind.cli.retrieval import workspaces
from hive_mind.cli.retrieval.evaluate import Part, Questions, evaluated
from hive_mind.cli.retrieval.measured import Plot, draw, plain_evaluation, questions_of, short, signed

if TYPE_CHECKING:
    from hive_mind.measure.differences import MetricChange
    from hive_mind.retrieval.files.configuration import RetrievalConfig
    from hive_mind.retrieval.files.workspace import Workspace
    from hive_mind.retrieval.measuring.verdict import Comparison, ConfigVerdict, RankChange

_MOVES = 10

First = Annotated[str, typer.Argument(metavar="A", help="The one to compare with.", autocompletion=workspaces.config_names)]
Second = Annotated[
    str,
    typer.Argument(
        metavar="B", help="The one to look at.", show_default="A, and the active one in place of A",
        autocompletion=workspaces.config_names,
    ),
]  # fmt: skip
Moves = Annotated[
    int | None,
    typer.Option(
        "--moves", min=0, max=10_000, help="Number of questions to list, the greatest loss first.", show_default=str(_MOVES)
    ),
]
Settings = Annotated[bool, typer.Option("--settings", help="Only show in which settings they differ; nothing is measured.")]


group = Group()


@group.called_as(
    "hive-mind retrieval compare v1-naive better",
    "hive-mind retrieval compare better -o json",
    "hive-mind retrieval compare better --settings",
)
async def compare(
    a: First,
    b: Second = "",
    settings: Settings = False,
    questions: Part = Questions.ALL,
    moves: Moves = None,
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
    changes = list(_changes(_flat(before.model_dump(by_alias=True)), _flat(after.model_dump(by_alias=True))))
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
    return {
        "before": plain_evaluation(comparison.before, with_questions=False),
        "after": plain_evaluation(comparison.after, with_questions=False),
        "differences": {change.metric: _plain_change(change) for change in comparison.changes},
        "won": comparison.won,
        "lost": comparison.lost,
        "more_distractors": comparison.more_distractors,
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
            show_indented(_place(place))
    if can_show_more and moves < len(comparison.moves):
        show(
            f"\n{len(comparison.moves) - moves} more questions moved; see them with --moves {len(comparison.moves)}", style="dim"
        )


def _pair(folder: "Workspace", a: str, b: str) -> tuple["RetrievalConfig", "RetrievalConfig"]:
    first, second = (a, b) if b else ("active", a)
    return workspaces.config_of(folder, first), workspaces.config_of(folder, second)


def _plain_change(metric_change: "MetricChange") -> dict[str, Any]:
    change: dict[str, Any] = {"metric": metric_change.metric, "before": metric_change.before, "after": metric_change.after}
    if (difference := metric_change.difference) is None:
        return change | {"interval": None, "p": None, "change": 0.0}
    interval = {"mean": difference.difference, "low": difference.low, "high": difference.high, "confidence": 0.95}
    return change | {"interval": interval, "p": difference.p, "change": difference.difference}


def _difference_row(metrics: Mapping[Any, Any], change: "MetricChange") -> Sequence[str]:
    difference, means = change.difference, (metrics[change.metric][0], figure(change.before), figure(change.after))
    if difference is None:
        return *means, "–", "–", "–"
    return *means, signed(difference.difference), f"{difference.low:+.3f} to {difference.high:+.3f}", figure(difference.p, ".4f")


def _place(change: "RankChange") -> str:
    where = f"{_rank(change.before)} → {_rank(change.after)}"
    return f"{change.label} {change.document}: {where}"


def _rank(rank: int | None) -> str:
    return "not shown" if rank is None else str(rank)


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, inner in value.items():
        # Filters are a table of their own: a field that is not there is no value.
        flat |= _flat(inner, f"{prefix}{name}.") if isinstance(inner, dict) else {f"{prefix}{name}": inner}
    return flat


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for path in dict.fromkeys((*before, *after)):
        if path != "name" and before.get(path) != after.get(path):
            yield path, before.get(path), after.get(path)


def _value_text(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value) or '""'
