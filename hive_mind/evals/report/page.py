"""The page: its sections in order, in one file that needs nothing else. No script, and no address is loaded."""

import re
from importlib.resources import files
from pathlib import Path
from string import Template

from hive_mind.drawing.palette import declarations
from hive_mind.evals.report.markup import Markup, joined, tag
from hive_mind.evals.report.material import Drawings, Material, material_of, no_drawings
from hive_mind.evals.report.sections.answers import examples
from hive_mind.evals.report.sections.cost import cost
from hive_mind.evals.report.sections.failures import failures
from hive_mind.evals.report.sections.gaps import failed, left_out
from hive_mind.evals.report.sections.placement import fan_out
from hive_mind.evals.report.sections.provenance import environment, reading, repeating
from hive_mind.evals.report.sections.results import results
from hive_mind.evals.report.sections.summary import summary
from hive_mind.evals.report.sections.topologies import baselines, merged_by_rank, parity
from hive_mind.evals.report.spreadsheets import cells_csv, questions_csv
from hive_mind.evals.running.reading import read_run
from hive_mind.evals.scorecards.card import Scorecard, read_scorecard
from hive_mind.replacing import READABLE, write_whole
from hive_mind.retrieval.files.writing import writable

_SECTIONS = (
    summary,
    parity,
    merged_by_rank,
    fan_out,
    baselines,
    results,
    examples,
    failures,
    cost,
    failed,
    left_out,
    reading,
    environment,
    repeating,
)


PAGE = "report.html"


def page(material: Material) -> str:
    title = f"Evaluation: {material.card.name}"
    body = joined(_missing(material), (section(material) for section in _SECTIONS))
    style = Template(_resource("page.css")).substitute(light=declarations(dark=False), dark=declarations(dark=True))
    words = {"title": joined(title), "style": style, "about": _about(material), "contents": _contents(body), "main": body}
    return Template(_resource("page.html")).substitute(words)


def _about(material: Material) -> Markup:
    known = material.card.environment
    version, started = known.get("hive_mind") or known.get("version"), known.get("started")
    parts = [f"hive-mind {version}" if version else "hive-mind", f"measured {started}" if started else ""]
    return tag("p", ", ".join(one for one in parts if one), class_="about")


def _missing(material: Material) -> Markup:
    return tag("p", material.drawings.missing, class_="missing") if material.drawings.missing else Markup()


def _contents(body: Markup) -> Markup:
    """Links to what is there: headings are made by `section` only, and hold escaped text."""
    found = re.findall(r'<h2 id="([a-z0-9-]+)-title">([^<]*)</h2>', body)
    return tag("ul", (tag("li", tag("a", Markup(title), href=f"#{id}")) for id, title in found))


def _resource(name: str) -> str:
    return files("hive_mind.evals.report").joinpath(name).read_text("utf-8")


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
        return Drawings(missing=no_drawings())
    return drawn(card)


def _write_drawings(folder: Path, drawings: Drawings) -> None:
    with writable(folder):
        folder.mkdir(exist_ok=True)
        wanted = {f"{plot.name}.png": plot.png for plot in drawings.all}
        for former in folder.glob("*.png"):
            if former.name not in wanted:
                former.unlink()
        for name, body in wanted.items():
            write_whole(folder / name, body, READABLE)


def _write(path: Path, text: str) -> None:
    with writable(path):
        write_whole(path, text.encode(), READABLE)
