"""Which cells belong side by side: those that were asked the same questions of the same data, with the same ranking. And how they
and their figures are written.

Only sorts and picks; the figures are the scorecard's. They are short enough to be read, with a dash where nothing was measured,
never a zero for something unknown. Names of cells have only the parts that tell them apart.

`Material` is all that a page is made of: the scorecard, its settings, the drawings, and the rows where a section names single
questions.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from hive_mind.evals.experiments import Arm, Fault
from hive_mind.evals.running import MeasuredRun
from hive_mind.evals.scorecard import CellCard, DataPart, RetrievalPart, Scorecard
from hive_mind.hive.topology.spec import NAMES, SINGLE, SPECS, reads
from hive_mind.installation import command_for_extra

NOTHING = "–"
MORE = "…"
FILTERS = ("share", "score", "change", "number", "size", "milliseconds", "seconds", "money", "counted")
"""Those that a template writes a value with."""
_THIN = "\N{NARROW NO-BREAK SPACE}"
_MINUS = "\N{MINUS SIGN}"


def share(value: float | None, *, digits: int = 1) -> str:
    """A share as per cent. Less than all is never rounded up to all, nor more than nothing down to nothing."""
    if value is None:
        return NOTHING
    digits_text = f"{100 * value:.{digits}f}"
    step = 10.0**-digits
    if digits_text == f"{100:.{digits}f}" and value < 1:
        return f"{100 - step:.{digits}f}{_THIN}%"
    if float(digits_text) == 0 and value > 0:
        return f"< {step:g}{_THIN}%"
    return f"{digits_text}{_THIN}%"


def score(value: float | None) -> str:
    return NOTHING if value is None else _signed(f"{value:.3f}")


def change(value: float | None) -> str:
    return NOTHING if value is None else _signed(f"{value:+.3f}")


def between(low: float | None, high: float | None, *, is_change: bool = False) -> str:
    if low is None or high is None:
        return NOTHING
    write = change if is_change else score
    return f"{write(low)} to {write(high)}"


def chance(p: float | None) -> str:
    """How often chance alone would part two arms so far."""
    if p is None:
        return NOTHING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def number(value: float | None) -> str:
    """A count or a mean of counts: three digits that matter, groups of three."""
    if value is None:
        return NOTHING
    if value == int(value) or abs(value) >= 100:
        return _signed(f"{value:,.0f}".replace(",", _THIN))
    return _signed(f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}")


def size(value: float | None) -> str:
    if value is None:
        return NOTHING
    for unit in ("B", "kB", "MB"):
        if abs(value) < 1000:
            return f"{_three(value)}{_THIN}{unit}"
        value /= 1000
    return f"{_three(value)}{_THIN}GB"


def milliseconds(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{_three(value)}{_THIN}ms" if value < 1000 else seconds(value / 1000)


def seconds(value: float | None) -> str:
    if value is None:
        return NOTHING
    if value < 1:
        return f"{_three(value * 1000)}{_THIN}ms"
    return f"{_three(value)}{_THIN}s" if value < 120 else f"{_three(value / 60)}{_THIN}min"


def money(value: float | None) -> str:
    """US dollars; small amounts are not rounded to nothing."""
    if value is None:
        return NOTHING
    return f"${value:.2f}" if value >= 0.1 or value == 0 else f"${value:.2g}"


def counted(how_many: int, noun: str, plural: str = "") -> str:
    return f"{number(how_many)} {noun if how_many == 1 else plural or noun + 's'}"


def counted_among(how_many: Iterable[int], noun: str) -> str:
    """ "47 to 75 questions", from the fewest to the most; "75 questions" where all are as many."""
    counts = sorted(set(how_many))
    fewest = f"{number(counts[0])} to " if len(counts) > 1 else ""
    return fewest + counted(counts[-1], noun)


def _three(value: float) -> str:
    if value == int(value) or value >= 100:
        return f"{value:.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _signed(text: str) -> str:
    return text.replace("-", _MINUS)


KINDS: dict[str, str] = {
    **{name: name for name in NAMES},
    "running": "the agent that runs",
    "seed-federated": "lists merged by rank",
    "routed": "nearest agents only",
    "bm25": "BM25 alone",
    "random": "random",
    "full-context": "full context",
}
BASELINES = ("bm25", "random", "full-context")
PLACES: dict[str, str] = {"in-process": "in process", "redis": "processes over Redis", "simulator": "simulator, virtual time"}


def arm_name(arm: Arm) -> str:
    """An arm with what tells it from others of its kind."""
    return ", ".join(part for part in (KINDS[arm.kind], arm_size(arm)) if part)


def arm_size(arm: Arm) -> str:
    """The part of an arm's name that tells it from others of its kind; "" for one that has no others."""
    if arm.agents < 2:
        return ""
    agents = counted(arm.agents, "agent")
    parts = [
        f"{agents} in {counted(arm.groups, 'group')}"
        if arm.groups
        else f"{arm.fan_out} of {agents} asked"
        if arm.fan_out
        else agents
    ]
    if reads(arm.kind, "replicas") and arm.replicas != Arm().replicas:
        parts.append(counted(arm.replicas, "replica"))
    if arm.deal != Arm().deal:
        parts.append(f"dealt by {arm.deal.removeprefix('by ')}")
    return ", ".join(parts)


