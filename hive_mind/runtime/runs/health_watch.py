"""The health judge and the queen of a fleet, as worker processes run them: each beside the runs of its own agent.

The watcher periodically reads the journals of all agents of the home folder. Its findings travel to the desk of the
fleet like any question does. The queen hears of tickets only there, and acts on each in a run of its own, so that a kill
costs nothing.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.queen_talk import HeardEvents, QueenTalk
from hive_mind.agents.runs.run_journal import is_known
from hive_mind.agents.tools.fleet_tools import FleetDirectory, fleet_tools
from hive_mind.agents.watcher import Watcher
from hive_mind.agents.workers import text_of
from hive_mind.errors import HiveError, InvalidInput
from hive_mind.judge.health import HealthSettings
from hive_mind.judge.items import OPENED, PREFIX, Item, value_of
from hive_mind.ledger.base import Ledger
from hive_mind.model.decoding import json_decoder
from hive_mind.runs.graphs.worker_file import worker_of
from hive_mind.runs.steps import PREFIX as RUN_STREAMS
from hive_mind.runtime.agent_files import ledger_path
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.process_identity import Identity, is_running
from hive_mind.runtime.runs.run_keeper import RunKeeper
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_ledger
from hive_mind.runtime.workers.config import WatchConfig
from hive_mind.runtime.workers.status import Contact
from hive_mind.tools.base import Tool

_log = logging.getLogger(__name__)

_AGAIN_S = 5.0
_HEAR_S = 1.0
"""A look at each agent of a large fleet costs something, and a person asks less often."""


def opener(settings: Settings) -> Callable[[str], Awaitable[Ledger | None]]:
    """Opens the ledgers of agents of this home folder, shared."""

    async def opened(agent: str) -> Ledger | None:
        if not ledger_path(settings, agent).exists():
            return None
        return await open_ledger(settings, agent, is_shared=True)

    return opened


def is_running_here(run: Path, process: str) -> bool:
    """Whether the process that said last how to reach it is on this machine now."""
    try:
        contact = json_decoder(Contact)((run / f"{process}.json").read_bytes())
    except (OSError, msgspec.DecodeError):
        return False
    return is_running(Identity(contact.pid, contact.started))


def queens_tools(config: WatchConfig, settings: Settings, agent: str, ledger: Ledger) -> Sequence[Tool]:
    """Those of the queen, for its agent; none for another."""
    return fleet_tools(_directory(config, settings, agent, ledger)) if config.queen == agent else ()


def _directory(config: WatchConfig, settings: Settings, agent: str, ledger: Ledger) -> FleetDirectory:
    return FleetDirectory(agent, LedgerDesk(ledger), opener(settings), config.agents)


class HealthWatch:
    """The duties of an agent beside its runs, if it is the watcher, the queen, or both. From `begin` to `close`."""

    def __init__(
        self,
        config: WatchConfig,
        settings: Settings,
        agent: str,
        ledger: Ledger,
        keeper: RunKeeper,
        member: RunningMember | None,
        run: Path,
    ) -> None:
        self._config, self._agent, self._ledger, self._keeper, self._member = config, agent, ledger, keeper, member
        self._run = run
        self.settings: HealthSettings = config
        self._watcher = Watcher(agent, ledger, opener(settings), self.settings)
        self._fleet, self._open, self._events_heard = _directory(config, settings, agent, ledger), opener(settings), HeardEvents()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def trouble(self) -> str:
        """Why not all can be looked at, or ""."""
        return next((f"the runs of {agent} can't be looked at: {why}" for agent, why in self._watcher.troubles.items()), "")

    @property
    def duties(self) -> tuple[str, ...]:
        """The duties of this agent: "watcher", "queen"."""
        duties_and_agents = (("watcher", self._config.watcher), ("queen", self._config.queen))
        return tuple(duty for duty, name in duties_and_agents if name == self._agent)

    def begin(self) -> None:
        if "watcher" in self.duties:
            self._tasks.append(asyncio.create_task(self._look(), name="health of runs"))
        if "queen" in self.duties:
            self._tasks.append(asyncio.create_task(self._hear(), name="tickets for the queen"))
            self._tasks += [
                asyncio.create_task(self._subscribe(agent), name=f"node events of {agent}") for agent in self._config.agents
            ]

    def talk(self) -> QueenTalk:
        """A talk with the queen. Raises `InvalidInput` where this agent is none."""
        if "queen" not in self.duties:
            raise InvalidInput(f"agent {self._agent} is not the queen of its fleet: spec.queen.agent of the manifest names one")
        return QueenTalk(self._fleet, self._keeper.parts.model, self._events_heard)

    async def close(self) -> None:
        """Look no more."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self.settings.every_s)
            try:
                dead = self._member.dead(lambda process: is_running_here(self._run, process)) if self._member else ()
                for ticket in await self._watcher.look(tuple(self._config.agents), dead):
                    _log.warning("%s: ticket %s: %s (%s)", self._agent, ticket.id[:8], ticket.told, ticket.severity)
            except HiveError as error:
                _log.error("%s: it can't look at the runs of the fleet, and tries again: %s", self._agent, error)

    async def _hear(self) -> None:
        """Each ticket that lies here begins one run, also those that came while nobody was there."""
        since = 0
        while True:
            try:
                async for entry in self._ledger.follow(since, PREFIX):
                    since = entry.pos
                    if entry.kind == OPENED and isinstance(item := value_of(entry), Item):
                        await self._take(item)
                return
            except HiveError as error:
                _log.error("%s: it can't hear of tickets, and tries again: %s", self._agent, error)
                await asyncio.sleep(_AGAIN_S)

    async def _subscribe(self, agent: str) -> None:
        """To the events of nodes in the runs of an agent, from now on."""
        since = -1
        while True:
            try:
                if (ledger := await self._open(agent)) is not None:
                    try:
                        since = since if since >= 0 else max((head.pos for head in await ledger.heads("")), default=0)
                        while True:
                            page = await ledger.newer(since, RUN_STREAMS)
                            for entry in page.entries:
                                since = entry.pos
                                self._events_heard.hear(agent, entry)
                            if page.upto == since and not page.entries:
                                await asyncio.sleep(_HEAR_S)
                            since = page.upto
                    finally:
                        await ledger.close()
            except HiveError as error:
                _log.error("%s: it can't hear of the runs of %s, and tries again: %s", self._agent, agent, error)
            await asyncio.sleep(_AGAIN_S)

    async def _take(self, item: Item) -> None:
        run = f"q-{item.id[:12]}"
        if item.kind != "ticket" or await is_known(self._ledger, run):
            return
        spec = self._keeper.worker or worker_of(text_of("queen"), "queen")
        try:
            await self._keeper.start(spec, _inputs_of(item), run)
        except InvalidInput as error:
            _log.error("%s: ticket %s can't be acted on: %s", self._agent, item.id[:8], error)


def _inputs_of(item: Item) -> dict[str, Any]:
    agent, _, run = item.subject.partition("/")
    context = dict(item.context)
    ticket = {"id": item.id, "agent": agent, "run": run, "told": item.title, **context}
    return {"ticket": ticket, "agent": agent, "run": run, "why": item.title}
