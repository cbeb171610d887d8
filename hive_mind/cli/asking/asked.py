"""The agent that a command means, wherever its memory is open: in a process of a fleet, in the resident one, or in this one.

All are asked by the requests of `api.requests`, so no command knows the difference. A fleet's agents have their databases open,
so they are asked where they run. Where no fleet runs in the home folder, that costs no more than a look at a folder.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import msgspec
import typer

from hive_mind import __version__
from hive_mind.cli import fleet as fleets
from hive_mind.cli import options
from hive_mind.cli.fleet import fleet_names
from hive_mind.cli.options import DEFAULT_AGENT, Format, for_reading, settings_for
from hive_mind.cli.output import say
from hive_mind.cli.running import CommandError
from hive_mind.control import RESIDENT
from hive_mind.errors import InvalidInput
from hive_mind.model.aggregation import MemoryStatistics
from hive_mind.model.decoding import converted, json_decoder
from hive_mind.model.fact import Fact, FactList, fact_of
from hive_mind.runtime.asking import ProcessAgent
from hive_mind.runtime.settings import ANSWERING_GIVEN, Settings, database_path, is_kept, kept_agents, settings_given
from hive_mind.runtime.worker_http import SILENCE_S, body_within, request_bytes
from hive_mind.runtime.workers import Contact, WorkerStatus, contact_in
from hive_mind.safe_files import is_locked

if TYPE_CHECKING:
    from hive_mind.agents.agent import LearningAgent
    from hive_mind.api.request import Progress
    from hive_mind.control.controller import HiveController
    from hive_mind.control.status import FleetStatus
    from hive_mind.ranking.pipeline import RankingSettings
    from hive_mind.runtime.calls import AgentCalls


Agent = Annotated[
    str,
    typer.Option(
        "--agent",
        "-a",
        help="The agent; each has a database of its own.",
        show_default="one that is ready, where a fleet runs here; else default",
        autocompletion=fleets.agent_names,
    ),
]
Fleet = Annotated[
    str,
    typer.Option("--fleet", help="An agent of this fleet.", show_default="the one that runs here", autocompletion=fleet_names),
]


@dataclass(frozen=True, slots=True)
class AnyAgent:
    """An agent, wherever its memory is open, and in which form the result is printed."""

    agent: Agent = ""
    fleet: Fleet = ""
    home: options.Home = None
    timeout: options.Timeout = None
    output: options.Output = Format.TEXT

    def settings(self) -> Settings:
        """See `settings_for`; without a model, for what embeds nothing."""
        settings = settings_for(self.home, embed="none")
        return replace(settings, timeout_s=self.timeout or settings.timeout_s)


@dataclass(frozen=True, slots=True)
class AnyEmbeddingAgent(AnyAgent):
    """The same, with the model that embeds for an agent that is opened here."""

    embed: options.Embed = None
    model: options.Model = None

    def settings(self) -> Settings:
        settings = settings_for(self.home, self.embed, self.model)
        return replace(settings, timeout_s=self.timeout or settings.timeout_s)

    def opening(self) -> list[str]:
        """The options that are given here and say how a memory is opened."""
        return [f"--{name}" for name, text in (("embed", self.embed), ("model", self.model)) if text]


class FleetAgent(ProcessAgent):
    """One agent of a fleet that runs: its process may be another one at each request."""

    def __init__(self, controller: "HiveController", fleet: str, name: str, silence_s: float = SILENCE_S) -> None:
        super().__init__(fleet, name, None, silence_s)
        self.controller = controller

    async def contact_of(self, agent: str) -> Contact:
        return await self.controller.contact(agent)

    async def other(self) -> str:
        """Of a fleet that shares nothing there is none: another agent knows other things."""
        from hive_mind.hive.topology.spec import is_shared

        status = await self.controller.status()
        process = next((agent.process for agent in status.agents if agent.name == self.name), "")
        ready = (agent.name for agent in status.agents if agent.is_ready and agent.process != process)
        return next(ready, "") if is_shared(status.topology) else ""

    def contact(self) -> Contact | None:
        """How its process is reached by the fleet's own record; None where that runs elsewhere."""
        try:
            return contact_in(self.contact_file())
        except InvalidInput:
            return None

    def contact_file(self) -> Path:
        """Where that is written. Raises `InvalidInput` for an agent that the fleet has not."""
        return self.controller.folder.run / f"{self.controller.process_of(self.name)}.json"


