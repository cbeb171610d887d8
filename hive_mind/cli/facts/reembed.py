"""`hive-mind reembed`: change a memory over to another embedding model, or embed what has no vector yet."""

import asyncio

from hive_mind.cli import options
from hive_mind.cli.options import Format, Group, for_reading
from hive_mind.cli.output import ProgressPrinter, progress, show, show_json
from hive_mind.cli.running import Stopped
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.runtime.wiring import open_memory

group = Group()


@group.called_as("hive-mind reembed", "hive-mind reembed --model models/gte-base")
async def reembed(at: options.EmbeddingAgent) -> None:
    """Embed everything with the current model, and delete the vectors of the former one.

    If it is interrupted, the next call goes on where it stopped.
    """
    async with await open_memory(for_reading(at.settings(), at.agent), at.agent) as memory:
        with progress("texts") as report:
            count = await _reembed(memory, report)
        figures = await memory.get_statistics()
    if at.output is Format.JSON:
        show_json({"agent": at.agent, "embedded": count, "model": figures.embedding, "vectors": figures.vectors})
    else:
        show(f"{count} texts embedded; {figures.vectors} vectors by {figures.embedding}")


async def _reembed(memory: CognitiveMemory, report: ProgressPrinter) -> int:
    reached = 0, 0

    def show(done: int, total: int) -> None:
        nonlocal reached
        reached = done, total
        report(done, total, "embedding")

    try:
        return await memory.reembed(show)
    except asyncio.CancelledError:
        number, total = reached
        raise Stopped(f"stopped; {number} of {total} texts embedded, all kept: run it again to go on") from None
