"""`hive-mind members`, `fleet`, `rollout`, `scale`, `drain`, `delete`, `controller`: what people do to a fleet that runs.

Evict a member, found the hive again, restart, resize, stop; or keep it as its manifest says: what crashes is started again, and a
changed manifest is applied.
"""

import asyncio
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli import fleet as fleets
from hive_mind.cli import options
from hive_mind.cli.agent_config import set_by_signals
from hive_mind.cli.fleet import FleetFormat, agent_names, fleet_names, process_names, show_as
from hive_mind.cli.fleet.apply import Ways, carry_out, show_outcome, under_way
from hive_mind.cli.options import Group, examples, is_confirmed
from hive_mind.cli.output import say, show
from hive_mind.cli.running import CommandError, Stopped
from hive_mind.control import TIMEOUT_S
from hive_mind.counted import counted
from hive_mind.errors import ConfigError, HiveError, InvalidInput

if TYPE_CHECKING:
    from hive_mind.control.controller import HiveController
    from hive_mind.control.evicting import Evicted, Remains
    from hive_mind.control.manifests.reading import Source


Member = Annotated[str, typer.Argument(metavar="MEMBER", help="A node of the hive, as get members shows it.")]
Force = Annotated[
    bool,
    typer.Option("--force", help="Evict it though it still answers, or though nobody else has what it holds. Facts may be lost."),
]

Yes = Annotated[bool, typer.Option("--yes", help="Do it. Without it, what was found is shown and nothing is changed.")]

group = Group()
members_group = Group(
    name="members",
    help="Evict dead or hostile members from a fleet's hive.",
    no_args_is_help=True,
    epilog=examples("hive-mind members evict n3", "hive-mind members evict n3 --force"),
)
fleet_group = Group(
    name="fleet",
    help="Recover the hive of a fleet when members lost what they had.",
    no_args_is_help=True,
    epilog=examples("hive-mind fleet refound", "hive-mind fleet refound --yes"),
)
group.add_typer(members_group)
group.add_typer(fleet_group)


@members_group.called_as("hive-mind members evict n3", "hive-mind keys revoke pumps", "hive-mind members evict n3 --force")
async def evict(member: Member, force: Force = False, timeout_s: fleets.Timeout = 60.0, *, at: fleets.OneFleet) -> None:
    """Evict a member from the hive for good; its partitions get other holders, which copy them from those that have them.

    A dead member: what it alone had is lost, unless it comes back with its files; so this is refused without --force. A hostile
    one: revoke its key first (hive-mind keys revoke), so that nobody listens to it; otherwise it asks to be let in again. To end
    a process in good order use drain or a smaller manifest: it then hands over what it holds.

    Exit code 1: nothing was done, and why. 2: there is no such member.
    """
    async with at.opened(is_reporting=at.output.is_table) as controller:
        eviction = await controller.evict(member, is_forced=force, timeout_s=timeout_s)
    show_as(at.output, eviction, [eviction.member], lambda: _print_evicted(eviction))


@fleet_group.called_as("hive-mind fleet refound", "hive-mind fleet refound --yes")
async def refound(yes: Yes = False, timeout_s: fleets.Timeout = TIMEOUT_S, *, at: fleets.OneFleet) -> None:
    """Found the hive again, with the same topology, from the journals that exist.

    For when homes were lost, the last holder of something was put out, or members can't agree on their members. Every fact that
    any journal has is there again, with its author, sources and age; the former journals are deleted then. Facts that no journal
    has are lost, and are listed first. A journal that can't be read is named and stops it: move the file away, and it counts as
    missing.
    """
    async with at.opened(is_reporting=at.output.is_table) as controller:
        remains = await controller.remains()
        if not yes:
            show_as(at.output, remains, [remains.hive], lambda: _print_remains(remains))
            return
        async with under_way(controller):
            outcome = await controller.refound(timeout_s=timeout_s)
        await show_outcome(controller, outcome, at.output)


def _print_evicted(eviction: "Evicted") -> None:
    show(f"{eviction.member} is a member no more (epoch {eviction.epoch}, by {eviction.by}); others take over what it held")
    if eviction.lost:
        say(f"nobody has {counted(len(eviction.lost), 'partition')} now: {', '.join(eviction.lost)}", style="yellow")
    if eviction.waiting_for:
        say(f"not heard of it yet: {', '.join(eviction.waiting_for)}", style="yellow")


def _print_remains(remains: "Remains") -> None:
    journals = f"{counted(len(remains.journals), 'journal')} of {remains.hive}: {', '.join(remains.journals)}"
    show(f"{counted(remains.facts, 'fact')} in {journals}")
    if remains.missing:
        say(f"no journal of {', '.join(remains.missing)}", style="yellow")
    for node, writes in sorted(remains.lost.items()):
        say(f"{node} wrote {counted(writes, 'thing')} that no journal has: lost", style="yellow")
    say("nothing is changed; hive-mind fleet refound --yes founds the hive again with that")