@asynccontextmanager
async def fleet_agent(
    home: Path, fleet: str, agent: str, *, is_looking: bool = False, timeout_s: float | None = None
) -> AsyncIterator[FleetAgent | None]:
    """The agent of a running fleet that is meant, told in one line; None where it is one that has no fleet around it.

    `is_looking`: it need not be ready, because it is looked at, and nothing is asked. `timeout_s`: how long its process may be
    silent; None for the setting.
    Raises `InvalidInput` for a fleet that is not there or has no such agent, `CommandError` for one that does not run.
    """
    if fleet and fleet not in fleets.fleets_in(home):
        raise InvalidInput(f"there is no fleet {fleet!r} in {home}; its fleets: {', '.join(fleets.fleets_in(home)) or 'none'}")
    names = [fleet] if fleet else [name for name in fleets.fleets_in(home) if not fleets.is_stopped(home, name)]
    async with AsyncExitStack() as stack:
        running: list[tuple[HiveController, FleetStatus]] = []
        for name in names:
            controller = await stack.enter_async_context(fleets.opened(home, name))
            status = await controller.status()
            if any(process.pid for process in status.processes):
                running.append((controller, status))
        if fleet and not running:
            start = "hive-mind serve" if fleet == RESIDENT else "hive-mind apply -f MANIFEST"
            raise CommandError(f"fleet {fleet!r} does not run: {start}")
        found_agent = _meant(running, agent, is_named=bool(fleet), is_looking=is_looking)
        if found_agent is not None:
            found_agent.silence_s = Settings.from_environment().timeout_s if timeout_s is None else timeout_s
        down = [name for name in names if name != RESIDENT and name not in [status.name for _, status in running]]
        if found_agent is None and down and not agent and not is_kept(Settings(home=home), DEFAULT_AGENT):
            raise CommandError(f"{_down(down)}; --agent NAME uses the memory of one agent alone, as it lies here")
        if names:
            say(_used(found_agent, running, agent) + (f": {_down(down)}" if down and found_agent is None else ""), style="dim")
        elif rest := [name for name in fleets.fleets_in(home) if name != RESIDENT]:
            at_rest = f"{', '.join(rest)} was stopped, hive-mind rollout restart starts it again"
            say(f"using agent {agent or DEFAULT_AGENT}, which is in no running fleet: {at_rest}", style="dim")
        yield found_agent


def _down(names: list[str]) -> str:
    """Fleets that should run and do not, after a power failure for instance, and what starts them."""
    those = f"fleet {names[0]} is" if len(names) == 1 else f"fleets {', '.join(names)} are"
    return f"{those} down (none of its processes runs): hive-mind rollout restart starts it again, its memory is kept"


def _meant(
    running: "Sequence[tuple[HiveController, FleetStatus]]", agent: str, *, is_named: bool, is_looking: bool
) -> FleetAgent | None:
    if agent:
        for controller, status in running:
            if any(agent_view.name == agent for agent_view in status.agents):
                return FleetAgent(controller, status.name, agent)
        if is_named:
            raise InvalidInput(f"fleet {running[0][1].name!r} has no agent {agent!r}; hive-mind get agents lists them")
        return None
    fleets_of_people = [fleet for fleet in running if fleet[1].name != RESIDENT]
    if len(fleets_of_people) != 1:
        return _meant(running, DEFAULT_AGENT, is_named=False, is_looking=is_looking)
    controller, status = fleets_of_people[0]
    ready = [agent_view.name for agent_view in status.agents if agent_view.is_ready]
    if is_looking:
        names = {process.name for process in status.processes if process.pid}
        ready += [agent_view.name for agent_view in status.agents if agent_view.process in names]
    if not ready:
        raise CommandError(f"no agent of fleet {status.name!r} is ready ({status.phase}): hive-mind status says why")
    return FleetAgent(controller, status.name, ready[0])


def _used(found_agent: FleetAgent | None, running: "Sequence[tuple[HiveController, FleetStatus]]", agent: str) -> str:
    if found_agent is not None:
        return f"using agent {found_agent.name} of fleet {found_agent.fleet}"
    alone = f"using agent {agent or DEFAULT_AGENT}, which is in no running fleet"
    if len(running) > 1 and not agent:
        alone += f"; --fleet {' or '.join(status.name for _, status in running)} asks a fleet"
    return alone


_LOOK_S = 2.0


def resident(home: Path, agent: str, silence_s: float = SILENCE_S) -> ProcessAgent | None:
    """None where it doesn't run or has no such agent, and where other fleets of this home may be meant."""
    try:
        if [folder.name for folder in (home / "fleets").iterdir() if folder.is_dir()] != [RESIDENT]:
            return None
        (file,) = (home / "fleets" / RESIDENT / "run").glob("*.json")
        contact = json_decoder(Contact)(file.read_bytes())
        request = request_bytes("GET", "/v1/status", contact.token, b"")
        status = json_decoder(WorkerStatus)(body_within(contact.port, request, _LOOK_S))
    except (OSError, ValueError, msgspec.DecodeError):
        return None
    is_there = any(agent_status.name == agent and agent_status.phase != "failed" for agent_status in status.agents)
    return ProcessAgent(RESIDENT, agent, contact, silence_s) if is_there and status.phase == "ready" else None


