"""What a search may change in a configuration, each change with its reason in words. Pure.

Declared here and nowhere else. Impossible changes and combinations are not listed here: the validation rejects them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hive_mind.retrieval.files.changing import Changes
from hive_mind.retrieval.files.collection import Collection
from hive_mind.retrieval.files.configuration import RetrievalConfig

# A field with more values than this is a name or a date: leaving one of them out is no rule.
_VALUES_MAX = 12

Facets = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Change:
    """Some values that belong together. Two changes about the same `subject` contradict each other."""

    subject: str
    changes: Changes
    reason: str


def space(config: RetrievalConfig, collection: Collection, facets: Facets) -> tuple[Change, ...]:
    """Every change that may be made to a configuration."""
    found = [*_filters(config, collection, facets), *_cuts(), *_methods(), *_detections(), *_others()]
    if any(one.type == "date" for one in collection.known_fields.values()):
        found += [_one("boosts.recency", value, f"lift what is recent by {value:.0%}") for value in (0.1, 0.3)]
    return tuple(found)


def _filters(config: RetrievalConfig, collection: Collection, facets: Facets) -> Iterator[Change]:
    """Leave out one more value of a field, or let all of its values through again."""
    for field in collection.filterable:
        values = list(facets.get(field, {}))
        allowed = config.filters.get(field, values)
        if 1 < len(allowed) <= _VALUES_MAX:
            for left_out in allowed:
                kept = [value for value in allowed if value != left_out]
                yield Change(f"filters.{field}", {("filters", field): kept}, f"leave out {field} {left_out}")
        if field in config.filters:
            yield Change(f"filters.{field}", {("filters", field): None}, f"do not filter by {field}")


def _cuts() -> Iterator[Change]:
    for top_k in (3, 5, 8, 10):
        yield _one("retrieval.top_k", top_k, f"show {top_k} results at most")
    for factor in (2.0, 3.0, 5.0):
        for least in (1, 3):
            cut: Changes = {
                ("dynamic_k", "enabled"): True,
                ("dynamic_k", "gap_threshold_factor"): factor,
                ("dynamic_k", "min_results"): least,
            }
            yield Change("dynamic_k", cut, f"stop at a cliff of {factor:g} times the mean gap, after {least} or more")
    yield Change("dynamic_k", {("dynamic_k",): None}, "do not stop at cliffs")


def _methods() -> Iterator[Change]:
    method = ("retrieval", "method")
    weights: Changes = {("retrieval", name): None for name in ("fusion", "semantic_weight", "rrf_k")}
    for name in ("keyword", "vector"):
        yield Change("method", {**weights, method: name}, f"search by {'words' if name == 'keyword' else 'meaning'} alone")
    for share in (0.3, 0.5, 0.7, 0.8):
        linear = {**weights, method: "hybrid", ("retrieval", "fusion"): "linear", ("retrieval", "semantic_weight"): share}
        yield Change("method", linear, f"weigh meaning {share:.0%}, words {1 - share:.0%}")
    for rrf_k in (10, 60):
        rrf = {**weights, method: "hybrid", ("retrieval", "fusion"): "rrf", ("retrieval", "rrf_k"): rrf_k}
        yield Change("method", rrf, f"merge words and meaning by ranks (rrf_k {rrf_k})")


def _detections() -> Iterator[Change]:
    for signal in ("rank", "margin", "coverage"):
        for threshold in (0.5, 0.7, 0.9):
            for action in ("demote", "drop"):
                detection = {"enabled": True, "signal": signal, "disagreement_threshold": threshold, "action": action}
                told = f"{action} what looks like a distraction ({signal} above {threshold:g})"
                yield Change("distraction_detection", {("distraction_detection",): detection}, told)
    yield Change("distraction_detection", {("distraction_detection",): None}, "do not judge distractions")


def _others() -> Iterator[Change]:
    yield _one("deduplicate", "document", "show the best chunk of each document alone")
    yield _one("deduplicate", "content", "show the same text once")
    for count in (0, 1, 2):
        yield _one("text.neighbours", count, f"index a chunk with {count} before it")
    for share in (0.5, 0.7, 0.9):
        diversity: Changes = {("diversity", "enabled"): True, ("diversity", "lambda"): share}
        yield Change("diversity", diversity, f"show fewer results that say the same (lambda {share:g})")
    for adaptive in ("none", "anchors", "both"):
        yield _one("retrieval.adaptive", adaptive, f"identifiers in a question change {_ADAPTIVE[adaptive]}")


_ADAPTIVE = {"none": "nothing", "anchors": "what comes first", "both": "the weights and what comes first"}


def _one(path: str, value: Any, reason: str) -> Change:
    return Change(path, {tuple(path.split(".")): value}, reason)


def compatible(changes: Sequence[Change]) -> bool:
    """Whether changes are about different things."""
    return len({one.subject for one in changes}) == len(changes)
