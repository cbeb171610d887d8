"""Two configurations, side by side: what moved at each question, whether that is more than noise, and whether one is better.

Both answered the same questions, so the differences are paired: that takes away how hard a question is, which is most of
the noise.

Refused are a lower mean nUDCG, more distractors, and a loss that the 95 % interval of the difference doesn't rule out. An
equal one (every question has the same nUDCG) is refused too, because a change without a gain is only a risk, unless it shows
fewer distractors or costs less: fewer results, fewer scored candidates, fewer embedded or reranked questions, and more of none.
A handful of questions is too few for an interval; an exact test decides there, which only a gain at each of five can pass. Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from hive_mind.counted import counted, first_of
from hive_mind.errors import InvalidInput
from hive_mind.measure import SAME, Ground, MetricChange, Verdict, metric_changes
from hive_mind.retrieval import QUESTIONS_MIN
from hive_mind.retrieval.measuring import METRICS, Evaluation, Label, Metric, QuestionRow
from hive_mind.retrieval.measuring.evaluation import CROSSED


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
        return self.after - self.before

    @property
    def came(self) -> tuple[str, ...]:
        return tuple(place.document for place in self.places if place.label == "distractor" and place.before is None)

    @property
    def went(self) -> tuple[str, ...]:
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
    before_rows, after_rows = ([(row.id, row.query, row.judgements) for row in side.rows] for side in (before, after))
    if before_rows != after_rows:
        raise InvalidInput(
            f"{before.config.name!r} and {after.config.name!r} were not measured with the same questions and labels: "
            "measure both again with the golden set as it is now"
        )
    # Nothing that either of them shows may lie behind the cut.
    k = max(before.k, after.k)
    old, new = before.at(k), after.at(k)
    moves = [_move(*pair, k) for pair in zip(old.rows, new.rows, strict=True)]
    changed = [move for move in moves if move.change or move.places]
    ungrouped = [""] * len(old.rows)
    columns = [
        (metric, sense, list(zip(new.values(metric), old.values(metric), strict=True)), ungrouped)
        for metric, (_, sense) in METRICS.items()
    ]
    return Comparison(old, new, tuple(metric_changes(columns)), tuple(sorted(changed, key=lambda move: (move.change, move.id))))


def _move(before: QuestionRow, after: QuestionRow, k: int) -> QuestionChange:
    was, now = _ranks(before.documents), _ranks(after.documents)
    labelled = dict.fromkeys((*before.relevant, *before.distractors))
    places = [
        RankChange(document, before.label(document), was.get(document), now.get(document))
        for document in labelled
        if was.get(document) != now.get(document)
    ]
    return QuestionChange(before.id, before.query, before.measures(k).nudcg, after.measures(k).nudcg, tuple(places))


def _ranks(documents: Iterable[str]) -> dict[str, int]:
    """Where the best chunk of each document stands."""
    ranks: dict[str, int] = {}
    for rank, document in enumerate(documents, 1):
        ranks.setdefault(document, rank)
    return ranks


Level = Literal["syntactic", "semantic", "behavioural"]
_NAMED_MAX = 3
# The chance that luck alone does as well, for an exact test: one side of what a 95 % interval leaves out on both, doubled.
_LUCK_MAX = 0.05
# The notes of a search when a model that its configuration names had no part in it, or not everywhere.
_FAILED = ("the embedding model failed", "have no embedding", "not reranked")


@dataclass(frozen=True, slots=True)
class ConfigVerdict(Verdict):
    """Whether a configuration may be deployed. `level` is the last one that was looked at.

    `remarks` stop nothing. Without a comparison there was nothing to compare with, or it came to none.
    """

    level: Level = "behavioural"
    why: str = ""
    """Why it may, in one line."""
    candidate: Evaluation | None = None
    comparison: Comparison | None = None
    remarks: tuple[str, ...] = ()

    @property
    def as_text(self) -> str:
        return "\n".join(ground.message for ground in self.grounds) or self.why


def decide(active: Evaluation | None, candidate: Evaluation) -> ConfigVerdict:
    """The verdict of the behavioural level. Raises `InvalidInput` where both did not answer the same questions."""
    if active is None:
        return _first(candidate)
    comparison = compare(active, candidate)
    remarks = _remarks(active, candidate)
    losses, why = _judged(comparison)
    grounds = (*_broken(active, candidate), *losses)
    return ConfigVerdict(grounds, why="" if grounds else why, candidate=comparison.after, comparison=comparison, remarks=remarks)


def _judged(comparison: Comparison) -> tuple[list[Ground], str]:
    """The grounds against it, or else the reason why it may."""
    # The chance of a gain like this one if each question gained or lost by luck: the exact sign-flip test, one-sided.
    change = comparison.nudcg.difference
    # Flips are symmetric: half of what is as far from zero lies on either side.
    luck = change.p / 2 if change and change.difference > SAME else 1.0
    few = "" if luck <= _LUCK_MAX else _too_few(comparison.after, luck)
    if grounds := [*([Ground("too_few_questions", few)] if few else []), *_losses(comparison)]:
        return grounds, ""
    if all(abs(move.change) <= SAME for move in comparison.moves):
        if cheaper := _cheaper(comparison):
            return [], f"no question changes, and it takes {cheaper}"
        name, candidate = comparison.before.config.name, comparison.after.config.name
        count = len(comparison.after.rows)
        same = f"every one of the {count} questions has the same nUDCG as with {name!r}"
        return [Ground("tie", f"{same}, and {candidate!r} costs no less: there is nothing to gain")], ""
    return [], f"nUDCG {_change(comparison)}, distractors {_distractors(comparison)}"


def _too_few(measured: Evaluation, luck: float | None = None) -> str:
    """The remedy for questions that are too few for an interval; "" where there are enough. `luck` of a comparison."""
    count = len(measured.rows)
    if count >= QUESTIONS_MIN:
        return ""
    is_held_out = measured.split not in ("all", CROSSED)
    questions = counted(count, "held-out question" if is_held_out else "question")
    verb = "decides" if count == 1 else "decide"
    exact = "" if luck is None else f"; luck alone does as well in {luck:.0%} of all cases, and {_LUCK_MAX:.0%} is the limit"
    together = ', or take the "split" marks away, so that all questions tune and decide, cross-validated' if is_held_out else ""
    return (
        f"{questions} {verb} nothing{exact}: label at least {QUESTIONS_MIN} in evals/golden.json, better 30, "
        f"or {QUESTIONS_MIN - 1} each of which gains{together}"
    )


def _losses(comparison: Comparison) -> list[Ground]:
    grounds = []
    nudcg = comparison.nudcg
    if nudcg.difference and nudcg.difference.difference < -SAME:
        reason = f"nUDCG is lower: {_change(comparison)}{_losers(comparison)}"
        grounds.append(Ground("lower_nudcg", reason))
    elif nudcg.loss_max > SAME:
        loss = nudcg.loss("nUDCG", is_certain=True)
        reason = f"{loss}: {_change(comparison)}{_losers(comparison)}: mend those, or label more questions"
        grounds.append(Ground("loss_possible", reason))
    if comparison.more_distractors > 0:
        newcomers = [f"{move.id} ({', '.join(move.came[:_NAMED_MAX])})" for move in comparison.moves if move.came]
        where = f"; new at {first_of(newcomers)}" if newcomers else ""
        grounds.append(Ground("more_distractors", f"more distractors are shown: {_distractors(comparison)}{where}"))
    return grounds


def _first(candidate: Evaluation) -> ConfigVerdict:
    """Nothing is in use, so it has to be better than an answer without results, whose nUDCG is 0."""
    figures = f"nUDCG {candidate.nudcg:.3f}, {candidate.distractors} distractors"
    grounds = _broken(candidate)
    if candidate.nudcg < -SAME:
        grounds.append(Ground("misleads", f"it misleads more than it helps ({figures}): showing nothing would be better"))
    why = "" if grounds else f"nothing was in use before; {figures}"
    few = [f"it is taken because nothing was in use; {reason}"] if (reason := _too_few(candidate)) and why else []
    return ConfigVerdict(tuple(grounds), why=why, candidate=candidate, remarks=(*few, *_remarks(candidate)))


def _cheaper(comparison: Comparison) -> str:
    """The costs that fell, if none rose."""
    old, new = _costs(comparison.before), _costs(comparison.after)
    if any(new[cost] > old[cost] for cost in old):
        return ""
    return ", ".join(f"{new[cost]} instead of {old[cost]} {cost}" for cost in old if new[cost] < old[cost])


def _costs(evaluation: Evaluation) -> dict[str, int]:
    """The costs of answering the questions, in figures that don't depend on the machine."""
    reranked = evaluation.config.rerank.top_n * len(evaluation.rows) if evaluation.config.rerank.model else 0
    return {
        "distractors": evaluation.distractors,
        "results": evaluation.results,
        "scored candidates": sum(row.scored for row in evaluation.rows),
        "embedded questions": sum(row.method != "keyword" for row in evaluation.rows),
        "reranked results": reranked,
    }