def member(home: Path, agent: str, silence_s: float = SILENCE_S) -> ProcessAgent | None:
    """An agent that `agent run` keeps in a hive, called like it; None where none of this name runs."""
    for hive in sorted((home / "hives").iterdir()):
        if (contact := contact_in(hive / "run" / f"{agent}.json")) is None:
            continue
        # Loaded where there is such a note alone.
        from hive_mind.runtime.process_identity import Identity, is_running

        if is_running(Identity(contact.pid, contact.started)):
            return ProcessAgent(hive.name, agent, contact, silence_s)
    return None


def kept_open(settings: Settings, agent: str) -> str:
    """Which process keeps the memory of an agent open until it is told to end, and what ends it; "" where none does."""
    from hive_mind.sqlite import in_use_by

    if (pid := in_use_by(database_path(settings, agent))) is None:
        return ""
    for path in sorted(settings.home.glob("*/*/run/*.json")):
        contact, (kind, name, *_) = contact_in(path), path.relative_to(settings.home).parts
        # One that ends already lets go of it soon.
        if contact and contact.pid == pid and not (kind == "fleets" and fleets.is_stopped(settings.home, name)):
            fleet_ending = "hive-mind serve --stop" if name == RESIDENT else f"hive-mind delete {name}"
            ending = f"{fleet_ending} ends it" if kind == "fleets" else f"Ctrl-C or kill {pid} ends its hive-mind agent run"
            return f"process {pid} of {kind[:-1]} {name} has the memory open: {ending}, and nothing is lost; do that"
    return ""


def refuse_kept_open(settings: Settings, agent: str) -> None:
    """For what needs a memory alone. Raises `CommandError` at once where waiting would be in vain."""
    if keeper := kept_open(settings, agent):
        raise CommandError(f"agent {agent}: {keeper}, and run this again")


def is_to_be_started(home: Path) -> bool:
    """Whether a home has no other fleet than the resident one, and nothing of that runs, as its files tell."""
    fleets = home / "fleets"
    names = [folder.name for folder in fleets.iterdir() if folder.is_dir()] if fleets.is_dir() else []
    return {*names} <= {RESIDENT} and not any(map(is_locked, (fleets / RESIDENT / "run").glob("*.lock")))


class Called(Protocol):
    """A process or agent that answers the requests of `api.requests`."""

    async def call(self, request: str, progress: "Progress | None" = None, /, **fields: object) -> Any:
        """Put a request to it; `progress` gets how far it is, of one that reports. Raises `HiveError`."""


class AnsweringAgent(Called, Protocol):
    """One agent. `fleet` is "" where its memory is open in this process."""

    @property
    def name(self) -> str: ...

    @property
    def fleet(self) -> str: ...


class OpenedAgent:
    """One whose memory this process opens: to read it, which others may do meanwhile, and to write for one request at a time.

    `is_writing`: to write from the first request to the last.
    """

    fleet = ""

    def __init__(self, name: str, settings: Settings, ranking: "RankingSettings | None", *, is_writing: bool = False) -> None:
        self.name, self._settings, self._ranking, self._is_writing = name, settings, ranking, is_writing
        self._is_reading = not is_writing
        self._agent: LearningAgent | None = None
        self._calls: AgentCalls | None = None
        self._seen: list[tuple[int, int]] = []

    async def call(self, request: str, progress: "Progress | None" = None, /, **fields: object) -> Any:
        """See `AnsweringAgent`. A reader sees what others have written before its request."""
        from hive_mind.api.requests import REQUESTS
        from hive_mind.runtime.calls import AgentCalls
        from hive_mind.runtime.wiring import open_agent

        def on_event(name: str, says: Mapping[str, Any]) -> None:
            if progress and name == "progress":
                progress(says["done"], says["total"])

        entry = REQUESTS.entry(request)
        if not self._is_writing and (not entry.reads or self._seen != self._signature()):
            await self._let_go(is_reading=entry.reads)
        try:
            if self._calls is None:
                ranking = self._ranking
                self._agent = await open_agent(self._settings, self.name, ranking, is_reading=lambda: self._is_reading)
                self._calls = AgentCalls(self._agent, None, is_kept=True)
            # As it would come over a wire.
            return msgspec.to_builtins(await self._calls.do(entry.request(fields), on_event if progress else None))
        finally:
            if not self._is_writing and not entry.reads:
                await self._let_go(is_reading=True)

    async def _let_go(self, *, is_reading: bool) -> None:
        """Close the database; the next request opens it, to read it or to write."""
        if self._agent is not None and self._settings.store != "memory":
            await self._agent.memory.sleep()
        self._is_reading, self._seen = is_reading, self._signature()

    def _signature(self) -> list[tuple[int, int]]:
        """Of its file and the log of it: another one after any write."""
        path = database_path(self._settings, self.name)
        files = (file for file in (path, path.with_name(f"{path.name}-wal")) if file.exists())
        return [(stat.st_mtime_ns, stat.st_size) for stat in map(Path.stat, files)]

    async def close(self) -> None:
        if self._agent is not None:
            await self._agent.close()


