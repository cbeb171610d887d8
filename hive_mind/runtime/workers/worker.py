"""A worker: the nodes and agents that one configuration describes, running in this process.

It is there at once and gets on by itself: what it needs is opened in the background, and what is missing (a broker, a lock that
somebody else has) is waited for and shown in its status. Only a configuration that can't be is refused.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import psutil

from hive_mind.api.request import OnEvent
from hive_mind.clocks import wall_clock_ms
from hive_mind.counted import counted
from hive_mind.credentials.redaction import Redaction
from hive_mind.errors import BackendError, BackendTimeout, BackendUnavailable, HiveError, InvalidInput
from hive_mind.hive.topology.spec import is_shared
from hive_mind.runtime.members import plan_of
from hive_mind.runtime.members.host import all_of
from hive_mind.runtime.members.member import Report, RunningMember
from hive_mind.runtime.metrics import NodeFigures
from hive_mind.runtime.secrets import redact_error, redacted_status, redaction_of
from hive_mind.runtime.workers import (
    AgentPhase,
    AgentStatus,
    MembersSeen,
    NodeStatus,
    Phase,
    Transitions,
    WorkerStatus,
    rooms,
)
from hive_mind.runtime.workers.agents import WorkerAgent
from hive_mind.runtime.workers.config import AgentConfig, WorkerConfig
from hive_mind.runtime.workers.worker_host import ORDINARY, Hosting, WorkerHost, with_values

if TYPE_CHECKING:
    from hive_mind.agents.notices import How
    from hive_mind.judge.calibration import JudgeTally
    from hive_mind.judge.items import Item

_log = logging.getLogger(__name__)

# Databases opened, or files learned, side by side: more of them only take turns on the processor, and memory for each.
_AT_ONCE = 8
_LEARN_AT_ONCE = 4
_LOOK_EVERY_S = 0.5
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.5, 10.0


class Worker:
    """Open one with `open_worker`, and close it."""

    def __init__(
        self, config: WorkerConfig, given_config: WorkerConfig, report: Report, digest: str, hidden: Redaction, hosting: Hosting
    ) -> None:
        self.config, self._given_config, self._report, self._digest, self._hidden = config, given_config, report, digest, hidden
        self.hosting = hosting
        self._phase: Phase = "starting"
        self._since_ms = wall_clock_ms()
        self._transitions = Transitions(wall_clock_ms)
        self._error = ""
        self.failure: BaseException | None = None
        """The error that ended it, for watchers of `over`: a configuration that can't be, or a defect."""
        self.over = asyncio.Event()
        self._host: WorkerHost | None = None
        self._refused: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._process = psutil.Process()

    def start(self) -> None:
        self._begin(self._run())

    async def run_until(self, stop: asyncio.Event) -> None:
        """Return when it is to stop. Raises what ended it before."""
        waiting = [asyncio.ensure_future(stop.wait()), asyncio.ensure_future(self.over.wait())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        if self.failure is not None:
            raise self.failure

    @property
    def _nodes(self) -> Mapping[str, RunningMember]:
        return self._host.nodes if self._host else {}

    @property
    def _agents(self) -> Mapping[str, WorkerAgent]:
        return self._host.agents if self._host else {}

    def status(self) -> WorkerStatus:
        """All of it at this moment, without the values of credentials."""
        nodes = tuple(msgspec.structs.replace(node.status(), **self._dates(node)) for node in self._nodes.values())
        troubles = dict.fromkeys(node.error for node in nodes if node.error)
        with self._process.oneshot():
            memory_bytes, times = self._process.memory_info().rss, self._process.cpu_times()
        home = Path(self.config.home)
        folders = [home, home / "hives" / self.config.hive.id, *(home / "agents" / agent.name for agent in self.config.agents)]
        status = WorkerStatus(
            process=self.config.process,
            pid=os.getpid(),
            config=self._digest,
            hive=self.config.hive.id,
            phase=self._phase,
            since_ms=self._since_ms,
            nodes=nodes or self._nodes_to_come(),
            agents=tuple(self._status_of(agent) for agent in self.config.agents),
            memory_bytes=memory_bytes,
            cpu_s=times.user + times.system,
            error=self._error or "; ".join(troubles),
            rooms=rooms(folders) if self.config.models.store != "memory" else (),
            notices=(*(self._host.notices if self._host else ()), *(node.notice for node in nodes if node.notice)),
        )
        return redacted_status(status, self._hidden)

    def figures(self) -> list[NodeFigures]:
        return [figures for node in self._nodes.values() for figures in node.figures()]

    def tallies(self) -> "dict[str, JudgeTally]":
        """Of the models that judge, by agent: for Prometheus."""
        return {name: tally for name, agent in self._agents.items() if (tally := agent.tally)}

    async def call(self, agent: str, request: str, /, **fields: object) -> Any:
        return await self.put(agent, request, fields)

    async def put(self, agent: str, request: str, fields: Mapping[str, object], on_event: OnEvent | None = None) -> Any:
        """The same with fields from outside; `on_event` gets what is known before the answer."""
        if agent not in {config.name for config in self.config.agents}:
            raise InvalidInput(f"there is no agent {agent!r} in {self.config.process}")
        if self._phase == "draining":
            raise BackendUnavailable(self.config.process, "it is shutting down: ask again later")
        if (running := self._agents.get(agent)) is None:
            raise BackendUnavailable(agent, self._refused.get(agent) or self._error or "it has not started yet; ask again")
        try:
            return await running.answer(request, on_event, **fields)
        except HiveError as error:
            redact_error(error, self._hidden)
            raise

    async def events(self, agent: str, since: int) -> AsyncIterator[bytes]:
        """The events in the runs of an agent behind this position, as server-sent events. Raises `HiveError`."""
        if (running := self._agents.get(agent)) is None or running.runs is None:
            raise InvalidInput(f"there is no agent {agent!r} in {self.config.process}, or it has not started yet")
        from hive_mind.agents.runs.event_streams import events_of

        return events_of((await running.runs.calls()).parts.ledger, since)

    async def reply(self, agent: str, token: str, by: str = "", because: str = "", text: str = "") -> tuple["How", "Item"]:
        """The decision and the item that a link is about; taken, where `by` says who replies. Raises `HiveError`."""
        if (running := self._agents.get(agent)) is None or running.runs is None:
            raise InvalidInput("there is no desk here under this name, or it has not started yet")
        return await running.runs.reply(token, by, because, text)

    async def leave(self, timeout_s: float) -> None:
        self._report(f"{self.config.process}: leaving {self.config.hive.id}")
        await asyncio.gather(*(agent.settle() for agent in self._agents.values()))
        nodes = frozenset(self._nodes)
        are_handed_over = await asyncio.gather(*(node.leave(timeout_s, nodes) for node in self._nodes.values()))
        if not all(are_handed_over):
            raise BackendTimeout("hive", f"{self.config.process} could not hand everything over in {timeout_s:g} s; ask again")

    def members_seen(self) -> tuple[MembersSeen, ...]:
        return tuple(node.members_seen() for node in self._nodes.values())

    async def evict(self, member: str) -> None:
        """Put a member out of the hive for good. Raises `InvalidInput`, or `BackendUnavailable` where no node here can."""
        able = [node for node in self._nodes.values() if node.is_ready and node.name != member]
        if not able:
            raise BackendUnavailable(self.config.process, f"no other node of it is a member now, so it can't put {member} out")
        self._report(f"{self.config.process}: puts {member} out of {self.config.hive.id}")
        await able[0].runner.evict(member)

    def drain(self) -> None:
        """Take no more requests; what is under way is finished by `close`."""
        if self._phase != "draining":
            self._enter_phase("draining")

    async def close(self) -> None:
        """Finish what is under way and let go of everything. Closing twice is fine."""
        self.drain()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._host is not None:
            # Whatever fails is in the log, and this process is to end.
            with suppress(Exception):
                await self._host.close()

    async def _run(self) -> None:
        embedder = await self.hosting.embedder(self._given_config)
        self._host = host = WorkerHost(self._given_config, embedder, self._hidden, self.hosting.agent)
        if is_shared(self.config.hive.topology):
            self._report(f"{self.config.process}: connecting to {self.config.hive.id!r}")
            await self._patiently(lambda: self._open_nodes(host))
        self._error = ""
        entering = [self._begin(node.enter(self._report, self.hosting.gives_up_s)) for node in self._nodes.values()]
        turns = asyncio.Semaphore(_AT_ONCE)
        opening = [self._begin(self._open_agent(host, agent, turns)) for agent in self._given_config.agents]
        await self._until_settled([*entering, *opening])
        if self.over.is_set():
            return
        await all_of((self._settle(name) for name in self._nodes), "an agent")
        self._enter_phase("ready")
        agents = f", {counted(len(self._agents), 'agent')}" if len(self.config.agents) > 1 else ""
        silent = ", ".join(dict.fromkeys(name for node in self._nodes.values() for name in node.silent()))
        unheard = f", though nothing was heard of {silent}" if silent else ""
        self._report(f"{self.config.process}: ready{agents}{unheard}")
        learning = asyncio.Semaphore(_LEARN_AT_ONCE)
        for agent in self._agents.values():
            if agent.config.sources:
                self._begin(agent.learn(learning), agent)
        await self._watch()

    async def _open_nodes(self, host: WorkerHost) -> None:
        config = self._given_config
        if host.bus is None:
            host.bus = await self.hosting.bus(config)
            host.owns(host.bus)
        for node in config.nodes:
            if node.name not in host.nodes:
                await host.open_node(plan_of(config, node))

    async def _patiently(self, work: Callable[[], Awaitable[None]]) -> None:
        """Retry until it works; the status shows what is missing meanwhile."""
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                return await work()
            except BackendError as error:
                if self.hosting.gives_up_s is not None:
                    raise
                if str(error) != self._error:
                    self._report(f"{self.config.process}: {error}")
                self._error = str(error)
                self._enter_phase("starting" if error.retryable else "failed")
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LAST_PAUSE_S)

    async def _open_agent(self, host: WorkerHost, config: AgentConfig, turns: asyncio.Semaphore) -> None:
        gives_up = self.hosting.gives_up_s is not None
        try:
            agent = await host.open_agent(config)
        except HiveError as error:
            if gives_up:
                raise
            self._refused[config.name] = str(error)
            _log.warning("%s can't be run: %s", config.name, error)
            return
        opening = agent.open(host.embedder, turns, gives_up=gives_up)
        await asyncio.wait([self._begin(opening, None if gives_up else agent)])

    async def _until_settled(self, tasks: "list[asyncio.Task[None]]") -> None:
        """Return when all are done but those of agents that are known to have failed, which are tried on and on."""
        while any(not task.done() for task in tasks):
            waiting = [agent for agent in self._agents.values() if agent.phase == "starting"]
            is_in = all(node.has_entered for node in self._nodes.values())
            if is_in and not waiting and len(self._agents) + len(self._refused) == len(self._given_config.agents):
                return
            await asyncio.wait([task for task in tasks if not task.done()], timeout=0.1, return_when=asyncio.FIRST_COMPLETED)

    async def _watch(self) -> None:
        """Put agents to sleep, notice what has failed, and tell the hive what it missed when its bus is back."""
        was_ready = {name: node.is_ready for name, node in self._nodes.items()}
        tidying: asyncio.Task[None] | None = None
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            for name, node in self._nodes.items():
                node.look(self._report)
                is_ready = node.is_ready
                if is_ready and not was_ready[name]:
                    self._begin(self._settle(name))
                was_ready[name] = is_ready
                if node.is_to_erase:
                    self._begin(node.erase())
                self._dates(node)
            failure = next((node.runner.failure for node in self._nodes.values() if node.runner.failure), None)
            if failure and self.hosting.gives_up_s is not None:
                raise BackendUnavailable(self.config.process, f"has stopped: {failure}")
            if failure and self._phase == "ready":
                self._enter_phase("failed")
            for agent in self._agents.values():
                self._transitions.since_ms(agent.name, "phase", agent.phase)
            untidy = [agent for agent in self._agents.values() if agent.is_to_tidy]
            if untidy and (tidying is None or tidying.done()):
                tidying = self._begin(self._tidy(untidy))
            if sleepy := [agent for agent in self._agents.values() if agent.is_to_sleep]:
                await all_of((agent.sleep() for agent in sleepy), "an agent")

    async def _tidy(self, agents: Iterable[WorkerAgent]) -> None:
        """One agent after the other, so that it disturbs nobody."""
        for agent in agents:
            if agent.is_to_tidy:
                await all_of([agent.tidy()], agent.name)

    async def _settle(self, node: str) -> None:
        await all_of((agent.settle() for agent in self._agents.values() if agent.node == node), "an agent")

    def _begin(self, work: Coroutine[Any, Any, None], agent: WorkerAgent | None = None) -> "asyncio.Task[None]":
        """Let it run. Failures of an agent stay with that agent."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(lambda task: self._ended(task, agent))
        return task

    def _ended(self, task: "asyncio.Task[None]", agent: WorkerAgent | None) -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if agent is not None:
            agent.fail(error)
            return
        self.failure, self._error = error, str(error)
        if not isinstance(error, HiveError):
            _log.error("%s has failed: %s", self.config.process, error, exc_info=error)
        if self._phase != "draining":
            self._enter_phase("failed")
        self.over.set()

    def _enter_phase(self, phase: Phase) -> None:
        if phase != self._phase:
            self._phase, self._since_ms = phase, wall_clock_ms()

    def _dates(self, node: RunningMember) -> dict[str, int]:
        """Asked for often: what has changed is dated by the first look that sees it."""
        since_ms = partial(self._transitions.since_ms, node.name)
        return {
            "ready_since_ms": since_ms("ready", node.is_ready),
            "connected_since_ms": since_ms("connected", node.is_connected),
            "heard_since_ms": since_ms("heard", not (node.silent() or node.late())),
            "even_since_ms": since_ms("even", node.is_even),
        }

    def _nodes_to_come(self) -> tuple[NodeStatus, ...]:
        if not is_shared(self.config.hive.topology):
            return ()
        is_open, error = self._host is not None and self._host.bus is not None, self._error
        return tuple(NodeStatus(node.name, node.group, is_connected=is_open, error=error) for node in self.config.nodes)

    def _status_of(self, config: AgentConfig) -> AgentStatus:
        if (agent := self._agents.get(config.name)) is not None:
            since_ms = self._transitions.since_ms(agent.name, "phase", agent.phase)
            return msgspec.structs.replace(agent.status(), since_ms=since_ms)
        why = self._refused.get(config.name, "")
        phase: AgentPhase = "failed" if why or self._phase == "failed" else "starting"
        return AgentStatus(config.name, "", config.domain, config.group, phase, error=why)


async def open_worker(config: WorkerConfig, report: Report, digest: str = "", hosting: Hosting = ORDINARY) -> Worker:
    """A worker that has begun. `digest`: of its configuration's file. Raises `ConfigError` for what can't be."""
    worker_config, hidden = with_values(config), redaction_of(config)
    worker = Worker(config, worker_config, report, digest or sha256(config.packed()).hexdigest(), hidden, hosting)
    worker.start()
    return worker
