"""What a higher value of a metric means: better, worse, or neither. Comparisons and gates depend on it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from hive_mind.errors import InvalidInput
from hive_mind.evals.rows import Row

Sense = Literal["better", "worse", "neither"]

# Cut metrics without their "@k". How many answers are "unknown", and how alike results are on average, is no merit in itself.
_SENSES: Mapping[str, Sense] = {
    **dict.fromkeys(("recall", "mrr", "ndcg", "nudcg", "keyword_hit", "required_hit"), "better"),
    **dict.fromkeys(("abstention_right", "grounded", "source_diversity", "completeness"), "better"),
    **dict.fromkeys(("distractors", "near_duplicates", "coverage_gap", "forbidden_hit", "stale"), "worse"),
    **dict.fromkeys(("messages", "bytes", "fan_out"), "worse"),
}
COSTS: Mapping[str, Callable[[Row], float]] = {
    "messages": lambda row: row.messages,
    "bytes": lambda row: row.bytes,
    "fan_out": lambda row: row.fan_out,
    "completeness": lambda row: row.completeness,
}
"""What every row says of its hive, as a metric."""


def sense_of(metric: str) -> Sense:
    """Whether more of it is better."""
    return _SENSES.get(metric.split("@")[0], "neither")


def value_of(row: Row, metric: str) -> float | None:
    """A metric of a question, or one of its costs; None where it is undefined, or the question has no result."""
    if row.error:
        return None
    return COSTS[metric](row) if metric in COSTS else row.metrics.get(metric)


def metrics_of(rows: Iterable[Row]) -> list[str]:
    """Names of all metrics, in the order in which they first appear."""
    return list(dict.fromkeys(name for row in rows for name in row.metrics))


def chosen_metrics(rows: Iterable[Row], wanted: Iterable[str] = ()) -> list[str]:
    """The wanted metrics, or all of the rows and their costs. "ndcg" is "ndcg@10", where that is there.

    Raises `InvalidInput` for an unknown one.
    """
    known = [*metrics_of(rows), *COSTS]
    cut = {name.split("@")[0]: name for name in known}
    found: dict[str, None] = {}
    for name in wanted:
        full = name if name in known else cut.get(name)
        if full is None:
            raise InvalidInput(f"no question has a metric {name!r}; there are: {', '.join(known)}")
        found[full] = None
    return list(found) or known
