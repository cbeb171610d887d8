"""How a process leaves a hive: which must, and how one is configured that runs only to hand over its facts. Only decides.

Carrying out a plan, in an order such that no fact has nowhere to be and no agent runs twice.

A process that gives away an agent stops first; then new ones start; then dead ones, all at once; then changed ones are
restarted, a few at a time; and only when those that stay are of use, those that go hand over and stop. Each step is written down
before it is done: an interruption at any step leaves a fleet from which the next plan leads on, and nothing that was done is
undone.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from hive_mind.control.planning import Action
from hive_mind.control.planning.desired import Desired
from hive_mind.control.platforms import CALL_TIMEOUT_S, Platform, Running
from hive_mind.control.remembering import Remembered, issue_for
from hive_mind.control.surroundings import Patience, Report, Surroundings, is_of_use, is_settled, is_silent, side_by_side, until
from hive_mind.errors import BackendTimeout, HiveError, sentence_of
from hive_mind.hive.topology.spec import is_shared
from hive_mind.runtime.workers.config import STOP_TIMEOUT_S, WorkerConfig


def has_to_leave(config: WorkerConfig, desired: Desired) -> bool:
    """Whether its nodes are members of the hive that stays: of no other can facts be handed over, and a single has none."""
    return is_shared(config.hive.topology) and config.hive.id == desired.hive.id


def as_leaver(config: WorkerConfig, desired: Desired) -> WorkerConfig:
    """The process with what the others have now, so that they hear each other, and without agents that run elsewhere."""
    like = next(iter(desired.processes.values()))
    hosts = desired.allocation.hosts
    staying = tuple(
        msgspec.structs.replace(agent, sources=())
        for agent in config.agents
        if hosts.get(agent.name, config.process) == config.process
    )
    names = {agent.name for agent in staying}
    nodes = tuple(
        msgspec.structs.replace(node, agents=tuple(name for name in node.agents if name in names)) for node in config.nodes
    )
    return msgspec.structs.replace(
        config,
        agents=staying,
        nodes=nodes,
        hive=like.hive,
        bus=like.bus,
        models=like.models,
        tuning=like.tuning,
        membership=like.membership,
    )


def gives_away(process: Running | None, desired: Desired) -> bool:
    if process is None or not process.is_alive or process.config is None:
        return False
    hosts = desired.allocation.hosts
    return any(hosts.get(agent.name, process.process) != process.process for agent in process.config.agents)


def hear_each_other(process: Running | None, config: WorkerConfig) -> bool:
    """Whether the process as it runs meets one of this configuration: the same hive over the same bus, at the same pace.

    Encrypted or not, they don't hear each other.
    """
    if process is None or process.config is None:
        return False
    worker_config = process.config
    if worker_config.identity.encryption != config.identity.encryption:
        return False
    return (worker_config.hive, worker_config.bus, worker_config.membership) == (config.hive, config.bus, config.membership)


def is_ready_to_leave(now: Running, leaver: WorkerConfig) -> bool:
    mine = {agent.name for agent in now.config.agents} if now.config else set()
    return hear_each_other(now, leaver) and mine == {agent.name for agent in leaver.agents}


def has_left(process: Running | None) -> bool:
    status = process.status if process else None
    return status is not None and all(node.members and node.name not in node.members for node in status.nodes)


# Starting a process is work for the processor: more at once are not faster on a small machine.
_AT_ONCE_MAX = 8
# The number of parts a fleet is restarted in, where its processes can do without each other.
_PARTS = 5


@dataclass(slots=True)
class Applying:
    """Carries out plans over a platform. `problems` is what went wrong, in words; what is not there went well."""

    platform: Platform
    remembered: Remembered
    report: Report
    around: Surroundings
    stop_timeout_s: float = STOP_TIMEOUT_S
    allow_data_loss: bool = False
    problems: list[str] = field(default_factory=list)
    issuing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One after the other: the first makes the root, and two that make one leave certificates of both."""
    is_halted: bool = False
    """Whether a process that was of use no longer was after a restart; no other such one is restarted then."""

    async def carry_out(
        self, actions: Iterable[Action], desired: Desired, running: Mapping[str, Running], patience: Patience
    ) -> None:
        """Everything but moving data. Failures are reported in `problems`, and the rest goes on."""
        self.problems.clear()
        self.remembered.intend(desired)
        actions = list(actions)
        processes = [running[name] for name in _subjects(actions, "delete") if name in running]
        changed = [name for name in _subjects(actions, "restart", "replace", "update") if name in desired.processes]
        givers = [name for name in changed if gives_away(running.get(name), desired)]
        for name in _subjects(actions, "restart"):
            self.remembered.note_restart(name, self.around.now_ms(), self.around.rng)
        await self._side_by_side(self._stopped(name) for name in givers)
        await self._side_by_side(self._emptied(process, desired) for process in processes if gives_away(process, desired))
        new = [name for name in _subjects(actions, "create") if name in desired.processes]
        await self._side_by_side(self._started(desired.processes[name]) for name in (*new, *givers))
        await self._updated([name for name in changed if name not in givers], desired, running, patience)
        await self._side_by_side(
            self._learned(action, desired, running, patience) for action in actions if action.kind == "learn"
        )
        if processes:
            await self._settled([*desired.processes], patience)
            await self._side_by_side(self._ended(process, desired, patience) for process in processes)

    async def stop_all(self, running: Mapping[str, Running]) -> None:
        self.problems.clear()
        await self._side_by_side((self._stopped(name) for name in running), at_once_max=len(running) or 1)

    async def restart(self, names: Iterable[str], desired: Desired, running: Mapping[str, Running], patience: Patience) -> None:
        self.problems.clear()
        await self._updated(list(names), desired, running, patience)

    async def drain(self, process: Running, desired: Desired, patience: Patience) -> None:
        """One process hands over what it holds and ends, and is not forgotten."""
        self.problems.clear()
        await self._noting_problems(process.process, self._gone(process, desired, patience))

    async def _updated(self, names: list[str], desired: Desired, running: Mapping[str, Running], patience: Patience) -> None:
        together = [name for name in names if not hear_each_other(running.get(name), desired.processes[name])]
        await self._side_by_side(self._stopped(name) for name in together)
        await self._side_by_side(self._started(desired.processes[name]) for name in together)
        # A dead process has nobody to spare, and comes back sooner with those that it would wait for.
        fallen = [name for name in names if name not in together and not ((process := running.get(name)) and process.is_alive)]
        await self._side_by_side(self._restarted(name, desired) for name in fallen)
        rolling = [name for name in names if name not in (*together, *fallen)]
        if rolling:
            await self._settled(fallen, patience)
        # A process that is of no use already goes first: it can only get better.
        useful = {name for name in rolling if is_of_use(running.get(name))}
        rolling = [
            *(name for name in rolling if name not in useful),
            *(name for name in rolling if name in useful and not self.is_halted),
        ]
        size = max(1, len(rolling) // _PARTS)
        for at in range(0, len(rolling), size):
            part = rolling[at : at + size]
            await self._side_by_side(self._restarted(name, desired) for name in part)
            settled = await self._settled(part, patience)
            if not all(is_of_use(settled.get(name)) for name in part if name in useful):
                # The others still work as they were; to restart them too would only spread the trouble.
                self.is_halted = True
                return

    async def _settled(self, names: list[str], patience: Patience) -> Mapping[str, Running]:
        return await until(self.platform, lambda processes: all(is_settled(processes.get(name)) for name in names), patience)

    async def _restarted(self, name: str, desired: Desired) -> None:
        await self._stopped(name)
        await self._started(desired.processes[name])

    async def _started(self, config: WorkerConfig) -> None:
        self.report(f"start {config.process}")
        async with self.issuing:
            await asyncio.to_thread(issue_for, config)
        await self.platform.start(config)

    async def _stopped(self, name: str) -> None:
        self.report(f"stop {name}")
        await self.platform.stop(name, self.stop_timeout_s)

    async def _learned(self, action: Action, desired: Desired, running: Mapping[str, Running], patience: Patience) -> None:
        agent, process = action.subject, desired.allocation.hosts[action.subject]
        paths = unlearned(desired.processes[process], running.get(process), agent)
        self.report(f"{agent} learns {action.why}")
        reply = await self.platform.call(process, agent, "learn_files", timeout_s=patience.left_s, paths=paths)
        for file in reply.get("skipped", ()):
            self.problems.append(f"agent {agent} can't learn {file['file']}: {file['reason']}")

    async def _emptied(self, process: Running, desired: Desired) -> None:
        """Its agents go elsewhere; its nodes stay until they have handed over."""
        await self._stopped(process.process)
        if process.config is not None and has_to_leave(process.config, desired):
            await self._started(as_leaver(process.config, desired))

    async def _ended(self, process: Running, desired: Desired, patience: Patience) -> None:
        await self._gone(process, desired, patience)
        self.remembered.forget(process.process)

    async def _gone(self, process: Running, desired: Desired, patience: Patience) -> None:
        if process.config is not None and has_to_leave(process.config, desired):
            try:
                await self._left(process.config, desired, patience)
            except HiveError as error:
                if not self.allow_data_loss:
                    raise
                self.report(f"{process.process} could not hand over: {error}")
                # The others still count on it: the next plan finds them a hive without it.
                self.remembered.note_lost(node.name for node in process.config.nodes)
        await self._stopped(process.process)

    async def _left(self, config: WorkerConfig, desired: Desired, patience: Patience) -> None:
        leaver, name = as_leaver(config, desired), config.process
        nodes = {node.name for node in config.nodes}
        was_leaving = nodes <= set(self.remembered.state.left)
        # It may have ended, or never have begun: what it holds is handed over all the same.
        now = (await self.platform.observe()).get(name)
        if was_leaving and has_left(now):
            return
        if is_silent(now):
            # One that was stopped goes on, and hands over sooner than another one in its place would.
            await self.platform.start(leaver)
            # Longer than a look has: a busy process must not be taken for one that hangs.
            now = (await self.platform.observe(patience_s=CALL_TIMEOUT_S)).get(name)
        if now is None or not now.is_alive or not is_ready_to_leave(now, leaver) or is_silent(now):
            await self._stopped(name)
            await self._started(leaver)

        def is_up(processes: Mapping[str, Running]) -> bool:
            return is_settled(processes.get(name)) or (was_leaving and has_left(processes.get(name)))

        settled = (await until(self.platform, is_up, patience)).get(name)
        if was_leaving and has_left(settled):
            return
        if not is_of_use(settled):
            reason = f"{name} is not ready to hand over what it holds; hive-mind logs {name} says why"
            raise BackendTimeout("hive", f"{reason}, and --allow-data-loss goes on without it")
        self.remembered.note_leavers(nodes)
        self.report(f"{name} hands over and leaves")
        await self.platform.leave(name, patience.left_s)

    async def _side_by_side(self, doing: Iterable[Awaitable[None]], at_once_max: int = _AT_ONCE_MAX) -> None:
        await side_by_side((self._noting_problems("", call) for call in doing), at_once_max)

    async def _noting_problems(self, name: str, call: Awaitable[None]) -> None:
        try:
            await call
        except (HiveError, OSError) as error:
            self.problems.append(f"{name}: {sentence_of(error)}" if name else sentence_of(error))


def unlearned(config: WorkerConfig, process: Running | None, agent: str) -> list[str]:
    """Sources that an agent does not know as they are now."""
    status = process.status if process else None
    known = next((agent_status.learned for agent_status in status.agents if agent_status.name == agent), {}) if status else {}
    sources = [source for agent_config in config.agents if agent_config.name == agent for source in agent_config.sources]
    return [source.path for source in sources if known.get(source.path) != source.digest]


def _subjects(actions: Iterable[Action], *kinds: str) -> list[str]:
    return [action.subject for kind in kinds for action in actions if action.kind == kind]
