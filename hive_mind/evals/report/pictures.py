"""What a drawing is once it is drawn. Here and not beside matplotlib, because a page is also made where that is not installed."""

from dataclasses import dataclass, field

MISSING = "Drawings are left out, the tables have all figures. To draw, install matplotlib: pip install 'hive-mind[plots]'"


@dataclass(frozen=True, slots=True)
class Plot:
    """`name` is its file's without the ending, `told` is its text alternative."""

    name: str
    title: str
    told: str
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