def cell_name(cell: CellCard, *, with_seed: bool = False) -> str:
    parts = [arm_name(cell.arm)]
    if cell.arm.place != "in-process":
        parts.append(PLACES[cell.arm.place].split(",")[0])
    if cell.fault != Fault():
        parts.append(fault_name(cell.fault))
    return ", ".join([*parts, f"seed {cell.seed}"] if with_seed else parts)


def fault_name(fault: Fault) -> str:
    parts = []
    if fault.down:
        parts.append(f"{counted(fault.down, 'node')} down")
    if fault.loss:
        parts.append(f"{share(fault.loss, digits=0)} of messages lost")
    if fault.slow:
        parts.append(f"{counted(fault.slow, 'member')} {fault.slow_ms} ms late")
    return ", ".join(parts) or "none"


EXACT = tuple(SPECS)
"""Topologies that promise what one memory would find."""

CATEGORIES_MAX = 16
"""Categories a drawing has room for; the tables have all."""

_ORDER = (SINGLE, "running", *EXACT, "seed-federated", "routed", *BASELINES)


@dataclass(frozen=True, slots=True)
class Setting:
    """A data set under one way to rank, and all its finished cells in the order in which they are shown."""

    name: str
    cells: tuple[CellCard, ...]

    @property
    def healthy(self) -> tuple[CellCard, ...]:
        return tuple(cell for cell in self.cells if cell.fault == Fault())

    @property
    def faulty(self) -> tuple[CellCard, ...]:
        return tuple(cell for cell in self.cells if cell.fault != Fault())

    @property
    def has_seeds(self) -> bool:
        return len({cell.seed for cell in self.cells}) > 1

    @property
    def extent(self) -> str:
        """How many documents and questions; from the fewest to the most where each seed makes its own."""
        documents, questions = zip(*((cell.documents, cell.questions) for cell in self.cells), strict=True)
        return f"{counted_among(documents, 'document')}, {counted_among(questions, 'question')}"

    def of_kind(self, *kinds: str) -> tuple[CellCard, ...]:
        """Healthy cells of these kinds of arms."""
        return tuple(cell for cell in self.healthy if cell.arm.kind in kinds)


def settings_of(card: Scorecard) -> list[Setting]:
    """All settings, in the order of the experiment. A baseline is shown beside every ranking of its data.

    It was compared with the single memory of one of them; beside the others it has no difference, which would be that one's.
    """
    topologies = [cell for cell in card.done if cell.arm.kind not in BASELINES] or card.done
    pairs = dict.fromkeys((cell.data, cell.retrieval) for cell in topologies)
    rankings = {cell.retrieval for cell in card.cells if cell.arm.kind not in BASELINES}
    settings = []
    for data, retrieval in pairs:
        name = data_name(card, data) + (f", {retrieval.name}" if len(rankings) > 1 else "")
        settings.append(Setting(name, _cells(card, data, retrieval)))
    return settings


def data_name(card: Scorecard, data: DataPart) -> str:
    """A data set's name, with its part and how it was asked where the name alone would be two."""
    names = Counter(data_set.name for data_set in dict.fromkeys(cell.data for cell in card.cells))
    if names[data.name] == 1:
        return data.name
    return ", ".join(part for part in (data.name, data.part, "pooled" if data.is_pooled else "each scope apart") if part)


def representatives(cells: Iterable[CellCard], kinds: Sequence[str]) -> list[CellCard]:
    """One of each kind, the largest that ran in process where one did: as many as a drawing has room for."""
    best: dict[str, CellCard] = {}
    for cell in cells:
        former = best.get(cell.arm.kind)
        if former is None or _extent(cell) > _extent(former):
            best[cell.arm.kind] = cell
    return [best[kind] for kind in kinds if kind in best]


