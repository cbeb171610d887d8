"""`hive-mind facts export` and `import`: a whole memory as JSON Lines, to keep, to move, to read in an editor."""

import asyncio
import sys
from collections.abc import AsyncIterator, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.learning.files import STDIN, FileLines, lines_of, refuse_replacing
from hive_mind.cli.options import Format, Group, for_copying, settings_for
from hive_mind.cli.output import ProgressPrinter, progress, show, show_json
from hive_mind.cli.running import CommandError, Stopped
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.model.fact import Fact
from hive_mind.replacing import replacing
from hive_mind.runtime.settings import Settings

if TYPE_CHECKING:
    # The other commands about facts need no engine.
    from hive_mind.memory.transfer.importing import Imported, Unindexed
    from hive_mind.store.base import FactStore

Target = Annotated[str, typer.Argument(metavar="FILE", help="Where to write; - for standard output.")]
Origin = Annotated[str, typer.Argument(metavar="FILE", help="The file that `export` wrote; - for standard input.")]


group = Group()


@group.called_as("hive-mind facts export memory.jsonl", "hive-mind facts export | gzip > m.gz")
async def export(file: Target = STDIN, force: options.Force = False, *, at: options.OwnAgent) -> None:
    """Write everything as JSON Lines.

    The texts that were learned, word for word, their facts with sources, and the links between them.
    """
    if file == STDIN and at.output is Format.JSON:
        raise InvalidInput(
            "standard output is taken by the export, which is JSON Lines already: name a FILE, or leave --output away"
        )
    if file != STDIN:
        refuse_replacing(Path(file), force=force)
    from hive_mind.runtime.erasure.copies import note_copy
    from hive_mind.runtime.wiring import opened_store

    settings = for_copying(settings_for(at.home), at.agent)
    if file != STDIN and settings.store != "memory":
        note_copy(settings.home, Path(file), "facts", at.agent)
    async with opened_store(settings, at.agent, is_reading=True) as store:
        export = _Export(store)
        if file == STDIN:
            await _to_stdout(export.lines())
            return
        lines = await _to_file(export.lines(), Path(file))
    if at.output is Format.JSON:
        show_json({"file": file, "facts": export.facts, "lines": lines})
    else:
        show(f"{file}: {counted(export.facts, 'fact')} ({counted(lines, 'line')})")


@group.called_as("hive-mind facts import memory.jsonl --agent copy", name="import")
def import_(file: Origin, at: options.EmbeddingAgent) -> Coroutine[Any, Any, None]:
    """Take in what `export` wrote.

    All of it, or nothing when a line is bad. Facts that are known already gain the sources of the file; nothing is forgotten.
    If it is interrupted, the next call goes on where it stopped.
    """
    return _import(file, lines_of(file), at.settings(), at.agent, at.output)


async def _import(file: str, lines: FileLines, settings: Settings, agent: str, output: Format) -> None:
    from hive_mind.runtime.wiring import unindexed

    with lines, progress("lines") as report:
        async with unindexed(settings, agent) as target:
            try:
                imported = await _taken_in(target, lines, report)
            except InvalidInput as error:
                # The fault is in the file and not in the call.
                raise CommandError(f"{file}: {error}") from error
    if not imported.lines:
        raise CommandError(f"{file}: is empty; give a file that `facts export` wrote")
    if output is Format.JSON:
        show_json(
            {
                "file": file,
                "agent": agent,
                "facts": imported.facts,
                "added": imported.added,
                "skipped_lines": imported.skipped_lines,
            }
        )
        return
    earlier = f" (the first {counted(imported.skipped_lines, 'line')} were taken in before)" if imported.skipped_lines else ""
    show(f"{file}: {counted(imported.facts, 'fact')}, {imported.added:,} of them new to agent {agent!r}{earlier}")


async def _taken_in(target: "Unindexed", lines: FileLines, report: ProgressPrinter) -> "Imported":
    """Raises `Stopped`, saying how far it came, when it is cancelled."""
    from hive_mind.memory.transfer.importing import BATCH_EMBEDDED, BATCH_RECORDS, import_all

    reached = 0, 0

    def show(done: int, total: int, what: str) -> None:
        nonlocal reached
        reached = (done, total) if total else reached
        report(done, total, what)

    batch = BATCH_EMBEDDED if target.embeds else BATCH_RECORDS
    try:
        return await import_all(lines, target.keep, target.meta, batch_records=batch, progress=show)
    except asyncio.CancelledError:
        line, total = reached
        far = f"{line:,} of {counted(total, 'line')} are kept" if line else "nothing was imported yet"
        raise Stopped(f"stopped; {far}: import the same again to go on") from None


class _Export:
    """The lines of a database, and how many current facts there were."""

    def __init__(self, store: "FactStore") -> None:
        self._store, self.facts = store, 0

    def lines(self) -> AsyncIterator[str]:
        from hive_mind.memory.transfer.exporting import write_records

        return write_records(self._store, self._counted())

    async def _counted(self) -> AsyncIterator[Sequence[Fact]]:
        async for facts in self._store.facts():
            self.facts += sum(fact.is_current for fact in facts)
            yield facts


async def _to_stdout(lines: AsyncIterator[str]) -> None:
    async for line in lines:
        sys.stdout.buffer.write(line.encode() + b"\n")
    sys.stdout.buffer.flush()


async def _to_file(lines: AsyncIterator[str], path: Path) -> int:
    """Written beside it first, so that an interruption leaves no half a file under the name. Returns the lines."""
    count = 0
    try:
        with replacing(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="\n") as file:
            async for line in lines:
                file.write(line + "\n")
                count += 1
    except OSError as error:
        raise CommandError(f"{path}: can't be written ({error.strerror}); give another name") from error
    return count
