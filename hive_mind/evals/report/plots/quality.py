"""Quality against what it costs in messages, quality and latency against the number of agents, and what failures leave."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from hive_mind.drawing.pictures import canvas
from hive_mind.evals.experiments.values import Fault
from hive_mind.evals.report.material import Plot
from hive_mind.evals.report.naming import BASELINES, arm_name, metric_name
from hive_mind.evals.report.plots.drawing import finished
from hive_mind.evals.report.plots.scatter import Point, Series, at, by_arm, by_kind, draw, size_mark
from hive_mind.evals.report.selecting import Setting
from hive_mind.evals.scorecards.card import CellCard
from hive_mind.measure.intervals import Estimate, Middle


def by_messages(setting: Setting, metric: str, name: str) -> Plot | None:
    """Quality by messages. Nothing where no cell sent one."""

    def point(cell: CellCard) -> Point | None:
        return at(cell.system.messages.mean, cell.metrics.get(metric), size_mark(cell.arm)) if cell.system else None

    series = by_kind(setting.healthy, point)
    if not any(one.x > 0 for some in series for one in some.points):
        return None
    title = f"{metric_name(metric)} against messages per query: {setting.name}"
    with canvas() as figure:
        words = ("messages per query, replies included", metric_name(metric))
        draw(figure, series, words, "tenfold and zero", is_joined=False, highest=1.0)
        return finished(figure, name, title, caption(title, series))


def by_agents(setting: Setting, metric: str, name: str) -> Plot | None:
    """Quality when more agents hold the same facts."""
    title = f"{metric_name(metric)} against number of agents: {setting.name}"
    return _against_agents(
        setting, (name, title, metric_name(metric)), lambda cell: at(cell.arm.agents, cell.metrics.get(metric)), highest=1.0
    )


def latency_by_agents(setting: Setting, name: str) -> Plot | None:
    """Time of a question by number of agents. Without embedding it."""

    def point(cell: CellCard) -> Point | None:
        return at(cell.arm.agents, cell.system.wall_ms) if cell.system else None

    return _against_agents(setting, (name, f"Latency against number of agents: {setting.name}", "median ms per query"), point)


def caption(title: str, series: list[Series]) -> str:
    """The content of a drawing in words, for readers that don't see it: each series with its first and last point."""
    return f"{title}. " + "; ".join(f"{one.name}: {_ends(one)}" for one in series) + ". The figures are in the tables."


def _against_agents(
    setting: Setting, words: tuple[str, str, str], point: Callable[[CellCard], Point | None], *, highest: float | None = None
) -> Plot | None:
    name, title, upwards = words
    series = by_kind([cell for cell in setting.healthy if cell.arm.kind not in BASELINES], point)
    if len({one.x for some in series for one in some.points}) < 2:
        return None
    with canvas() as figure:
        draw(figure, series, ("agents", upwards), "tenfold", highest=highest)
        return finished(figure, name, title, caption(title, series))


def _ends(series: Series) -> str:
    (first, low), (last, high) = series.means[0], series.means[-1]
    return f"{low:.3g}" if first == last else f"{low:.3g} at {first:.3g}, {high:.3g} at {last:.3g}"


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
    with canvas() as figure:
        draw(figure, series, (_ACROSS[fault], upwards), "even", highest=None if value is _latency else 1.0)
        yield finished(figure, name, title, caption(title, series))


def _completeness(cell: CellCard) -> Estimate | None:
    return cell.system.completeness if cell.system else None


def _latency(cell: CellCard) -> Middle | None:
    return cell.system.wall_ms if cell.system else None


def _quality(metric: str) -> Value:
    return lambda cell: cell.metrics.get(metric)
