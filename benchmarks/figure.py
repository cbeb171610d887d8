"""One shape for everything that is measured: a figure of ours beside a peer or a physical limit of the same run, and their ratio.

Absolute times belong to a machine and its neighbours; what can be compared later is the ratio. So both sides are measured in
turn, round by round, and the ratios of all rounds are kept: they say how much of a difference is noise.
"""

import os
import platform
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Literal

import msgspec

Better = Literal["lower", "higher"]
Round = Callable[[], float]


class Means(msgspec.Struct, frozen=True):
    """What measurements are made with. Without `data` those that need real sentences can't be."""

    data: Path | None
    cache: Path
    rounds: int = 5


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A median and its peer's; `ratios` has that of every round, all runs together. `target` is what the value should keep to."""

    name: str
    what: str
    value: float
    unit: str
    peer: str
    peer_value: float
    ratios: tuple[float, ...]
    better: Better = "lower"
    target: float | None = None
    is_exact: bool = False
    """Whether there is no chance in it: counts, bytes, virtual time."""
    command: str = ""
    machine: str = ""
    date: str = ""

    @property
    def ratio(self) -> float:
        """Ours divided by the peer's."""
        return median(self.ratios)

    @property
    def is_met(self) -> bool | None:
        """Whether the target is kept; None without one."""
        if self.target is None:
            return None
        return self.value <= self.target if self.better == "lower" else self.value >= self.target


class Written(msgspec.Struct, frozen=True):
    """A file of figures. `load` is how many processes were busy before and after, `failed` why some work has no figure."""

    figures: tuple[Figure, ...]
    load: tuple[float, float] = (0.0, 0.0)
    failed: dict[str, str] = {}


def side_by_side(ours: Round, peer: Round, rounds: int) -> tuple[float, float, tuple[float, ...]]:
    """Both medians, and the ratio of every round; a round of each that isn't counted comes first."""
    ours()
    peer()
    pairs = [(ours(), peer()) for _ in range(rounds)]
    return median(one for one, _ in pairs), median(other for _, other in pairs), tuple(one / other for one, other in pairs)


def beside(
    name: str,
    what: str,
    unit: str,
    peer: str,
    sides: tuple[float, float, tuple[float, ...]],
    target: float | None = None,
    **more: Any,
) -> Figure:
    """A figure of what `side_by_side` measured."""
    value, peer_value, ratios = sides
    return Figure(
        name=name, what=what, value=value, unit=unit, peer=peer, peer_value=peer_value, ratios=ratios, target=target, **more
    )


def once(
    name: str, what: str, value: float, unit: str, peer: str, peer_value: float, target: float | None = None, **more: Any
) -> Figure:
    """Measured once: there is nothing to repeat in one process, or no chance in it."""
    return beside(name, what, unit, peer, (value, peer_value, (value / peer_value,)), target, **more)


def together(runs: Sequence[Sequence[Figure]]) -> list[Figure]:
    """The same figures of several runs as one: medians of the values, all of the ratios."""
    by_name: dict[str, list[Figure]] = {}
    for figure in (one for run in runs for one in run):
        by_name.setdefault(figure.name, []).append(figure)
    return [
        msgspec.structs.replace(
            same[-1],
            value=median(one.value for one in same),
            peer_value=median(one.peer_value for one in same),
            ratios=tuple(ratio for one in same for ratio in one.ratios),
        )
        for same in by_name.values()
    ]


def signed(figures: Iterable[Figure], command: str) -> list[Figure]:
    """With the command that measures them again, this machine and today."""
    here, today = machine(), datetime.now(UTC).date().isoformat()
    return [msgspec.structs.replace(one, command=command, machine=here, date=today) for one in figures]


def machine() -> str:
    """The processor, how many of them, and Python's version."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text("utf-8").splitlines() if about.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} × {names[0] if names else platform.machine()}, Python {platform.python_version()}"


def write(path: Path, written: Written) -> None:
    """As JSON, with the ratio that the rest follows from."""
    plain = msgspec.to_builtins(written)
    for one, figure in zip(plain["figures"], written.figures, strict=True):
        one["ratio"] = figure.ratio
        one["ratios"] = [float(f"{ratio:.4g}") for ratio in figure.ratios]
    path.write_bytes(msgspec.json.format(msgspec.json.encode(plain), indent=1) + b"\n")


def read(path: Path) -> Written:
    """What `write` wrote, also by an earlier version. The ratio is worked out again."""
    return msgspec.json.decode(path.read_bytes(), type=Written)
