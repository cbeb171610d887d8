"""`hive-mind stats`, `sources` and `reembed`: what an agent's memory holds, in figures, its sources and its vectors."""

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.asking.asked import AnsweringAgent, AnyAgent, AnyEmbeddingAgent, AskedFacts, asked_agent, refuse_kept_open
from hive_mind.cli.learning import left_out_text, source_of
from hive_mind.cli.options import Format, Group, for_reading
from hive_mind.cli.output import (
    ProgressPrinter,
    plain,
    printable,
    progress,
    show,
    show_json,
    show_result,
    show_table,
    shown_source,
)
from hive_mind.cli.running import cut_short
from hive_mind.counted import counted
from hive_mind.errors import BackendError
from hive_mind.model.aggregation import MemoryStatistics
from hive_mind.model.content import KnownSource
from hive_mind.model.decoding import converted
from hive_mind.runtime.settings import database_path

if TYPE_CHECKING:
    from hive_mind.memory.cognitive import CognitiveMemory


Below = Annotated[
    str,
    typer.Argument(
        metavar="BEGINNING", help="Only sources that begin with this, such as a folder's path, as it is shown or whole."
    ),
]


group = Group()


@group.called_as("hive-mind sources", "hive-mind sources /home/ana/notes/ --output json")
async def sources(below: Below = "", *, at: AnyAgent) -> None:
    """List the sources: when each was learned, its current and former facts, and what was left out."""
    async with asked_agent(at.settings(), at.fleet, at.agent) as agent:
        known_sources = await _sources(agent, printable(below))
        if below and not known_sources:
            # A path, whole, and a folder's with its end, so that it is no other's beginning.
            known_sources = await _sources(agent, source_of(Path(below)) + (os.sep if below.endswith(os.sep) else ""))
    if at.output is Format.JSON:
        show_json([{**plain(source), "learned_at": _when(source).isoformat(timespec="seconds")} for source in known_sources])
    elif not known_sources:
        show(f"No source begins with {printable(below)!r}: hive-mind sources lists all." if below else "No sources yet.")
    else:
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


async def _sources(agent: AnsweringAgent, beginning: str) -> list[KnownSource]:
    return converted((await agent.call("sources", query=beginning))["sources"], list[KnownSource])


def _when(source: KnownSource) -> datetime:
    return datetime.fromtimestamp(source.learned_at_us / 1e6, UTC)


@group.called_as("hive-mind stats", "hive-mind stats --agent archive --output json")
async def stats(at: AnyEmbeddingAgent) -> None:
    """Count what the agent knows."""
    settings = at.settings()
    async with asked_agent(settings, at.fleet, at.agent, opening=at.opening()) as agent:
        figures = await AskedFacts(agent).statistics()
    if at.output is Format.JSON:
        show_json({"agent": agent.name} | plain(figures))
        return
    show(f"Agent {agent.name!r} in {database_path(settings, agent.name)}", style="bold")
    show_table(["", "", ""], _rows(figures), right=[1])
    if figures.concepts:
        show("\nMost frequent concepts", style="bold")
        show_table(["", ""], [(str(count), concept) for concept, count in figures.concepts], right=[0])


def _rows(figures: MemoryStatistics) -> list[tuple[str, str, str]]:
    embedding = f"by {figures.embedding}, {figures.dimension} dimensions" if figures.embedding else "keyword search only"
    lacking = (
        f"; {counted(figures.without_vector, 'fact has', 'facts have')} none: hive-mind reembed" if figures.without_vector else ""
    )
    return [
        ("facts", f"{figures.facts:,}", "current, found by a search"),
        ("confirmed", f"{figures.confirmed:,}", "of them vouched for by more than one source"),
        ("superseded", f"{figures.superseded:,}", "replaced by something newer, or no longer said by their source"),
        ("retracted", f"{figures.retracted:,}", "taken back"),
        ("episodes", f"{figures.episodes:,}", "texts learned, kept word for word"),
        ("sources", f"{figures.sources:,}", "files or people who vouch"),
        ("entities", f"{figures.entities:,}", "names mentioned"),
        ("vectors", f"{figures.vectors:,}", embedding + lacking),
    ]


@group.called_as("hive-mind reembed", "hive-mind reembed --model models/gte-base")
async def reembed(at: options.EmbeddingAgent) -> None:
    """Embed everything with the current model, and delete the vectors of the former one.

    If it is interrupted, the next call goes on where it stopped.
    """
    from hive_mind.runtime.wiring import open_memory

    settings = at.settings()
    refuse_kept_open(settings, at.agent)
    async with await open_memory(for_reading(settings, at.agent), at.agent) as memory:
        with progress("texts") as report:
            count = await _reembed(memory, report)
        figures = await memory.get_statistics()
    document = {"agent": at.agent, "embedded": count, "model": figures.embedding, "vectors": figures.vectors}
    show_result(at.output, document, f"{count} texts embedded; {figures.vectors} vectors by {figures.embedding}")


async def _reembed(memory: "CognitiveMemory", report: ProgressPrinter) -> int:
    reached = 0, 0

    def show(done: int, total: int) -> None:
        nonlocal reached
        reached = done, total
        report(done, total, "embedding")

    try:
        return await memory.reembed(show)
    except (asyncio.CancelledError, BackendError) as error:
        number, total = reached
        raise cut_short(error, f"{number} of {total} texts embedded, all kept: run it again to go on") from None
