"""All figures as CSV: a line per question, a line per cell. Safe to open in a spreadsheet.

A text that begins like a formula gets an apostrophe in front, because a spreadsheet would run it; numbers stay numbers.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from io import StringIO
from typing import Any

import msgspec

from hive_mind.evals.experiments.values import Arm, Fault
from hive_mind.evals.rows import Row, Timing
from hive_mind.evals.running.reading import MeasuredRun
from hive_mind.evals.scorecards.card import CellCard, Scorecard
from hive_mind.evals.scorecards.metrics import COSTS

# Spreadsheets look behind white space, and take these for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")

_SPACES = ("\t", "\r", "\n")

Value = str | int | float | None


def questions_csv(card: Scorecard, run: MeasuredRun) -> str:
    """A line per question and cell: documents found, its metrics, cost and times."""
    cards = {cell.id: cell for cell in card.done}
    done = [cell for cell in run.cells if cell.id in cards]
    return _written(_question(cards[cell.id], row, cell.times.get(row.question)) for cell in done for row in cell.rows.values())


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


def _about(cell: CellCard) -> dict[str, Value]:
    known: dict[str, Value] = {"cell": cell.id, "data": cell.data.name, "part": cell.data.part}
    known |= _fields(cell.arm, "arm")
    known |= {"ranking": cell.retrieval.name, "mode": cell.retrieval.mode, "seed": cell.seed}
    return known | _fields(cell.fault, "fault")


def _fields(value: Arm | Fault, name: str) -> dict[str, Value]:
    plain: dict[str, Any] = msgspec.to_builtins(value)
    return {f"{name}_{key}": inner for key, inner in plain.items()}


def _question(cell: CellCard, row: Row, timing: Timing | None) -> dict[str, Value]:
    plain: dict[str, Any] = msgspec.structs.asdict(row)
    lists = {name: " ".join(map(str, plain[name])) for name in ("found", "facts", "scores")}
    rest = {name: value for name, value in plain.items() if name != "metrics"} | lists
    times = {"cpu_ms": timing.cpu_ms if timing else None, "wall_ms": timing.wall_ms if timing else None}
    # Of a question without a result nothing was measured; the values in its row would be taken for a measured 0.
    unknown = dict.fromkeys((*COSTS, *times)) if row.error else {}
    return _about(cell) | rest | dict(row.metrics) | times | unknown


def _cell(cell: CellCard) -> dict[str, Value]:
    known = _about(cell) | {"status": cell.status, "why": cell.why, "documents": cell.documents, "questions": cell.questions}
    known |= {"embedding": cell.embedding, "answerer": cell.answerer, "judge": cell.judge}
    known |= {"errors": sum(cell.errors.values()), "left_out": sum(cell.left_out.values())}
    known |= dict(_flat("", msgspec.to_builtins(cell.metrics)))
    known |= dict(_flat("", cell.figures))
    known |= dict(_flat("", msgspec.to_builtins(cell.system) or {}))
    return known | dict(_flat("against_single", msgspec.to_builtins(cell.against_single) or {}))


def _flat(name: str, value: Any) -> Iterator[tuple[str, Value]]:
    """Nested figures as columns: "recall@10 low", "against_single metrics recall@10 p"."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name} {key}".strip(), inner)
    else:
        yield name, value
