"""Places that run processes of a fleet: one file or folder each. Those of this machine have
`async def open(folder: Path, home: Path) -> Platform`, with the folder of the fleet; the others `render` it as files.

Here is what each of this machine must do.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from hive_mind.runtime.worker_http import SILENCE_S
from hive_mind.runtime.workers import Contact, MembersSeen, WorkerStatus
from hive_mind.runtime.workers.config import WorkerConfig

# Time that a person waits for a process that hangs. Raise it before judging one on a busy machine.
OBSERVE_S = 0.8


CALL_TIMEOUT_S = SILENCE_S
"""How long the process of an agent may say nothing while it works for a call. A call itself may take as long as it needs."""


@dataclass(frozen=True, slots=True)
class Running:
    """A process as it was found.

    `config` is what it runs, or would if it ran; None where that can't be read or it runs something else. `status` is None where
    it does not answer (yet). `error`: why it is not of use, in words for a person; "" for one that has only just begun.
    """

    process: str
    pid: int = 0
    """0: there is none, or `is_hidden`."""
    config: WorkerConfig | None = None
    status: WorkerStatus | None = None
    error: str = ""
    is_hidden: bool = False
    """A process runs that is not identified yet: its starter died at that moment. It will report, or end."""
    started: float = 0.0
    """When it began, as `time.time()` counts; 0 where there is none."""
    memory_bytes: int = 0
    cpu_s: float = 0.0

    @property
    def is_alive(self) -> bool:
        return self.pid > 0 or self.is_hidden


class Platform(Protocol):
    """Runs workers of one fleet. Every method may be called again after a crash in the middle of it. Raises `BackendError`."""

    async def observe(self, *, patience_s: float = OBSERVE_S) -> Mapping[str, Running]:
        """Every process of this fleet that is there or should be, by name; one that does not answer in time has no status."""

    async def start(self, config: WorkerConfig) -> None:
        """Run it. One of this name that runs already stays as it is; where somebody stopped it (SIGSTOP) it goes on.

        Returns when it was started, not when it is ready.
        """

    async def stop(self, process: str, timeout_s: float) -> None:
        """Let it finish, at the latest after that time end it, and forget its configuration: it should run no more.

        One that does not run is fine; one that can't be shown to be ours is left alone. Raises `BackendTimeout`, and changes
        nothing, where one runs that can't take it yet.
        """

    async def call(self, process: str, agent: str, what: str, *, timeout_s: float = CALL_TIMEOUT_S, **fields: object) -> Any:
        """Put a request of `api.requests` to an agent; what it answers. Raises `BackendUnavailable` where it is not
        running, and `BackendTimeout` where its process is silent for that time."""

    def contact(self, process: str) -> Contact:
        """How it is reached over HTTP. Raises `BackendUnavailable` where it is not, or not from here."""

    async def leave(self, process: str, timeout_s: float) -> None:
        """Let all its nodes hand over what they hold and leave their hive for good. Raises `BackendTimeout`."""

    async def members(self, process: str, timeout_s: float) -> tuple[MembersSeen, ...]:
        """The members of its hive, as each of its nodes sees them."""

    async def evict(self, process: str, member: str, timeout_s: float) -> None:
        """Let it put a member out of its hive for good. Raises `InvalidInput`, or `BackendUnavailable` where it can't."""

    async def close(self) -> None:
        """Let go of what was opened here. Processes run on, unless they can't without this one."""
