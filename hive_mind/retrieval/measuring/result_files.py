"""The measurements as a file: `results/<configuration>-<time>.json`, with a row for every question and the circumstances.

A file says enough to be compared with another one without measuring again. It is written once and never changed.
"""

import platform
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import hive_mind
from hive_mind.measure.intervals import SEED
from hive_mind.retrieval.files.workspace import Workspace
from hive_mind.retrieval.files.writing import writable, write_whole
from hive_mind.retrieval.measuring.evaluation import Bench
from hive_mind.retrieval.measuring.measured import METRICS, Evaluation

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Environment:
    """The other influences on the figures, needed to repeat them."""

    hive_mind: str
    python: str
    numpy: str
    machine: str
    embedding: str
    golden: str
    """Digest of the golden set."""
    seed: int = SEED


def environment(bench: Bench) -> Environment:
    golden = bench.workspace.golden_file
    digest = blake2b(golden.read_bytes(), digest_size=8).hexdigest() if golden.exists() else ""
    return Environment(
        hive_mind=hive_mind.__version__,
        python=platform.python_version(),
        numpy=np.__version__,
        machine=f"{platform.system()} {platform.machine()}",
        embedding=bench.embedding,
        golden=digest,
    )


def write_results(workspace: Workspace, evaluation: Evaluation, about: Environment, at: datetime) -> Path:
    """Write a measurement down. Returns its file, whose name is taken by no other."""
    content = {"format": FORMAT, "at": at.isoformat(timespec="seconds"), "environment": asdict(about)}
    content |= {"summary": summary(evaluation), "evaluation": _plain(evaluation)}
    path = _free(workspace.results, f"{evaluation.config.name}-{at:%Y%m%dT%H%M%SZ}")
    write_whole(path, msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n")
    return path


def summary(evaluation: Evaluation) -> dict[str, Any]:
    """The figures of a measurement, as they stand in a file and in reports."""
    return {
        "questions": len(evaluation.rows),
        "k": evaluation.k,
        **{metric: _mean(evaluation, metric) for metric in METRICS},
        "distractors": evaluation.distractors,
        "distractors_in_5": evaluation.distractors_in(5),
        "contaminated_questions": evaluation.contaminated,
        "results": evaluation.results,
        "udcg_by_k": [round(value, 4) for value in evaluation.curve],
        "notes": list(evaluation.notes),
    }


def _mean(evaluation: Evaluation, metric: Any) -> dict[str, Any]:
    estimate = evaluation.estimate(metric)
    if estimate is None:
        return {"mean": None, "undefined": len(evaluation.rows)}
    interval = [round(estimate.low, 4), round(estimate.high, 4)]
    return {"mean": round(estimate.mean, 4), "interval": interval, "undefined": len(evaluation.rows) - estimate.n}


def _plain(evaluation: Evaluation) -> dict[str, Any]:
    """A measurement, and what each row is worth, which follows from the rest."""
    rows = [asdict(row) | {"measures": asdict(row.measures(evaluation.k))} for row in evaluation.rows]
    for row, question_row in zip(rows, evaluation.rows, strict=True):
        for shown in row["shown"]:
            shown["label"] = question_row.label(shown["document"])
    config = evaluation.config.model_dump(mode="json", by_alias=True)
    return {"config": config, "split": evaluation.split, "k": evaluation.k, "rows": rows}


def _free(folder: Path, name: str) -> Path:
    with writable(folder):
        folder.mkdir(parents=True, exist_ok=True)
    path, number = folder / f"{name}.json", 1
    while not _is_reserved(path):
        number += 1
        path = folder / f"{name}-{number}.json"
    return path


def _is_reserved(path: Path) -> bool:
    """Take a name, so that nobody who measures at the same time writes over it."""
    with writable(path):
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            return False
    return True
