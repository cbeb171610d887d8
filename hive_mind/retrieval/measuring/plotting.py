"""What was measured, as a picture: score by rank with the cliff, UDCG by k, and UDCG against nDCG.

The first shows where distractors stand among the scores and where a ranking ends or could end, the second what one more result is
worth, the third what nDCG doesn't see. Up to four measurements share the picture; with the same input it is the same to the byte.
"""

from collections import Counter
from collections.abc import Sequence
from statistics import median

from hive_mind import svg
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.ranking.cutoff import cut
from hive_mind.retrieval.measuring.measured import Evaluation, Label, QuestionRow
from hive_mind.svg import Frame, mark, text

_WIDTH = 1000
_LEFT, _RIGHT, _GAP = 64, 30, 84
_TOP, _HEIGHT, _ROW, _LINE = 98, 250, 366, 24
_HALF = (_WIDTH - _LEFT - _RIGHT - _GAP) / 2
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
# How far to the side the results of the first and the last question stand, so that they don't hide each other.
_SPREAD = 0.5
# Shape, size, class and name of a result's mark, by its label.
_MARKS: dict[Label, tuple[int, float, str, str]] = {
    "relevant": (0, 4.2, "relevant", "relevant"),
    "distractor": (2, 5.0, "distractor", "distractor"),
    "": (0, 2.5, "other", "neither"),
}


