"""The memory of a fleet, kept up to date: each change is on disk before the action that it stands for.

Besides the state that is the configuration of every process with nodes in the hive. A process that was stopped half-way through a
change, or never begun, is a member all the same: with its configuration it can be started to hand over what it holds.

A fleet in a cloud remembers itself by what was rendered before: its hive as founded, and the place of each agent.
A hive is founded once. Rendering again into the same folder must give its members the same founding data, and tell
newcomers that they join; so the folder belongs into version control, like the manifest. Certificates are issued where processes
are started; the root is made with the first of them.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from hive_mind.control.planning.allocation import founders_of
from hive_mind.control.planning.desired import Desired
from hive_mind.control.platforms import Running
from hive_mind.control.platforms.in_containers import NO_KEYS, Keys
from hive_mind.control.state import FleetFolder, FleetState, Restarts, checked_name
from hive_mind.errors import ConfigError, InvalidInput
from hive_mind.hive.policy import UNSEALED, Seal
from hive_mind.hive.topology.spec import SINGLE, is_shared
from hive_mind.identity import KeySeal
from hive_mind.regex import regex
from hive_mind.retry import RetrySettings, delay_s
from hive_mind.runtime.keys import KeyFolder
from hive_mind.runtime.workers.config import WorkerConfig, read_config
from hive_mind.safe_files import write_whole

# A process that ran so long before it crashed did not crash because it was started.
_QUIET_MS = 10 * 60 * 1000
BACK_OFF = RetrySettings(delay_first_s=2.0, delay_max_s=300.0)

_GENERATION = regex(r"\.g([0-9]+)$")


class Remembered:
    """The state of one fleet. Only who holds its lock changes it."""

    def __init__(self, folder: FleetFolder) -> None:
        self.folder = folder
        self.state: FleetState = folder.state()

    def keep(self, **changes: Any) -> None:
        """Change it, here and on disk; where nothing changes, nothing is written."""
        state = msgspec.structs.replace(self.state, **changes)
        if state != self.state:
            self.folder.keep(state)
            self.state = state

    def intend(self, desired: Desired, *, is_new_generation: bool = False) -> None:
        """Remember a state that is about to be made. In a new generation nobody has to leave the former one."""
        state, hive = self.state, desired.hive
        has_hive = is_shared(hive.topology)
        nodes = tuple(desired.allocation.nodes) if has_hive else ()
        is_same = state.last_hive is not None and state.last_hive.id == hive.id
        self.keep(
            generation=desired.generation,
            hive=hive,
            last_hive=hive if has_hive else state.last_hive,
            nodes=_with(state.nodes, nodes) if is_same or not has_hive else nodes,
            allocation=desired.allocation.processes if is_new_generation else desired.allocation.beside(state.allocation),
            left=() if is_new_generation else state.left,
            agents=_with(state.agents, desired.allocation.attached),
            hives=_with(state.hives, [hive.id]),
            is_stopped=False,
            is_refounding=state.is_refounding and not is_new_generation,
        )
        for path in self.folder.members.glob("*.json") if is_new_generation else ():
            path.unlink()
        for config in desired.processes.values():
            self.note_member(config)

    def finish(self, desired: Desired) -> None:
        self.keep(allocation=desired.allocation.processes)

    def note_member(self, config: WorkerConfig) -> None:
        path, body = self._member(config.process), config.packed()
        if not path.exists() or path.read_bytes() != body:
            write_whole(path, body)

    def note_leavers(self, nodes: Iterable[str]) -> None:
        """They are about to leave: should they come back, they have to join."""
        self.keep(left=_with(self.state.left, nodes))

    def note_lost(self, nodes: Iterable[str]) -> None:
        """They are members that nobody runs any more, whether they left once before or not."""
        self.keep(left=tuple(set(self.state.left) - {*nodes}))

    def forget(self, process: str) -> None:
        self._member(process).unlink(missing_ok=True)
        allocation = {name: nodes for name, nodes in self.state.allocation.items() if name != process}
        restarts = {name: counts for name, counts in self.state.restarts.items() if name != process}
        drained = tuple(name for name in self.state.drained if name != process)
        self.keep(allocation=allocation, restarts=restarts, drained=drained)

    def with_members(self, running: Mapping[str, Running], desired: Iterable[str]) -> dict[str, Running]:
        """The running processes, and members that do not run and are not wanted: they are still to leave."""
        names, processes = set(desired), dict(running)
        for path in sorted(self.folder.members.glob("*.json")):
            process = processes.get(path.stem)
            if path.stem not in names and (process is None or process.config is None):
                config = _config_of(path)
                if config is not None:
                    processes[path.stem] = (
                        Running(path.stem, config=config) if process is None else replace(process, config=config)
                    )
        return processes

    def note_restart(self, process: str, now_ms: int, rng: random.Random) -> None:
        before = self.state.restarts.get(process, Restarts())
        in_a_row = before.in_a_row + 1 if now_ms - before.last_ms < _QUIET_MS else 1
        wait_ms = int(1000 * delay_s(in_a_row, BACK_OFF, rng=rng))
        after = Restarts(before.count + 1, now_ms, now_ms + wait_ms, in_a_row)
        self.keep(restarts={**self.state.restarts, process: after})

    def _member(self, process: str) -> Path:
        return self.folder.members / f"{checked_name(process, 'process')}.json"


def _with(names: tuple[str, ...], added_names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*names, *added_names]))


def _config_of(path: Path) -> WorkerConfig | None:
    try:
        return read_config(path)
    except InvalidInput:
        return None


def remembered(configs: Mapping[str, WorkerConfig]) -> FleetState:
    """From the configurations of last time; without any, a fleet that was never there."""
    if not configs:
        return FleetState()
    hive = next(iter(configs.values())).hive
    nodes = tuple(sorted(node.name for config in configs.values() for node in config.nodes))
    match = _GENERATION.search(hive.id)
    return FleetState(
        generation=int(match[1]) if match else 1,
        hive=hive,
        last_hive=None if hive.topology == SINGLE else hive,
        nodes=nodes,
        allocation={name: {node.name: node.agents for node in config.nodes} for name, config in configs.items()},
        # A founder that was taken away is a newcomer when it comes back.
        left=tuple(sorted(set(founders_of(hive)) - set(nodes))),
    )


# Renewed while there is time to notice that it can't be.
_DAYS_LEFT = 30


def issue_for(config: WorkerConfig, keys: KeyFolder | None = None) -> None:
    """Issue the keys with which it proves its identity, where it has to; into `keys` where its own folder is in a container.

    Raises `ConfigError` where the root's key is not here.
    """
    if config.identity.mode == "off":
        return
    keys = keys or KeyFolder(Path(config.identity.folder), config.fleet)
    if not keys.is_founded:
        keys.found()
    also = sorted({node.name for node in config.nodes} | {agent.name for agent in config.agents})
    if not keys.is_issued(config.process, also, days_left=_DAYS_LEFT):
        keys.issue(config.process, also)
    if config.identity.encryption:
        if not getattr(keys.certificate(config.process), "box", b""):
            # Of an earlier version.
            keys.issue(config.process, also)
        keys.advance()
        keys.admit(config.process)


def issued_for(configs: Mapping[str, WorkerConfig], keys: KeyFolder, *, is_given: bool) -> Keys:
    """The keys with which processes in containers prove their identity; `is_given`: a person issues, and brings each its key.

    Raises `ConfigError` where the root's key, or all of it, is not here.
    """
    proving = {name: config for name, config in configs.items() if config.identity.mode != "off"}
    if not proving:
        return NO_KEYS
    for config in proving.values():
        if not is_given:
            issue_for(config, keys)
        elif config.identity.encryption:
            keys.advance()
            keys.admit(config.process)
    ids = {name: keys.key_of(name)[0] for name in proving} if not is_given else {}
    return Keys(keys.published(), ids)


def shut_out(member: str, keys: KeyFolder, report: Callable[[str], None]) -> None:
    """Encrypt for all but the process of a member that was put out, where anything is encrypted."""
    try:
        keys.advance(member)
    except ConfigError as error:
        report(f"{member} still reads what is sent: {error}; then hive-mind keys revoke {member}")


def renew(processes: Iterable[WorkerConfig], report: Callable[[str], None]) -> None:
    """Issue again what ends soon, for processes that run on as they are: they look into the folder by themselves."""
    for config in processes:
        keys = KeyFolder(Path(config.identity.folder), config.fleet)
        try:
            if config.identity.mode != "off" and keys.certificate(config.process) is not None:
                issue_for(config)
        except ConfigError as error:
            report(f"{config.process} can't be issued another certificate: {error}")


def movers_seal(config: WorkerConfig) -> Seal:
    """The seal of the mover of facts to the hive of this process, under the names of all their authors."""
    if not config.hive.is_sealed:
        return UNSEALED
    keys = KeyFolder(Path(config.identity.folder), config.fleet)
    if not keys.is_founded:
        keys.found()
    return KeySeal(keys.mover(), config.hive.id, is_required=True)
