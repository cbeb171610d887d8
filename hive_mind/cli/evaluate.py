"""`hive-mind eval`: measure how well memories find what was asked, on data sets with judged questions."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, cast

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, examples, settings_for
from hive_mind.cli.output import progress, show, show_json, show_table
from hive_mind.cli.running import command
from hive_mind.evals.methods import METHODS
from hive_mind.evals.run import DATASETS, RetrievalRun, evaluate

_EPILOG = examples(
    "hive-mind eval retrieval --dataset locomo --data locomo10.json --method keyword",
    "hive-mind eval retrieval --dataset jsonl --data sets/ --name notes --scope pooled --output json",
)


class Scope(StrEnum):
    """Which documents a question is asked of."""

    PER_CONVERSATION = "per-conversation"
    POOLED = "pooled"


group = typer.Typer(name="eval", help="Measure retrieval on data sets with judged questions.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(group, epilog=_EPILOG)


@group.callback()
def about() -> None:
    """Measure retrieval on data sets with judged questions."""


@group.command(epilog=_EPILOG)
@command
async def retrieval(
    data: Annotated[Path, typer.Option(help="The data set's file or folder.")],
    dataset: Annotated[str, typer.Option(help=f"Its format: {' or '.join(DATASETS)}.")] = "jsonl",
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = "hybrid",
    scope: Annotated[Scope, typer.Option(help="Ask each conversation alone, or all of them together.")] = Scope.PER_CONVERSATION,
    name: Annotated[str, typer.Option(help="Which set, where a folder holds several.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-k", min=1, max=1000, help="Measure the first k.")] = 10,
    cache: Annotated[Path | None, typer.Option(help="Folder of databases to reuse, so that nothing is embedded twice.")] = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Store a data set's documents, ask its questions, and measure where the relevant documents rank."""
    run = RetrievalRun(dataset, data, method, scope.value, name, limit, cache)
    with progress("") as report:
        rows = await evaluate(run, settings_for(None, embed, model), lambda what, done, total: report(done, total, what))
    if output is Format.JSON:
        show_json({"rows": rows})
        return
    for row in rows:
        _show_row(row, limit)


def _show_row(row: dict[str, object], limit: int) -> None:
    by = f", embedded by {row['embedding']}" if row["embedding"] else ""
    show(f"{row['dataset']}, {row['scope']}, {row['method']}{by}", style="bold")
    show(f"{row['documents']} documents, {row['questions']} questions measured, {row['left_out']} left out")
    metrics = cast(dict[str, float | None], row["metrics"])
    intervals = cast(dict[str, list[float] | None], row["intervals"])
    categories = cast(dict[str, dict[str, float | None]], row["by_category"])
    rows = [("all questions", [_with_interval(metrics[name], intervals[name]) for name in metrics])]
    rows += [(category, [_figure(values[name]) for name in metrics]) for category, values in categories.items()]
    show_table(["", *metrics], [(title, *cells) for title, cells in rows], right=range(1, len(metrics) + 1))
    show(f"In brackets: 95 % interval over questions. Only the first {limit} found count.", style="dim")


def _with_interval(value: float | None, interval: list[float] | None) -> str:
    return _figure(value) + (f" [{interval[0]:.3f}–{interval[1]:.3f}]" if interval else "")


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
