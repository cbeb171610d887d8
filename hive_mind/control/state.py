"""The state that a controller keeps of its fleet between two commands, the folder where it does, and what goes with a purge.

Nothing here is needed to find out what runs (platforms observe that), but without it nobody would know which hive the journals
belong to, where an agent was, or how often a process crashed. Names are checked where a path is made.

One command at a time changes a fleet: a lock on its folder that says who holds it. The operating system releases it when its
holder dies, so a file left behind harms nobody.

A purge removes the fleet's agents' databases, its hives' journals and its folder: only what the state names, and no agent that
another fleet of the home has meanwhile. The state goes last, so a purge that was interrupted can be done again.
"""

import asyncio
import errno
import os
import shutil
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from hive_mind import safe_files
from hive_mind.errors import HiveError, InvalidInput, ManifestError, Problem, reason_of
from hive_mind.model.decoding import json_decoder
from hive_mind.regex import regex
from hive_mind.runtime.workers.config import HiveConfig, WorkerConfig, read_config
from hive_mind.safe_files import (
    REPLACED,
    UNFINISHED,
    holder_in,
    is_locked,
    note_holder,
    sync_folder,
    try_lock,
    unlock,
    write_whole,
)

REVISIONS_MAX = 10

_LOOK_S = 0.1


class Restarts(msgspec.Struct, frozen=True):
    """How often a process was started again after a crash. `next_ms`: not before this wall time, in milliseconds."""

    count: int = 0
    last_ms: int = 0
    next_ms: int = 0
    in_a_row: int = 0
    """Crashes without a quiet time between them; the wait grows with these."""


class FleetState(msgspec.Struct, frozen=True):
    """The state of a fleet. `agents` and `hives` are all names that this fleet ever used: `purge` removes no others."""

    generation: int = 1
    hive: HiveConfig | None = None
    """The hive of this generation, as founded; None before the first apply."""
    last_hive: HiveConfig | None = None
    """The last one that was no "single": where facts are moved from."""
    nodes: tuple[str, ...] = ()
    """Every node `last_hive` ever had: each may have left a journal."""
    allocation: dict[str, dict[str, tuple[str, ...]]] = {}
    """Agents by node by process, as last applied."""
    revision: int = 0
    folder: str = ""
    """Where the manifest was: sources and file references are seen from there."""
    folders: dict[int, str] = {}
    """The same by revision."""
    redis_port: int = 0
    restarts: dict[str, Restarts] = {}
    left: tuple[str, ...] = ()
    """Nodes that left this generation for good: one of them that comes back has to join, founder or not."""
    drained: tuple[str, ...] = ()
    """Processes that a person took out; they stay away until the next apply or restart."""
    agents: tuple[str, ...] = ()
    hives: tuple[str, ...] = ()
    platform: str = "local"
    is_refounding: bool = False
    """Whether a person wants the hive founded anew as it is; until that is done."""
    is_stopped: bool = False
    """Whether the fleet was deleted: nothing is started again by a controller that watches."""

    @property
    def hosts(self) -> dict[str, str]:
        """The process of each agent, as last applied."""
        return hosts_in(self.allocation)


def hosts_in(allocation: Mapping[str, Mapping[str, Iterable[str]]]) -> dict[str, str]:
    """The process of each agent, of agents by node by process."""
    return {agent: process for process, nodes in allocation.items() for agents in nodes.values() for agent in agents}


