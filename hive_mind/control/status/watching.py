"""Keeping a fleet as in its manifest: look, and take the due steps, for ever.

A crashed process is started again, at once the first time and ever later when it crashes again and again; the counts are in the
state, so a controller that is itself started again goes on counting. A manifest that can't be read, a process that can't be
reached, a platform in trouble: each is reported and tried again, and none ends it. Steps that would lose facts are left to a
person.

The number of facts of agents that can't say it: their process is down or hangs, and they have forgotten nothing.
"""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

from hive_mind.control.converging import Converging, Look
from hive_mind.control.planning import Action
from hive_mind.control.platforms import Running
from hive_mind.control.remembering import BACK_OFF
from hive_mind.control.state import FleetState
from hive_mind.control.status import AgentView, FleetStatus
from hive_mind.control.surroundings import Report
from hive_mind.errors import HiveError
from hive_mind.runtime.settings import Settings, database_path
from hive_mind.runtime.workers import HANGS_AFTER_S
from hive_mind.sqlite import log_path

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
        """Look once, and do what is due."""
        look = await converging.with_bus(await converging.look())
        hung = self._hung(look.running, converging.around.monotonic())
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

    def _hung(self, running: Mapping[str, Running], now_s: float) -> list[str]:
        silent = {name for name, process in running.items() if process.is_alive and process.status is None}
        self._silent_since_s = {name: self._silent_since_s.get(name, now_s) for name in silent}
        return sorted(name for name, since_s in self._silent_since_s.items() if now_s - since_s > HANGS_AFTER_S)


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
    """Wait for the next round, or for the end."""
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
            msgspec.structs.replace(agent, facts=self.of(agent.name)) if _is_mute(agent) else agent for agent in status.agents
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


def _is_mute(agent: AgentView) -> bool:
    return not agent.facts and (not agent.pid or agent.phase == "silent")
