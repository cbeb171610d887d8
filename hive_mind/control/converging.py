"""Observe, plan, act, and again, until nothing is left to do or it can be said what does not get there.

Each round begins with what is seen, never with what was meant to have happened; that is why it can be interrupted anywhere. An
action that failed some times is left alone for the rest of the run: a fleet with one agent that can't start ends with that
sentence, not with a timeout.

Moving a fleet to the next generation of its hive: everybody stops, the journals are made anew, everybody starts.

The state names the new generation only when its journals are in place and were read again; an interrupted move begins again from
the former ones, which are deleted after that.

Keeping a fleet as in its manifest: the same for ever. A crashed process is started again, at once the first time and ever later
when it crashes again and again; the counts are in the state, so a controller that is itself started again goes on counting. A
manifest that can't be read, a process that can't be reached, a platform in trouble: each is reported and tried again, and none
ends it. Steps that would lose facts are left to a person."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from hive_mind.control.applying import Applying
from hive_mind.control.manifests.expansion import expanded
from hive_mind.control.manifests.reading import Source
from hive_mind.control.manifests.sources import SourceReader
from hive_mind.control.planning import Action, Plan, plan
from hive_mind.control.planning.desired import Desired, desired
from hive_mind.control.platforms import Platform, Running
from hive_mind.control.remembering import BACK_OFF, Remembered, movers_seal, renew
from hive_mind.control.state import FleetState, discard_former
from hive_mind.control.status import FleetStatus
from hive_mind.control.status.conditions import fleet_status, shortcomings
from hive_mind.control.surroundings import MoveFacts, Patience, Report, Surroundings, behind, is_done, is_silent, until
from hive_mind.counted import counted
from hive_mind.errors import ConfigError, HiveError, sentence_of
from hive_mind.hive.topology.spec import is_shared
from hive_mind.runtime.settings import Settings, database_path
from hive_mind.runtime.workers import HANGS_AFTER_S
from hive_mind.sqlite import log_path

# Processes of a healthy fleet need less until they are ready.
_SOON_S = 15.0
# One that is busy misses a look or two.
_BUSY_S = 3.0
# The first try, and two more for what only was too early.
_TRIES_MAX = 3


class ConvergenceResult(msgspec.Struct, frozen=True):
    """The steps that were taken, and those that did not succeed."""

    actions: tuple[Action, ...] = ()
    problems: tuple[str, ...] = ()
    revision: int = 0

    @property
    def is_converged(self) -> bool:
        return not self.problems


class DataLoss(ConfigError):
    """A plan that would lose facts, refused. `actions` are those that would."""

    def __init__(self, actions: Sequence[Action]) -> None:
        self.actions = tuple(actions)
        losses = "; ".join(f"{action.kind} {action.subject}: {action.memory or action.why}" for action in actions)
        remedy = "allow it with --allow-data-loss, or change the manifest"
        super().__init__(f"this would lose facts, and nothing was changed: {losses}; {remedy}")


@dataclass(frozen=True, slots=True)
class Look:
    """The desired state, the observed one, and the difference."""

    wanted: Desired
    running: Mapping[str, Running]
    plan: Plan


@dataclass(slots=True)
class Converging:
    """One fleet on its way to one manifest."""

    source: Source
    platform: Platform
    remembered: Remembered
    around: Surroundings
    report: Report
    sources: SourceReader
    allow_data_loss: bool = False
    _done: list[Action] = field(default_factory=list)
    _tries: Counter[tuple[str, str]] = field(default_factory=Counter)

    async def look(self, *, is_before_apply: bool = False) -> Look:
        """Observe and plan; nothing is changed. `is_before_apply`: what was drained comes back, as it does with each apply."""
        state, folder = self.remembered.state, self.remembered.folder
        if is_before_apply:
            state = msgspec.structs.replace(state, drained=())
        manifest = self.source.manifest
        running = await self.platform.observe()
        patterns = {agent.name: agent.sources for agent in expanded(manifest)}
        files = self.sources.read(patterns, self.source.folder)
        members = self.remembered.with_members(running, ())
        target = desired(manifest, self.source.folder, folder.home, state, files, running=members)
        present = self.remembered.with_members(running, target.processes)
        found_plan = plan(target, present, state)
        if is_before_apply and not found_plan:
            found_plan = msgspec.structs.replace(found_plan, troubles=self._troubles(target, present))
        return Look(target, present, found_plan)

    def _troubles(self, target: Desired, present: Mapping[str, Running]) -> tuple[str, ...]:
        """Why all is not well though there is no step to take."""
        folder = self.remembered.folder
        if target.needs_redis and not self.around.has_bus(folder.path):
            return ("the fleet's own Redis server does not run: hive-mind apply starts it",)
        status = fleet_status(folder.fleet, self.remembered.state, present)
        return tuple(shortcomings(target, present, Plan())) or (tuple(status.broken) if status.phase == "Degraded" else ())

    def refuse_loss(self, found_plan: Plan) -> None:
        """Raises `DataLoss`."""
        losing = [action for action in found_plan.actions if action.loses]
        if losing and not self.allow_data_loss:
            raise DataLoss(losing)

    async def refuse_unreachable(self, look: Look) -> None:
        """Raises `BackendError` where the bus can't be reached: each process would end with that, again and again."""
        if look.wanted.needs_redis:
            return
        for bus in {config.bus for config in look.wanted.processes.values()}:
            await self.around.reach_bus(bus, self.remembered.folder.home)

    async def run(self, patience: Patience) -> ConvergenceResult:
        """Until nothing is left to do, nothing helps, or the time is over. Raises `DataLoss` before anything is changed."""
        look = await self.look()
        self.refuse_loss(look.plan)
        await discard(self.remembered, self.report)
        await asyncio.to_thread(renew, look.wanted.processes.values(), self.report)
        applying = self._applying(look.wanted)
        while not patience.is_over:
            look = await self.with_bus(look)
            left = self._left(look)
            is_quiet = _is_quiet(look.wanted, look.running)
            if not left and is_quiet:
                break
            if left:
                await self._act(look, left, applying, patience)
            await self._settled(look.wanted, patience)
            look = await self.look()
            if any(action.loses for action in look.plan.actions) and not self.allow_data_loss:
                break
        return self._outcome(look, applying)

    async def with_bus(self, look: Look) -> Look:
        """The same with the private server running, if one is needed; it may have a port only now."""
        if not look.wanted.needs_redis:
            return look
        port = await self.around.ensure_bus(self.remembered.folder.path)
        if port == self.remembered.state.redis_port:
            return look
        self.remembered.keep(redis_port=port)
        return await self.look()

    async def step(self, look: Look, actions: Sequence[Action], patience: Patience) -> list[str]:
        """Some of a plan, without waiting for more than they need. Returns the failures."""
        applying = self._applying(look.wanted)
        await self._act(look, actions, applying, patience)
        return applying.problems

    async def restart(self, names: Sequence[str] | None, patience: Patience) -> ConvergenceResult:
        look = await self.with_bus(await self.look())
        await self.refuse_unreachable(look)
        applying = self._applying(look.wanted)
        known = [name for name in names or look.wanted.processes if name in look.wanted.processes]
        await applying.restart(known, look.wanted, look.running, patience)
        outcome = await self.run(patience)
        return msgspec.structs.replace(
            outcome, actions=(*(Action("restart", name, "asked for") for name in known), *outcome.actions)
        )

    async def drain(self, name: str, patience: Patience) -> ConvergenceResult:
        """Let one process hand over and end; it is not started again."""
        look = await self.look()
        process, state = look.running.get(name), self.remembered.state
        self.remembered.keep(drained=tuple(dict.fromkeys([*state.drained, name])))
        if process is None or (not process.is_alive and name in state.drained):
            return ConvergenceResult(revision=state.revision)
        applying = self._applying(look.wanted)
        await applying.drain(process, look.wanted, patience)
        return ConvergenceResult((Action("delete", name, "drained"),), tuple(applying.problems), state.revision)

    def _left(self, look: Look) -> list[Action]:
        left = [action for action in look.plan.actions if self._tries[_key(action)] < _TRIES_MAX]
        if look.wanted.move:
            return [action for action in left if action.kind == "move"]
        return left

    async def _act(self, look: Look, actions: Sequence[Action], applying: Applying, patience: Patience) -> None:
        self._tries.update(_key(action) for action in actions)
        self._done += [action for action in actions if self._tries[_key(action)] == 1]
        if look.wanted.move:
            try:
                await relocate(look.wanted, look.running, applying, self.around.move, allow_loss=self.allow_data_loss)
            except HiveError as error:
                applying.problems.append(f"facts were not moved and the fleet rests (undo brings it back): {error}")
            return
        await applying.carry_out(actions, look.wanted, look.running, patience)

    async def _settled(self, desired: Desired, patience: Patience) -> None:
        """Wait; for whom and why is said where that takes long: nobody but a person may be able to end it."""
        is_quiet = partial(_is_quiet, desired)

        def is_known(processes: Mapping[str, Running]) -> bool:
            return is_quiet(processes) or any(is_silent(processes.get(name)) for name in desired.processes)

        soon = patience.at_most(_SOON_S)
        await until(self.platform, is_known, soon)
        processes = await until(self.platform, is_quiet, soon.at_most(_BUSY_S))
        if is_quiet(processes) or patience.is_over:
            return
        for trouble in shortcomings(desired, processes, Plan()):
            self.report(f"waiting for at most {patience.left_s:.0f} s: {trouble}")
        await until(self.platform, is_quiet, patience)

    def _applying(self, desired: Desired) -> Applying:
        return Applying(self.platform, self.remembered, self.report, self.around, desired.stop_timeout_s, self.allow_data_loss)

    def _outcome(self, look: Look, applying: Applying) -> ConvergenceResult:
        problems = [*shortcomings(look.wanted, look.running, look.plan)]
        if problems:
            problems += [problem for problem in applying.problems if problem not in problems]
        else:
            self.remembered.finish(look.wanted)
        return ConvergenceResult(tuple(self._done), tuple(problems), self.remembered.state.revision)