def shown_by_category(setting: Setting) -> list[CellCard]:
    """The arms that a look at categories compares: one memory, one hive, what loses, and keywords alone."""
    hive = next((kind for kind in reversed(EXACT) if setting.of_kind(kind)), "")
    return representatives(setting.healthy, (SINGLE, hive, "seed-federated", "routed", "bm25"))


def categories_of(setting: Setting, metric: str) -> list[str]:
    """Categories in which a metric is defined, those with the most questions first."""
    most: dict[str, int] = {}
    for cell in shown_by_category(setting):
        for category, metrics in cell.by.get("category", {}).items():
            if category and metric in metrics:
                most[category] = max(most.get(category, 0), metrics[metric].n)
    return sorted(most, key=lambda category: (-most[category], category))[:CATEGORIES_MAX]


def quality_metric(card: Scorecard) -> str:
    """The measure that drawings show: recall where documents are labelled, else whether the answer had its keywords."""
    metrics = {metric for cell in card.done for metric in cell.metrics}
    candidates = (f"recall@{card.limit}", f"ndcg@{card.limit}", "keyword_hit", "required_hit")
    return next((metric for metric in candidates if metric in metrics), candidates[0])


def _cells(card: Scorecard, data: DataPart, retrieval: RetrievalPart) -> tuple[CellCard, ...]:
    cells = [cell for cell in card.done if cell.data == data and cell.retrieval == retrieval]
    has = {cell.arm.kind for cell in cells}
    lent = [cell for cell in card.done if cell.data == data and cell.arm.kind in BASELINES and cell.arm.kind not in has]
    ids = {cell.id for cell in cells}
    for cell in lent:
        # Without its difference where the single memory that it was compared with is not here.
        is_here = cell.against_single is not None and cell.against_single.reference in ids
        cells.append(cell if is_here else msgspec.structs.replace(cell, against_single=None))
    return tuple(sorted(cells, key=_place))


def _place(cell: CellCard) -> tuple[object, ...]:
    arm, fault = cell.arm, cell.fault
    size = (arm.agents, arm.groups, arm.fan_out, arm.deal, arm.replicas, arm.place)
    return (_ORDER.index(arm.kind), *size, fault.down, fault.loss, fault.slow, fault.slow_ms, cell.seed, cell.id)


def _extent(cell: CellCard) -> tuple[int, ...]:
    return cell.arm.place == "in-process", cell.arm.agents, cell.arm.groups, cell.arm.fan_out


def no_drawings() -> str:
    """Says why a page has none. Here and not beside matplotlib, because a page is also made where that is not installed."""
    return f"Drawings are left out, the tables have all figures. To draw, install matplotlib: {command_for_extra('plots')}"


@dataclass(frozen=True, slots=True)
class Plot:
    """`name` is its file's without the ending, `caption` is its text alternative."""

    name: str
    title: str
    caption: str
    png: bytes
    svg: str


@dataclass(frozen=True, slots=True)
class Drawings:
    """All drawings by where they stand: those of each setting, in the order of the settings, then failures and costs."""

    settings: tuple[tuple[Plot, ...], ...] = ()
    failures: tuple[Plot, ...] = ()
    costs: tuple[Plot, ...] = ()
    missing: str = field(default="")
    """The reason why they are missing, or ""."""

    @property
    def all(self) -> tuple[Plot, ...]:
        return tuple(plot for plots in (*self.settings, self.failures, self.costs) for plot in plots)


@dataclass(frozen=True, slots=True)
class Material:
    """Everything a section may ask for."""

    card: Scorecard
    run: MeasuredRun
    settings: tuple[Setting, ...]
    drawings: Drawings

    @property
    def quality(self) -> str:
        """The measure that stands for quality where there is room for one."""
        return quality_metric(self.card)

    @property
    def measures(self) -> tuple[str, ...]:
        """The two measures that stand for quality where there is room."""
        metrics = {metric for cell in self.card.done for metric in cell.metrics}
        second = f"ndcg@{self.card.limit}"
        return (self.quality, second) if second in metrics and second != self.quality else (self.quality,)

    def plots(self, setting: Setting) -> tuple[Plot, ...]:
        place = self.settings.index(setting)
        return self.drawings.settings[place] if place < len(self.drawings.settings) else ()

    def differing(self, cell: CellCard) -> list[str]:
        """Questions to which a cell and its reference found other facts, or the same in another order."""
        if cell.against_single is None:
            return []
        rows, other_rows = self.run.cell(cell.id).rows, self.run.cell(cell.against_single.reference).rows
        questions = (row for row in rows if row in other_rows and not rows[row].error and not other_rows[row].error)
        limit = self.card.limit
        return [question for question in questions if rows[question].facts[:limit] != other_rows[question].facts[:limit]]
