"""A part of a graph as a picture: SVG with a layout of our own, or the language of Graphviz for those who want another.

Things stand on rings around the first one, the further out the more edges they are away from it. Everything written is somebody's
text, and is escaped.
"""

from collections.abc import Sequence
from html import escape
from math import cos, pi, sin

from hive_mind.cli.output import printable
from hive_mind.store.graph import Edge, Thing

_RING, _MARGIN, _LABEL_CHARACTERS = 190, 130, 34
# As many as stand beside each other on the first ring without their labels touching.
_PER_RING = 14
_STYLE = """svg{background:#fff}text{font:12px system-ui,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2328;text-anchor:middle}
.edge{stroke:#8c959f;fill:none}.relation{font-size:9px;fill:#59636e}.former{opacity:.45}
.Fact{fill:#0072b2}.Episode{fill:#d55e00}.Entity{fill:#007a5a}
@media(prefers-color-scheme:dark){svg{background:#0d1117}text{fill:#e6edf3}.relation{fill:#9198a1}}"""
_SHAPES = {"Fact": "box", "Episode": "note", "Entity": "ellipse"}


def as_dot(things: Sequence[Thing], edges: Sequence[Edge]) -> str:
    """For Graphviz: `hive-mind graph show X -o dot | dot -Tpng > x.png`."""
    nodes = (f"  {_quoted(one.id)} [label={_quoted(_label(one))}, shape={_SHAPES.get(one.kind, 'box')}];" for one in things)
    arrows = (f"  {_quoted(edge.from_id)} -> {_quoted(edge.to_id)} [label={_quoted(edge.relation)}];" for edge in edges)
    return "\n".join(("digraph memory {", *nodes, *arrows, "}"))


def as_svg(things: Sequence[Thing], edges: Sequence[Edge]) -> str:
    """One file that needs nothing else, in light and dark."""
    places = _places(things, edges)
    half_x = max(abs(x) for x, _ in places.values()) + _MARGIN
    half_y = max(abs(y) for _, y in places.values()) + _MARGIN / 2
    box = f"{-half_x:.0f} {-half_y:.0f} {2 * half_x:.0f} {2 * half_y:.0f}"
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{2 * half_x:.0f}" height="{2 * half_y:.0f}">',
            f"<style>{_STYLE}</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="17" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
            '<path d="M0 0L8 4L0 8z" fill="#8c959f"/></marker></defs>',
            *(_drawn_edge(edge, *places[edge.from_id], *places[edge.to_id]) for edge in edges),
            *(_drawn_thing(thing, *places[thing.id]) for thing in things),
            "</svg>",
        )
    )


def _places(things: Sequence[Thing], edges: Sequence[Edge]) -> dict[str, tuple[float, float]]:
    """Where each thing stands; the first one in the middle."""
    rings = _rings(things, edges)
    places: dict[str, tuple[float, float]] = {}
    radius = 0.0
    for number, ring in enumerate(rings):
        radius = max(radius + _RING, _RING * len(ring) / _PER_RING) if number else 0.0
        for place, id in enumerate(ring):
            # Half a step further on every second ring, so that edges pass between things.
            angle = 2 * pi * (place + (number % 2) / 2) / len(ring) - pi / 2
            places[id] = (radius * cos(angle) * 1.3, radius * sin(angle))
    return places


def _rings(things: Sequence[Thing], edges: Sequence[Edge]) -> list[list[str]]:
    beside: dict[str, list[str]] = {thing.id: [] for thing in things}
    for edge in edges:
        beside[edge.from_id].append(edge.to_id)
        beside[edge.to_id].append(edge.from_id)
    rings, placed = [[things[0].id]], {things[0].id}
    while ring := [id for near in rings[-1] for id in dict.fromkeys(beside[near]) if id not in placed]:
        rings.append(list(dict.fromkeys(ring)))
        placed.update(ring)
    return rings


def _drawn_edge(edge: Edge, x1: float, y1: float, x2: float, y2: float) -> str:
    line = f'<path class="edge" marker-end="url(#tip)" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'
    return f'{line}<text class="relation" x="{(x1 + x2) / 2:.1f}" y="{(y1 + y2) / 2:.1f}">{_escaped(edge.relation)}</text>'


def _drawn_thing(thing: Thing, x: float, y: float) -> str:
    former = "" if thing.state in ("", "current") else " former"
    title = f"<title>{_escaped(f'{thing.kind} {thing.id} {thing.state}: {thing.text}')}</title>"
    dot = f'<circle class="{escape(thing.kind)}" cx="{x:.1f}" cy="{y:.1f}" r="9"/>'
    return f'<g class="thing{former}">{title}{dot}<text x="{x:.1f}" y="{y + 23:.1f}">{_escaped(_label(thing))}</text></g>'


def _label(thing: Thing) -> str:
    line = " ".join(printable(thing.text).split())
    return line if len(line) <= _LABEL_CHARACTERS else line[: _LABEL_CHARACTERS - 1] + "…"


def _escaped(text: str) -> str:
    # Two characters no XML document may hold, whatever their escape.
    return escape(printable(text).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd"))


def _quoted(text: str) -> str:
    return '"' + printable(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'
