"""Two configurations, side by side: what moved at each question, and whether the difference is more than noise.

Both answered the same questions, so the differences are paired: that takes away how hard a question is, which is most of
the noise.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from hive_mind.errors import InvalidInput
from hive_mind.measure.differences import MetricChange, metric_changes
from hive_mind.retrieval.measuring.measured import METRICS, Evaluation, Label, Metric, QuestionRow


@dataclass(frozen=True, slots=True)
class RankChange:
    """A labelled document that stands elsewhere now. None: not shown. Ranks count chunks, from 1."""

    document: str
    label: Label
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class QuestionChange:
    """The change of one question."""

    id: str
    query: str
    before: float
    after: float
    """nUDCG of both."""
    places: tuple[RankChange, ...]

    @property
    def change(self) -> float:
        """By how much nUDCG rose."""
        return self.after - self.before

    @property
    def came(self) -> tuple[str, ...]:
        """Distractors that were not shown before."""
        return tuple(place.document for place in self.places if place.label == "distractor" and place.before is None)

    @property
    def went(self) -> tuple[str, ...]:
        """Distractors that are shown no more."""
        return tuple(place.document for place in self.places if place.label == "distractor" and place.after is None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two measurements at the same cut. `moves` has only questions of which something changed, the greatest loss first."""

    before: Evaluation
    after: Evaluation
    changes: tuple[MetricChange, ...]
    moves: tuple[QuestionChange, ...]

    def of(self, metric: Metric) -> MetricChange:
        return next(change for change in self.changes if change.metric == metric)

    @property
    def nudcg(self) -> MetricChange:
        return self.of("nudcg")

    @property
    def more_distractors(self) -> int:
        """How many distractors more are shown now; below 0: fewer."""
        return self.after.distractors - self.before.distractors

    @property
    def won(self) -> int:
        return sum(move.change > 0 for move in self.moves)

    @property
    def lost(self) -> int:
        return sum(move.change < 0 for move in self.moves)


def compare(before: Evaluation, after: Evaluation) -> Comparison:
    """Compare two measurements with the same questions. Raises `InvalidInput` for other questions or labels."""
    _refuse_others(before, after)
    # Nothing that either of them shows may lie behind the cut.
    k = max(before.k, after.k)
    old, new = before.at(k), after.at(k)
    moves = [_move(*pair, k) for pair in zip(old.rows, new.rows, strict=True)]
    changed = [move for move in moves if move.change or move.places]
    ungrouped = [""] * len(old.rows)
    columns = [(metric, list(zip(new.values(metric), old.values(metric), strict=True)), ungrouped) for metric in METRICS]
    return Comparison(old, new, tuple(metric_changes(columns)), tuple(sorted(changed, key=lambda one: (one.change, one.id))))


def _move(before: QuestionRow, after: QuestionRow, k: int) -> QuestionChange:
    was, now = _ranks(before.documents), _ranks(after.documents)
    labelled = dict.fromkeys((*before.relevant, *before.distractors))
    places = [RankChange(one, before.label(one), was.get(one), now.get(one)) for one in labelled if was.get(one) != now.get(one)]
    return QuestionChange(before.id, before.query, before.measures(k).nudcg, after.measures(k).nudcg, tuple(places))


def _ranks(documents: Iterable[str]) -> dict[str, int]:
    """Where the best chunk of each document stands."""
    ranks: dict[str, int] = {}
    for rank, document in enumerate(documents, 1):
        ranks.setdefault(document, rank)
    return ranks


def _refuse_others(before: Evaluation, after: Evaluation) -> None:
    old, new = ([(row.id, row.query, row.judgements) for row in evaluation.rows] for evaluation in (before, after))
    if old != new:
        raise InvalidInput(
            f"{before.config.name!r} and {after.config.name!r} were not measured with the same questions and labels: "
            "measure both again with the golden set as it is now"
        )
