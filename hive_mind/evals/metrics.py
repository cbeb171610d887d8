"""The metrics of a question in one arm: how each is worked out, whether more of it is better, and its words in a report.

Rows, scorecards, comparisons, gates and reports go through `METRICS`, so that a new one is added here and nowhere else.
Definitions are in `measure`. A metric that has nothing to measure is None and never 0: recall without a relevant document,
distractors where none is labelled, a keyword hit without keywords or without an answer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan

import numpy as np
from numpy.typing import NDArray

from hive_mind.errors import InvalidInput
from hive_mind.evals.answering import GivenAnswer
from hive_mind.evals.datasets import LabelledQuestion
from hive_mind.evals.experiments import Row
from hive_mind.measure import Column, Pairs, Sense
from hive_mind.measure.results import (
    Likeness,
    coverage_gap,
    holds_all,
    holds_any,
    likeness,
    ndcg_at_k,
    nudcg_at_k,
    recall_at_k,
    reciprocal_rank,
    source_diversity,
)
from hive_mind.model.query import Hit

Figures = dict[str, float | None]

GROUNDED = "grounded"
"""The name of the judge's figure: 1 or 0, and None where it gave none."""


@dataclass(frozen=True)
class Outcome:
    """A question with all that a metric may look at, of its first `limit` results.

    `found` are document ids, best first. `kinds` and `vectors` belong to the hits, one each: the kind of source, "" where the
    data does not say; and a vector, zeros where a text has none, None where nothing has one.
    """

    question: LabelledQuestion
    found: Sequence[str] = ()
    hits: Sequence[Hit] = ()
    kinds: Sequence[str] = ()
    vectors: NDArray[np.float32] | None = None
    answer: GivenAnswer | None = None
    limit: int = 1

    @cached_property
    def alike(self) -> Likeness | None:
        return None if self.vectors is None else likeness(self.vectors)

    @property
    def said(self) -> str | None:
        """The answer's words; none of an answer that is declined, but where that is right: then "I don't know", which is our
        wording, may be what the keywords ask for."""
        if self.answer is None:
            return None
        return self.answer.text if self.answer.is_known or not self.question.is_answerable else ""

    def holds(self, keywords: Sequence[str], does_hold: Callable[[str, Sequence[str]], bool] = holds_any) -> float | None:
        return float(does_hold(self.said, keywords)) if keywords and self.said is not None else None

    def distractors(self) -> float | None:
        labelled = {document for document, judgement in self.question.relevant.items() if judgement < 0}
        return float(len(labelled.intersection(self.found[: self.limit]))) if labelled else None

    def by_order(self, measure: Callable[[Sequence[str], Mapping[str, int], int], float | None]) -> float | None:
        return measure(self.found, self.question.relevant, self.limit)


@dataclass(frozen=True, slots=True)
class Metric:
    """`sense`: the meaning of more of it. `title` is its word in a report, `meaning` explains it there.

    `of` works it out from an outcome; a cost is read from a row (`cost`); the judge's comes from elsewhere. With `has_cut` "@k"
    follows its name.
    """

    name: str
    sense: Sense
    of: Callable[[Outcome], float | None] | None = None
    title: str = ""
    meaning: str = ""
    cost: Callable[[Row], float] | None = None
    has_cut: bool = False
    is_of_answer: bool = False


def _cut(name: str, sense: Sense, of: Callable[[Outcome], float | None], title: str, meaning: str = "") -> Metric:
    return Metric(name, sense, of, title, meaning, has_cut=True)


def _worded(name: str, sense: Sense, of: Callable[[Outcome], float | None] | None, title: str, meaning: str = "") -> Metric:
    return Metric(name, sense, of, title, meaning, is_of_answer=True)


