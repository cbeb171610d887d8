"""The health judge and the queen of a fleet: each beside the runs of its own agent.

The watcher periodically reads the journals of all agents of the home folder. Its findings travel to the desk of the
fleet like any question does. The queen hears of tickets only there, and acts on each in a run of its own, so that a kill
costs nothing.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from hive_mind.agents.queen_talk import HeardEvents, QueenTalk, order_from
from hive_mind.agents.runs import text_of
from hive_mind.agents.runs.executor import AGAIN_S, kept_up, stopped
from hive_mind.agents.runs.fleet_tools import FleetDirectory
from hive_mind.agents.runs.run_journal import is_known
from hive_mind.agents.runs.run_keeper import Reply, RunKeeper
from hive_mind.agents.watcher import Watcher
from hive_mind.errors import HiveError, InvalidInput
from hive_mind.judge.health import HealthSettings
from hive_mind.judge.items import OPENED, PREFIX, Item, value_of
from hive_mind.runs.steps import PREFIX as RUN_STREAMS
from hive_mind.runs.worker_file import worker_of

_log = logging.getLogger(__name__)

_HEAR_S = 1.0
"""A look at each agent of a large fleet costs something, and a person asks less often."""


class HealthWatch:
    """The duties of an agent beside its runs: "watcher", "queen", or both. From `begin` to `close`.

    `fleet`: the agents that are watched. `dead` names processes of which nothing is heard.
    """

    def __init__(
        self,
        settings: HealthSettings,
        duties: Collection[str],
        fleet: FleetDirectory,
        keeper: RunKeeper,
        dead: Callable[[], Collection[str]],
    ) -> None:
        self.settings, self.duties, self._fleet, self._keeper, self._dead = settings, duties, fleet, keeper, dead
        self._agent, self._ledger = keeper.parts.agent, keeper.parts.ledger
        self._watcher = Watcher(self._agent, self._ledger, fleet.open_ledger, settings)
        self._events_heard = HeardEvents()
        self._heard_pos = 0
        """Tickets until this position of the ledger were heard of."""
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def trouble(self) -> str:
        """Why not all can be looked at, or ""."""
        return next((f"the runs of {agent} can't be looked at: {why}" for agent, why in self._watcher.troubles.items()), "")

    def begin(self) -> None:
        if "watcher" in self.duties:
            self._tasks.append(asyncio.create_task(self._look(), name="health of runs"))
        if "queen" in self.duties:
            hearing = kept_up(self._hear, f"{self._agent}: it can't hear of tickets")
            self._tasks.append(asyncio.create_task(hearing, name="tickets for the queen"))
            self._tasks += [
                asyncio.create_task(self._subscribe(agent), name=f"node events of {agent}") for agent in self._fleet.domains
            ]

    async def told(self, text: str, by: str, order: Mapping[str, Any]) -> Reply:
        """A queen's reply. Raises `InvalidInput` where this agent is none."""
        if "queen" not in self.duties:
            raise InvalidInput(f"agent {self._agent} is not the queen of its fleet: spec.queen.agent of the manifest names one")
        talk = QueenTalk(self._fleet, self._keeper.parts.model, self._events_heard)
        reply = await talk.reply(text, by, order_from(order))
        return {"text": reply.text, "order": msgspec.to_builtins(reply.order) if reply.order else {}}

    async def close(self) -> None:
        await stopped(self._tasks)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self.settings.every_s)
            try:
                for ticket in await self._watcher.look(tuple(self._fleet.domains), self._dead()):
                    _log.warning("%s: ticket %s: %s (%s)", self._agent, ticket.id[:8], ticket.told, ticket.severity)
            except HiveError as error:
                _log.error("%s: it can't look at the runs of the fleet, and tries again: %s", self._agent, error)

    async def _hear(self) -> None:
        """Each ticket that lies here begins one run, also those that came while nobody was there."""
        async for entry in self._ledger.follow(self._heard_pos, PREFIX):
            self._heard_pos = entry.pos
            if entry.kind == OPENED and isinstance(item := value_of(entry), Item):
                await self._take(item)

    async def _subscribe(self, agent: str) -> None:
        """To the events of nodes in the runs of an agent, from now on."""
        since = -1
        while True:
            try:
                if (ledger := await self._fleet.open_ledger(agent)) is not None:
                    try:
                        since = since if since >= 0 else max((head.pos for head in await ledger.heads("")), default=0)
                        while True:
                            page = await ledger.newer(since, RUN_STREAMS)
                            for entry in page.entries:
                                self._events_heard.hear(agent, entry)
                            if page.upto == since:
                                await asyncio.sleep(_HEAR_S)
                            since = page.upto
                    finally:
                        await ledger.close()
            except HiveError as error:
                _log.error("%s: it can't hear of the runs of %s, and tries again: %s", self._agent, agent, error)
            await asyncio.sleep(AGAIN_S)

    async def _take(self, item: Item) -> None:
        run = f"q-{item.id[:12]}"
        if item.kind != "ticket" or await is_known(self._ledger, run):
            return
        agent, _, subject_run = item.subject.partition("/")
        ticket = {"id": item.id, "agent": agent, "run": subject_run, "told": item.title, **dict(item.context)}
        inputs = {"ticket": ticket, "agent": agent, "run": subject_run, "why": item.title}
        try:
            await self._keeper.start(self._keeper.worker or worker_of(text_of("queen"), "queen"), inputs, run)
        except InvalidInput as error:
            _log.error("%s: ticket %s can't be acted on: %s", self._agent, item.id[:8], error)
