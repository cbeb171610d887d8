"""What is left when nodes are down, messages are lost or members are slow: completeness, quality, and time."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from hive_mind.evals.experiments.values import Fault
from hive_mind.evals.report.naming import arm_name, metric_name
from hive_mind.evals.report.pictures import Plot
from hive_mind.evals.report.plots.drawing import canvas, finished
from hive_mind.evals.report.plots.quality import told
from hive_mind.evals.report.plots.scatter import draw
from hive_mind.evals.report.plots.series import Point, at, by_arm
from hive_mind.evals.report.selecting import Setting
from hive_mind.evals.scorecards.card import CellCard, Estimate, Middle

_ACROSS = {"down": "nodes down", "loss": "share of messages lost", "slow": "slow members"}

Value = Callable[[CellCard], Estimate | Middle | None]


def by_failure(setting: Setting, metric: str, name: str) -> Iterator[Plot]:
    """Drawings for every sort of fault that was tried. Slow members cost time, the others quality."""
    for fault in _ACROSS:
        cells = _cells(setting, fault)
        if not cells:
            continue
        yield from _drawn(setting, cells, fault, "completeness", _completeness, f"completeness-by-{fault}-{name}")
        if fault == "slow":
            yield from _drawn(setting, cells, fault, "median ms per query", _latency, f"latency-by-{fault}-{name}")
        else:
            yield from _drawn(setting, cells, fault, metric_name(metric), _quality(metric), f"quality-by-{fault}-{name}")


def _cells(setting: Setting, fault: str) -> list[CellCard]:
    """Cells with this sort of fault only, and the same arms without any."""
    ill = [cell for cell in setting.faulty if replace(cell.fault, **{fault: 0, "slow_ms": 0}) == Fault()]
    arms = {cell.arm for cell in ill}
    return [cell for cell in setting.healthy if cell.arm in arms] + ill


def _drawn(setting: Setting, cells: list[CellCard], fault: str, upwards: str, value: Value, name: str) -> Iterator[Plot]:
    def point(cell: CellCard) -> Point | None:
        return at(getattr(cell.fault, fault), value(cell))

    series = by_arm(cells, point, arm_name)
    if not series:
        return
    title = f"{upwards} by {_ACROSS[fault]}: {setting.name}"
    title = title if "@" in upwards else title[0].upper() + title[1:]
    with canvas() as (figure, axes):
        draw(figure, axes, series, (_ACROSS[fault], upwards), "even", highest=None if value is _latency else 1.0)
        yield finished(figure, name, title, told(title, series))


def _completeness(cell: CellCard) -> Estimate | None:
    return cell.system.completeness if cell.system else None


def _latency(cell: CellCard) -> Middle | None:
    return cell.system.wall_ms if cell.system else None


def _quality(metric: str) -> Value:
    return lambda cell: cell.metrics.get(metric)