def drawn(evaluations: Sequence[Evaluation]) -> str:
    """The picture as SVG. Raises `InvalidInput` for none, for more than four, and for one without questions."""
    if not 1 <= len(evaluations) <= svg.SERIES_MAX or not all(one.rows for one in evaluations):
        raise InvalidInput(f"a picture shows one to {svg.SERIES_MAX} measurements that have questions")
    k = max(one.k for one in evaluations)
    same = [one.at(k) for one in evaluations]
    top = _TOP + _LINE * ((len(same) + 1) // 2)
    parts = [*_heading(same), *_key(top - 62)]
    places = _places(len(same), top)
    for one, (left, above, width) in zip(same, places, strict=True):
        parts += _scores(one, left, above, width)
    bottom = places[-1][1] + _ROW
    parts += _curves(same, _LEFT, bottom)
    parts += _against(same, _LEFT + _HALF + _GAP, bottom)
    title = "Retrieval: " + ", ".join(one.config.name for one in same)
    return svg.document(_WIDTH, round(bottom + _HEIGHT + 60), title, parts)


def _heading(evaluations: Sequence[Evaluation]) -> list[str]:
    parts = []
    for number, one in enumerate(evaluations):
        x, y = 28 + (number % 2) * (_HALF + _GAP), 24 + _LINE * (number // 2)
        told = f"{one.config.name}: nUDCG {one.nudcg:.3f}, {counted(one.distractors, 'distractor')}"
        parts += [mark(number, x, y, 6, f"mark{number}"), text(x + 14, y + 5, told)]
    return parts


def _key(y: float) -> list[str]:
    parts = []
    for number, (shape, size, css, what) in enumerate(_MARKS.values()):
        x = 28 + 96 * number
        parts += [mark(shape, x, y - 4, size, css), text(x + 14, y, what, "faint small")]
    return parts


def _places(count: int, top: float) -> list[tuple[float, float, float]]:
    """Left, top and width of the charts that each measurement has for itself."""
    if count == 1:
        return [(_LEFT, top, _WIDTH - _LEFT - _RIGHT)]
    return [(_LEFT + (n % 2) * (_HALF + _GAP), top + (n // 2) * _ROW, _HALF) for n in range(count)]


def _scores(one: Evaluation, left: float, top: float, width: float) -> list[str]:
    """Every result of every question by its rank, its score as a share of the best one, and where rankings end."""
    ranks = max((len(row.shown) for row in one.rows), default=0) or 1
    ends = Counter(end for row in one.rows if (end := _cliff(one, row)))
    # A bar stands behind the last result where the ranking was cut there.
    frame = Frame(left, top, width, _HEIGHT, (0.5, max([ranks, *(end + 0.3 for end in ends)]) + 0.5), (0.0, 1.05))
    xs = [rank for rank in range(1, ranks + 1) if ranks <= 15 or rank % 5 == 0 or rank == 1]
    told = f"share of the best score; {_told(one, ends)}"
    parts = frame.axes(f"Score by rank: {one.config.name}", "rank", told, xs, _SHARES)
    parts += [frame.bar(end + 0.5, 0.34, count / len(one.rows)) for end, count in ends.items()]
    parts += _dots(one, frame)
    return [*parts, frame.line(_medians(one), "median")]


def _dots(one: Evaluation, frame: Frame) -> list[str]:
    """What misleads is drawn last, on top."""
    dots: dict[str, list[str]] = {"": [], "relevant": [], "distractor": []}
    for number, row in enumerate(one.rows):
        aside = _SPREAD * ((number + 0.5) / len(one.rows) - 0.5)
        for rank, (shown, share) in enumerate(zip(row.shown, _shares(row), strict=True), 1):
            label = row.label(shown.document)
            shape, size, css, _ = _MARKS[label]
            told = f"{row.id}: {row.query} → {shown.document}{f' ({label})' if label else ''}, score {shown.score:.4g}"
            dots[label].append(mark(shape, frame.x(rank + aside), frame.y(share), size, css, told))
    return [dot for some in dots.values() for dot in some]


def _told(one: Evaluation, ends: Counter[int]) -> str:
    if not ends:
        return "no cliff"
    count = f"{sum(ends.values())} of {len(one.rows)} questions"
    return f"bars: cut at the cliff, {count}" if one.config.dynamic_k.enabled else f"bars: cliffs that were not cut at, {count}"


def _curves(evaluations: Sequence[Evaluation], left: float, top: float) -> list[str]:
    """What one more result is worth: a curve that falls shows distractors."""
    curves = [one.curve for one in evaluations]
    ideal = evaluations[0].ideal_curve
    low, ys = _scale([value for curve in (*curves, ideal) for value in (0.0, *curve)])
    frame = Frame(left, top, _HALF, _HEIGHT, (1, max(len(ideal), 2)), (low, ys[-1]))
    xs = [k for k in range(1, len(ideal) + 1) if len(ideal) <= 12 or k % 5 == 0 or k == 1]
    parts = frame.axes("UDCG by k", "k, results that are looked at", "mean UDCG@k; dashed: the most there could be", xs, ys)
    parts.append(frame.line(list(enumerate(ideal, 1)), "ideal"))
    for number, curve in enumerate(curves):
        parts.append(frame.line(list(enumerate(curve, 1)), f"line{number}"))
        parts += [mark(number, frame.x(k), frame.y(value), 4, f"mark{number}") for k, value in enumerate(curve, 1)]
    return parts


def _against(evaluations: Sequence[Evaluation], left: float, top: float) -> list[str]:
    """A question on the diagonal is worth what nDCG says; one below is worth less, because something misleads."""
    frame = Frame(left, top, _HALF, _HEIGHT, (0.0, 1.0), (-1.0, 1.0))
    ys = (-1.0, -0.5, 0.0, 0.5, 1.0)
    parts = frame.axes("UDCG against nDCG", "nDCG", "nUDCG; below the diagonal something misleads", _SHARES, ys)
    parts.append(frame.line([(0.0, 0.0), (1.0, 1.0)], "ideal"))
    for number, one in enumerate(evaluations):
        places: dict[tuple[float, float], list[str]] = {}
        for row, measures in zip(one.rows, one.measures(), strict=True):
            if measures.ndcg is not None:
                places.setdefault((round(measures.ndcg, 3), round(measures.nudcg, 3)), []).append(row.id)
        for (ndcg, nudcg), ids in sorted(places.items()):
            told = f"{one.config.name}: {', '.join(ids)} (nDCG {ndcg}, nUDCG {nudcg})"
            parts.append(
                mark(number, frame.x(ndcg), frame.y(nudcg), min(4 + 1.5 * (len(ids) - 1) ** 0.5, 12), f"mark{number}", told)
            )
    return parts


def _shares(row: QuestionRow) -> list[float]:
    """Scores as shares of the best, in [0, 1]: those of two fusions are not of one scale."""
    best = max((one.score for one in row.shown), default=0.0)
    return [min(1.0, max(0.0, one.score / best)) if best > 0 else 0.0 for one in row.shown]


def _medians(one: Evaluation) -> list[tuple[float, float]]:
    by_rank: dict[int, list[float]] = {}
    for row in one.rows:
        for rank, share in enumerate(_shares(row), 1):
            by_rank.setdefault(rank, []).append(share)
    return [(rank, median(shares)) for rank, shares in sorted(by_rank.items())]


def _cliff(one: Evaluation, row: QuestionRow) -> int | None:
    """After which result the ranking ends at a cliff, or would, if that were switched on."""
    wanted = one.config.dynamic_k
    if wanted.enabled:
        return row.cut_at
    found = cut([shown.score for shown in row.shown], wanted.gap_threshold_factor, wanted.min_results, wanted.max_results)
    return found.kept if found.is_cliff else None


def _scale(values: Sequence[float]) -> tuple[float, list[float]]:
    """The lowest value of an axis, and where its labels stand: steps of a half, or of whole numbers where there are many."""
    step = 0.5 if max(values) - min(values) <= 3 else 1.0
    low, high = int(min(values) // step), -int(-max(values) // step)
    return low * step, [number * step for number in range(low, max(high, low + 1) + 1)]