def _is_quiet(desired: Desired, running: Mapping[str, Running]) -> bool:
    return all(is_done(running.get(name)) for name in desired.processes) and not behind(running, desired.processes)


def _all_connected(running: Mapping[str, Running]) -> bool:
    """Whether every process says that it has its bus: to ask that too took a third of a look."""
    statuses = [process.status for process in running.values()]
    return bool(statuses) and all(status is not None and all(node.is_connected for node in status.nodes) for status in statuses)


def _key(action: Action) -> tuple[str, str]:
    return action.kind, action.subject


async def relocate(
    desired: Desired, running: Mapping[str, Running], applying: Applying, move: MoveFacts, *, allow_loss: bool
) -> None:
    """Raises `HiveError` where facts can't be moved; the fleet rests then, and nothing is lost."""
    from hive_mind.runtime.members.generations import Move

    remembered, report = applying.remembered, applying.report
    await applying.stop_all(running)
    if applying.problems:
        return
    old = remembered.state.last_hive
    if old is not None and is_shared(desired.hive.topology):
        report(f"move facts from {old.id} ({old.topology}) to {desired.hive.id} ({desired.hive.topology})")
        like = next(iter(desired.processes.values()))
        asked_move = Move(
            remembered.folder.home,
            old,
            remembered.state.nodes,
            desired.hive,
            desired.attached,
            like.tuning,
            replace=True,
            allow_loss=allow_loss,
            seal=await asyncio.to_thread(movers_seal, like),
        )
        moved = await move(asked_move)
        report(f"{counted(moved.facts, 'fact')} moved")
    remembered.intend(desired, is_new_generation=True)
    await discard(remembered, report)


