"""Measuring a configuration on golden questions, comparing two, and deciding which is better. Here are the rows, and a picture.

It shows score by rank with the cliff, UDCG by k, and UDCG against nDCG: where distractors stand among the scores and where a
ranking ends or could end, what one more result is worth, and what nDCG doesn't see. With the same input it is the same to the
byte. Needs the extra `plots`.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hive_mind.counted import counted
from hive_mind.drawing import COLOURS, GROUND, SERIES, TEXT, as_file, canvas, entitle
from hive_mind.errors import InvalidInput
from hive_mind.measure import Estimate, Sense, estimate, macro_mean
from hive_mind.measure.results import DISTRACTOR, ideal_udcg, ndcg_at_k, nudcg_at_k, recall_at_k, reciprocal_rank, udcg_by_k
from hive_mind.ranking.distraction import cut
from hive_mind.retrieval import RetrievalConfig

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Metric = Literal["nudcg", "udcg", "ndcg", "recall", "mrr", "contamination"]
METRICS: Mapping[Metric, tuple[str, Sense]] = {
    "nudcg": ("nUDCG", "better"),
    "udcg": ("UDCG", "better"),
    "ndcg": ("nDCG", "better"),
    "recall": ("recall", "better"),
    "mrr": ("MRR", "better"),
    "contamination": ("contamination", "worse"),
}
"""The word for each in tables, and the meaning of more of it."""
Label = Literal["relevant", "distractor", ""]


@dataclass(frozen=True, slots=True)
class Shown:
    """One result as it is kept: where it stood, with which scores. Its text can be had from the index."""

    rank: int
    document: str
    chunk_id: str
    heading: str
    score: float
    keyword: float
    vector: float | None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measures:
    """The worth of one answer. nDCG, recall and reciprocal rank are undefined (None) without relevant documents.

    `distractors` counts documents, `contamination` is the share of all shown chunks that come from distractors: that much of
    what a language model would read misleads it.
    """

    udcg: float
    nudcg: float
    ndcg: float | None
    recall: float | None
    mrr: float | None
    distractors: int
    contamination: float
    results: int


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """One question, its labels, and what was shown for it. A row equals another one however long it took."""

    id: str
    query: str
    relevant: tuple[str, ...]
    distractors: tuple[str, ...]
    shown: tuple[Shown, ...]
    scored: int
    method: str
    cut_at: int | None = None
    why_cut: str = ""
    notes: tuple[str, ...] = ()
    ms: float = field(default=0.0, compare=False)

    @property
    def documents(self) -> tuple[str, ...]:
        return tuple(view.document for view in self.shown)

    @property
    def judgements(self) -> dict[str, int]:
        """The judgement of each labelled document. One that is labelled both ways misleads."""
        return dict.fromkeys(self.relevant, 1) | dict.fromkeys(self.distractors, DISTRACTOR)

    def label(self, document: str) -> Label:
        judgement = self.judgements.get(document, 0)
        return "relevant" if judgement > 0 else "distractor" if judgement < 0 else ""

    def measures(self, k: int) -> Measures:
        documents, judgements = self.documents[:k], self.judgements
        misleading = [document for document in documents if judgements.get(document, 0) < 0]
        return Measures(
            udcg=self.curve(k)[-1],
            nudcg=nudcg_at_k(documents, judgements, k),
            ndcg=ndcg_at_k(documents, judgements, k),
            recall=recall_at_k(documents, judgements, k),
            mrr=reciprocal_rank(documents, judgements, k),
            distractors=len(set(misleading)),
            contamination=len(misleading) / len(documents) if documents else 0.0,
            results=len(documents),
        )

    def curve(self, k: int) -> list[float]:
        return udcg_by_k(self.documents, self.judgements, k)

    def ideal_curve(self, k: int) -> list[float]:
        """The most that UDCG could be at 1, 2 … k."""
        return [ideal_udcg(self.judgements, cut) for cut in range(1, k + 1)]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A configuration, measured with some questions, at a cut shared by all configurations that it is compared with."""

    config: RetrievalConfig
    split: str
    """Which questions: "test", "train", "unmarked" or "all"."""
    k: int
    rows: tuple[QuestionRow, ...]
    metrics: ClassVar = METRICS

    def at(self, k: int) -> "Evaluation":
        return self if k == self.k else replace(self, k=k)

    def measures(self) -> list[Measures]:
        return [row.measures(self.k) for row in self.rows]

    def values(self, metric: Metric) -> list[float | None]:
        """A metric of each question; None where it is undefined."""
        return [getattr(measure, metric) for measure in self.measures()]

    def estimate(self, metric: Metric) -> Estimate | None:
        """A metric's mean with its 95 % interval; None where it is defined for no question."""
        return estimate(self.values(metric))

    @property
    def nudcg(self) -> float:
        """The mean that decides. 0 without questions."""
        return macro_mean(self.values("nudcg")) or 0.0

    @property
    def distractors(self) -> int:
        return self.distractors_in(self.k)

    def distractors_in(self, k: int) -> int:
        return sum(row.measures(k).distractors for row in self.rows)

    @property
    def contaminated(self) -> int:
        return sum(measure.distractors > 0 for measure in self.measures())

    @property
    def results(self) -> int:
        return sum(len(row.shown) for row in self.rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the index on how it searched, each once."""
        return tuple(dict.fromkeys(note for row in self.rows for note in row.notes))

    @property
    def curve(self) -> list[float]:
        return _mean_curve([row.curve(self.k) for row in self.rows])

    @property
    def ideal_curve(self) -> list[float]:
        """The most that mean UDCG could be at 1, 2 … k."""
        return _mean_curve([row.ideal_curve(self.k) for row in self.rows])


def _mean_curve(curves: Sequence[Sequence[float]]) -> list[float]:
    return [sum(points) / len(points) for points in zip(*curves, strict=True)]


# The scores of each measurement, a to d, above the curves by k and UDCG against nDCG.
_PLACES = ("aa\nkn", "ab\nkn", "ab\nc.\nkn", "ab\ncd\nkn")
# Inches.
_WIDTH, _ROW, _LINE = 10.4, 3.7, 0.2
# How far to the side the results of the first and the last question stand, so that they don't hide each other.
_SPREAD = 0.5
_EDGE: dict[str, Any] = {"markeredgecolor": GROUND.light, "markeredgewidth": 0.6, "linestyle": "none", "clip_on": False}
# A result's mark and its name, by its label. Misleading ones are drawn last, on top.
_MARKS: dict[Label, tuple[str, dict[str, Any]]] = {
    "": ("neither", _EDGE | {"marker": "o", "markersize": 4, "color": "none", "markeredgecolor": COLOURS["faint"].light}),
    "relevant": ("relevant", _EDGE | {"marker": "o", "markersize": 7, "color": COLOURS["good"].light}),
    "distractor": ("distractor", _EDGE | {"marker": "^", "markersize": 8, "color": COLOURS["bad"].light}),
}
_IDEAL: dict[str, Any] = {"color": COLOURS["faint"].light, "linestyle": "--", "linewidth": 1.2}

Hints = dict[str, list[str]]


def drawn(evaluations: Sequence[Evaluation], kind: str = "svg") -> bytes:
    """The picture as "svg" or "png". Raises `InvalidInput` for none, for more than four, and for one without questions."""
    if not 1 <= len(evaluations) <= len(SERIES) or not all(evaluation.rows for evaluation in evaluations):
        raise InvalidInput(f"a picture shows one to {len(SERIES)} measurements that have questions")
    k = max(evaluation.k for evaluation in evaluations)
    same = [evaluation.at(k) for evaluation in evaluations]
    places = _PLACES[len(same) - 1]
    hints: Hints = {}
    with canvas(_ROW * (places.count("\n") + 1) + _LINE * len(same), _WIDTH) as figure:
        axes = figure.subplot_mosaic(places)
        for one, name in zip(same, "abcd", strict=False):
            _scores(axes[name], one, name, hints)
        _curves(axes["k"], same)
        _against(axes["n"], same, hints)
        names = [evaluation.config.name for evaluation in same]
        labels = [
            f"{name}: nUDCG {evaluation.nudcg:.3f}, {counted(evaluation.distractors, 'distractor')}"
            for name, evaluation in zip(names, same, strict=True)
        ]
        _key(figure, labels)
        return as_file(figure, kind, f"Retrieval: {', '.join(names)}", "; ".join(labels), hints)


def _key(figure: "Figure", labels: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    series = [Line2D([], [], label=words, **_series(number)) for number, words in enumerate(labels)]
    figure.legend(handles=series, loc="outside upper left")
    figure.legend(
        handles=[Line2D([], [], label=name, **style) for name, style in _MARKS.values()], loc="outside lower left", ncols=3
    )


def _series(number: int) -> dict[str, Any]:
    marker, colour = SERIES[number]
    return _EDGE | {"marker": marker, "color": colour.light, "markersize": 7}


def _scores(axes: "Axes", evaluation: Evaluation, name: str, hints: Hints) -> None:
    """Every result of every question by its rank, its score as a share of the best one, and where rankings end."""
    ends = Counter(end for row in evaluation.rows if (end := _cliff(evaluation, row)))
    bars = "cut at the cliff" if evaluation.config.dynamic_k.enabled else "cliffs that were not cut at"
    caption = f"bars: {bars}, {sum(ends.values())} of {len(evaluation.rows)} questions" if ends else "no cliff"
    entitle(axes, f"Score by rank: {evaluation.config.name}", f"share of the best score; {caption}")
    # A bar stands behind the last result where the ranking was cut there.
    heights = [count / len(evaluation.rows) for count in ends.values()]
    axes.bar([end + 0.5 for end in ends], heights, width=0.34, color=TEXT.light, alpha=0.14)
    dots: defaultdict[Label, list[tuple[float, float, str]]] = defaultdict(list)
    for number, row in enumerate(evaluation.rows):
        aside = _SPREAD * ((number + 0.5) / len(evaluation.rows) - 0.5)
        for rank, (view, share) in enumerate(zip(row.shown, _shares(row), strict=True), 1):
            label = row.label(view.document)
            hint = f"{row.id}: {row.query} → {view.document}{f' ({label})' if label else ''}, score {view.score:.4g}"
            dots[label].append((rank + aside, share, hint))
    for label, (meaning, style) in _MARKS.items():
        if dot := dots[label]:
            _marks(axes, dot, style, f"scores-{name}-{meaning}", hints)
    by_rank: defaultdict[int, list[float]] = defaultdict(list)
    for row in evaluation.rows:
        for rank, share in enumerate(_shares(row), 1):
            by_rank[rank].append(share)
    if by_rank:
        ranks = sorted(by_rank)
        axes.plot(ranks, [median(by_rank[rank]) for rank in ranks], color=TEXT.light, linewidth=1.4)
    axes.set_xlim(0.5, max([1, *(len(row.shown) for row in evaluation.rows), *(end + 0.3 for end in ends)]) + 0.5)
    axes.set_ylim(0, 1.05)
    _by_number(axes, "rank")


def _marks(axes: "Axes", points: Sequence[tuple[float, float, str]], style: dict[str, Any], gid: str, hints: Hints) -> None:
    axes.plot([x for x, _, _ in points], [y for _, y, _ in points], gid=gid, **style)
    hints[gid] = [hint for _, _, hint in points]


def _by_number(axes: "Axes", words: str) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.grid(visible=False, axis="x")
    axes.set_xlabel(words)
    axes.xaxis.set_major_locator(MaxNLocator(15, integer=True))


def _curves(axes: "Axes", evaluations: Sequence[Evaluation]) -> None:
    """Draw the worth of one more result: a curve that falls shows distractors."""
    entitle(axes, "UDCG by k", "mean UDCG@k; dashed: the most there could be")
    ideal = evaluations[0].ideal_curve
    ks = range(1, len(ideal) + 1)
    axes.plot(ks, ideal, **_IDEAL)
    for number, evaluation in enumerate(evaluations):
        axes.plot(ks, evaluation.curve, **_series(number) | {"linestyle": "-", "linewidth": 2})
    axes.set_ylim(min(0, axes.get_ylim()[0]))
    _by_number(axes, "k, results that are looked at")


def _against(axes: "Axes", evaluations: Sequence[Evaluation], hints: Hints) -> None:
    """A question on the diagonal is worth what nDCG says; one below is worth less, because something misleads."""
    entitle(axes, "UDCG against nDCG", "nUDCG; below the diagonal something misleads")
    axes.plot([0, 1], [0, 1], **_IDEAL)
    for number, evaluation in enumerate(evaluations):
        places: defaultdict[tuple[float, float], list[str]] = defaultdict(list)
        for row, measures in zip(evaluation.rows, evaluation.measures(), strict=True):
            if measures.ndcg is not None:
                places[round(measures.ndcg, 3), round(measures.nudcg, 3)].append(row.id)
        by_count: defaultdict[int, list[tuple[float, float, str]]] = defaultdict(list)
        for (ndcg, nudcg), ids in sorted(places.items()):
            hint = f"{evaluation.config.name}: {', '.join(ids)} (nDCG {ndcg}, nUDCG {nudcg})"
            by_count[len(ids)].append((ndcg, nudcg, hint))
        for count, same_count in by_count.items():
            style = _series(number) | {"markersize": min(6 + 2.2 * (count - 1) ** 0.5, 18), "alpha": 0.8}
            _marks(axes, same_count, style, f"against-{number}-{count}", hints)
    axes.set(xlim=(-0.03, 1.03), ylim=(-1.05, 1.05), xlabel="nDCG")


def _shares(row: QuestionRow) -> list[float]:
    """Scores as shares of the best, in [0, 1]: those of two fusions are not of one scale."""
    best = max((view.score for view in row.shown), default=0.0)
    return [min(1.0, max(0.0, view.score / best)) if best > 0 else 0.0 for view in row.shown]


def _cliff(evaluation: Evaluation, row: QuestionRow) -> int | None:
    """After which result the ranking ends at a cliff, or would, if that were switched on."""
    dynamic_k = evaluation.config.dynamic_k
    if dynamic_k.enabled:
        return row.cut_at
    scores = [view.score for view in row.shown]
    cut_place = cut(scores, dynamic_k.gap_threshold_factor, dynamic_k.min_results, dynamic_k.max_results)
    return cut_place.kept if cut_place.is_cliff else None
