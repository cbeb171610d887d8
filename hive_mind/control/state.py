"""The state that a controller keeps of its fleet between two commands, and the folder where it does.

Nothing here is needed to find out what runs (platforms observe that), but without it nobody would know which hive the journals
belong to, where an agent was, or how often a process crashed. Names are checked where a path is made.

One command at a time changes a fleet: a lock on its folder that says who holds it.

The operating system releases it when its holder dies, so a file left behind harms nobody.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from hive_mind.control.files import checked_name, private_folder
from hive_mind.errors import HiveError, InvalidInput
from hive_mind.model.decoding import json_decoder
from hive_mind.runtime.workers.config import HiveConfig
from hive_mind.safe_files import holder_in, note_holder, try_lock, unlock, write_whole

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


class FleetFolder:
    """Paths of one fleet, and reading and writing what the controller keeps there."""

    def __init__(self, home: Path, fleet: str) -> None:
        self.home, self.fleet = home.absolute(), checked_name(fleet, "fleet")
        self.path = self.home / "fleets" / self.fleet

    def make(self) -> "FleetFolder":
        for folder in (self.path, self.config, self.run, self.logs, self.revisions, self.members):
            private_folder(folder)
        return self

    @property
    def config(self) -> Path:
        return self.path / "config"

    @property
    def run(self) -> Path:
        """The folder where workers describe themselves while they run."""
        return self.path / "run"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def revisions(self) -> Path:
        return self.path / "revisions"

    @property
    def members(self) -> Path:
        """The configuration of every process that has nodes in the hive, whether it runs or not, until they have left."""
        return self.path / "members"

    @property
    def lock(self) -> Path:
        """Held while a command changes something."""
        return self.path / "lock"

    @property
    def manifest(self) -> Path:
        """The manifest that was applied last, as its author wrote it."""
        return self.path / "manifest.yaml"

    @property
    def exists(self) -> bool:
        return (self.path / "state.json").exists()

    def agent(self, name: str) -> Path:
        return self.home / "agents" / checked_name(name, "agent")

    def hive(self, hive_id: str) -> Path:
        """The folder of a hive's journals."""
        return self.home / "hives" / checked_name(hive_id, "hive")

    def state(self) -> FleetState:
        """As last written; a new one where there is none. Raises `InvalidInput` for a file that can't be read."""
        path = self.path / "state.json"
        try:
            return json_decoder(FleetState)(path.read_bytes())
        except FileNotFoundError:
            return FleetState()
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InvalidInput(
                f"{path} can't be read ({error}): restore it from a copy; memory and journals are not in it"
            ) from error

    def keep(self, state: FleetState) -> None:
        write_whole(self.path / "state.json", msgspec.json.format(msgspec.json.encode(state)))

    def manifest_text(self, revision: int | None = None) -> str:
        """The manifest applied last, or that of a revision. Raises `InvalidInput` where there is none."""
        path = self.manifest if revision is None else self._revision(revision)
        try:
            return path.read_text(encoding="utf-8")
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
        """Numbers of the manifests that are kept, the oldest first."""
        return tuple(sorted(int(path.stem) for path in self.revisions.glob("*.yaml") if path.stem.isdecimal()))

    def _revision(self, number: int) -> Path:
        return self.revisions / f"{number:04d}.yaml"


def fleets(home: Path) -> tuple[str, ...]:
    """Names of the fleets that were ever applied in this home and not purged."""
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


@asynccontextmanager
async def fleet_lock(path: Path, fleet: str, wait_s: float) -> AsyncIterator[bool]:
    """Held inside the block; whether it had to be waited for. Raises `FleetLocked` when somebody else holds it for that long."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        has_waited = await _taken(descriptor, fleet, wait_s)
        try:
            note_holder(descriptor, os.getpid())
            yield has_waited
        finally:
            note_holder(descriptor, None)
            unlock(descriptor)
    finally:
        os.close(descriptor)


async def _taken(descriptor: int, fleet: str, wait_s: float) -> bool:
    until, has_waited = time.monotonic() + wait_s, False
    while not try_lock(descriptor):
        if time.monotonic() >= until:
            raise FleetLocked(fleet, holder_in(descriptor))
        has_waited = True
        await asyncio.sleep(_LOOK_S)
    return has_waited