async def discard(remembered: Remembered, report: Report) -> None:
    """Delete the journals of generations that were left. What can't be deleted now is, the next time."""
    try:
        for name in await asyncio.to_thread(discard_former, remembered.folder):
            report(f"journals of {name} deleted: their facts have moved on")
    except OSError as error:
        report(f"journals of a former generation can't be deleted ({sentence_of(error)}): make it possible, and apply again")


PERIOD_S = 2.0
# One round may wait for processes that hand over; nobody else can change the fleet meanwhile.
_ROUND_S = 60.0
_WAIT_MAX_S = 300.0


@dataclass(slots=True)
class Watching:
    """The notes of a watching controller between two rounds, and nowhere else."""

    report: Report
    _silent_since_s: dict[str, float] = field(default_factory=dict)
    _reported: str = ""
    _waits: dict[tuple[str, str], "_Wait"] = field(default_factory=dict)

    async def round(self, converging: Converging) -> None:
        look = await converging.look()
        if not _all_connected(look.running):
            look = await converging.with_bus(look)
        now_s = converging.around.monotonic()
        silent = {name for name, process in look.running.items() if process.is_alive and process.status is None}
        self._silent_since_s = {name: self._silent_since_s.get(name, now_s) for name in silent}
        hung = sorted(name for name, since_s in self._silent_since_s.items() if now_s - since_s > HANGS_AFTER_S)
        state, now_ms = converging.remembered.state, converging.around.now_ms()
        wanted_actions = [*due(look, state, now_ms), *(Action("restart", name, "it does not answer") for name in hung)]
        actions = self._patient(wanted_actions, converging.around.monotonic())
        problems = [
            f"{action.kind} {action.subject} would lose facts and is left to you" for action in look.plan.actions if action.loses
        ]
        if actions:
            problems += await converging.step(look, actions, converging.around.patience(_ROUND_S))
        elif not look.plan.actions:
            converging.remembered.finish(look.wanted)
        if actions or not wanted_actions:
            self.report_once("; ".join(problems))

    def report_once(self, trouble: str) -> None:
        """Report it, once as long as it stays the same."""
        if trouble and trouble != self._reported:
            self.report(trouble)
        self._reported = trouble

    def _patient(self, actions: Iterable[Action], now_s: float) -> list[Action]:
        """Those that were not tried just before: what does not help is tried ever more seldom."""
        wanted_actions: dict[tuple[str, str], Action] = {(action.kind, action.subject): action for action in actions}
        waits = {key: self._waits[key] for key in wanted_actions if key in self._waits}
        keys = [key for key in wanted_actions if key not in waits or waits[key].until_s <= now_s]
        self._waits = waits | {key: _next(waits.get(key), now_s) for key in keys}
        return [wanted_actions[key] for key in keys]


