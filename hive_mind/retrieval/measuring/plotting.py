"""The measurements as a picture: score by rank with the cliff, UDCG by k, and UDCG against nDCG.

The first shows where distractors stand among the scores and where a ranking ends or could end, the second what one more result is
worth, the third the things that nDCG doesn't see. Up to four measurements share the picture; with the same input it is the same
to the byte. Needs the extra `plots`.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from hive_mind.counted import counted
from hive_mind.drawing import COLOURS, GROUND, SERIES, TEXT
from hive_mind.drawing.pictures import as_file, canvas, entitle
from hive_mind.errors import InvalidInput
from hive_mind.ranking.distraction import cut
from hive_mind.retrieval.measuring import Evaluation, Label, QuestionRow

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
        _key(
            figure,
            labels := [
                f"{evaluation.config.name}: nUDCG {evaluation.nudcg:.3f}, {counted(evaluation.distractors, 'distractor')}"
                for evaluation in same
            ],
        )
        return as_file(
            figure, kind, "Retrieval: " + ", ".join(evaluation.config.name for evaluation in same), "; ".join(labels), hints
        )


def _key(figure: Figure, labels: Sequence[str]) -> None:
    series = [Line2D([], [], label=words, **_series(number)) for number, words in enumerate(labels)]
    figure.legend(handles=series, loc="outside upper left")
    figure.legend(
        handles=[Line2D([], [], label=name, **style) for name, style in _MARKS.values()], loc="outside lower left", ncols=3
    )


def _series(number: int) -> dict[str, Any]:
    marker, colour = SERIES[number]
    return _EDGE | {"marker": marker, "color": colour.light, "markersize": 7}


def _scores(axes: Axes, evaluation: Evaluation, name: str, hints: Hints) -> None:
    """Every result of every question by its rank, its score as a share of the best one, and where rankings end."""
    ends = Counter(end for row in evaluation.rows if (end := _cliff(evaluation, row)))
    entitle(axes, f"Score by rank: {evaluation.config.name}", f"share of the best score; {_caption(evaluation, ends)}")
    # A bar stands behind the last result where the ranking was cut there.
    bars, heights = [end + 0.5 for end in ends], [count / len(evaluation.rows) for count in ends.values()]
    axes.bar(bars, heights, width=0.34, color=TEXT.light, alpha=0.14)
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
    axes.plot(*zip(*_medians(evaluation), strict=True), color=TEXT.light, linewidth=1.4) if any(dots.values()) else None
    axes.set_xlim(0.5, max([1, *(len(row.shown) for row in evaluation.rows), *(end + 0.3 for end in ends)]) + 0.5)
    axes.set_ylim(0, 1.05)
    _by_number(axes, "rank")


def _marks(axes: Axes, points: Sequence[tuple[float, float, str]], style: dict[str, Any], gid: str, hints: Hints) -> None:
    axes.plot([x for x, _, _ in points], [y for _, y, _ in points], gid=gid, **style)
    hints[gid] = [hint for _, _, hint in points]


def _by_number(axes: Axes, words: str) -> None:
    axes.grid(visible=False, axis="x")
    axes.set_xlabel(words)
    axes.xaxis.set_major_locator(MaxNLocator(15, integer=True))


def _caption(evaluation: Evaluation, ends: Counter[int]) -> str:
    if not ends:
        return "no cliff"
    count = f"{sum(ends.values())} of {len(evaluation.rows)} questions"
    return (
        f"bars: cut at the cliff, {count}"
        if evaluation.config.dynamic_k.enabled
        else f"bars: cliffs that were not cut at, {count}"
    )


def _curves(axes: Axes, evaluations: Sequence[Evaluation]) -> None:
    """Draw the worth of one more result: a curve that falls shows distractors."""
    entitle(axes, "UDCG by k", "mean UDCG@k; dashed: the most there could be")
    ideal = evaluations[0].ideal_curve
    ks = range(1, len(ideal) + 1)
    axes.plot(ks, ideal, **_IDEAL)
    for number, evaluation in enumerate(evaluations):
        axes.plot(ks, evaluation.curve, **_series(number) | {"linestyle": "-", "linewidth": 2})
    axes.set_ylim(min(0, axes.get_ylim()[0]))
    _by_number(axes, "k, results that are looked at")


def _against(axes: Axes, evaluations: Sequence[Evaluation], hints: Hints) -> None:
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


def _medians(evaluation: Evaluation) -> list[tuple[float, float]]:
    by_rank: defaultdict[int, list[float]] = defaultdict(list)
    for row in evaluation.rows:
        for rank, share in enumerate(_shares(row), 1):
            by_rank[rank].append(share)
    return [(rank, median(shares)) for rank, shares in sorted(by_rank.items())]


def _cliff(evaluation: Evaluation, row: QuestionRow) -> int | None:
    """After which result the ranking ends at a cliff, or would, if that were switched on."""
    dynamic_k = evaluation.config.dynamic_k
    if dynamic_k.enabled:
        return row.cut_at
    cut_place = cut(
        [view.score for view in row.shown], dynamic_k.gap_threshold_factor, dynamic_k.min_results, dynamic_k.max_results
    )
    return cut_place.kept if cut_place.is_cliff else None
