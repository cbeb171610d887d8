"""`hive-mind eval retrieval`: one data set and one way to rank, a single memory or several topologies side by side."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.evals.run import goes_on, reports
from hive_mind.cli.options import Format, Group, settings_for
from hive_mind.cli.output import figure, plain, say, show, show_json, show_prose, show_table
from hive_mind.cli.ranking_files import ConfigFile, ways_of
from hive_mind.cli.running import FAILED
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.evals.arms.keeping import DEALS
from hive_mind.evals.arms.methods import METHODS
from hive_mind.evals.datasets import FORMATS
from hive_mind.evals.experiments.values import Arm
from hive_mind.hive.topology.spec import NAMES, is_shared, reads
from hive_mind.model.query import LIMIT, METHOD
from hive_mind.runtime.members.fleet import GROUP_SIZE

if TYPE_CHECKING:
    from hive_mind.evals.running.retrieval import RetrievalLine

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


group = Group()


@group.called_as(
    "hive-mind eval retrieval --dataset locomo --data locomo10.json --method keyword",
    "hive-mind eval retrieval --dataset locomo --data locomo10.json --topology single,flat,federated,sharded --agents 10",
    "hive-mind eval retrieval --dataset jsonl --data sets/ --name notes --scope pooled --output json",
)
def retrieval(
    context: typer.Context,
    data: Annotated[Path, typer.Option(help="The data set's file or folder, or the folder of all of them and --name.")],
    dataset: Annotated[str, typer.Option(help=f"Its format: auto, {', '.join(FORMATS)}.")] = "jsonl",
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = METHOD,
    scope: Annotated[Scope, typer.Option(help="Ask each conversation alone, or all of them together.")] = Scope.PER_CONVERSATION,
    name: Annotated[str, typer.Option(help="Which set, where a folder holds several.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-k", min=1, max=1000, help="Measure the first k.")] = LIMIT,
    topology: Annotated[str, typer.Option(help=f"Several with commas: {', '.join(NAMES)}.")] = "single",
    agents: Annotated[int, typer.Option(min=1, max=1000, help="How many agents learn it, where there is a hive.")] = 10,
    deal: Annotated[str, typer.Option(help=f"Distribution of documents: {', '.join(DEALS)}.")] = Arm().deal,
    group_size: Annotated[int, typer.Option(min=1, help="Agents in a group of a federated hive.")] = GROUP_SIZE,
    down: Annotated[int, typer.Option(min=0, help="Stop this many nodes before asking.")] = 0,
    config: ConfigFile = None,
    cache: Annotated[Path | None, typer.Option(help="Folder of vectors to reuse, so that nothing is embedded twice.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the run, for eval report, compare and gate; one that was interrupted goes on.",
            show_default="nothing is kept",
        ),
    ] = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Store a data set's documents, ask its questions, and measure where the relevant documents rank.

    With --topology, side by side: one memory that has everything, and agents that share what each of them learned.
    """
    from hive_mind.evals.running.retrieval import RetrievalRun, evaluate

    arms = tuple(_arm(name.strip(), agents, deal, group_size) for name in topology.split(",") if name.strip())
    ways = ways_of(context, config, method, limit)
    run = RetrievalRun(dataset, data, ways.method, scope.value, name, ways.limit, cache, arms, down, ways.ranking)
    with reports(goes_on() if out else "nothing is kept without --out") as report:
        lines = evaluate(run, settings_for(None, embed, model), report, out, tuple(sys.argv[1:]))
    if output is Format.JSON:
        show_json({"rows": [plain(line) for line in lines]})
    elif len(lines) > 1 or is_shared(lines[0].topology):
        _show_topologies(lines, ways.limit)
    else:
        _show_line(lines[0], ways.limit)
    if unmeasured := next((line for line in lines if not line.questions), None):
        say(f"nothing was measured: no question is left ({_reasons(unmeasured)})", style="red")
        raise typer.Exit(FAILED)


def _arm(name: str, agents: int, deal: str, group_size: int) -> Arm:
    """A federated one has as few groups as possible, none with more agents than `group_size`."""
    if not is_shared(name):
        return Arm()
    if name not in NAMES:
        raise InvalidInput(f"there is no topology {name!r}; known: {', '.join(NAMES)}")
    return Arm(name, agents, -(-agents // group_size) if reads(name, "groups") else 0, deal=deal)


def _reasons(line: "RetrievalLine") -> str:
    reasons = (f"{count} {reason}" for reason, count in line.left_out_reasons.items())
    return "; ".join(reasons) or "the set has none with a relevant document"


def _show_heading(line: "RetrievalLine") -> None:
    by = f", embedded by {line.embedding}" if line.embedding else ""
    show(f"{line.dataset}, {line.scope}, {line.method}{by}", style="bold")
    sizes = f"{counted(line.documents, 'document')}, {counted(line.questions, 'question')} measured"
    show(f"{sizes}, {line.left_out} left out")


def _show_topologies(lines: "list[RetrievalLine]", limit: int) -> None:
    from hive_mind.cli.evals.scorecard_table import show_wide_table, stopped_note

    first = lines[0]
    _show_heading(first)
    titles = ["topology", "agents", *first.metrics, "same as single", "messages", "bytes", "reached", "CPU ms"]
    show_wide_table(titles, [_topology_row(line) for line in lines])
    show_prose(_LEGEND.format(limit=min(limit, 10)), style="dim")
    for line in lines:
        if line.held is not None:
            show_prose(stopped_note(line.topology, line.stopped, line.held), style="dim")


def _topology_row(line: "RetrievalLine") -> tuple[str, ...]:
    costs = (figure(getattr(line, name), form) for name, form in _COSTS)
    return line.topology, str(line.agents), *map(figure, line.metrics.values()), *costs


def _show_line(line: "RetrievalLine", limit: int) -> None:
    _show_heading(line)
    rows = [("all questions", *(_with_interval(value, line.intervals[name]) for name, value in line.metrics.items()))]
    rows += [(category, *map(figure, values.values())) for category, values in line.by_category.items()]
    show_table(["", *line.metrics], rows, right=range(1, len(line.metrics) + 1))
    drawn = f"the {line.groups} conversations" if line.groups else "questions"
    show(f"In brackets: 95 % interval over {drawn}. Only the first {limit} found count.", style="dim")


def _with_interval(value: float | None, interval: list[float] | None) -> str:
    return figure(value) + (f" [{interval[0]:.3f}–{interval[1]:.3f}]" if interval else "")
