"""The common parts of commands about fleets: which fleet is meant, how it is opened, and in which form a result is printed.

Controllers, manifests and platforms bring libraries that cost a second to load: they are imported here, when a fleet is opened,
and by no command as it is defined.
"""

import re
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from hive_mind.cli import options
from hive_mind.cli.learning import STDIN, read_stdin
from hive_mind.cli.options import settings_for
from hive_mind.cli.output import Cell, Styled, plain, say, show, show_json, show_table
from hive_mind.counted import IN_A_LINE, counted, first_of
from hive_mind.errors import InvalidInput, reason_of
from hive_mind.runtime.settings import Settings

if TYPE_CHECKING:
    from hive_mind.control.controller import HiveController
    from hive_mind.control.manifests.reading import Source
    from hive_mind.control.state import FleetFolder, FleetState
    from hive_mind.control.status import AgentView, Condition, FleetStatus


# Far more than any manifest has; reading one says what is too large.
_BYTES_MAX = 16 << 20

Noun = TypeVar("Noun", bound=StrEnum)


Watch = Annotated[bool, typer.Option("--watch", "-w", help="Keep showing it until Ctrl-C.")]
Every = Annotated[float, typer.Option("--every", min=0.2, max=3600, metavar="S", help="Seconds between updates.")]


