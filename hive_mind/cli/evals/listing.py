"""`hive-mind eval list`: experiments that come along, and the runs of a folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, Group
from hive_mind.cli.output import say, show, show_json, show_table
from hive_mind.errors import InvalidInput

if TYPE_CHECKING:
    from hive_mind.evals.running.reading import RunLine


group = Group()


@group.called_as("hive-mind eval list", "hive-mind eval list runs", "hive-mind eval list --explain", name="list")
def list_experiments(
    folder: Annotated[Path | None, typer.Argument(help="A folder of runs.", show_default="runs, where it is there")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Explain an experiment's file, field by field.")] = False,
    output: options.Output = Format.TEXT,
) -> None:
    """Show the built-in experiments, and the runs of a folder: which are finished, and which failed where."""
    from hive_mind.evals.experiments.reading import bundled, read_experiment
    from hive_mind.evals.running.reading import runs_in

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
    for run in runs:
        if run.damage:
            say(f"{run.folder} can't be read: {run.damage}", style="yellow")


def _cells(run: "RunLine") -> tuple[str, ...]:
    return (run.folder, run.experiment, run.started, str(run.done), str(run.failed), str(run.left))


def _explain(output: Format) -> None:
    from hive_mind.evals.experiments.form import explained

    if output is Format.JSON:
        show_json({"fields": [{"path": path, "means": means} for path, means in explained()]})
    else:
        show_table(("field", "means"), explained())
