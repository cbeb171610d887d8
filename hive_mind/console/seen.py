"""Shown by the console: processes of a fleet, asked by `/v1`, and runs of evaluations in folders of this machine.

Folders are those that a program with the worker's token named. The files there are read as they are: nothing is computed, and
nothing else can be reached by a name.
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import msgspec

from hive_mind.agents.runs.event_streams import ServerEvent, events_from
from hive_mind.errors import BackendError, BackendUnavailable, InvalidInput, reason_of
from hive_mind.model.decoding import json_decoder
from hive_mind.runtime.asking import called, status_of
from hive_mind.runtime.workers import AgentStatus, Contact, NodeStatus, WorkerStatus, contact_in
from hive_mind.runtime.workers.config import WorkerConfig, read_config

# A request of several pages in the same moment is asked once.
_FRESH_S = 1.0
# A process that sends no status within this time is shown as silent, and holds no page up.
_STATUS_S = 2.0


@dataclass(frozen=True, slots=True)
class ProcessSeen:
    """A process as it answered last. `error`: why it does not answer now, "" while it does."""

    name: str
    status: WorkerStatus | None = None
    error: str = ""

    @property
    def agents(self) -> Iterator[tuple[AgentStatus, NodeStatus | None]]:
        """Its agents, each with the node it shares at."""
        nodes = {node.name: node for node in self.status.nodes} if self.status else {}
        for agent in self.status.agents if self.status else ():
            yield agent, nodes.get(agent.node)


class Fleet(Protocol):
    """A fleet, for pages."""

    async def processes(self) -> Sequence[ProcessSeen]:
        """All of them, those that are silent too."""

    async def call(self, agent: str, request: str, /, **fields: object) -> Any:
        """Put a request of the register to an agent; what it answers. Raises `HiveError`."""

    def events(self, agent: str, since: int) -> AsyncGenerator[ServerEvent, None]:
        """The events in its runs, behind this one. Raises `HiveError`."""

    async def close(self) -> None: ...


class FleetOverHttp:
    """The processes that say in the folder `run` how to reach them."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._seen: dict[str, ProcessSeen] = {}
        self._asked_s = float("-inf")
        self._asking = asyncio.Lock()

    async def processes(self) -> Sequence[ProcessSeen]:
        async with self._asking:
            if time.monotonic() - self._asked_s >= _FRESH_S:
                contacts, ended = await asyncio.to_thread(lambda: (contacts_in(self._run), configured_in(self._run)))
                views = [*await asyncio.gather(*(self._status(contact) for contact in contacts))]
                views += [self._ended(ended[name]) for name in sorted(ended.keys() - {contact.process for contact in contacts})]
                self._seen, self._asked_s = {process.name: process for process in views}, time.monotonic()
        return tuple(self._seen.values())

    async def call(self, agent: str, request: str, /, **fields: object) -> Any:
        contact = await self._contact(agent)
        return await called(contact, agent, request, fields)

    async def events(self, agent: str, since: int) -> AsyncGenerator[ServerEvent, None]:
        """As its process sends them, until the reader stops."""
        contact = await self._contact(agent)
        address = f"http://127.0.0.1:{contact.port}/v1/agents/{agent}/events"
        async with aclosing(events_from(address, contact.token, str(since))) as coming:
            async for event in coming:
                yield event

    async def close(self) -> None:
        """Closing twice is fine."""

    async def _status(self, contact: Contact) -> ProcessSeen:
        """As it is, or as it was with why it says nothing."""
        try:
            return ProcessSeen(contact.process, await status_of(contact, _STATUS_S))
        except BackendError as error:
            before = self._seen.get(contact.process, ProcessSeen(contact.process))
            return replace(before, error=f"it does not answer: {error}")

    def _ended(self, config: WorkerConfig) -> ProcessSeen:
        """As it was, or as it is to be, where it was not seen: it ended, or has not begun."""
        agents = tuple(AgentStatus(agent.name, domain=agent.domain, group=agent.group) for agent in config.agents)
        planned = WorkerStatus(config.process, 0, "", config.hive.id, "starting", 0, (), agents)
        before = self._seen.get(config.process, ProcessSeen(config.process, planned))
        return replace(before, error="it is not running: hive-mind status says why")

    async def _contact(self, agent: str) -> Contact:
        process = next(
            (
                process_seen.name
                for process_seen in await self.processes()
                for status, _ in process_seen.agents
                if status.name == agent
            ),
            "",
        )
        contacts = await asyncio.to_thread(contacts_in, self._run)
        if (found_contact := next((contact for contact in contacts if contact.process == process), None)) is None and process:
            raise BackendUnavailable(agent, f"process {process} does not run: hive-mind status says why")
        if found_contact is None:
            raise InvalidInput(f"no process here has an agent {agent[:64]!r}")
        return found_contact


