"""What the plots are drawn from: lines of points, and under what they were measured."""

from collections.abc import Sequence

import msgspec


class Line(msgspec.Struct, frozen=True):
    """One line of a panel; `y` belongs to `x` by position. A peer or a limit is drawn thinner."""

    panel: str
    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    is_peer: bool = False


class Plot(msgspec.Struct, frozen=True):
    """One picture; `x` names what grows, and panels stand side by side in the order of their lines."""

    name: str
    title: str
    x: str
    lines: tuple[Line, ...]
    command: str
    machine: str
    date: str
    is_log: bool = True


def lines_of(rows: Sequence[tuple[float, dict[tuple[str, str], float]]], peers: frozenset[str] = frozenset()) -> tuple[Line, ...]:
    """From what each x gave, by panel and name."""
    keys = dict.fromkeys(key for _, values in rows for key in values)
    made = []
    for panel, name in keys:
        points = [(x, values[panel, name]) for x, values in rows if (panel, name) in values]
        made.append(Line(panel, name, tuple(x for x, _ in points), tuple(y for _, y in points), name in peers))
    return tuple(made)
