"""The material of a page: the scorecard, its settings, the drawings, and the rows where a section names single questions."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hive_mind.evals.report.selecting import Setting, quality_metric, settings_of
from hive_mind.evals.running.reading import MeasuredRun
from hive_mind.evals.scorecards.card import CellCard, Scorecard
from hive_mind.evals.scorecards.metrics import groups_of_both, paired
from hive_mind.installation import command_for_extra
from hive_mind.measure.differences import Difference, differences


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
        both = (row for row in rows if row in other_rows and not rows[row].error and not other_rows[row].error)
        limit = self.card.limit
        return [one for one in both if rows[one].facts[:limit] != other_rows[one].facts[:limit]]

    def beside(self, pairs: Sequence[tuple[CellCard, CellCard]]) -> list[list[Difference | None]]:
        """The first cell of each pair minus the second, paired by question, for each of `measures`."""
        both = [(self.run.cell(new.id).rows, self.run.cell(old.id).rows) for new, old in pairs]
        columns = [paired(new, old, metric) for new, old in both for metric in self.measures]
        groups = [groups_of_both(new, old) for new, old in both for _ in self.measures]
        found = differences(columns, groups)
        return [found[place : place + len(self.measures)] for place in range(0, len(found), len(self.measures))]


def material_of(card: Scorecard, run: MeasuredRun, drawings: Drawings) -> Material:
    return Material(card, run, tuple(settings_of(card)), drawings)
