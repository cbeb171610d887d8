"""`hive-mind sources`: what an agent learned from where, when, and what was left out."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from hive_mind.cli.asking.asked import asked_agent
from hive_mind.cli.fleet.agents import AnyAgent
from hive_mind.cli.learning.learn_shown import left_out_text
from hive_mind.cli.options import Format, Group
from hive_mind.cli.output import plain, printable, show, show_json, show_table, shown_source
from hive_mind.model.content import KnownSource
from hive_mind.model.decoding import converted

Below = Annotated[str, typer.Argument(metavar="BEGINNING", help="Only sources that begin with this, such as a folder's path.")]


group = Group()


@group.called_as("hive-mind sources", "hive-mind sources /home/ana/notes/ --output json")
async def sources(below: Below = "", *, at: AnyAgent) -> None:
    """List the sources: when each was learned, its current and former facts, and what was left out."""
    async with asked_agent(at.settings(), at.fleet, at.agent) as agent:
        known_sources = converted((await agent.call("sources", query=printable(below)))["sources"], list[KnownSource])
    if at.output is Format.JSON:
        show_json([_row(source) for source in known_sources])
    elif not known_sources:
        show("No sources yet.")
    else:
        _show(known_sources)


def _show(known_sources: Sequence[KnownSource]) -> None:
    rows = [
        (
            shown_source(source.source),
            f"{source.facts:,}",
            f"{source.former:,}",
            f"{_when(source):%Y-%m-%d %H:%M}",
            left_out_text(source.left_out),
        )
        for source in known_sources
    ]
    show_table(["source", "facts", "former", "learned", "left out"], rows, right=[1, 2])


def _row(source: KnownSource) -> Mapping[str, object]:
    return {**plain(source), "learned_at": _when(source).isoformat(timespec="seconds")}


def _when(source: KnownSource) -> datetime:
    return datetime.fromtimestamp(source.learned_at_us / 1e6, UTC)
