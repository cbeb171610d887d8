"""How far a run is, and how long it still takes: from what is done so far, weighed by what cells of its sort cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hive_mind.evals.experiments.matrix import ALONE
from hive_mind.evals.experiments.values import Cell

# Seconds on two cores, measured on the standard experiment; only their ratios count. A process, a document, a question.
_BEGINS, _LEARNS, _ASKS = 2.0, 0.002, 0.01
# Extra cost of a question for each node that has to be asked.
_NODE = 0.15

# A cell with its last question answered has not ended yet.
_NEARLY = 0.99


def weight_of(cell: Cell, documents: int, questions: int) -> float:
    """Expected cost of a cell, in seconds of a machine like ours."""
    arm = cell.arm
    nodes = 1 if arm.kind in ALONE else (arm.groups or arm.agents)
    far = {"in-process": 1.0, "simulator": 1.5, "redis": 3.0}[arm.place]
    return _BEGINS + far * (documents * _LEARNS + questions * _ASKS * (1 + _NODE * min(nodes, 100)))


@dataclass(slots=True)
class Standing:
    """Weights of all cells, the part of each that is done (0 to 1), and when they began. Times are given, in seconds."""

    weights: Mapping[str, float]
    began: float
    parts: dict[str, float] = field(default_factory=dict)
    before: frozenset[str] = frozenset()
    """Cells that an earlier run finished: done, and no measure of speed."""

    def progressed(self, cell: str, done: int, total: int) -> None:
        """A cell that is asking questions is so far."""
        self.parts[cell] = _NEARLY * min(done / total, 1.0) if total else 0.0

    def ended(self, cell: str) -> None:
        self.parts[cell] = 1.0

    @property
    def done(self) -> int:
        return sum(1 for part in self.parts.values() if part == 1.0)

    def left_s(self, now: float) -> float | None:
        """Seconds to the end; None while too little is done to say."""
        fresh = {cell: weight for cell, weight in self.weights.items() if cell not in self.before}
        whole = sum(fresh.values())
        finished = sum(weight * self.parts.get(cell, 0.0) for cell, weight in fresh.items())
        if finished < 0.02 * whole or now <= self.began:
            return None
        return (now - self.began) * (whole - finished) / finished


def spoken(seconds: float | None) -> str:
    """Time left as a person would say it."""
    if seconds is None:
        return ""
    if seconds < 60:
        return "under a minute left"
    minutes = round(seconds / 60)
    return f"about {minutes} min left" if minutes < 90 else f"about {seconds / 3600:.1f} h left"
