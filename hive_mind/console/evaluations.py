"""Runs of evaluations in folders of this machine: their scorecards, and the reports that were written beside them.

Folders are those that a program with the worker's token named. The files there are read as they are: nothing is computed, and
nothing else can be reached by a name.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import msgspec

from hive_mind.model.decoding import json_decoder

REPORT, SCORECARD = "report.html", "scorecard.json"

_FOLDERS_MAX = 10
_RUNS_SHOWN = 100
_BYTES_MAX = 32 << 20


class Mean(msgspec.Struct, frozen=True):
    """A metric of a cell with its interval."""

    mean: float
    low: float
    high: float


class CellSeen(msgspec.Struct, frozen=True):
    """The shown part of a scorecard's cell."""

    id: str
    status: str
    why: str = ""
    questions: int = 0
    metrics: dict[str, Mean] = {}


class CardSeen(msgspec.Struct, frozen=True):
    """The shown part of a scorecard."""

    cells: tuple[CellSeen, ...] = ()


@dataclass(frozen=True, slots=True)
class EvaluationRun:
    """A run that has a scorecard. `key` names it in an address; `trouble`: why its figures can't be shown, or ""."""

    key: str
    folder: Path
    changed_us: int
    card: CardSeen
    has_report: bool
    trouble: str = ""

    @property
    def metrics(self) -> list[str]:
        """Names of all metrics, in the order of the scorecard."""
        return list(dict.fromkeys(name for cell in self.card.cells for name in cell.metrics))


@dataclass(slots=True)
class RunFolders:
    """The folders that were named: each is a run, or holds some."""

    _named: dict[Path, None] = field(default_factory=dict)

    def add(self, folder: str) -> None:
        """One more; of very many those named last."""
        path = Path(folder)
        if path.is_absolute():
            self._named.pop(path, None)
            self._named[path] = None
        while len(self._named) > _FOLDERS_MAX:
            del self._named[next(iter(self._named))]

    def runs(self) -> list[EvaluationRun]:
        """Those there are now, the newest first."""
        changed_us = {folder: _changed_us(folder) for path in self._named for folder in _folders(path)}
        newest = sorted(changed_us, key=lambda folder: -changed_us[folder])[:_RUNS_SHOWN]
        return [_run(folder, changed_us[folder]) for folder in newest]

    def run(self, key: str) -> EvaluationRun | None:
        """The one of this key; None where there is none."""
        return next((run for run in self.runs() if run.key == key), None)


def report_of(run: EvaluationRun) -> bytes:
    """Its page. Raises `OSError`."""
    with (run.folder / REPORT).open("rb") as file:
        return file.read(_BYTES_MAX)


def _folders(path: Path) -> Iterator[Path]:
    try:
        below = [Path(entry.path) for entry in os.scandir(path) if entry.is_dir()]
    except OSError:
        below = []
    yield from (folder for folder in (path, *below) if (folder / SCORECARD).is_file())


def _changed_us(folder: Path) -> int:
    try:
        return (folder / SCORECARD).stat().st_mtime_ns // 1000
    except OSError:
        return 0


def _run(folder: Path, changed_us: int) -> EvaluationRun:
    has_report, trouble, card = (folder / REPORT).is_file(), "", CardSeen()
    try:
        with (folder / SCORECARD).open("rb") as file:
            card = json_decoder(CardSeen)(file.read(_BYTES_MAX))
    except (OSError, msgspec.MsgspecError) as error:
        trouble = f"its scorecard can't be read: {error}"
    return EvaluationRun(_key(folder), folder, changed_us, card, has_report, trouble)


def _key(folder: Path) -> str:
    """Names a folder without saying where it is."""
    return sha256(os.fsencode(folder)).hexdigest()[:16]
