"""`hive-mind eval gate`: refuse a run that is worse than its baseline, so that a pipeline can stop there."""

from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.evals.compare import Metrics
from hive_mind.cli.options import Format, Group
from hive_mind.cli.output import plain, say_refused, show, show_json
from hive_mind.cli.running import FAILED, USAGE

if TYPE_CHECKING:
    from hive_mind.evals.gating import Judgement


Run = Annotated[str, typer.Argument(metavar="RUN", help="The run to judge, or one of its cells as RUN:CELL.")]
Against = Annotated[str, typer.Option("--against", metavar="BASELINE", help="The baseline run, in the same form.")]


group = Group()


@group.called_as(
    "hive-mind eval gate runs/today --against runs/baseline",
    "hive-mind eval gate runs/today --against runs/baseline --metric recall --metric completeness",
    "hive-mind eval gate runs/all:demo-flat-10-round-robin-hybrid-s1 --against runs/all:demo-single-hybrid-s1",
)
async def gate(run: Run, against: Against, metric: Metrics = None, output: options.Output = Format.TEXT) -> None:
    """Judge a run against a baseline.

    Exit code 0: no metric dropped beyond its 95 % interval. 1: one did, with the evidence. 2: it can't be judged, because
    questions, documents or k differ, or a cell is missing, failed or has questions without a result, an answer or a
    verdict; that does not pass either.
    """
    from hive_mind.evals.gating import judge_run, side_of

    judgement = judge_run(side_of(against), side_of(run), metric or ())
    if output is Format.JSON:
        grounds = [{"cell": ground.about, "metric": ground.kind, "told": ground.message} for ground in judgement.grounds]
        show_json(plain(judgement) | {"grounds": grounds, "allowed": judgement.allowed})
    else:
        show_judgement(judgement, run, against)
    if not judgement.allowed:
        raise typer.Exit(USAGE if judgement.unjudged else FAILED)


def show_judgement(judgement: "Judgement", run: str, against: str) -> None:
    if judgement.unjudged:
        hint = "measure both with the same experiment and data, until every cell is done"
        say_refused(f"{run} can't be judged against {against}, so it does not pass:", judgement.unjudged, hint)
    elif judgement.grounds:
        reasons = (f"{ground.about}: {ground.message}" for ground in judgement.grounds)
        say_refused(f"refused: {run} is worse than {against}", reasons, "see every difference with hive-mind eval compare")
    else:
        passed = (
            f"no drop beyond a 95 % interval in {judgement.judged} comparisons of {len(judgement.cells)} cells with {against}"
        )
        show(f"{run} passes: {passed}", style="green")