class FleetFolder:
    """Paths of one fleet, and reading and writing what the controller keeps there.

    `members` has the configuration of every process with nodes in the hive, whether it runs or not, until they have left;
    `manifest` is the one that was applied last, as its author wrote it.
    """

    def __init__(self, home: Path, fleet: str) -> None:
        self.home, self.fleet = home.absolute(), checked_name(fleet, "fleet")
        self.path = path = self.home / "fleets" / self.fleet
        self.config, self.run, self.logs = path / "config", path / "run", path / "logs"
        self.revisions, self.members = path / "revisions", path / "members"
        self.lock, self.manifest = path / "lock", path / "manifest.yaml"

    def make(self) -> "FleetFolder":
        for folder in (self.path, self.config, self.run, self.logs, self.revisions, self.members):
            private_folder(folder)
        return self

    @property
    def exists(self) -> bool:
        return (self.path / "state.json").exists()

    def configs(self) -> list[WorkerConfig]:
        """Those of all its processes. Raises `InvalidInput` for a damaged one."""
        return [read_config(path) for path in sorted(self.config.glob("*.json"))]

    def any_config(self) -> WorkerConfig | None:
        """That of any process, of those that can be read."""
        for path in sorted(self.config.glob("*.json")):
            with suppress(InvalidInput):
                return read_config(path)
        return None

    def agent(self, name: str) -> Path:
        return self.home / "agents" / checked_name(name, "agent")

    def hive(self, hive_id: str) -> Path:
        return self.home / "hives" / checked_name(hive_id, "hive")

    def state(self) -> FleetState:
        """As last written; a new one where there is none. Raises `InvalidInput` for a file that can't be read."""
        path = self.path / "state.json"
        try:
            return json_decoder(FleetState)(path.read_bytes())
        except FileNotFoundError:
            return FleetState()
        except OSError as error:
            raise InvalidInput(f"{path} can't be read ({reason_of(error)}): make it readable") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InvalidInput(
                f"{path} can't be read ({error}): restore it from a copy; memory and journals are not in it"
            ) from error

    def keep(self, state: FleetState) -> None:
        write_whole(self.path / "state.json", msgspec.json.format(msgspec.json.encode(state)))

    def manifest_text(self, revision: int | None = None) -> str:
        """The manifest applied last, or that of a revision. Raises `InvalidInput` where there is none."""
        path = self.manifest if revision is None else self._revision(revision)
        try:
            # One that was damaged is another manifest: the next apply replaces it, and delete needs none.
            return path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            revisions = ", ".join(map(str, self.kept_revisions())) or "none"
            problem = "no manifest was applied" if revision is None else f"there is no revision {revision}; kept: {revisions}"
            raise InvalidInput(f"fleet {self.fleet!r}: {problem}") from None

    def keep_manifest(self, text: str, revision: int) -> None:
        """Make it the last applied. Revisions beyond the last ten go."""
        write_whole(self._revision(revision), text.encode())
        write_whole(self.manifest, text.encode())
        for old in self.kept_revisions()[:-REVISIONS_MAX]:
            self._revision(old).unlink(missing_ok=True)

    def kept_revisions(self) -> tuple[int, ...]:
        return tuple(sorted(int(path.stem) for path in self.revisions.glob("*.yaml") if path.stem.isdecimal()))

    def _revision(self, number: int) -> Path:
        return self.revisions / f"{number:04d}.yaml"


def fleets(home: Path) -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in (home / "fleets").glob("*/state.json")))


class FleetLocked(HiveError):
    """Somebody else changes this fleet. `holder_pid` is 0 where it is not known."""

    def __init__(self, fleet: str, holder_pid: int) -> None:
        self.holder_pid = holder_pid
        holder = f"process {holder_pid}" if holder_pid else "another process"
        super().__init__(f"fleet {fleet!r} is being changed by {holder}: wait until that has ended, or stop it")


class FleetChanged(HiveError):
    """Somebody else changed the fleet while this one waited to; nothing was done, as it would undo what nobody here has seen."""

    def __init__(self, fleet: str, steps: str) -> None:
        problem = f"now this would do: {steps}"
        advice = "look at it with hive-mind plan, take over into the manifest what is to stay, and apply again"
        super().__init__(f"fleet {fleet!r} was changed by somebody else meanwhile, and nothing was done; {problem}; {advice}")


def changing_pid(path: Path) -> int:
    """The process that holds this lock now; 0 where none does."""
    with suppress(OSError), path.open("rb") as file:
        # The note first: where there is none, nobody's lock is taken for the moment that asking needs.
        holder = holder_in(file.fileno())
        return holder if holder and is_locked(path) else 0
    return 0


@asynccontextmanager
async def fleet_lock(path: Path, fleet: str, wait_s: float) -> AsyncIterator[bool]:
    """Held inside the block; whether it had to be waited for. Raises `FleetLocked` when somebody else holds it for that long."""
    until, has_waited = time.monotonic() + wait_s, False
    descriptor = _opened(path)
    try:
        while not (has_lock := try_lock(descriptor)) or not _is_at(path, descriptor):
            if has_lock:
                # A purge took it away with the folder; somebody else may hold the next one.
                os.close(descriptor)
                descriptor = _opened(path)
                continue
            if time.monotonic() >= until:
                raise FleetLocked(fleet, holder_in(descriptor))
            has_waited = True
            await asyncio.sleep(_LOOK_S)

        try:
            note_holder(descriptor, os.getpid())
            yield has_waited
        finally:
            note_holder(descriptor, None)
            unlock(descriptor)
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    private_folder(path.parent)
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