async def say_without_effect(running: ProcessAgent, opening: Sequence[str]) -> None:
    """A line about options and variables that say how a memory is opened: its process has that behind it."""
    names = [name for name in opening if name != ANSWERING_GIVEN]
    if given := ANSWERING_GIVEN in opening and settings_given().get(ANSWERING_GIVEN):
        # "" where it is of a version that did not say it.
        names += [ANSWERING_GIVEN] * ((await running.contact_of(running.name)).answering not in ("", given))
    if names:
        remedy = "hive-mind serve --stop ends it" if running.fleet == RESIDENT else "its manifest, or agent run, says how"
        say(f"note: without effect: {', '.join(names)}. A process has the memory open already; {remedy}", style="yellow")


@asynccontextmanager
async def asked_agent(
    settings: Settings,
    fleet: str,
    agent: str,
    ranking: "RankingSettings | None" = None,
    *,
    may_begin: bool = False,
    is_writing: bool = False,
    opening: Sequence[str] = (),
) -> AsyncIterator[AnsweringAgent]:
    """The agent that is meant; where its memory is open in another process, told in one line.

    Of one that is opened here: its `ranking`, and see `OpenedAgent` for `is_writing`.

    `may_begin`: it may be one that knows nothing yet. `opening`: options and the variable that decide about that; where a
    process has it open, a line says that they change nothing. Raises `HiveError`.
    """
    if not (agent or fleet or may_begin or is_kept(settings, DEFAULT_AGENT)) and len(names := kept_agents(settings)) == 1:
        (agent,) = names
        say(f"agent {DEFAULT_AGENT} has learned nothing: {agent} is the only one here", style="dim")
    home, name = settings.home, agent or DEFAULT_AGENT
    # One look at two folders; most homes have neither.
    has_hives, has_fleets = (os.path.isdir(home / folder) for folder in ("hives", "fleets"))  # noqa: ASYNC240, PTH112
    async with AsyncExitStack() as stack:
        running: ProcessAgent | None
        if has_hives and not fleet and (running := await asyncio.to_thread(member, home, name, settings.timeout_s)):
            say(f"using agent {running.name} of hive {running.fleet}", style="dim")
        elif has_fleets and not fleet and (running := await asyncio.to_thread(resident, home, name, settings.timeout_s)):
            say(f"using agent {running.name} of fleet {running.fleet}", style="dim")
            if (version := (await running.contact_of(running.name)).version) != __version__:
                say(f"note: its process runs version {version or 'unknown'}: hive-mind serve starts it anew", style="yellow")
        else:
            running = None
            if has_fleets or fleet:
                running = await stack.enter_async_context(fleet_agent(home, fleet, agent, timeout_s=settings.timeout_s))
        if running is not None:
            await say_without_effect(running, opening)
            yield running
            return
    readable = settings if may_begin else for_reading(settings, name)
    opened = OpenedAgent(name, readable, ranking, is_writing=is_writing)
    try:
        yield opened
    finally:
        await opened.close()


FactId = Annotated[str, typer.Argument(metavar="ID", help="A fact's id, or its first characters (6 or more).")]


@dataclass(frozen=True, slots=True)
class AskedFacts:
    """The facts of an agent; of one in a hive, also those of the hive."""

    agent: AnsweringAgent

    async def listed(self, concept: str, limit: int) -> list[Fact]:
        """Current facts, the newest first; with a concept those about it."""
        return _facts(await self.agent.call("facts", concept=concept, limit=limit))

    async def facts_with_prefix(self, prefix: str) -> FactList:
        """Those whose id begins like this, former and retracted ones too."""
        reply = await self.agent.call("named", fact_id=prefix)
        return FactList(_facts(reply), reply.get("completeness", 1.0))

    async def statistics(self) -> MemoryStatistics:
        return converted(await self.agent.call("stats"), MemoryStatistics)


def _facts(reply: Mapping[str, Iterable[Mapping[str, Any]]]) -> list[Fact]:
    return [fact_of(fact) for fact in reply["facts"]]
