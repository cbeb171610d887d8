"""`hive-mind facts export` and `import`: a whole memory as JSON Lines, to keep, to move, to read in an editor."""

import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.files import STDIN, read_stdin
from hive_mind.cli.options import DEFAULT_AGENT, Format, examples, for_copying, settings_for
from hive_mind.cli.output import counted, show, show_json
from hive_mind.cli.running import CommandError, command
from hive_mind.errors import InvalidInput
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_memory

Target = Annotated[str, typer.Argument(metavar="FILE", help="Where to write; - for standard output.")]
Origin = Annotated[str, typer.Argument(metavar="FILE", help="What `export` wrote; - for standard input.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")]


def register(group: typer.Typer) -> None:
    """Add both commands."""
    group.command("export", epilog=examples("hive-mind facts export memory.jsonl", "hive-mind facts export | gzip > m.gz"))(
        export
    )
    group.command("import", epilog=examples("hive-mind facts import memory.jsonl --agent copy"))(import_)


@command
async def export(
    file: Target = STDIN,
    force: Force = False,
    agent: options.Agent = DEFAULT_AGENT,
    home: options.Home = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Write everything as JSON Lines.

    What was learned word for word, its facts with their sources, and the links between them.
    """
    if file == STDIN and output is Format.JSON:
        raise InvalidInput(
            "standard output is taken by the export, which is JSON Lines already: name a FILE, or leave --output away"
        )
    _check_target(file, force=force)
    async with await open_memory(for_copying(settings_for(home, embed="none"), agent), agent) as memory:
        if file == STDIN:
            await _to_stdout(memory)
            return
        lines = await _to_file(memory, Path(file))
        facts = (await memory.get_statistics()).facts
    if output is Format.JSON:
        show_json({"file": file, "facts": facts, "lines": lines})
    else:
        show(f"{file}: {counted(facts, 'fact')} ({counted(lines, 'line')})")


@command
def import_(
    file: Origin,
    agent: options.Agent = DEFAULT_AGENT,
    home: options.Home = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> Coroutine[Any, Any, None]:
    """Take in what `export` wrote.

    All of it, or nothing when a line is bad. Facts that are known already gain the sources of the file; nothing is forgotten.
    """
    return _import_lines(_lines_of(file), file, settings_for(home, embed, model), agent, output)


async def _import_lines(lines: list[str], file: str, settings: Settings, agent: str, output: Format) -> None:
    async with await open_memory(settings, agent) as memory:
        before = (await memory.get_statistics()).facts
        try:
            held = await memory.import_lines(lines)
        except InvalidInput as error:
            # What is wrong is in the file and not in the call.
            raise CommandError(f"{file}: {error}") from error
        added = (await memory.get_statistics()).facts - before
    if output is Format.JSON:
        show_json({"file": file, "agent": agent, "facts": held, "added": added})
    else:
        show(f"{file}: {counted(held, 'fact')}, {added} of them new to agent {agent!r}")


def _check_target(file: str, *, force: bool) -> None:
    if file == STDIN or not Path(file).exists():
        return
    if not Path(file).is_file():
        raise InvalidInput(f"{file} is no regular file and is not replaced: give a file's name, or - for standard output")
    if not force:
        raise InvalidInput(f"{file} is there already: give another name, or replace it with --force")


async def _to_stdout(memory: CognitiveMemory) -> None:
    async for line in memory.export():
        sys.stdout.buffer.write(line.encode() + b"\n")
    sys.stdout.buffer.flush()


async def _to_file(memory: CognitiveMemory, path: Path) -> int:
    """Written beside it first, so that an interruption leaves no half a file under the name. Returns the lines."""
    # A name nobody else has: neither a second export nor a file of somebody's own.
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    count = 0
    try:
        with unfinished.open("w", encoding="utf-8", newline="\n") as file:
            async for line in memory.export():
                file.write(line + "\n")
                count += 1
            # An export is the second copy of a memory: on disk before it gets its name.
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        raise CommandError(f"{path}: can't be written ({error.strerror}); give another name") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return count


def _lines_of(file: str) -> list[str]:
    try:
        body = read_stdin() if file == STDIN else Path(file).read_bytes()
        text = body.decode("utf-8-sig")
    except FileNotFoundError:
        raise InvalidInput(f"{file}: there is no such file; check the path") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file}: can't be read as UTF-8 text ({error}); give a file that `facts export` wrote") from error
    # Not splitlines(): a fact's text may hold line separators that JSON leaves as they are.
    lines = text.split("\n")
    if not any(line.strip() for line in lines):
        raise CommandError(f"{file}: is empty; give a file that `facts export` wrote")
    return lines
