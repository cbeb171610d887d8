"""Points of a drawing that belong together: cells of one name that ran in one kind of place."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import fmean

from hive_mind.evals.experiments.values import Arm
from hive_mind.evals.report.naming import KINDS, PLACES
from hive_mind.evals.scorecards.card import CellCard, Estimate, Middle


@dataclass(frozen=True, slots=True)
class Point:
    """A cell in a drawing, with its interval where there is one. `mark` is written beside it."""

    x: float
    y: float
    low: float
    high: float
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Points from left to right. `kind` is what the legend says; several series may be of one."""

    name: str
    kind: str
    role: str
    place: str
    points: tuple[Point, ...]

    @property
    def means(self) -> list[tuple[float, float]]:
        """From left to right; where several seeds share a place, the mean of theirs."""
        return [(x, fmean(point.y for point in same)) for x, same in groupby(self.points, key=lambda point: point.x)]


def by_kind(cells: Iterable[CellCard], point: Callable[[CellCard], Point | None]) -> list[Series]:
    """A series for each kind of arm and place."""
    return _grouped(cells, point, lambda cell: KINDS[cell.arm.kind])


def by_arm(cells: Iterable[CellCard], point: Callable[[CellCard], Point | None], name: Callable[[Arm], str]) -> list[Series]:
    """A series for each arm and place, with its size written at its end."""
    found = _grouped(cells, point, lambda cell: name(cell.arm))
    sizes = {name(cell.arm): size_mark(cell.arm) for cell in cells}
    return [replace(one, points=(*one.points[:-1], replace(one.points[-1], mark=sizes[one.name]))) for one in found]


def at(x: float, y: Estimate | Middle | None, mark: str = "") -> Point | None:
    """A point with its interval; None where nothing was measured."""
    if y is None:
        return None
    middle = y.mean if isinstance(y, Estimate) else y.median
    return Point(x, middle, middle if y.low is None else y.low, middle if y.high is None else y.high, mark)


def size_mark(arm: Arm) -> str:
    """How large an arm is, as short as it can be: "10 in 5" are ten agents in five groups, "3/10" three asked of ten."""
    if arm.agents < 2:
        return ""
    if arm.groups:
        return f"{arm.agents} in {arm.groups}"
    return f"{arm.fan_out}/{arm.agents}" if arm.fan_out else str(arm.agents)


def _grouped(
    cells: Iterable[CellCard], point: Callable[[CellCard], Point | None], name: Callable[[CellCard], str]
) -> list[Series]:
    found: dict[tuple[str, str, str], list[Point]] = {}
    for cell in cells:
        if (one := point(cell)) is not None:
            found.setdefault((name(cell), cell.arm.kind, cell.arm.place), []).append(one)
    return [_series(*group, points) for group, points in found.items()]


def _series(name: str, kind: str, place: str, points: list[Point]) -> Series:
    told = KINDS[kind] if place == "in-process" else f"{KINDS[kind]}, {PLACES[place].split(',')[0]}"
    return Series(name, told, kind, place, tuple(sorted(points, key=lambda one: (one.x, one.y))))