# More unknown answers, or results that are more alike on average, are no merit and no fault in themselves.
METRICS = (
    _cut("recall", "better", lambda outcome: outcome.by_order(recall_at_k), "recall",
         "share of the documents labelled relevant that are among the first k"),
    _cut("mrr", "better", lambda outcome: outcome.by_order(reciprocal_rank), "MRR",
         "1 over the rank of the first relevant document"),
    _cut("ndcg", "better", lambda outcome: outcome.by_order(ndcg_at_k), "nDCG",
         "relevant documents count less the further down they stand; 1 is the best order there is"),
    _cut("nudcg", "better", lambda outcome: outcome.by_order(nudcg_at_k), "nUDCG",
         "the same, and a document that looks right and is wrong counts against it; −1 to 1"),
    _cut("distractors", "worse", Outcome.distractors, "distractors"),
    Metric("source_diversity", "better", lambda outcome: source_diversity(outcome.kinds), "source diversity",
           "how evenly the first k come from different kinds of sources; 0 one kind, 1 all alike"),
    Metric("near_duplicates", "worse", lambda outcome: outcome.alike.near_duplicates if outcome.alike else None,
           "near-duplicates", "share of pairs of the first k whose embeddings are all but the same"),
    Metric("mean_cosine", "neither", lambda outcome: outcome.alike.mean_cosine if outcome.alike else None, "mean cosine"),
    Metric("coverage_gap", "worse", lambda outcome: coverage_gap(shown_scores(outcome.hits)), "coverage gap",
           "share of the first k with a weak score; lower is better"),
    _worded("keyword_hit", "better", lambda outcome: outcome.holds(outcome.question.acceptable), "keyword hit"),
    _worded("required_hit", "better", lambda outcome: outcome.holds(outcome.question.required, holds_all), "required keywords"),
    _worded("forbidden_hit", "worse", lambda outcome: outcome.holds(outcome.question.forbidden), "forbidden keywords"),
    _worded("stale", "worse", lambda outcome: outcome.holds(outcome.question.superseded), "stale answers"),
    _worded("abstained", "neither", lambda outcome: float(not outcome.answer.is_known) if outcome.answer else None, "abstained"),
    _worded("abstention_right", "better", lambda outcome: _rightly_declined(outcome), "knew when to decline",
            "share of questions that were answered where something answers them, and declined where nothing does; it does not "
            "say whether an answer is right"),
    _worded("rightly_declined", "better", lambda outcome: None if outcome.question.is_answerable else _rightly_declined(outcome),
            "rightly declined", "the same of the questions that nothing answers alone"),
    _worded(GROUNDED, "better", None, "grounded"),
    Metric("messages", "worse", cost=lambda row: row.messages),
    Metric("bytes", "worse", cost=lambda row: row.bytes),
    Metric("fan_out", "worse", cost=lambda row: row.fan_out),
    Metric("completeness", "better", cost=lambda row: row.completeness),
)  # fmt: skip

_BY_NAME: Mapping[str, Metric] = {metric.name: metric for metric in METRICS}
COSTS: Mapping[str, Callable[[Row], float]] = {metric.name: metric.cost for metric in METRICS if metric.cost}
"""Hive costs in every row, as metrics."""
ANSWERS = tuple(metric.name for metric in METRICS if metric.is_of_answer)
"""Metrics that only an answer has."""


def score(
    question: LabelledQuestion,
    found: Sequence[str],
    hits: Sequence[Hit],
    kinds: Sequence[str],
    vectors: NDArray[np.float32] | None,
    answer: GivenAnswer | None,
    limit: int,
) -> Figures:
    """All figures of a question, of the first `limit` results (see `Outcome`); without a judge, which is asked elsewhere.

    Raises `ValueError` for a score that is NaN and for a vector that is not finite.
    """
    hits, kinds, vectors = hits[:limit], kinds[:limit], None if vectors is None else vectors[:limit]
    if len(kinds) != len(hits) or (vectors is not None and len(vectors) != len(hits)):
        rows = "no" if vectors is None else len(vectors)
        raise ValueError(f"each hit must have a kind and a vector, but there are {len(hits)}, {len(kinds)} and {rows}")
    outcome = Outcome(question, found, hits, kinds, vectors, answer, limit)
    return {metric.name + f"@{limit}" * metric.has_cut: metric.of(outcome) for metric in METRICS if metric.of}