rollout_group = Group(
    name="rollout",
    help="Restart a fleet, or go back to an earlier manifest.",
    no_args_is_help=True,
    epilog=examples("hive-mind rollout restart", "hive-mind rollout undo"),
)
group.add_typer(rollout_group)

AgentName = Annotated[
    str, typer.Argument(metavar="AGENT", show_default="all", help="Only this agent's process.", autocompletion=agent_names)
]


@rollout_group.called_as("hive-mind rollout restart", "hive-mind rollout restart ada")
async def restart(agent: AgentName = "", timeout_s: fleets.Timeout = TIMEOUT_S, *, at: fleets.OneFleet) -> None:
    """Stop and start processes, a few at a time, so that the others go on answering."""
    await carry_out(at, lambda opened: opened.restart(agent or None, timeout_s=timeout_s))


@rollout_group.called_as("hive-mind rollout undo")
async def undo(allow_data_loss: fleets.DataLoss = False, timeout_s: fleets.Timeout = TIMEOUT_S, *, at: fleets.OneFleet) -> None:
    """Apply the manifest that was applied before the last one. A second undo takes that back."""
    await carry_out(at, lambda opened: opened.undo(allow_data_loss=allow_data_loss, timeout_s=timeout_s))


@group.called_as("hive-mind scale reader-{n} --replicas 5", "hive-mind scale --replicas 5")
async def scale(
    replicas: Annotated[int, typer.Option("--replicas", min=1, max=1000, help="How many agents there should be.")],
    entry: Annotated[
        str,
        typer.Argument(metavar="ENTRY", help="Its name in the manifest, such as reader-{n}.", show_default="the only one"),
    ] = "",
    allow_data_loss: fleets.DataLoss = False,
    timeout_s: fleets.Timeout = TIMEOUT_S,
    *,
    at: fleets.OneFleet,
) -> None:
    """Change how many agents an entry with a count stands for.

    Those that leave hand over what they hold first. The manifest the fleet keeps is changed; your own file is not, so change it
    too before you apply it again.
    """
    await carry_out(
        at, lambda opened: opened.scale(entry or None, replicas, allow_data_loss=allow_data_loss, timeout_s=timeout_s)
    )


Process = Annotated[
    str,
    typer.Argument(metavar="PROCESS", help="As shown by hive-mind get agents.", autocompletion=process_names),
]


@group.called_as("hive-mind drain ada")
async def drain(process: Process, timeout_s: fleets.Timeout = TIMEOUT_S, *, at: fleets.OneFleet) -> None:
    """Let a process finish and end. It stays away until the next apply or rollout restart."""
    await carry_out(at, lambda opened: opened.drain(process, timeout_s=timeout_s))


@group.called_as(
    "hive-mind delete -f manifests/flat.yaml", "hive-mind delete research", "hive-mind delete research --purge --yes"
)
def delete(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default="the one there is", autocompletion=fleet_names)] = "",
    file: Annotated[str, typer.Option("--file", "-f", metavar="FILE", help="Its manifest.")] = "",
    purge: Annotated[bool, typer.Option("--purge", help="Forget everything too: memory, journals, logs. For good.")] = False,
    yes: options.Yes = False,
    timeout: fleets.Timeout = TIMEOUT_S,
    home: options.Home = None,
) -> Coroutine[Any, Any, None]:
    """Stop every process of a fleet, each after it has finished.

    Learned facts stay and are there again after the next apply. With --purge they are gone for good.
    """
    if name and file:
        raise InvalidInput("give the fleet's name or its manifest, not both")
    folder = fleets.home_of(home)
    fleet = fleets.chosen_fleet(folder, fleets.named_in(file) if file else name, named_by="")
    if purge and not yes and not is_confirmed("purge", f"stop fleet {fleet!r} and forget all it ever learned, for good?"):
        raise CommandError("nothing was done")
    return _delete(folder, fleet, timeout, is_purging=purge)


async def _delete(home: Path, fleet: str, timeout_s: float, *, is_purging: bool) -> None:
    kept = "what is gone is gone for good" if is_purging else "nothing is lost"
    async with fleets.opened(home, fleet, is_reporting=True) as controller, under_way(controller, kept):
        outcome = await controller.delete(purge=is_purging, timeout_s=timeout_s)
    if not outcome.is_converged:
        raise CommandError(f"fleet {fleet} is not wholly stopped: {'; '.join(outcome.problems)}; run it again to go on")
    show(f"fleet {fleet} is stopped, and all it knew is gone" if is_purging else f"fleet {fleet} is stopped; its memory stays")
    if not is_purging:
        say(f"to run it again: hive-mind apply -f MANIFEST; to forget it: hive-mind delete {fleet} --purge")


# Somebody who saves a file looks up after about so long.
_LOOK_S = 2.0


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