def contacts_in(run: Path) -> list[Contact]:
    """How the processes of a folder are reached, by name. One that is just being written or taken away is left out."""
    return [contact for path in sorted(run.glob("*.json")) if (contact := contact_in(path)) is not None]


def configured_in(run: Path) -> dict[str, WorkerConfig]:
    """The processes that should run, by name, where they have this folder. In a container their configurations are elsewhere."""
    configs = dict[str, WorkerConfig]()
    for path in sorted(run.parent.joinpath("config").glob("*.json")):
        with suppress(InvalidInput):
            config = read_config(path)
            configs |= {config.process: config}
    return configs


REPORT, SCORECARD = "report.html", "scorecard.json"

_FOLDERS_MAX = 10
_RUNS_SHOWN = 100
_BYTES_MAX = 32 << 20


class Mean(msgspec.Struct, frozen=True):
    """A metric of a cell with its interval."""

    mean: float
    low: float
    high: float


class CellSeen(msgspec.Struct, frozen=True):
    """The shown part of a scorecard's cell."""

    id: str
    status: str
    why: str = ""
    questions: int = 0
    metrics: dict[str, Mean] = {}


class CardSeen(msgspec.Struct, frozen=True):
    """The shown part of a scorecard."""

    cells: tuple[CellSeen, ...] = ()


@dataclass(frozen=True, slots=True)
class EvaluationRun:
    """A run that has a scorecard. `key` names it in an address; `trouble`: why its figures can't be shown, or ""."""

    key: str
    folder: Path
    changed_us: int
    card: CardSeen
    has_report: bool
    trouble: str = ""

    @property
    def metrics(self) -> list[str]:
        """Names of all metrics, in the order of the scorecard."""
        return list(dict.fromkeys(name for cell in self.card.cells for name in cell.metrics))


@dataclass(slots=True)
class RunFolders:
    """The folders that were named: each is a run, or holds some."""

    _named: dict[Path, None] = field(default_factory=dict)

    def add(self, folder: str) -> None:
        """One more; of very many those named last."""
        path = Path(folder)
        if path.is_absolute():
            self._named.pop(path, None)
            self._named[path] = None
        while len(self._named) > _FOLDERS_MAX:
            del self._named[next(iter(self._named))]

    def runs(self) -> list[EvaluationRun]:
        """Those there are now, the newest first."""
        changed_us = {folder: _changed_us(folder) for path in self._named for folder in _folders(path)}
        newest = sorted(changed_us, key=lambda folder: -changed_us[folder])[:_RUNS_SHOWN]
        return [_run(folder, changed_us[folder]) for folder in newest]

    def run(self, key: str) -> EvaluationRun | None:
        """The one of this key; None where there is none."""
        return next((run for run in self.runs() if run.key == key), None)


def report_of(run: EvaluationRun) -> bytes:
    """Its page. Raises `OSError`."""
    with (run.folder / REPORT).open("rb") as file:
        return file.read(_BYTES_MAX)


def _folders(path: Path) -> Iterator[Path]:
    try:
        below = [Path(entry.path) for entry in os.scandir(path) if entry.is_dir()]
    except OSError:
        below = []
    yield from (folder for folder in (path, *below) if (folder / SCORECARD).is_file())


def _changed_us(folder: Path) -> int:
    try:
        return (folder / SCORECARD).stat().st_mtime_ns // 1000
    except OSError:
        return 0


def _run(folder: Path, changed_us: int) -> EvaluationRun:
    has_report, trouble, card = (folder / REPORT).is_file(), "", CardSeen()
    try:
        with (folder / SCORECARD).open("rb") as file:
            card = json_decoder(CardSeen)(file.read(_BYTES_MAX))
    except (OSError, msgspec.MsgspecError) as error:
        trouble = f"its scorecard can't be read: {reason_of(error)}"
    # The digest names the folder without saying where it is.
    return EvaluationRun(sha256(os.fsencode(folder)).hexdigest()[:16], folder, changed_us, card, has_report, trouble)
