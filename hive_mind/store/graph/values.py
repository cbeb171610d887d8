"""Answers of a graph: plain values that need no database behind them."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Thing:
    """A fact, an episode or an entity. `text` is its content, title or name; `state` is "" for what is no fact."""

    kind: str
    id: str
    text: str
    state: str = ""
    """current, superseded or retracted"""


@dataclass(frozen=True, slots=True)
class Edge:
    """From a thing to what it derives from, supersedes, contradicts or mentions."""

    relation: str
    from_id: str
    to_id: str


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Things around the first one, nearest first, and the edges by which they were found."""

    things: tuple[Thing, ...]
    edges: tuple[Edge, ...]
    is_cut: bool = False
    """Whether there is more than the limit let through."""

    @property
    def centre(self) -> Thing:
        return self.things[0]


@dataclass(frozen=True, slots=True)
class Path:
    """A way from the first thing to the last: edge n lies between things n and n + 1, in either direction."""

    things: tuple[Thing, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """The answer to a query; `cut` says in a sentence what was left out, "" where nothing was."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: str = ""
