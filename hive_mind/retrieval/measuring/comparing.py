"""Two configurations, side by side: what moved at each question, and whether the difference is more than noise.

Both answered the same questions, so the differences are paired: that takes away how hard a question is, which is most of
the noise.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hive_mind.errors import InvalidInput
from hive_mind.measure.statistics import Interval, macro_mean, randomisation_p
from hive_mind.retrieval.measuring.measured import METRICS, SEED, Evaluation, Label, Metric, Row, interval_of


@dataclass(frozen=True, slots=True)
class Difference:
    """A metric of both, over the questions for which it is defined. `p`: how often chance alone would part equals so far."""

    metric: Metric
    before: float | None
    after: float | None
    interval: Interval | None
    """Of after minus before, 95 %."""
    p: float | None

    @property
    def change(self) -> float:
        """After minus before; 0 where it is not defined."""
        return self.interval.mean if self.interval else 0.0


@dataclass(frozen=True, slots=True)
class Place:
    """A labelled document that stands elsewhere now. None: not shown. Ranks count chunks, from 1."""

    document: str
    label: Label
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Move:
    """What became of one question."""

    id: str
    query: str
    before: float
    after: float
    """nUDCG of both."""
    places: tuple[Place, ...]

    @property
    def change(self) -> float:
        """By how much nUDCG rose."""
        return self.after - self.before

    @property
    def came(self) -> tuple[str, ...]:
        """Distractors that were not shown before."""
        return tuple(one.document for one in self.places if one.label == "distractor" and one.before is None)

    @property
    def went(self) -> tuple[str, ...]:
        """Distractors that are shown no more."""
        return tuple(one.document for one in self.places if one.label == "distractor" and one.after is None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two measurements at the same cut. `moves` has only questions of which something changed, the greatest loss first."""

    before: Evaluation
    after: Evaluation
    differences: tuple[Difference, ...]
    moves: tuple[Move, ...]

    def of(self, metric: Metric) -> Difference:
        """The difference of one metric."""
        return next(one for one in self.differences if one.metric == metric)

    @property
    def nudcg(self) -> Difference:
        return self.of("nudcg")

    @property
    def more_distractors(self) -> int:
        """How many distractors more are shown now; below 0: fewer."""
        return self.after.distractors - self.before.distractors

    @property
    def won(self) -> int:
        """Questions with a higher nUDCG."""
        return sum(one.change > 0 for one in self.moves)

    @property
    def lost(self) -> int:
        """Questions with a lower nUDCG."""
        return sum(one.change < 0 for one in self.moves)


def compare(before: Evaluation, after: Evaluation) -> Comparison:
    """Compare two measurements with the same questions. Raises `InvalidInput` for other questions or labels."""
    _refuse_others(before, after)
    # Nothing that either of them shows may lie behind the cut.
    k = max(before.k, after.k)
    old, new = before.at(k), after.at(k)
    moves = [_move(*pair, k) for pair in zip(old.rows, new.rows, strict=True)]
    changed = [one for one in moves if one.change or one.places]
    differences = tuple(_difference(metric, old, new) for metric in METRICS)
    return Comparison(old, new, differences, tuple(sorted(changed, key=lambda one: (one.change, one.id))))


def _difference(metric: Metric, before: Evaluation, after: Evaluation) -> Difference:
    old, new = before.values(metric), after.values(metric)
    # Sorted, so that the order of the questions decides nothing: draws depend on it.
    changes = sorted(b - a for a, b in zip(old, new, strict=True) if a is not None and b is not None)
    p = randomisation_p(changes, [0.0] * len(changes), rng=np.random.default_rng(SEED))
    return Difference(metric, macro_mean(old).mean, macro_mean(new).mean, interval_of(changes), p)


def _move(before: Row, after: Row, k: int) -> Move:
    was, now = _ranks(before.documents), _ranks(after.documents)
    labelled = dict.fromkeys((*before.relevant, *before.distractors))
    places = [Place(one, before.label(one), was.get(one), now.get(one)) for one in labelled if was.get(one) != now.get(one)]
    return Move(before.id, before.query, before.measures(k).nudcg, after.measures(k).nudcg, tuple(places))


def _ranks(documents: Iterable[str]) -> dict[str, int]:
    """Where the best chunk of each document stands."""
    ranks: dict[str, int] = {}
    for rank, document in enumerate(documents, 1):
        ranks.setdefault(document, rank)
    return ranks


def _refuse_others(before: Evaluation, after: Evaluation) -> None:
    old, new = ([(row.id, row.query, row.judgements) for row in one.rows] for one in (before, after))
    if old != new:
        raise InvalidInput(
            f"{before.config.name!r} and {after.config.name!r} were not measured with the same questions and labels: "
            "measure both again with the golden set as it is now"
        )
