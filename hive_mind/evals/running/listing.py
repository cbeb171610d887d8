"""Which runs a folder holds, and how far each of them got."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.evals.experiments.matrix import cells_of
from hive_mind.evals.rows import CellReport
from hive_mind.evals.running.folder import CELL, ENVIRONMENT, EXPERIMENT, experiment_in


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run: its cells that are done, have failed, and are left. `damage` says why it can't be read, where it can't be."""

    folder: str
    experiment: str
    started: str
    done: int
    failed: int
    left: int
    damage: str = ""


def runs_in(folder: Path) -> list[RunLine]:
    """The runs of a folder, or the folder itself where it is one, by the time they began. What is none is passed over.

    A run that is damaged is one of them: it may be an evaluation of hours, of which a file can be restored.
    """
    found = [folder] if (folder / EXPERIMENT).is_file() else sorted(path.parent for path in folder.glob(f"*/{EXPERIMENT}"))
    return sorted((_line(path) for path in found), key=lambda line: (line.started, line.folder))


def _line(folder: Path) -> RunLine:
    try:
        experiment = experiment_in(folder)
        environment = msgspec.json.decode((folder / ENVIRONMENT).read_bytes(), type=dict[str, Any])
        reports = [_report(folder / "cells" / cell.id / CELL) for cell in cells_of(experiment)]
    except (InvalidInput, OSError, msgspec.DecodeError):
        return RunLine(str(folder), "", "", 0, 0, 0, f"hive-mind eval report {folder} says what is damaged")
    done = sum(1 for one in reports if one and one.status == "done")
    failed = sum(1 for one in reports if one and one.status == "failed")
    started = str(environment.get("started", ""))
    return RunLine(str(folder), experiment.name, started, done, failed, len(reports) - done - failed)


def _report(path: Path) -> CellReport | None:
    return msgspec.json.decode(path.read_bytes(), type=CellReport) if path.exists() else None
