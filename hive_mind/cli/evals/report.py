"""`hive-mind eval report`: the scorecard, the table and the report of a run, made again from what the run wrote down."""

from pathlib import Path
from typing import Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, Group
from hive_mind.cli.output import say, show_json

Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, finished or not.")]


group = Group()


@group.called_as("hive-mind eval report runs/today", "hive-mind eval report runs/today --output json")
async def report(run: Run, output: options.Output = Format.TEXT) -> None:
    """Compute everything again from a run's rows, timings and cell reports, and write scorecard.json, report.html and the rest.

    Cells that failed or are not finished are in it, with the reason.
    """
    show_report(run, output)


def show_report(run: Path, output: Format) -> None:
    """Make scorecard and report of a run, and show the first. Raises `InvalidInput` where one can't be made."""
    from hive_mind.cli.evals.scorecard_table import show_scorecard
    from hive_mind.evals.report import write_report
    from hive_mind.evals.scorecard import write_scorecard

    card = write_scorecard(run)
    page = write_report(run)
    if output is Format.JSON:
        show_json(card)
    else:
        show_scorecard(card)
    say(f"report: {page}")