def answered_figures(question: LabelledQuestion, answer: GivenAnswer | None) -> Figures:
    """The answer's figures by the question's keywords. An answer that is declined holds none of them."""
    outcome = Outcome(question, answer=answer)
    return {metric.name: metric.of(outcome) for metric in METRICS if metric.of and metric.is_of_answer}


def shown_scores(hits: Sequence[Hit]) -> list[float]:
    """Scores in [0, 1]. One that names the query's identifier is above 1 and counts as 1; a negative cosine counts as 0.

    Raises `ValueError` for NaN.
    """
    if unknown := [hit.fact.id for hit in hits if isnan(hit.score)]:
        raise ValueError(f"the score of fact {unknown[0]} is not a number")
    return [max(0.0, min(1.0, hit.score)) for hit in hits]


def lacks_verdict(figures: Mapping[str, float | None]) -> bool:
    """Whether something was claimed, and the judge that was asked said nothing of it that could be used."""
    return GROUNDED in figures and figures[GROUNDED] is None and figures.get("abstained") == 0.0


def _rightly_declined(outcome: Outcome) -> float | None:
    return float(outcome.answer.is_known == outcome.question.is_answerable) if outcome.answer else None


def sense_of(metric: str) -> Sense:
    """Whether more of it is better. Comparisons and gates depend on it."""
    definition = _BY_NAME.get(metric.partition("@")[0])
    return definition.sense if definition else "neither"


def metric_name(metric: str) -> str:
    """Name of a metric in words, such as "nDCG@10"; one that is not known keeps its own."""
    name, at, k = metric.partition("@")
    definition = _BY_NAME.get(name)
    return (definition.title if definition and definition.title else name.replace("_", " ")) + at + k


def value_of(row: Row, metric: str) -> float | None:
    """A metric of a question, or one of its costs; None where it is undefined, or the question has no result."""
    if row.error:
        return None
    return COSTS[metric](row) if metric in COSTS else row.metrics.get(metric)


def metrics_of(rows: Iterable[Row]) -> list[str]:
    """Names of all metrics, in the order in which they first appear."""
    return list(dict.fromkeys(name for row in rows for name in row.metrics))


def chosen_metrics(rows: Iterable[Row], names: Iterable[str] = ()) -> list[str]:
    """The wanted metrics, or all of the rows and their costs. "ndcg" is "ndcg@10", where that is there.

    Raises `InvalidInput` for an unknown one.
    """
    all_names = [*metrics_of(rows), *COSTS]
    cut = {name.split("@")[0]: name for name in all_names}
    chosen: dict[str, None] = {}
    for name in names:
        full = name if name in all_names else cut.get(name)
        if full is None:
            raise InvalidInput(f"no question has a metric {name!r}; there are: {', '.join(all_names)}")
        chosen[full] = None
    return list(chosen) or all_names


def paired(new: Mapping[str, Row], old: Mapping[str, Row], metric: str) -> Pairs:
    """A metric of the questions that both were asked, in sorted order."""
    return [(value_of(new[question], metric), value_of(old[question], metric)) for question in sorted(new.keys() & old.keys())]


def column(new: Mapping[str, Row], old: Mapping[str, Row], metric: str) -> Column:
    """A metric of the questions that both were asked, with the meaning of more of it and their groups, to be compared."""
    return metric, sense_of(metric), paired(new, old, metric), groups_of_both(new, old)


def groups_of_both(new: Mapping[str, Row], old: Mapping[str, Row]) -> list[str]:
    """The group of each question of `paired`. Runs of before did not write it down."""
    return [new[question].group or old[question].group for question in sorted(new.keys() & old.keys())]


def identical(new: Mapping[str, Row], old: Mapping[str, Row], limit: int) -> list[float | None]:
    """For each question of `paired`, whether the first `limit` facts are the same, in the same order: 1 or 0.

    None where one of them has no result.
    """
    pairs = ((new[question], old[question]) for question in sorted(new.keys() & old.keys()))
    return [None if a.error or b.error else float(a.facts[:limit] == b.facts[:limit]) for a, b in pairs]