_NAME = regex(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}")


def checked_name(name: str, of: str = "name") -> str:
    """The name, if it may become part of a path. Raises `InvalidInput`."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"{of} {name[:70]!r} can't be used: take 1 to 64 letters, digits, '.', '_' and '-', and begin with a letter or digit"
        )
    return name


def private_folder(path: Path) -> Path:
    """The folder, made where it is missing, for its owner alone. Raises `InvalidInput` where it can't be."""
    try:
        safe_files.private_folder(path)
    except OSError as error:
        raise InvalidInput(
            f"{path} can't be made: {reason_of(error)}; give --home (or HIVE_MIND_HOME) a folder where you may write"
        ) from error
    return path


# A command that looks on may still have a database open, and leave a file beside it while its folder is removed.
_TRIES = 20
_PAUSE_S = 0.1


def purge(folder: FleetFolder) -> None:
    """Remove everything. Nothing of the fleet may run. Raises `OSError`."""
    state, others = folder.state(), [FleetFolder(folder.home, fleet) for fleet in fleets(folder.home) if fleet != folder.fleet]
    other_agents = set[str]().union(*map(agents_of, others))
    paths = [folder.agent(name) for name in state.agents if name not in other_agents]
    for path in map(folder.hive, state.hives):
        # With what an interrupted move left beside it.
        paths += [path, path.with_name(f"{path.name}{UNFINISHED}"), path.with_name(f"{path.name}{REPLACED}")]
    for path in paths:
        _remove(path)
    remove_folder(folder)


def remove_folder(folder: FleetFolder) -> None:
    """Of a fleet, with all that is in it, by the holder of its lock. Raises `OSError`."""
    # The state comes last, and then the lock: another one lets somebody in, who finds no fleet.
    rank = {"state.json": 1, folder.lock.name: 2}
    for path in sorted(folder.path.iterdir(), key=lambda path: rank.get(path.name, 0)):
        _remove(path)
    # It stays where somebody has begun another fleet in it.
    with suppress(OSError):
        folder.path.rmdir()


def discard_former(folder: FleetFolder) -> list[str]:
    """Delete the journals of generations whose facts have moved on; which. Done again after a kill, it removes the rest.

    The state names the next generation only once its journals were read again and say all that those of the last one said.
    """
    state = folder.state()
    in_use = {hive.id for hive in (state.hive, state.last_hive) if hive is not None}
    discarded = []
    for name in state.hives if in_use else ():
        path = folder.hive(name)
        # Nobody reads from a folder of this name, so half of it deceives nobody.
        aside = path.with_name(f"{name}{REPLACED}")
        if name in in_use or not (path.exists() or aside.exists()):
            continue
        _remove(aside)
        with suppress(FileNotFoundError):
            path.rename(aside)
        _remove(aside)
        sync_folder(path.parent)
        discarded.append(name)
    return discarded


def _remove(path: Path) -> None:
    for left in reversed(range(_TRIES)):
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.ENOENT) or not left:
                raise
            time.sleep(_PAUSE_S)


def refuse_taken_names(folder: FleetFolder, names: set[str], manifest: str) -> None:
    """Raises `ManifestError` for agents of a manifest that another fleet has, whether it runs or not."""
    problems = []
    for fleet in fleets(folder.home):
        taken_names = sorted(names & agents_of(FleetFolder(folder.home, fleet))) if fleet != folder.fleet else []
        if taken_names:
            shown_names = ", ".join(taken_names[:5]) + (f" and {len(taken_names) - 5} more" if len(taken_names) > 5 else "")
            reason = f"fleet {fleet!r} has {shown_names} already: call them otherwise, purge that fleet, or use another home"
            problems.append(Problem("spec.agents", 0, reason))
    if problems:
        raise ManifestError(problems, manifest)


def agents_of(folder: FleetFolder) -> set[str]:
    """Agents that a fleet has now; all that an archive brought, as long as that was not applied."""
    state = folder.state()
    return set(state.hosts) or set(state.agents)
