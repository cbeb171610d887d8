"""`hive-mind eval retrieval`: one measurement at once, of one memory or of several topologies side by side."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, cast

import typer

from hive_mind.cli import options
from hive_mind.cli.evals.scorecard_table import show_wide_table
from hive_mind.cli.options import Format, examples, settings_for
from hive_mind.cli.output import progress, show, show_json, show_prose, show_table
from hive_mind.cli.ranking_files import ConfigFile, ways_of
from hive_mind.cli.running import command
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.evals.arms.dealing import DEALS
from hive_mind.evals.arms.methods import METHODS
from hive_mind.evals.datasets import FORMATS
from hive_mind.evals.fleets import Arrangement
from hive_mind.evals.run import RetrievalRun, evaluate
from hive_mind.hive.topology.spec import NAMES, is_shared
from hive_mind.model.query import LIMIT, METHOD
from hive_mind.runtime.members.fleet import GROUP_SIZE

_EPILOG = examples(
    "hive-mind eval retrieval --dataset locomo --data locomo10.json --method keyword",
    "hive-mind eval retrieval --dataset locomo --data locomo10.json --topology single,flat,federated,sharded --agents 10",
    "hive-mind eval retrieval --dataset jsonl --data sets/ --name notes --scope pooled --output json",
)
_COSTS = (
    ("identical_top10", ".4f"),
    ("messages_per_query", ".1f"),
    ("bytes_per_query", ".0f"),
    ("completeness", ".4f"),
    ("cpu_ms_per_query", ".2f"),
)
_LEGEND = """\
same as single: share of questions whose first {limit} facts are those of one memory that has everything, in order. \
messages, bytes: per question, replies included. reached: share of the hive that answered. CPU ms: median, of all members."""


class Scope(StrEnum):
    """Which documents a question is asked of."""

    PER_CONVERSATION = "per-conversation"
    POOLED = "pooled"


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command(epilog=_EPILOG)(retrieval)


@command
async def retrieval(
    context: typer.Context,
    data: Annotated[Path, typer.Option(help="The data set's file or folder, or the folder of all of them and --name.")],
    dataset: Annotated[str, typer.Option(help=f"Its format: auto, {', '.join(FORMATS)}.")] = "jsonl",
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = METHOD,
    scope: Annotated[Scope, typer.Option(help="Ask each conversation alone, or all of them together.")] = Scope.PER_CONVERSATION,
    name: Annotated[str, typer.Option(help="Which set, where a folder holds several.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-k", min=1, max=1000, help="Measure the first k.")] = LIMIT,
    topology: Annotated[str, typer.Option(help=f"Several with commas: {', '.join(NAMES)}.")] = "single",
    agents: Annotated[int, typer.Option(min=1, max=1000, help="How many agents learn it, where there is a hive.")] = 10,
    deal: Annotated[str, typer.Option(help=f"Who learns what: {', '.join(DEALS)}.")] = Arrangement().deal,
    group_size: Annotated[int, typer.Option(min=1, help="Agents in a group of a federated hive.")] = GROUP_SIZE,
    down: Annotated[int, typer.Option(min=0, help="Stop this many nodes before asking.")] = 0,
    config: ConfigFile = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder of databases and vectors to reuse, so that nothing is embedded twice.")
    ] = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Store a data set's documents, ask its questions, and measure where the relevant documents rank.

    With --topology, side by side: one memory that has everything, and agents that share what each of them learned.
    """
    names = [one.strip() for one in topology.split(",") if one.strip()]
    arrangements = tuple(_arrangement(one, agents, deal, group_size, down) for one in names)
    ways = ways_of(context, config, method, limit)
    run = RetrievalRun(dataset, data, ways.method, scope.value, name, ways.limit, cache, arrangements, ways.ranking)
    with progress("") as report:
        rows = await evaluate(run, settings_for(None, embed, model), lambda what, done, total: report(done, total, what))
    if output is Format.JSON:
        show_json({"rows": rows})
        return
    if len(rows) > 1 or is_shared(str(rows[0]["topology"])):
        _show_topologies(rows, ways.limit)
        return
    for row in rows:
        _show_row(row, ways.limit)


def _arrangement(name: str, agents: int, deal: str, group_size: int, down: int) -> Arrangement:
    if not is_shared(name):
        return Arrangement()
    if name not in NAMES:
        raise InvalidInput(f"there is no topology {name!r}; known: {', '.join(NAMES)}")
    return Arrangement(name, agents, deal, down, group_size)


def _show_topologies(rows: list[dict[str, object]], limit: int) -> None:
    first = rows[0]
    by = f", embedded by {first['embedding']}" if first["embedding"] else ""
    show(f"{first['dataset']}, {first['scope']}, {first['method']}{by}", style="bold")
    show(_measured(first))
    metrics = list(cast(dict[str, float | None], first["metrics"]))
    titles = ["topology", "agents", *metrics, "same as single", "messages", "bytes", "reached", "CPU ms"]
    show_wide_table(titles, [_topology_row(row, metrics) for row in rows])
    show_prose(_LEGEND.format(limit=min(limit, 10)), style="dim")


def _topology_row(row: dict[str, object], metrics: list[str]) -> tuple[str, ...]:
    values = cast(dict[str, float | None], row["metrics"])
    numbers = cast(dict[str, float | None], row)
    return (
        str(row["topology"]),
        str(row["agents"]),
        *(_figure(values[name]) for name in metrics),
        *(_figure(numbers[name], form) for name, form in _COSTS),
    )


def _measured(row: dict[str, object]) -> str:
    documents, questions = cast(int, row["documents"]), cast(int, row["questions"])
    return f"{counted(documents, 'document')}, {counted(questions, 'question')} measured, {row['left_out']} left out"


def _show_row(row: dict[str, object], limit: int) -> None:
    by = f", embedded by {row['embedding']}" if row["embedding"] else ""
    show(f"{row['dataset']}, {row['scope']}, {row['method']}{by}", style="bold")
    show(_measured(row))
    metrics = cast(dict[str, float | None], row["metrics"])
    intervals = cast(dict[str, list[float] | None], row["intervals"])
    categories = cast(dict[str, dict[str, float | None]], row["by_category"])
    rows = [("all questions", [_with_interval(metrics[name], intervals[name]) for name in metrics])]
    rows += [(category, [_figure(values[name]) for name in metrics]) for category, values in categories.items()]
    show_table(["", *metrics], [(title, *cells) for title, cells in rows], right=range(1, len(metrics) + 1))
    drawn = f"the {row['groups']} conversations" if row["groups"] else "questions"
    show(f"In brackets: 95 % interval over {drawn}. Only the first {limit} found count.", style="dim")


def _with_interval(value: float | None, interval: list[float] | None) -> str:
    return _figure(value) + (f" [{interval[0]:.3f}–{interval[1]:.3f}]" if interval else "")


def _figure(value: float | None, form: str = ".3f") -> str:
    return "–" if value is None else f"{value:{form}}"
