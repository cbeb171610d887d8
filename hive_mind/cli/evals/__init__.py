"""`hive-mind eval`: its commands put together; experiments and runs are listed here, and data sets are made up."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.evals import compare, run
from hive_mind.cli.options import Format, Group, examples
from hive_mind.cli.output import say, show, show_json, show_table
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput

if TYPE_CHECKING:
    from hive_mind.evals.running import RunLine


first = Group()


@first.called_as("hive-mind eval list", "hive-mind eval list runs", "hive-mind eval list --explain", name="list")
def list_experiments(
    folder: Annotated[Path | None, typer.Argument(help="A folder of runs.", show_default="runs, where it is there")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Explain an experiment's file, field by field.")] = False,
    output: options.Output = Format.TEXT,
) -> None:
    """Show the built-in experiments, and the runs of a folder: which are finished, and which failed where."""
    from hive_mind.evals.experiments.reading import bundled, read_experiment
    from hive_mind.evals.running import runs_in

    if explain:
        _explain(output)
        return
    if folder is not None and not folder.is_dir():
        raise InvalidInput(f"there is no folder {folder}; give one that has runs, or none")
    runs = runs_in(folder or Path("runs"))
    experiments = [(name, read_experiment(name).about) for name in bundled()]
    if output is Format.JSON:
        show_json({"experiments": [{"name": name, "about": about} for name, about in experiments], "runs": runs})
        return
    show_table(("experiment", "about"), experiments)
    if lines := [run for run in runs if not run.damage]:
        show()
        show_table(("run", "of", "started", "cells", "failed", "left"), map(_cells, lines), right=(3, 4, 5))
    for listed in runs:
        if listed.damage:
            say(f"{listed.folder} can't be read: {listed.damage}", style="yellow")


def _cells(run: "RunLine") -> tuple[str, ...]:
    return (run.folder, run.experiment, run.started, str(run.done), str(run.failed), str(run.left))


def _explain(output: Format) -> None:
    from hive_mind.evals.experiments.form import explained

    if output is Format.JSON:
        show_json({"fields": [{"path": path, "means": means} for path, means in explained()]})
    else:
        show_table(("field", "means"), explained())


@first.called_as(
    "hive-mind eval generate --turns 1000 --agents 20 --out sets",
    "hive-mind eval generate --turns 100000 --agents 1000 --seed 7 --out sets",
    "hive-mind eval retrieval --dataset jsonl --data sets --method keyword",
    name="generate",
)
def generate_dataset(
    out: Annotated[Path, typer.Option(help="Folder for NAME.corpus.jsonl and NAME.queries.jsonl.")],
    turns: Annotated[int, typer.Option(help="How many turns of dialogue.")] = 1000,
    agents: Annotated[int, typer.Option(help="How many agents say them.")] = 20,
    seed: Annotated[int, typer.Option(help="The same seed gives the same corpus.")] = 1,
    output: options.Output = Format.TEXT,
) -> None:
    """Make up a world that agents talk about for months, with questions whose answers are known, and write it as JSONL.

    docs/data-card.md describes what is in it.
    """
    from hive_mind.evals.datasets.jsonl import write_jsonl
    from hive_mind.evals.generating import generate

    dataset = generate(turns, agents, seed)
    corpus, queries = write_jsonl(dataset, out)
    if output is Format.JSON:
        counts = {"documents": dataset.documents, "questions": dataset.questions}
        show_json({"name": dataset.name, **counts, "corpus": str(corpus), "queries": str(queries)})
        return
    show(f"{corpus}: {dataset.documents} turns")
    show(f"{queries}: {counted(dataset.questions, 'question')}")


_EPILOG = examples(
    "hive-mind eval list",
    "hive-mind eval run quick",
    "hive-mind eval run standard --data ../shared/data --out runs/before",
    "hive-mind eval compare runs/before runs/after",
    "hive-mind eval memory questions.json",
)

group = Group(
    name="eval",
    help="Compare topologies, sizes and ways to retrieve on questions with known answers.",
    no_args_is_help=True,
    epilog=_EPILOG,
)
# In the order in which one needs them.
for commands in (first, run.group, compare.group):
    group.add_typer(commands)
