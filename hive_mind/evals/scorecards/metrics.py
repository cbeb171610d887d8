"""Metrics of rows: by their names, and those of two cells side by side, paired by question."""

from collections.abc import Callable, Iterable, Mapping

from hive_mind.errors import InvalidInput
from hive_mind.evals.rows import Row
from hive_mind.measure.differences import Pairs

COSTS: Mapping[str, Callable[[Row], float]] = {
    "messages": lambda row: row.messages,
    "bytes": lambda row: row.bytes,
    "fan_out": lambda row: row.fan_out,
    "completeness": lambda row: row.completeness,
}
"""Hive costs in every row, as metrics."""


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


def paired(new: Mapping[str, Row], old: Mapping[str, Row], metric: str) -> Pairs:
    """A metric of the questions that both were asked, in sorted order."""
    return [(value_of(new[one], metric), value_of(old[one], metric)) for one in sorted(new.keys() & old.keys())]


def groups_of_both(new: Mapping[str, Row], old: Mapping[str, Row]) -> list[str]:
    """The group of each question of `paired`. Runs of before did not write it down."""
    return [new[one].group or old[one].group for one in sorted(new.keys() & old.keys())]


def identical(new: Mapping[str, Row], old: Mapping[str, Row], limit: int) -> list[float | None]:
    """For each question of `paired`, whether the first `limit` facts are the same, in the same order: 1 or 0.

    None where one of them has no result.
    """
    both = ((new[one], old[one]) for one in sorted(new.keys() & old.keys()))
    return [None if a.error or b.error else float(a.facts[:limit] == b.facts[:limit]) for a, b in both]
