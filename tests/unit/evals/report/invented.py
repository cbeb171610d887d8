"""A run's folder full of invented figures, for tests of the page alone: nothing in it was ever measured.

Written with the same structs as a real run, so what reads a real one reads it. Exact topologies find what `single` finds; the
others find less, by a chance that the seed decides.
"""

import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from hive_mind.evals.experiments import Arm, Cell, CellReport, DataSource, Experiment, Fault, Learned, Row, Timing, cells_of
from hive_mind.evals.scorecard import write_scorecard

ARMS = (
    Arm("single"),
    *(Arm("flat", agents) for agents in (2, 10, 100)),
    *(Arm("federated", agents, groups) for agents, groups in ((2, 2), (10, 2), (10, 5), (100, 10))),
    *(Arm("sharded", agents) for agents in (2, 10, 100)),
    Arm("sharded", 1000, place="simulator"),
    Arm("sharded", 10, place="redis"),
    *(Arm("seed-federated", agents, groups) for agents, groups in ((10, 2), (10, 5))),
    *(Arm("routed", 10, fan_out=fan_out, deal=deal) for fan_out in (2, 5) for deal in ("round-robin", "session")),
)
FAULTS = (Fault(), Fault(down=1), Fault(down=3), Fault(down=5), Fault(loss=0.1), Fault(slow=2, slow_ms=300))
CATEGORIES = ("multi-hop", "temporal", "open-domain", "single-hop", "adversarial")
_LOSS = {"seed-federated": 0.3, "routed": 0.12, "bm25": 0.08, "random": 0.9, "full-context": 0.2}


def experiment(*names: str, arms: Iterable[Arm] = ARMS, faults: Iterable[Fault] = FAULTS, **more: Any) -> Experiment:
    """An experiment on data sets of these names."""
    data = tuple(DataSource(name, "jsonl", Path(f"{number}.corpus.jsonl")) for number, name in enumerate(names or ("Letters",)))
    return Experiment("invented", data, tuple(arms), faults=tuple(faults), **more)


def write_run(
    folder: Path, wanted: Experiment, *, questions: int = 40, failed: dict[str, str] | None = None, words: str = ""
) -> Path:
    """The folder of a run of it, with its scorecard. `failed` are reasons by the kind of arm; `words` are put into
    whatever comes from a data set: ids, categories, answers, reasons."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "experiment.json", msgspec.to_builtins(wanted, enc_hook=str))
    _write(folder / "environment.json", ENVIRONMENT)
    for cell in cells_of(wanted):
        _write_cell(folder / "cells" / cell.id, cell, questions, (failed or {}).get(cell.arm.kind, ""), words)
    write_scorecard(folder)
    return folder


ENVIRONMENT: dict[str, Any] = {
    "hive_mind": "0.0 (invented)",
    "python": "3.11.7",
    "platform": "Invented 1.0",
    "cpu": {"model": "Invented CPU", "count": 2},
    "memory_bytes": 8_000_000_000,
    "libraries": {"numpy": "2.0", "kuzu": "0.11.3"},
    "embedding": "all-MiniLM-L6-v2",
    "started": "2026-01-02T03:04:05Z",
    "absent": ["Cranfield", "<SciFact>"],
    "argv": ["eval", "run", "invented experiment.yaml", "--out", "runs/it's <here>"],
}


def _write_cell(folder: Path, cell: Cell, questions: int, why: str, words: str) -> None:
    folder.mkdir(parents=True)
    rows = [] if why else [_row(cell, number, words) for number in range(questions)]
    times = [_timing(cell, row) for row in rows]
    (folder / "rows.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    (folder / "times.jsonl").write_bytes(b"".join(msgspec.json.encode(time) + b"\n" for time in times))
    _write(folder / "cell.json", msgspec.to_builtins(_report(cell, len(rows), why, words)))


def _report(cell: Cell, questions: int, why: str, words: str) -> CellReport:
    plain = msgspec.to_builtins(cell, enc_hook=str)
    if why:
        return CellReport(cell.id, plain, "failed", why)
    agents = cell.arm.agents
    learned = Learned(
        500, 3 * 500 * (agents > 1), 900 * 500 * (agents > 1), 0.05 * agents, 2.0, 2.5, None if agents > 100 else 14_000_000
    )
    left_out = {f"{words}question without evidence": 4, "evidence names an unknown turn": 2}
    return CellReport(
        cell.id, plain, "done", documents=500, questions=questions, left_out=left_out, embedding="all-MiniLM-L6-v2",
        answerer="quoting", judge="none", learned=learned, figures={"cohesion": 1.31},
    )  # fmt: skip


def _row(cell: Cell, number: int, words: str) -> Row:
    shared = random.Random(f"{cell.data.name} {number} {cell.seed}")
    own = random.Random(f"{replace(cell.arm, place='in-process')} {cell.fault} {cell.data.name} {number}")
    facts = [f"{shared.randrange(16**8):08x}" for _ in range(10)]
    found = shared.random() < 0.75 - 0.1 * (number % len(CATEGORIES))
    arm, fault = cell.arm, cell.fault
    reached = 1 - fault.loss * own.random() - (fault.down / arm.agents * own.random() * 0.5 if arm.kind == "sharded" else 0)
    if own.random() < _LOSS.get(arm.kind, 1 - reached):
        found, facts = False, facts[1:] + facts[:1]
    sent = 0 if arm.agents == 1 or arm.kind == "flat" else 2 * (arm.fan_out or arm.groups or min(arm.agents, 60) // 3)
    rank = 1 + shared.randrange(4)
    metrics: dict[str, float | None] = {
        "recall@10": float(found),
        "mrr@10": found / rank,
        "ndcg@10": found / (1 + 0.3 * rank),
        "nudcg@10": found / (2 + rank),
        "distractors@10": float(shared.randrange(3)),
        "source_diversity": shared.random(),
        "mean_cosine": 0.4,
        "near_duplicates": 0.1 * shared.random(),
        "coverage_gap": 0.3 * shared.random(),
        "keyword_hit": float(found and rank < 4),
        "abstention_right": None if number % 7 else 1.0,
    }
    return Row(
        f"{words}q{number:03}",
        [f"{words}d{one}" for one in facts],
        facts,
        [0.9 - 0.05 * place for place in range(10)],
        metrics,
        category=words + CATEGORIES[number % len(CATEGORIES)],
        intent=words + ("why-decision", "state-lookup")[number % 2],
        asked=f"{words}Who wrote letter {number}?",
        answer=f"{words}it says so.",
        messages=sent,
        bytes=800 * sent,
        fan_out=sent // 2,
        completeness=max(0.0, min(1.0, reached)),
        tokens_in=900 if arm.kind == "full-context" else 0,
        tokens_out=40 if arm.kind == "full-context" else 0,
        usd=0.0003 if arm.kind == "full-context" else None,
    )


def _timing(cell: Cell, row: Row) -> Timing:
    chance = random.Random(f"{cell.id} {row.question}")
    wall = 1.5 + 0.05 * row.messages + chance.random() + cell.fault.slow_ms * 0.5
    return Timing(row.question, wall * 0.9, wall)


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(value))
