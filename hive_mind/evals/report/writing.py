"""Write the report of a run beside its scorecard: a page, its drawings as PNG, and all figures as CSV."""

from pathlib import Path

from hive_mind.evals.report.material import material_of
from hive_mind.evals.report.page import page
from hive_mind.evals.report.pictures import MISSING, Drawings
from hive_mind.evals.report.spreadsheets import cells_csv, questions_csv
from hive_mind.evals.scorecards.card import Scorecard, read_scorecard
from hive_mind.evals.scorecards.cells import read_run
from hive_mind.retrieval.writing import writable
from hive_mind.runtime.files import write_whole

# To be sent and shown; the user's own mask decides who else may read it.
_READABLE = 0o666

PAGE = "report.html"


def write_report(folder: Path) -> Path:
    """Write it from `scorecard.json` and the rows of the folder; returns the page. Raises `InvalidInput` where it can't.

    Drawings of a former report that are not drawn any more are taken away.
    """
    card, run = read_scorecard(folder), read_run(folder)
    drawings = _drawings(card)
    _write_drawings(folder / "plots", drawings)
    _write(folder / "questions.csv", questions_csv(card, run))
    _write(folder / "cells.csv", cells_csv(card))
    _write(folder / PAGE, page(material_of(card, run, drawings)))
    return folder / PAGE


def _drawings(card: Scorecard) -> Drawings:
    try:
        from hive_mind.evals.report.plots import drawn
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        return Drawings(missing=MISSING)
    return drawn(card)


def _write_drawings(folder: Path, drawings: Drawings) -> None:
    with writable(folder):
        folder.mkdir(exist_ok=True)
        wanted = {f"{plot.name}.png": plot.png for plot in drawings.all}
        for former in folder.glob("*.png"):
            if former.name not in wanted:
                former.unlink()
        for name, body in wanted.items():
            write_whole(folder / name, body, _READABLE)


def _write(path: Path, text: str) -> None:
    with writable(path):
        write_whole(path, text.encode(), _READABLE)