def _broken(*evaluations: Evaluation) -> list[Ground]:
    """A measurement during which the model failed is of another configuration than the one that was named."""
    return [
        Ground("unmeasurable", f"{evaluation.config.name!r} could not be measured: {note}; try again when that is mended")
        for evaluation in evaluations
        for note in evaluation.notes
        if _is_of_a_failure(note)
    ]


def _is_of_a_failure(note: str) -> bool:
    return any(failed in note for failed in _FAILED)


def _remarks(*evaluations: Evaluation) -> tuple[str, ...]:
    remarks = [
        f"{evaluation.config.name}: {note}"
        for evaluation in evaluations
        for note in evaluation.notes
        if not (_is_of_a_failure(note) or note.startswith("only identifiers"))
    ]
    if evaluations[-1].split not in ("test", CROSSED):
        remarks.append('no question is marked "split": "test", so what was tuned on may have decided; mark some')
    return tuple(remarks)


def _change(comparison: Comparison) -> str:
    return comparison.nudcg.evidence(counted(len(comparison.after.rows), "question"))


def _distractors(comparison: Comparison) -> str:
    return f"{comparison.after.distractors} after {comparison.before.distractors}"


def _losers(comparison: Comparison) -> str:
    losers = [move for move in comparison.moves if move.change < -SAME]
    return f"; lost at {first_of([f'{loser.id} ({loser.change:+.2f})' for loser in losers])}" if losers else ""
