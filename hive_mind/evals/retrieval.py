"""How well an arm finds what answers a question: every question of a data set, and where the relevant documents rank.

No answer is worded and no model judges. What could not be used is counted and said.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from hive_mind.evals.arms.base import Cost, OpenArm, Progress
from hive_mind.evals.datasets import Dataset, LabelledQuestion, Scope
from hive_mind.evals.distinct import by_texts, firsts_of, texts_found
from hive_mind.measure.ranking import ndcg_at_k, recall_at_k, reciprocal_rank
from hive_mind.measure.statistics import are_clusters, bootstrap_interval, cluster_interval, groups_of, macro_mean

_BOOTSTRAP_SEED = 20260101


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, what it found (the first document of each text, best first, and the facts) and what the search cost.

    `group` is what it shares with others, such as its conversation; "" where the data has no groups.
    """

    question: LabelledQuestion
    found: tuple[str, ...]
    cpu_s: float
    facts: tuple[str, ...] = ()
    cost: Cost = field(default=Cost())
    group: str = ""


async def ask_all(arm: OpenArm, scope: Scope, limit: int, progress: Progress | None = None) -> list[Asked]:
    """Put all questions of a scope to an arm that has learned it, and close it."""
    asked: list[Asked] = []
    firsts = firsts_of(arm.documents)
    try:
        for number, question in enumerate(scope.questions, start=1):
            asked.append(await _asked(arm, by_texts(question, firsts), limit))
            if progress:
                progress(f"{scope.name}: questions", number, len(scope.questions))
    finally:
        await arm.close()
    return asked


async def _asked(arm: OpenArm, question: LabelledQuestion, limit: int) -> Asked:
    outcome = await arm.ask(question, limit)
    # A memory that was kept from an earlier run may know more than this data set.
    found = texts_found(outcome.hits, arm.documents)
    facts = tuple(hit.fact.id for hit in outcome.hits)
    return Asked(question, tuple(found[:limit]), outcome.cpu_s, facts, outcome.cost)


def scorecard_row(dataset: Dataset, scope: str, method: str, asked: Sequence[Asked], limit: int) -> dict[str, object]:
    """One row of a report. Metrics are macro means in [0, 1] over the questions with a relevant document."""
    scores = metric_values(asked, limit)
    counted = [one for one, recall in zip(asked, scores[f"recall@{limit}"], strict=True) if recall is not None]
    return {
        "dataset": dataset.name,
        "scope": scope,
        "method": method,
        "topology": "single",
        "agents": 1,
        "deal": "",
        "documents": dataset.documents,
        "questions": len(counted),
        "left_out": sum(dataset.left_out.values()) + len(asked) - len(counted),
        "left_out_reasons": dict(dataset.left_out),
        "metrics": {name: _rounded(macro_mean(values).mean) for name, values in scores.items()},
        "intervals": {name: _interval(values, [one.group for one in asked]) for name, values in scores.items()},
        "groups": len({one.group for one in asked if one.group}),
        "by_category": _by_category(asked, limit),
        "cpu_ms_per_query": _rounded(1e3 * float(np.median([one.cpu_s for one in asked]))) if asked else None,
        "messages_per_query": _mean([float(one.cost.messages) for one in asked]),
        "bytes_per_query": _mean([float(one.cost.bytes) for one in asked]),
        "completeness": _mean([one.cost.completeness for one in asked]),
    }


def identical_share(asked: Sequence[Asked], alone: Sequence[Asked], limit: int) -> float | None:
    """Share of the questions whose first `limit` facts are those of a single memory, in the same order."""
    pairs = zip(asked, alone, strict=True)
    return _mean([float(one.facts[:limit] == other.facts[:limit]) for one, other in pairs])


def metric_values(asked: Iterable[Asked], limit: int) -> dict[str, list[float | None]]:
    """Each metric's value per question; None where a question has no relevant document."""
    rows = list(asked)
    metrics = {f"recall@{limit}": recall_at_k, f"mrr@{limit}": reciprocal_rank, f"ndcg@{limit}": ndcg_at_k}
    return {name: [of(one.found, one.question.relevant, limit) for one in rows] for name, of in metrics.items()}


def _by_category(asked: Sequence[Asked], limit: int) -> dict[str, dict[str, float | None]]:
    groups: dict[str, list[Asked]] = {}
    for one in asked:
        groups.setdefault(one.question.category or "all", []).append(one)
    return {
        category: {name: _rounded(macro_mean(values).mean) for name, values in metric_values(group, limit).items()}
        for category, group in sorted(groups.items())
    }


def _interval(values: Sequence[float | None], groups: Sequence[str]) -> list[float] | None:
    rng, parts = np.random.default_rng(_BOOTSTRAP_SEED), groups_of(values, groups)
    found = cluster_interval(parts, rng=rng) if are_clusters(parts) else bootstrap_interval(values, rng=rng)
    return None if found is None else [round(found.low, 4), round(found.high, 4)]


def _mean(values: Sequence[float]) -> float | None:
    return round(float(np.mean(values)), 4) if values else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
