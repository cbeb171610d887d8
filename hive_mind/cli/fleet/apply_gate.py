"""`hive-mind apply --gate`: measure what a fleet would find before it changes, and end here where that may be worse."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hive_mind.cli.options import settings_for
from hive_mind.cli.output import progress, say, say_refused
from hive_mind.cli.running import FAILED, USAGE

if TYPE_CHECKING:
    from hive_mind.control.manifests.reading import Source
    from hive_mind.evals.experiments.values import Experiment
    from hive_mind.evals.fleet_gate import FleetChange
    from hive_mind.evals.gating import Judgement


def pass_or_end(source: "Source", home: Path, questions: str, data: Path | None = None) -> None:
    """Return where the change may be made; end with exit code 1 where it is refused, and with 2 where that can't be judged.

    `asked` is an experiment or a question file, `data` where the experiment's paths are looked for first. Not for a coroutine:
    cells run in processes of their own, and Ctrl-C ends them. Raises `HiveError`.
    """
    from hive_mind.control.state import FleetFolder
    from hive_mind.evals.fleet_gate import fleet_change, is_question_file, judge_change, questions_asked

    # Always read: its mistakes are reported even where nothing is measured.
    experiment = None if is_question_file(Path(questions)) else _experiment(questions, data)
    change = fleet_change(source, home)
    _print_change(change)
    if not change.is_asked:
        return
    folder, settings = FleetFolder(home, source.manifest.metadata.name).path / "gate", settings_for(home)
    experiment = experiment or questions_asked(Path(questions), change.agents, folder, settings)
    with progress("cells") as report:
        judged = judge_change(change, experiment, folder, settings, report)
    _show(judged, folder)
    if not judged.allowed:
        raise typer.Exit(USAGE if judged.unjudged else FAILED)


def _experiment(file_or_name: str, data: Path | None) -> "Experiment":
    from hive_mind.evals.experiments.form import GATE
    from hive_mind.evals.experiments.reading import read_experiment

    experiment = read_experiment(file_or_name, data, GATE)
    if experiment.absent:
        say(f"note: --gate does not ask {', '.join(experiment.absent)}: their files are not there", style="yellow")
    return experiment.experiment


def _print_change(change: "FleetChange") -> None:
    """Print the parts that are measured, and those that can't be."""
    for metric in change.unmeasured:
        say(f"note: --gate does not measure {metric}", style="yellow")
    if change.applied is None:
        say("--gate: nothing was applied before, so there is nothing to fall behind")
    elif not change.is_asked:
        say("--gate: topology, ranking and embedding stay as they are, so nothing was asked")


def _show(judgement: "Judgement", folder: Path) -> None:
    from hive_mind.evals.fleet_gate import CERTAIN
    from hive_mind.evals.gating import evidence

    if judgement.allowed:
        for cell in judgement.cells:
            for metric in cell.metrics:
                if metric.metric.split("@")[0] in CERTAIN and metric.difference:
                    say(f"--gate: {cell.before} → {cell.after}: {metric.metric} {evidence(metric)}", style="green")
        return
    reasons = (*judgement.unjudged, *(f"{ground.about}: {ground.message}" for ground in judgement.grounds))
    if judgement.grounds:
        hint = f"look closer with hive-mind eval report {folder / 'applied'}, and {folder / 'wanted'}"
        say_refused("refused by --gate; nothing was changed", reasons, hint)
    else:
        say_refused("--gate can't judge, so nothing was changed", reasons)