class FleetFormat(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"

    @property
    def is_table(self) -> bool:
        """For people; wide only adds columns where there are more."""
        return self in (FleetFormat.TABLE, FleetFormat.WIDE)


def fleet_names(incomplete: str) -> list[str]:
    """For the shell: fleets of the home folder."""
    from hive_mind.control.state import fleets

    return [name for name in fleets(Settings.from_environment().home) if name.startswith(incomplete)]


def agent_names(incomplete: str) -> list[str]:
    """For the shell: agents of all fleets of the home folder."""
    return _names_in_states(incomplete, lambda state: state.agents)


def process_names(incomplete: str) -> list[str]:
    """For the shell: processes of all fleets of the home folder."""
    return _names_in_states(incomplete, lambda state: state.allocation)


def _names_in_states(incomplete: str, names_in: Callable[["FleetState"], Iterable[str]]) -> list[str]:
    from hive_mind.control.state import FleetFolder, fleets

    home = Settings.from_environment().home
    names = {name for fleet in fleets(home) for name in names_in(FleetFolder(home, fleet).state())}
    return sorted(name for name in names if name.startswith(incomplete))


Output = Annotated[
    FleetFormat,
    typer.Option(
        "--output", "-o", help="table for people, wide with more columns, json or yaml for programs, name for names alone."
    ),
]
Fleet = Annotated[
    str,
    typer.Option("--fleet", help="Which fleet.", show_default="the one in the home folder", autocompletion=fleet_names),
]


@dataclass(frozen=True, slots=True)
class OneFleet:
    """A fleet, and in which form the result is printed."""

    fleet: Fleet = ""
    home: options.Home = None
    output: Output = FleetFormat.TABLE

    def opened(self, *, is_reporting: bool = False) -> AbstractAsyncContextManager["HiveController"]:
        return chosen(self.home, self.fleet, is_reporting=is_reporting)


Manifest = Annotated[str, typer.Option("--file", "-f", metavar="FILE", help="The manifest, or - for standard input.")]


def seconds(text: str | float) -> float:
    """ "90", "90s", "1.5m" or "1h". Raises `BadParameter` for any other text, and outside a tenth of a second to a day."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smh]?)", str(text).strip().lower())
    given_s = float(match[1]) * _UNITS_S[match[2]] if match else 0.0
    if not _TIMEOUT_MIN_S <= given_s <= _TIMEOUT_MAX_S:
        raise typer.BadParameter(f"{str(text)[:40]!r} is not a time from 0.1s to 24h: write 90, 90s, 1.5m or 1h")
    return given_s


_UNITS_S = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_TIMEOUT_MIN_S, _TIMEOUT_MAX_S = 0.1, 86_400.0
Timeout = Annotated[
    float, typer.Option("--timeout", parser=seconds, metavar="TIME", help="How long to wait at most: 90, 90s, 1.5m or 1h.")
]


def noun_of(nouns: type[Noun]) -> Callable[[str], Noun]:
    """Reads one of these nouns, in either number: "agent" means "agents", and the other way round."""

    def read(text: str) -> Noun:
        word = text.lower().removesuffix("s")
        if (noun := next((noun for noun in nouns if noun.value.removesuffix("s") == word), None)) is None:
            raise typer.BadParameter(f"{text[:40]!r} is none of {', '.join(noun.value for noun in nouns)}")
        return noun

    return read


DataLoss = Annotated[bool, typer.Option("--allow-data-loss", help="Go on even where a step would lose facts.")]


def home_of(home: Path | None) -> Path:
    """The home folder that is meant. Raises `InvalidInput` where it is a file."""
    return settings_for(home).home


def fleets_in(home: Path) -> tuple[str, ...]:
    """Names of the fleets of a home folder. Costs nothing where there are none."""
    if not (home / "fleets").is_dir():
        return ()
    from hive_mind.control.state import fleets

    return fleets(home)


def chosen_fleet(home: Path, fleet: str, named_by: str = "--fleet and ") -> str:
    """The fleet that is meant: the one named, else the only one, or the only one not stopped. Raises `InvalidInput`.

    `named_by` is what stands before the name in the command: nothing, where the name is its argument.
    """
    names = fleets_in(home)
    if fleet:
        if fleet not in names:
            raise InvalidInput(f"there is no fleet {fleet!r} in {home}; its fleets: {', '.join(names) or 'none'}")
        return fleet
    if not names:
        raise InvalidInput(f"there is no fleet in {home}: hive-mind apply -f MANIFEST")
    started = names if len(names) == 1 else [name for name in names if not is_stopped(home, name)]
    if len(started) != 1:
        raise InvalidInput(f"which fleet? Add {named_by}one of {', '.join(names)}")
    return started[0]


def is_stopped(home: Path, fleet: str) -> bool:
    """Whether it was stopped by `hive-mind delete`."""
    from hive_mind.control.state import FleetFolder

    return FleetFolder(home, fleet).state().is_stopped


def source_of(file: str, home: Path | None = None) -> "Source":
    """The manifest in a file or on standard input; not for a coroutine, see `files.read_stdin`. Raises `ManifestError`."""
    from hive_mind.control.manifests.reading import read_manifest, read_text

    if file == STDIN:
        source = read_text(_text_of(file), Path.cwd(), "standard input", is_to_be_applied=True, home=home)
    else:
        source = read_manifest(Path(file), home)
    say_without_effect(source)
    return source


def say_without_effect(source: "Source") -> None:
    """Say which parts of the retrieval configuration that its manifest names a fleet ignores; no reason to refuse the rest."""
    from hive_mind.control.manifests.named_files import without_effect

    for clause in without_effect(source.manifest, source.folder):
        say(f"note: {source.manifest.spec.retrieval.config} has no effect here in {clause}", style="yellow")


def named_in(file: str) -> str:
    """The name in a manifest of which everything else may be outdated: what it needs may be gone by now."""
    from hive_mind.control.manifests.reading import read_text

    return read_text(_text_of(file), Path(file).absolute().parent, file).manifest.metadata.name


def _text_of(file: str) -> str:
    try:
        body = read_stdin(_BYTES_MAX) if file == STDIN else Path(file).read_bytes()
        return body.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} can't be read as a manifest: {reason_of(error)}") from error


def folder_of(home: Path | None, fleet: str) -> "FleetFolder":
    """Where everything is of the fleet that is meant by `--home` and `--fleet`, but its memory. Raises `InvalidInput`."""
    from hive_mind.control.state import FleetFolder

    where = home_of(home)
    return FleetFolder(where, chosen_fleet(where, fleet))


@asynccontextmanager
async def opened(home: Path, fleet: str, *, is_reporting: bool = False) -> AsyncIterator["HiveController"]:
    """The controller of a fleet. With `is_reporting` what it does is said on stderr, a line each."""
    from hive_mind.control.controller import HiveController
    from hive_mind.control.surroundings import silent

    async with HiveController.open(home, fleet, report=partial(say, style="dim") if is_reporting else silent) as controller:
        yield controller


@asynccontextmanager
async def chosen(
    home: Path | None, fleet: str, *, is_reporting: bool = False, named_by: str = "--fleet and "
) -> AsyncIterator["HiveController"]:
    """The controller of the fleet that is meant by `--home` and `--fleet`. Raises `InvalidInput`."""
    folder = home_of(home)
    async with opened(folder, chosen_fleet(folder, fleet, named_by), is_reporting=is_reporting) as controller:
        yield controller


def show_as(output: FleetFormat, value: object, names: Iterable[str], table: Callable[[], None]) -> None:
    """A result in the form that was asked for."""
    match output:
        case FleetFormat.JSON:
            show_json(plain(value))
        case FleetFormat.YAML:
            import yaml

            sys.stdout.flush()
            sys.stdout.buffer.write(yaml.safe_dump(plain(value), sort_keys=False, allow_unicode=True).encode())
            sys.stdout.buffer.flush()
        case FleetFormat.NAME:
            for name in names:
                show(name)
        case FleetFormat.TABLE | FleetFormat.WIDE:
            table()


_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400


def ago(then_ms: int, now_ms: int | None = None) -> str:
    """How long ago, such as 5s, 12m, 3h or 2d; "" for never."""
    if not then_ms:
        return ""
    return span((now_ms if now_ms is not None else int(time.time() * 1000)) / 1000 - then_ms / 1000)


def span(seconds: float) -> str:
    """A length of time, of which only the largest unit counts."""
    seconds = max(seconds, 0.0)
    if seconds < _MINUTE_S:
        return f"{seconds:.0f}s"
    if seconds < _HOUR_S:
        return f"{seconds // _MINUTE_S:.0f}m"
    if seconds < 2 * _DAY_S:
        return f"{seconds // _HOUR_S:.0f}h"
    return f"{seconds // _DAY_S:.0f}d"


def megabytes(count: int) -> str:
    """A number of bytes; "" where unknown."""
    return f"{count / 1e6:.0f} MB" if count else ""


AGENT_TITLES = ("agent", "phase", "process", "group", "facts", "pending", "lag", "restarts", "since", "last error")
AGENT_FIGURES = (4, 5, 6, 7, 8)
_WIDE_TITLES, _WIDE_FIGURES = (*AGENT_TITLES, "domain", "pid"), (*AGENT_FIGURES, len(AGENT_TITLES) + 1)
CONDITION_TITLES = ("condition", "status", "since", "reason", "message")

_STYLES = {
    "ready": "green",
    "true": "green",
    "asleep": "dim",
    "stopped": "dim",
    "unknown": "yellow",
    "starting": "yellow",
    "learning": "yellow",
    "progressing": "yellow",
    "draining": "yellow",
    "degraded": "red",
    "failed": "red",
    "missing": "red",
    "silent": "red",
    "drained": "dim",
    "false": "red",
}


def phase_cell(phase: str) -> Styled:
    """A word in the colour that says how well things are."""
    return Styled(phase, _STYLES.get(phase.lower(), ""))


def fleet_line(status: "FleetStatus") -> str:
    ready = sum(agent.is_ready for agent in status.agents)
    agents = f"{ready} of {counted(len(status.agents), 'agent')} ready"
    running, all_ = sum(process.pid > 0 for process in status.processes), len(status.processes)
    processes = (f"{running} of " if running < all_ else "") + counted(all_, "process", "processes")
    return f"fleet {status.name}: {status.phase} · {agents} · {processes} · {counted(status.facts, 'fact')}"


def show_fleet_line(status: "FleetStatus") -> None:
    """The line, in the colour of its phase, and what a person should know that stops nothing."""
    show(fleet_line(status), style=_STYLES.get(status.phase.lower(), "bold"))
    for notice in dict.fromkeys(notice for process in status.processes for notice in process.notices):
        whose = [process.name for process in status.processes if notice in process.notices]
        show(f"note: {first_of(whose, IN_A_LINE)}: {notice}", style="yellow")


def show_agents(agents: Sequence["AgentView"], now_ms: int | None = None, *, is_wide: bool = False) -> None:
    rows = agent_rows(agents, now_ms)
    if is_wide and rows:
        wide = [(*row, agent.domain, str(agent.pid or "")) for row, agent in zip(rows, agents, strict=True)]
        show_table(_WIDE_TITLES, wide, right=_WIDE_FIGURES)
    elif rows:
        show_table(AGENT_TITLES, rows, right=AGENT_FIGURES)


def agent_rows(agents: Iterable["AgentView"], now_ms: int | None = None) -> list[tuple[Cell, ...]]:
    """The cells of those lines. Cells that several agents have in common are shown once."""
    first: dict[str, str] = {}
    return [
        (
            agent.name,
            phase_cell(agent.phase),
            agent.process,
            agent.group,
            str(agent.facts),
            str(agent.pending),
            str(agent.lag),
            str(agent.restarts),
            ago(agent.since_ms, now_ms),
            _once(agent, first),
        )
        for agent in agents
    ]


def _once(agent: "AgentView", first: dict[str, str]) -> str:
    """An agent's error, or which line before has the same. `first` is by error, and grows."""
    agent_named = first.setdefault(agent.last_error, agent.name) if agent.last_error else agent.name
    return agent.last_error if agent_named == agent.name else f"as {agent_named}"


def show_conditions(conditions: Sequence["Condition"], now_ms: int | None = None) -> None:
    rows = [
        (condition.type, phase_cell(condition.status), ago(condition.since_ms, now_ms), condition.reason, condition.message)
        for condition in conditions
    ]
    show_table(CONDITION_TITLES, rows, right=(2,))
