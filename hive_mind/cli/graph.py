"""`hive-mind graph`: explore how an agent's facts hang together, also while the agent runs.

A part of it can be had as a picture: SVG with a layout of our own, or the language of Graphviz.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum
from html import escape
from itertools import zip_longest
from math import cos, pi, sin
from pathlib import Path
from textwrap import indent
from typing import Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.options import DEFAULT_AGENT, Format, Group, examples, for_copying, refuse_ineffective, settings_for
from hive_mind.cli.output import plain, printable, progress, short_id, show, show_document, show_json, show_table
from hive_mind.errors import InvalidInput
from hive_mind.model.bounds import LIMIT_MAX, Bounds
from hive_mind.runtime.wiring import open_graph
from hive_mind.store.graph import LENGTH, PATHS, ROWS, TABLES, TIMEOUT_S, Edge, Graph, Neighbourhood, Thing, Way

_AROUND, _PATHS = 50, Bounds(1, 100)
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
    nodes = (
        f"  {_quoted(thing.id)} [label={_quoted(_label(thing))}, shape={_SHAPES.get(thing.kind, 'box')}];" for thing in things
    )
    arrows = (f"  {_quoted(edge.from_id)} -> {_quoted(edge.to_id)} [label={_quoted(edge.relation)}];" for edge in edges)
    return "\n".join(("digraph memory {", *nodes, *arrows, "}"))


def as_svg(things: Sequence[Thing], edges: Sequence[Edge]) -> str:
    """One file that needs nothing else, in light and dark."""
    neighbours: dict[str, list[str]] = {thing.id: [] for thing in things}
    for edge in edges:
        neighbours[edge.from_id].append(edge.to_id)
        neighbours[edge.to_id].append(edge.from_id)
    rings, placed = [[things[0].id]], {things[0].id}
    while ring := [id for near in rings[-1] for id in dict.fromkeys(neighbours[near]) if id not in placed]:
        rings.append(list(dict.fromkeys(ring)))
        placed.update(ring)

    places: dict[str, tuple[float, float]] = {}
    radius = 0.0
    for number, ring in enumerate(rings):
        radius = max(radius + _RING, _RING * len(ring) / _PER_RING) if number else 0.0
        for place, id in enumerate(ring):
            # Half a step further on every second ring, so that edges pass between things.
            angle = 2 * pi * (place + (number % 2) / 2) / len(ring) - pi / 2
            places[id] = (radius * cos(angle) * 1.3, radius * sin(angle))

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


class Form(StrEnum):
    """How a part of the graph is given."""

    TEXT = "text"
    JSON = "json"
    DOT = "dot"
    SVG = "svg"


Limit = Annotated[
    int | None,
    typer.Option("--limit", "-n", min=1, max=LIMIT_MAX, help="At most this many.", show_default=f"{_AROUND}, or {PATHS} paths"),
]

group = Group(
    name="graph",
    help="Explore how facts are connected: around one, between two, or by a query.",
    no_args_is_help=True,
    epilog=examples('hive-mind graph show "Pump D4"', 'hive-mind graph show "Pump D4" --to "Hall 2"'),
)


@group.called_as(
    'hive-mind graph show "Pump D4"',
    "hive-mind graph show 4f1a2b3c --depth 2 -o svg > d4.svg",
    'hive-mind graph show "Pump D4" --to "Hall 2" --max-length 6',
    name="show",
)
async def show_around(
    thing: Annotated[str, typer.Argument(metavar="THING", help="An entity's name, or the id of a fact or its first characters.")],
    depth: Annotated[int | None, typer.Option(min=1, max=5, help="How many edges away.", show_default="1")] = None,
    to: Annotated[str, typer.Option("--to", metavar="THING", help="Show how it is joined to this one.")] = "",
    max_length: Annotated[
        int | None, typer.Option(min=1, max=6, help="With --to: paths of at most this many edges.", show_default=str(LENGTH))
    ] = None,
    limit: Limit = None,
    agent: options.Agent = DEFAULT_AGENT,
    home: options.Home = None,
    output: Annotated[
        Form, typer.Option("--output", "-o", help="text for people, json for programs, dot for Graphviz, svg for a picture.")
    ] = Form.TEXT,
) -> None:
    """Show what lies around a fact, an episode or an entity; with --to the shortest paths to another one, through facts."""
    if to:
        refuse_ineffective("--to: --max-length says how far,", depth=depth)
        limit = PATHS if limit is None else limit
        _PATHS.refuse("--limit", limit)
        async with _graph_of(agent, home) as graph:
            paths = await graph.path(thing, to, max_length or LENGTH, limit)
        _show_paths(paths, max_length or LENGTH, output)
        return
    refuse_ineffective("what lies around: --depth says how far,", max_length=max_length)
    limit = _AROUND if limit is None else limit
    async with _graph_of(agent, home) as graph:
        around = await graph.neighbourhood(thing, depth or 1, limit)
    if output is not Form.TEXT:
        _give(around.things, around.edges, output, plain(around))
        return
    show(around.centre.text, style="bold")
    show(f"{around.centre.kind} {around.centre.id} {around.centre.state}".rstrip(), style="dim")
    show_table(["", "", ""], _branches(around))
    if around.is_cut:
        show(f"\nmore lies around it than {limit}: see it with --limit", style="dim")


def _show_paths(paths: Sequence[Way], max_length: int, output: Form) -> None:
    things = {thing.id: thing for path in paths for thing in path.things}
    if output is not Form.TEXT:
        _give(things.values(), dict.fromkeys(edge for path in paths for edge in path.edges), output, plain(paths))
        return
    if not paths:
        show(f"No path of up to {max_length} edges.")
    for number, path in enumerate(paths):
        if number:
            show()
        for thing, edge in zip_longest(path.things, path.edges):
            show(f"{_called(thing)}  {thing.text}")
            if edge:
                show(f"  {_arrow(edge, thing)}", style="dim")


@group.called_as(
    epilog=examples('hive-mind graph query "MATCH (f:Fact)-[:MENTIONS]->(e) RETURN e.name, count(f)"')
    + indent(f"\n\nTables:\n{TABLES}", "  ")
)
async def query(
    cypher: Annotated[str, typer.Argument(metavar="CYPHER", help="The query; it can only read.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100_000, help="At most this many rows.")] = ROWS,
    timeout_s: Annotated[float, typer.Option("--timeout", min=0.1, max=3600, help="Seconds it may take.")] = TIMEOUT_S,
    *,
    at: options.OwnAgent,
) -> None:
    """Ask in Cypher, as Kuzu speaks it."""
    async with _graph_of(at.agent, at.home) as graph:
        rows = await graph.query(cypher, limit, timeout_s)
    if at.output is Format.JSON:
        show_json(plain(rows))
        return
    show_table(rows.columns, [[_cell(value) for value in row] for row in rows.rows])
    if rows.cut:
        show(f"\n{rows.cut}", style="dim")


@group.called_as("hive-mind graph build", "hive-mind graph build --keep --every 10")
async def build(
    keep: Annotated[bool, typer.Option("--keep", help="Keep it fresh until Ctrl-C.")] = False,
    every_s: Annotated[float, typer.Option("--every", min=0.2, max=3600, metavar="S", help="Seconds between two looks.")] = 2.0,
    *,
    at: options.OwnAgent,
) -> None:
    """Make the Kuzu database of an agent, for a program that opens it itself.

    It is a copy of the memory at this moment; graph.txt beside it says of which. With --keep it follows what the agent learns.
    """
    async with _graph_of(at.agent, at.home) as graph:
        shown_version = None
        while True:
            place = await graph.build()
            version = place.stat().st_ino, place.stat().st_mtime_ns
            if version != shown_version and at.output is Format.JSON:
                show_json({"graph": str(place), "made_at_us": version[1] // 1000})
            elif version != shown_version:
                show(f"{place}: the memory as it is now")
            shown_version = version
            if not keep:
                return
            sys.stdout.flush()
            await asyncio.sleep(every_s)


@asynccontextmanager
async def _graph_of(agent: str, home: Path | None) -> AsyncIterator[Graph]:
    settings = for_copying(settings_for(home, embed="none"), agent)
    with progress("") as report:
        async with open_graph(settings, agent, report) as graph:
            yield graph


def _give(things: Iterable[Thing], edges: Iterable[Edge], form: Form, value: object) -> None:
    if form is Form.JSON:
        show_json(value)
    elif not things:
        raise InvalidInput("there is nothing to draw: the two are not joined, or only by a longer way (--max-length)")
    else:
        show_document((as_dot if form is Form.DOT else as_svg)(tuple(things), tuple(edges)))


def _branches(around: Neighbourhood) -> Iterator[tuple[str, str, str]]:
    """One row for each edge: what it leads to, below the thing it was found from."""
    things = {thing.id: thing for thing in around.things}
    ids = {around.centre.id}
    below: dict[str, list[tuple[Edge, Thing, bool]]] = {}
    for edge in around.edges:
        near, far = (edge.from_id, edge.to_id) if edge.from_id in ids else (edge.to_id, edge.from_id)
        below.setdefault(near, []).append((edge, things[far], far not in ids))
        ids.add(far)

    def rows(thing: Thing, margin: str) -> Iterator[tuple[str, str, str]]:
        for edge, thing_there, is_new in below.get(thing.id, ()):
            yield f"{margin}{_arrow(edge, thing)}", _called(thing_there), thing_there.text
            if is_new:
                yield from rows(thing_there, margin + "  ")

    return rows(around.centre, "")


def _arrow(edge: Edge, thing: Thing) -> str:
    return f"→ {edge.relation}" if edge.from_id == thing.id else f"← {edge.relation}"


def _called(thing: Thing) -> str:
    state = "" if thing.state in ("", "current") else f", {thing.state}"
    return f"{thing.kind} {short_id(thing.id)}{state}"


def _cell(value: object) -> str:
    match value:
        case str():
            return value
        case {"_label": str(label), **rest}:
            return f"{label} {rest.get('content') or rest.get('name') or rest.get('title') or rest.get('id') or ''}".rstrip()
        case None:
            return ""
        case _:
            return str(value)
