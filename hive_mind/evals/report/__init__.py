"""The report of a run: one page to be sent to others, drawings and tables beside it. It shows a scorecard.

The page has its sections in order, in one file that needs nothing else. No script, and no address is loaded. All figures are
there as CSV, too: a line per question, a line per cell, safe to open in a spreadsheet.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

import hive_mind.evals.report.findings as findings
import hive_mind.evals.report.selecting as selecting
from hive_mind.counted import in_one_line
from hive_mind.drawing import declarations
from hive_mind.evals import metrics
from hive_mind.evals.experiments import Row, Timing
from hive_mind.evals.metrics import COSTS
from hive_mind.evals.report.selecting import (
    EXACT,
    KINDS,
    Drawings,
    Material,
    data_name,
    no_drawings,
    representatives,
    settings_of,
)
from hive_mind.evals.running import MeasuredRun, read_run
from hive_mind.evals.scorecard import CellCard, Scorecard, read_scorecard
from hive_mind.hive.topology.spec import SINGLE
from hive_mind.retrieval import writable
from hive_mind.safe_files import READABLE, write_whole

# Spreadsheets look behind white space, and take these for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")

_SPACES = ("\t", "\r", "\n")

Value = str | int | float | None


def questions_csv(card: Scorecard, run: MeasuredRun) -> str:
    """A line per question and cell: documents found, its metrics, cost and times."""
    cards = {cell.id: cell for cell in card.done}
    cells = [cell for cell in run.cells if cell.id in cards]
    return _written(_question(cards[cell.id], row, cell.times.get(row.question)) for cell in cells for row in cell.rows.values())


def cells_csv(card: Scorecard) -> str:
    """A line per cell, failed ones too: its settings, each mean with its interval, and each difference from single."""
    return _written(_cell(cell) for cell in card.cells)


def safe(value: Value) -> Value:
    if isinstance(value, str) and (value.lstrip().startswith(_FORMULA) or value[:1] in _SPACES):
        return f"'{value}"
    return value


def _written(lines: Iterable[Mapping[str, Value]]) -> str:
    """Lines may have other columns than the first; those that are missing stay empty."""
    everything = list(lines)
    columns = list(dict.fromkeys(name for line in everything for name in line))
    out = StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([safe(name) for name in columns])
    writer.writerows([safe(line.get(name)) for name in columns] for line in everything)
    return out.getvalue()


def _columns(cell: CellCard) -> dict[str, Value]:
    columns: dict[str, Value] = {"cell": cell.id, "data": cell.data.name, "part": cell.data.part}
    arm, fault = msgspec.to_builtins(cell.arm), msgspec.to_builtins(cell.fault)
    columns |= {f"arm_{key}": value for key, value in arm.items()}
    columns |= {"ranking": cell.retrieval.name, "mode": cell.retrieval.mode, "seed": cell.seed}
    return columns | {f"fault_{key}": value for key, value in fault.items()}


def _question(cell: CellCard, row: Row, timing: Timing | None) -> dict[str, Value]:
    plain: dict[str, Any] = msgspec.structs.asdict(row)
    lists = {name: " ".join(map(str, plain[name])) for name in ("found", "facts", "scores")}
    rest = {name: value for name, value in plain.items() if name != "metrics"} | lists
    times = {"cpu_ms": timing.cpu_ms if timing else None, "wall_ms": timing.wall_ms if timing else None}
    # Of a question without a result nothing was measured; the values in its row would be taken for a measured 0.
    unknown = dict.fromkeys((*COSTS, *times)) if row.error else {}
    return _columns(cell) | rest | dict(row.metrics) | times | unknown


def _cell(cell: CellCard) -> dict[str, Value]:
    names = ("status", "why", "documents", "questions", "embedding", "answerer", "judge")
    line = _columns(cell) | {name: getattr(cell, name) for name in names}
    line |= {"errors": sum(cell.errors.values()), "left_out": sum(cell.left_out.values())}
    for figures in (cell.metrics, cell.figures, cell.system or {}):
        line |= dict(_flat("", msgspec.to_builtins(figures)))
    return line | dict(_flat("against_single", msgspec.to_builtins(cell.against_single) or {}))


def _flat(name: str, value: Any) -> Iterator[tuple[str, Value]]:
    """Nested figures as columns: "recall@10 low", "against_single metrics recall@10 p"."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name} {key}".strip(), inner)
    else:
        yield name, value


PAGE = "report.html"


def page(material: Material) -> str:
    return _environment().get_template("page.html").render(m=material)


@cache
def _environment() -> Environment:
    """The templates. Everything they show is escaped: names come from data sets and from files of others. Control characters and
    those that turn the direction of writing are taken out."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: in_one_line(value) if type(value) is str else value,
    )
    environment.filters |= {name: getattr(selecting, name) for name in selecting.FILTERS}
    environment.filters |= {"at": _at, "representatives": lambda setting: representatives(setting.healthy, tuple(KINDS))}
    environment.filters["titles"] = lambda body: re.findall(r'<h2 id="([a-z0-9-]+)-title">([^<]*)</h2>', str(body))
    environment.globals |= {"data_name": data_name}
    for module in (metrics, selecting, findings):
        environment.globals |= {name: value for name, value in vars(module).items() if not name.startswith("_")}
    environment.globals |= {"EXACT": EXACT, "SINGLE": SINGLE}
    environment.globals |= {"light": declarations(dark=False), "dark": declarations(dark=True)}
    return environment


def _at(value: object, path: str) -> object:
    """The value at a path of attributes; None where one on the way is None."""
    for name in path.split("."):
        value = None if value is None else getattr(value, name)
    return value


def write_report(folder: Path) -> Path:
    """Write it from `scorecard.json` and the rows of the folder; returns the page. Raises `InvalidInput` where it can't.

    Drawings of a former report that are not drawn any more are taken away.
    """
    card, run = read_scorecard(folder), read_run(folder)
    drawings = _drawings(card)
    png_by_name = {f"{plot.name}.png": plot.png for plot in drawings.all}
    with writable(plots := folder / "plots"):
        plots.mkdir(exist_ok=True)
        for former in plots.glob("*.png"):
            if former.name not in png_by_name:
                former.unlink()
        for name, body in png_by_name.items():
            write_whole(plots / name, body, READABLE)
    texts = {"questions.csv": questions_csv(card, run), "cells.csv": cells_csv(card)}
    for name, text in (texts | {PAGE: page(Material(card, run, tuple(settings_of(card)), drawings))}).items():
        with writable(folder / name):
            write_whole(folder / name, text.encode(), READABLE)
    return folder / PAGE


def _drawings(card: Scorecard) -> Drawings:
    try:
        from hive_mind.evals.report.drawings import drawn
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        return Drawings(missing=no_drawings())
    return drawn(card)


__all__ = ["write_report"]
