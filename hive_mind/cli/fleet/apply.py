"""`hive-mind apply` and `plan`: make a fleet what its manifest says: what will be done, how it goes, and what runs then.

`--render` writes it as files for Compose or a cloud instead; `--gate` is in `gate`.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from msgspec.structs import replace

from hive_mind.cli import fleet as fleets
from hive_mind.cli import options
from hive_mind.cli.agent_config import set_by_signals
from hive_mind.cli.fleet import FleetFormat, fleet_line, show_agents, show_as, show_fleet_line
from hive_mind.cli.options import Group
from hive_mind.cli.output import plain, printable, say, show, show_indented
from hive_mind.cli.running import FAILED, Stopped
from hive_mind.control import TIMEOUT_S
from hive_mind.counted import counted
from hive_mind.errors import HiveError, InvalidInput, reason_of
from hive_mind.safe_files import READABLE, write_whole

if TYPE_CHECKING:
    from hive_mind.control.controller import ConvergenceResult, HiveController
    from hive_mind.control.manifests.reading import Source
    from hive_mind.control.planning import Action, Plan, Whole
    from hive_mind.control.platforms.in_containers import Keys
    from hive_mind.hive.topology.spec import Holding
    from hive_mind.runtime.keys import KeyFolder
    from hive_mind.runtime.workers.config import WorkerConfig


Render = Annotated[
    Path | None,
    typer.Option(
        "--render", metavar="DIR", help="Write the files for Compose, Kubernetes or Azure to this folder, and do nothing else."
    ),
]
# After a longer wait a person wonders whether anything happens.
_PROGRESS_S = 3.0
# Measured: the resident memory of a worker with one agent and no model, and the time of a core until it is ready.
_PROCESS_GB, _START_S, _START_MAX_S = 0.085, 2.0, 30.0


group = Group()


@group.called_as(
    "hive-mind apply -f manifests/flat.yaml",
    "hive-mind apply -f fleet.yaml --dry-run",
    "hive-mind apply -f fleet.yaml --gate questions.json",
    "hive-mind apply -f fleet.yaml --render objects/",
)
def apply(
    file: fleets.Manifest,
    allow_data_loss: fleets.DataLoss = False,
    timeout: fleets.Timeout = TIMEOUT_S,
    render: Render = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and do nothing, as hive-mind plan does.")] = False,
    gate: Annotated[
        str,
        typer.Option(
            "--gate",
            metavar="FILE",
            help="Ask the questions of a file (or an experiment) first, and refuse what may find worse.",
        ),
    ] = "",
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Folder of the data sets that --gate's experiment names.")
    ] = None,
    home: options.Home = None,
    output: fleets.Output = FleetFormat.TABLE,
) -> Coroutine[Any, Any, None]:
    """Make a fleet what its manifest says.

    It may be stopped and run again at any moment: it goes on where it was, and nothing is lost. Exit code 1: something did not
    become ready in time, and what that is; or --gate refused it, with the evidence, and nothing was done.
    """
    source, folder = fleets.source_of(file, home), fleets.home_of(home)
    if gate:
        from hive_mind.cli.fleet.gate import pass_or_end

        pass_or_end(source, folder, gate, data)
    elif data is not None:
        raise InvalidInput("--data says where --gate finds its data sets: name the experiment with --gate, or leave out --data")
    if render is not None:
        return render_into(source, render, folder)
    if dry_run:
        return show_planned(source, folder, output)
    return _apply(source, folder, Ways(timeout, output, is_losing_allowed=allow_data_loss))


@dataclass(frozen=True, slots=True)
class Ways:
    """How something is done, and how it is shown."""

    timeout_s: float
    output: FleetFormat
    is_losing_allowed: bool = False


async def _apply(source: "Source", home: Path, ways: Ways) -> None:
    name = source.manifest.metadata.name
    async with fleets.opened(home, name, is_reporting=True) as controller:

        def shown(plan: "Plan") -> None:
            if ways.output.is_table:
                show_plan(plan, name, ways.output)
                sys.stdout.flush()
            say_cost(source, plan)

        async with under_way(controller):
            outcome = await controller.apply(
                source, allow_data_loss=ways.is_losing_allowed, timeout_s=ways.timeout_s, on_plan=shown
            )
        await show_outcome(controller, outcome, ways.output)
        kind = source.manifest.spec.platform.kind
        if kind == "inprocess":
            # A fleet of this process runs as long as this process does.
            stop, received = asyncio.Event(), list[signal.Signals]()
            sys.stdout.flush()
            say(f"fleet {name} runs in this process; Ctrl-C ends it")
            with set_by_signals(stop, received):
                await controller.watch(stop)
            if signal.SIGINT in received:
                raise Stopped(f"fleet {name} has ended; what it learned is kept")
        elif kind == "local" and any(action.kind == "create" for action in outcome.actions):
            say("what crashes stays down until the next apply; hive-mind controller restarts it, and keeps watch", style="dim")


@asynccontextmanager
async def under_way(controller: "HiveController", kept: str = "nothing is lost") -> AsyncIterator[None]:
    """Show progress on stderr meanwhile. Ctrl-C leaves the work unfinished, and says how to resume."""
    progress = asyncio.create_task(_print_progress(controller))
    try:
        yield
    except asyncio.CancelledError:
        half = "it is half done (hive-mind status shows what runs): run it again to go on"
        raise Stopped(f"stopped; {kept}, but {half}") from None
    finally:
        progress.cancel()
        await asyncio.wait([progress])


async def _print_progress(controller: "HiveController") -> None:
    last_line = ""
    while True:
        await asyncio.sleep(_PROGRESS_S)
        # Something may just be replaced; the next look will do.
        with suppress(HiveError):
            line = fleet_line(await controller.status())
            if line != last_line:
                say(last_line := line, style="dim")


async def carry_out(at: fleets.OneFleet, change: "Callable[[HiveController], Awaitable[ConvergenceResult]]") -> None:
    """Change the fleet that is meant, tell how it goes, and show what came of it."""
    async with at.opened(is_reporting=True) as controller:
        async with under_way(controller):
            outcome = await change(controller)
        await show_outcome(controller, outcome, at.output)


async def show_outcome(controller: "HiveController", outcome: "ConvergenceResult", output: FleetFormat) -> None:
    """Show the actions taken and the processes running now. Ends with exit code 1 where it is not as its manifest says."""
    status = await controller.status()

    def show_table() -> None:
        show_fleet_line(status)
        show_agents(status.agents)

    names = [f"agent/{agent.name}" for agent in status.agents]
    plain_outcome = plain(outcome) | {"is_converged": outcome.is_converged}
    fleets.show_as(output, {"outcome": plain_outcome, "status": plain(status)}, names, show_table)
    # A fleet that does what its manifest says may have a full disk or a wrong clock all the same.
    for problem in [*outcome.problems, *(status.broken if status.phase == "Degraded" else ())]:
        say(f"not as it should be: {problem}", style="red")
    if not outcome.is_converged:
        say("look closer with hive-mind status and hive-mind logs AGENT, or run it again to go on")
        raise typer.Exit(FAILED)


@group.called_as("hive-mind plan -f fleet.yaml", "hive-mind plan -f fleet.yaml -o json | jq '.actions[].kind'")
def plan(
    file: fleets.Manifest, home: options.Home = None, output: fleets.Output = FleetFormat.TABLE
) -> Coroutine[Any, Any, None]:
    """Show what apply would do, and do nothing.

    Every step is shown with what it does to memory. Where none is left and not all is well, or somebody else changes the fleet
    now, that is said.
    """
    return show_planned(fleets.source_of(file, home), fleets.home_of(home), output)


async def show_planned(source: "Source", home: Path, output: FleetFormat) -> None:
    """Print the plan for a manifest."""
    name = source.manifest.metadata.name
    async with fleets.opened(home, name) as controller:
        planned = await controller.plan(source)
    show_plan(planned, name, output)
    say_cost(source, planned)


def say_cost(source: "Source", plan: "Plan") -> None:
    """Say what many processes take of this machine, before it is slow for all that runs here."""
    count = sum(action.kind == "create" for action in plan.actions)
    if source.manifest.spec.platform.kind != "local" or not count:
        return
    from psutil import virtual_memory

    cores, free_gb = os.cpu_count() or 1, virtual_memory().available / 1e9
    memory_gb, seconds = count * _PROCESS_GB, count * _START_S / cores
    if memory_gb > free_gb / 2 or seconds > _START_MAX_S:
        cost = f"about {memory_gb:.1f} of {free_gb:.1f} GB of memory, and {seconds:.0f} s to start on {counted(cores, 'core')}"
        advice = "spec.platform.agentsPerProcess lets agents share one"
        say(f"note: {counted(count, 'process', 'processes')} take {cost}; {advice}", "yellow")


class _Look(NamedTuple):
    """How a kind of step is marked, and in which colour on a terminal."""

    mark: str
    style: str


_LOOKS = {
    "create": _Look("+", "green"),
    "update": _Look("~", "yellow"),
    "restart": _Look("~", "yellow"),
    "learn": _Look("~", "green"),
    "move": _Look(">", "magenta"),
    "replace": _Look("±", "magenta"),
    "delete": _Look("-", "red"),
}
_OTHER = _Look("*", "")
_VALUE_CHARACTERS = 60
_NAMED_MAX = 8


def show_plan(plan: "Plan", fleet: str, output: FleetFormat) -> None:
    """The plan, in the form that was asked for."""
    names = [f"{action.kind}/{action.subject}" for action in plan.actions]
    show_as(output, plan.to_json(), names, lambda: _show(plan, fleet))


def _show(plan: "Plan", fleet: str) -> None:
    actions = plan.actions
    if not actions:
        outcome = "no step to take, and not all is well" if plan.troubles else "nothing to do, it is as the manifest says"
        show(f"fleet {fleet}: {outcome}")
        _show_troubles(plan)
        _show_holdings(plan)
        return
    # Commands that plan nothing start sooner without it.
    from hive_mind.control.planning import summary

    if (summary_of_agents := plan.whole) is None:
        show(f"fleet {fleet}: {summary(actions)}", style="bold")
    else:
        show(f"fleet {fleet}: {_agents(summary_of_agents)}", style="bold")
        show(f"processes: {summary(actions)}")
    # Steps alike for a hundred agents take one paragraph.
    for _, alike in groupby(actions, key=lambda action: replace(action, subject="")):
        _show_alike(list(alike))
    _show_troubles(plan)
    _show_holdings(plan)


def _show_troubles(plan: "Plan") -> None:
    for trouble in plan.troubles:
        show_indented(trouble, "red", "  !")


def _show_holdings(plan: "Plan") -> None:
    """A line for all that keep as much as each other; none where each keeps the same and no death loses anything."""
    if len({holding.partitions for holding in plan.holdings}) < 2 and not any(holding.last for holding in plan.holdings):
        return
    for _, alike in groupby(sorted(plan.holdings, key=_kept), key=_kept):
        members = list(alike)
        show_indented(f"{_listed([member.node for member in members])}: {_holding(members[0])}", "dim", "  =")


def _kept(holding: "Holding") -> tuple[int, int, int]:
    return -holding.partitions, holding.last, holding.copies


def _holding(holding: "Holding") -> str:
    if not holding.partitions:
        return "no partition: a spare, which takes the place of a member that leaves; its death costs nothing"
    sentence = f"{counted(holding.partitions, 'partition')} each; the death of one"
    if holding.last:
        return f"{sentence} loses {holding.last} for good: nobody else has a copy"
    return f"{sentence} loses none: {counted(holding.copies, 'copy', 'copies')} of each are left"


def _agents(change: "Whole") -> str:
    """The agents in the fleet then, and the change of its topology: a person thinks of these before processes."""
    parts = [counted(change.agents, "agent")]
    parts += [f"new: {_listed(change.joining)}"] if change.joining else []
    parts += [f"no longer there: {_listed(change.leaving)}"] if change.leaving else []
    before, after = change.topologies
    parts += [f"topology {before} → {after}"] if before != after else []
    return "; ".join(parts) if len(parts) > 1 else f"{parts[0]}, the same as before"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED_MAX]) + (f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else "")


def _show_alike(alike: Sequence["Action"]) -> None:
    """Steps that differ in their agents, and in nothing else."""
    action, subjects = alike[0], ", ".join(step.subject for step in alike)
    look = _LOOKS.get(action.kind, _OTHER)
    # A list of fields is left out: the lines below tell them all.
    reason, _, listed = action.why.partition(": ")
    is_list = any(change.path in listed for change in action.changes)
    why = reason.removeprefix("other settings") if is_list else action.why
    show_indented(f"{action.kind} {subjects}" + (f": {why}" if why else ""), look.style, f"  {look.mark}")
    for change in action.changes:
        show_indented(f"{change.path}: {_value(change.old)} → {_value(change.new)}", lead="    ")
    if action.memory:
        show_indented(f"memory: {action.memory}", "red" if action.loses else "dim")
    if action.loses:
        show_indented("this loses facts, and is done with --allow-data-loss only", "bold red")


def _value(value: object) -> str:
    """A value in few characters; nothing is shown as such."""
    if value is None or value == "":
        return "(none)"
    text = printable(value if isinstance(value, str) else _spelled(value)).replace("\n", "⏎")
    return text if len(text) <= _VALUE_CHARACTERS else text[: _VALUE_CHARACTERS - 1] + "…"


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(map(_spelled, value)) or "(none)"
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_spelled(part)}" for key, part in value.items()) or "(none)"
    return str(value)


# Where containers keep what they keep, and say where they are.
_HOME, _RUN = "/var/lib/hive-mind", "/run/hive-mind"
_NEXT = {
    "compose": "next: do what {0}/compose.yaml says in its head, then: docker compose -f {0}/compose.yaml up --wait",
    "kubernetes": "next: kubectl apply -k {}",
    "containerapps": "next: az deployment group create -g GROUP -f deploy/azure/main.bicep -p @{}/parameters.json",
}
_IGNORED = (
    "# Secret: in secrets/ the key of each process, for that process alone, and passwords; in .env what compose.yaml asks for.",
    "/secrets/",
    "/.env",
)
_SUFFIXES = frozenset({".yaml", ".yml", ".json", ".bicep", ".bicepparam"})


async def render_into(source: "Source", folder: Path, home: Path) -> None:
    """Write the files. Other files of the folder stay. `home` has the keys of the fleet. Raises `ConfigError`."""
    from hive_mind.control.platforms.in_containers import USER, contained, secret_files
    from hive_mind.control.remembering import issued_for
    from hive_mind.control.state import FleetFolder
    from hive_mind.runtime.keys import KeyFolder

    platform, fleet, kind = _platform(source), source.manifest.metadata.name, source.manifest.spec.platform.kind
    issuer = KeyFolder(FleetFolder(home, fleet).path / "keys", fleet)
    try:
        before = _texts_in(folder)
        configs = _configs(source, platform.configs_in(before))
        # Certificates of another root would be worthless to members that run.
        path, ours = folder / "keys" / "root.pub", issuer.path / "root.pub"
        if path.exists() and (not ours.exists() or ours.read_text("utf-8").strip() != path.read_text("utf-8").strip()):
            raise InvalidInput(f"{folder} was rendered with the keys of another home: bring its folder of keys to {issuer.path}")
        keys = issued_for(configs, issuer, is_given=source.manifest.spec.platform.keys == "given")
        files = {**_public(folder, keys), **platform.render(source, configs, before, keys)}
        for name, text in files.items():
            write_whole(folder / name, text.encode(), READABLE)
        secrets = secret_files(contained(source, configs, platform.NAME_CHARS_MAX, keys), keys)
        for path in _written(folder, secrets, issuer):
            if kind == "compose" and os.geteuid() == 0:
                os.chown(path, USER, USER)
    except OSError as error:
        raise InvalidInput(f"{folder} can't be written to: {reason_of(error)}") from error
    for name in (*files, *secrets):
        show(str(folder / name))
    count = counted(len(files) + len(secrets), "file")
    say(f"{count} written, nothing was started. Keep them: to render again goes on from them")
    if keys.ids:
        say(f"secrets/ has a secret key for each process; the root that issues them is in {issuer.path}: keep it")
    say(_NEXT[kind].format(folder))


def _platform(source: "Source") -> Any:
    """The module of a platform; those that render have the same functions."""
    kind = source.manifest.spec.platform.kind
    if kind not in _NEXT:
        raise InvalidInput(f"--render is for platform compose, containerapps or kubernetes; this fleet's is {kind}")
    return import_module(f"hive_mind.control.platforms.{kind}")


def _public(folder: Path, keys: "Keys") -> dict[str, str]:
    """Files with what everybody may know, and one that keeps what is secret out of version control."""
    if not keys.public:
        return {}
    ignored = folder / ".gitignore"
    lines = ignored.read_text("utf-8").splitlines() if ignored.exists() else []
    lines += [line for line in _IGNORED if line not in lines]
    return {f"keys/{name}": text for name, text in keys.public.items()} | {".gitignore": "\n".join(lines) + "\n"}


def _written(folder: Path, secrets: Mapping[str, str], issuer: "KeyFolder") -> Iterator[Path]:
    """Write the key of each process, for its owner alone, and delete those that were replaced. The files that are new."""
    for name, process in secrets.items():
        path = folder / name
        # Called after what is in it; by now it may belong to the user that runs the containers.
        if not path.exists():
            write_whole(path, issuer.key_of(process)[1].encode())
            yield path
    for path in (folder / "secrets").glob("key-*.key") if secrets else ():
        if f"secrets/{path.name}" not in secrets:
            path.unlink()


def _texts_in(folder: Path) -> dict[str, str]:
    """The texts in the folder that may have been rendered."""
    paths = (path for path in sorted(folder.rglob("*")) if path.suffix in _SUFFIXES and path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8", "replace") for path in paths}


def _configs(source: "Source", before: "Mapping[str, WorkerConfig]") -> "Mapping[str, WorkerConfig]":
    from hive_mind.control.manifests.expansion import expanded
    from hive_mind.control.manifests.sources import SourceReader
    from hive_mind.control.planning.desired import desired
    from hive_mind.control.remembering import remembered

    sources_by_agent = {agent.name: agent.sources for agent in expanded(source.manifest)}
    sources = SourceReader().read(sources_by_agent, source.folder)
    return desired(source.manifest, source.folder, _HOME, remembered(before), sources, run=_RUN).processes