class _Wait(NamedTuple):
    """Until when an action is left alone that was tried and is still to do."""

    until_s: float
    s: float


def _next(before: _Wait | None, now_s: float) -> _Wait:
    wait_s = min(_WAIT_MAX_S, before.s * 2) if before else PERIOD_S
    return _Wait(now_s + wait_s, wait_s)


def due(look: Look, state: FleetState, now_ms: int) -> Iterable[Action]:
    """The steps of a plan that may be taken now: none that loses facts, and no start before its time."""
    if look.wanted.move:
        return [action for action in look.plan.actions if action.kind == "move" and not action.loses]
    # Further off than any wait: the clock was set back meanwhile.
    early = {name for name, item in state.restarts.items() if now_ms < item.next_ms <= now_ms + 1000 * BACK_OFF.delay_max_s}
    starts = ("create", "restart", "update", "replace")
    return [item for item in look.plan.actions if not item.loses and not (item.kind in starts and item.subject in early)]


async def pause(stop: asyncio.Event, period_s: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), period_s)


_Stamp = tuple[tuple[int, int], ...]


class KeptFacts:
    """Counts the current facts in the records of a home. A record that nobody wrote to since is not counted again."""

    def __init__(self, home: Path) -> None:
        self._settings = Settings(home=home)
        self._counted: dict[str, tuple[_Stamp, int]] = {}

    def filled_in(self, status: FleetStatus) -> FleetStatus:
        """The same with the facts of those agents."""
        views = tuple(
            agent
            if agent.facts or (agent.pid and agent.phase != "silent")
            else msgspec.structs.replace(agent, facts=self.of(agent.name))
            for agent in status.agents
        )
        return msgspec.structs.replace(status, agents=views, facts=sum(agent.facts for agent in views))

    def of(self, agent: str) -> int:
        """The facts in an agent's record; 0 where it lies elsewhere or can't be read."""
        from hive_mind.runtime.wiring import kept_facts

        with suppress(HiveError, OSError):
            path = database_path(self._settings, agent)
            files = [file.stat() for file in (path, log_path(path)) if file.exists()]
            stamp = tuple((file.st_mtime_ns, file.st_size) for file in files)
            if agent not in self._counted or self._counted[agent][0] != stamp:
                self._counted[agent] = stamp, sum(fact.is_current for fact in kept_facts(self._settings, agent))
            return self._counted[agent][1]
        return 0
