"""Sets of questions whose evidence is known, and how well it is found: recall@10 and nDCG@10 of each question."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from hive_mind.evals.datasets import Scope
from hive_mind.evals.datasets.load import load_dataset
from hive_mind.measure import Difference, Estimate, differences
from hive_mind.measure.results import ndcg_at_k, recall_at_k

K = 10
Column = Sequence[float | None]


def sets(data: Path, *names: str) -> dict[str, list[Scope]]:
    """By name, however that is written: LoCoMo's conversations, a set, or a folder of sets (none where there is no folder)."""
    return {name: _scopes(data, name.lower()) for name in names}


def _scopes(data: Path, name: str) -> list[Scope]:
    if name == "locomo":
        return list(load_dataset(data / name).scopes)
    if (data / f"{name}.corpus.jsonl").exists():
        return list(load_dataset(data, name).scopes)
    parts = sorted(path.name.removesuffix(".corpus.jsonl") for path in (data / name).glob("*.corpus.jsonl"))
    return [scope for part in parts for scope in load_dataset(data / name, part).scopes]


def columns(pairs: Iterable[tuple[Sequence[str], Mapping[str, int]]]) -> dict[str, Column]:
    """Of the ids that were found for each question, best first, and of how its documents are judged."""
    pairs = list(pairs)
    measures = {"recall": recall_at_k, "ndcg": ndcg_at_k}
    return {name: [measure(ids, judged, K) for ids, judged in pairs] for name, measure in measures.items()}


def mean(column: Column) -> float:
    """Times 100, of the questions that have any evidence."""
    return 100 * float(np.mean([figure for figure in column if figure is not None]))


def moved(column: Column, base: Column, digits: int = 1) -> list[float] | None:
    """By how much, and its 95 % interval over questions."""
    (difference,) = differences([list(zip(column, base, strict=True))])
    return with_interval(difference, digits)


def with_interval(of: Estimate | Difference | None, digits: int = 1) -> list[float] | None:
    if of is None:
        return None
    middle = of.mean if isinstance(of, Estimate) else of.difference
    return [round(100 * figure, digits) for figure in (middle, of.low, of.high)]
