"""`hive-mind fleet refound --yes` as a process that is killed (SIGKILL) at a moment of its work, which its files tell."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hive_mind.control.state import FleetFolder
from tests.acceptance.hive_mind_command import HiveMind

_WITHIN_S = 120.0


@dataclass(frozen=True)
class Before:
    """How a fleet was when the command began."""

    folder: FleetFolder
    generation: int
    pids: dict[str, int]

    @property
    def next_journals(self) -> Path:
        """Where the journals of the next generation come to be."""
        return self.folder.hive(f"{self.folder.fleet}.g{self.generation + 1}")

    def running(self) -> dict[str, int]:
        """Those of its processes that run still."""
        return {name: pid for name, pid in self.pids.items() if is_alive(pid)}


MOMENTS: dict[str, Callable[[Before], bool]] = {
    "it is decided": lambda before: before.folder.state().is_refounding,
    "some have stopped": lambda before: len(before.running()) < len(before.pids),
    "all have stopped": lambda before: not before.running(),
    "journals are made": lambda before: before.next_journals.with_name(f"{before.next_journals.name}.partial").exists(),
    "journals are in place": lambda before: before.next_journals.exists(),
    "the next generation is named": lambda before: before.folder.state().generation > before.generation,
    "some have started": lambda before: before.folder.state().generation > before.generation and has_begun(before.next_journals),
}


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def processes(fleet: HiveMind) -> dict[str, int]:
    """Pids of the processes of a fleet that run, by name."""
    told: list[dict[str, Any]] = fleet("status", "-o", "json").json["processes"]
    return {one["name"]: one["pid"] for one in told if one["pid"] and is_alive(one["pid"])}


def has_begun(journals: Path) -> bool:
    """Whether a node has opened its journal there."""
    return any(journals.glob("*.sqlite-wal"))


def killed_while_refounding(fleet: HiveMind, name: str, moment: str, *, worker: str = "") -> Before:
    """Begin, and kill the command at the moment; with it this worker, if it runs."""
    folder = FleetFolder(fleet.home, name)
    before = Before(folder, folder.state().generation, processes(fleet))
    command = fleet.start("fleet", "refound", "--yes", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until_s = time.monotonic() + _WITHIN_S
    while not MOMENTS[moment](before):
        assert command.poll() is None, f"it ended before {moment!r}"
        assert time.monotonic() < until_s, moment
        time.sleep(0.001)
    command.kill()
    command.wait()
    if worker and (pid := before.running().get(worker)):
        os.kill(pid, signal.SIGKILL)
    return before
