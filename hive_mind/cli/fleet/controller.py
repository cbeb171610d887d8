"""`hive-mind controller`: keep a fleet as its manifest says: what crashes is started again, a changed manifest is applied."""

import asyncio
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.agent_config import set_by_signals
from hive_mind.cli.fleet import fleets
from hive_mind.cli.fleet.apply import Ways
from hive_mind.cli.fleet.fleets import FleetFormat
from hive_mind.cli.options import Group
from hive_mind.cli.output import say
from hive_mind.cli.running import Stopped
from hive_mind.control import TIMEOUT_S
from hive_mind.errors import ConfigError, HiveError

if TYPE_CHECKING:
    from hive_mind.control.controller import HiveController
    from hive_mind.control.manifests.reading import Source

# Somebody who saves a file looks up after about so long.
_LOOK_S = 2.0


group = Group()


@group.called_as("hive-mind controller -f fleet.yaml", "hive-mind controller --fleet research")
def controller(
    file: Annotated[
        str,
        typer.Option(
            "--file", "-f", metavar="FILE", help="Apply it now and whenever it changes.", show_default="what was applied last"
        ),
    ] = "",
    allow_data_loss: fleets.DataLoss = False,
    timeout: fleets.Timeout = TIMEOUT_S,
    fleet: fleets.Fleet = "",
    home: options.Home = None,
) -> Coroutine[Any, Any, None]:
    """Keep a fleet running: restart what crashes, with growing pauses where it crashes again.

    It may be stopped, killed and started again: the fleet runs on without it. SIGTERM ends it with exit code 0.
    """
    folder = fleets.home_of(home)
    source = fleets.source_of(file, home) if file else None
    name = source.manifest.metadata.name if source else fleets.chosen_fleet(folder, fleet)
    return _keep(folder, name, source, Ways(timeout, FleetFormat.TABLE, is_losing_allowed=allow_data_loss))


async def _keep(home: Path, fleet: str, source: "Source | None", ways: Ways) -> None:
    stop, received = asyncio.Event(), list[signal.Signals]()
    with set_by_signals(stop, received):
        async with fleets.opened(home, fleet, is_reporting=True) as opened:
            while not stop.is_set():
                if source is not None:
                    await _until(stop, _apply(opened, source, ways))
                say(f"watching fleet {fleet}; Ctrl-C ends that, and the fleet runs on")
                source = await _watch(opened, source, stop)
    if signal.SIGINT in received:
        raise Stopped(f"stopped watching; fleet {fleet} runs on")
    say(f"stopped watching; fleet {fleet} runs on")


async def _apply(opened: "HiveController", source: "Source", ways: Ways) -> None:
    """Problems are reported; the fleet stays as it was, and is watched."""
    try:
        outcome = await opened.apply(source, allow_data_loss=ways.is_losing_allowed, timeout_s=ways.timeout_s)
    except HiveError as error:
        say(f"not applied: {error}", style="red")
        return
    for problem in outcome.problems:
        say(f"not as it should be: {problem}", style="red")


async def _watch(opened: "HiveController", source: "Source | None", stop: asyncio.Event) -> "Source | None":
    """Keep it so until it is told to stop, or the manifest is another one; that one."""
    if source is None:
        await opened.watch(stop)
        return None
    is_over = asyncio.Event()
    looking = asyncio.create_task(_changed(source, opened.folder.home))
    looking.add_done_callback(lambda _: is_over.set())
    stopping = asyncio.create_task(stop.wait())
    stopping.add_done_callback(lambda _: is_over.set())
    try:
        await opened.watch(is_over)
        return looking.result() if looking.done() else source
    finally:
        for task in (looking, stopping):
            task.cancel()
        await asyncio.wait([looking, stopping])


async def _changed(source: "Source", home: Path) -> "Source":
    """The manifest, as soon as its file has changed and is valid. An invalid file is reported once."""
    from hive_mind.control.manifests.reading import read_manifest

    path, last_text = source.folder / Path(source.name).name, source.text
    while True:
        await asyncio.sleep(_LOOK_S)
        try:
            text = await asyncio.to_thread(path.read_text, "utf-8-sig")
            if text == last_text:
                continue
            last_text = text
            return await asyncio.to_thread(read_manifest, path, home)
        except ConfigError as error:
            say(f"{path} changed, and is not applied: {error}", style="red")
        except (OSError, UnicodeDecodeError):
            # Being written at this moment, or gone; what was applied holds.
            continue


async def _until(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Do it, or leave it unfinished when told to stop; the next command resumes."""
    working, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        for task in (working, stopping):
            task.cancel()
        await asyncio.wait([working, stopping])
