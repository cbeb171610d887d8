"""HiveController: brings one fleet to the state in its manifest, and keeps it there.

It remembers little and observes the rest, so it can end at any moment and another one goes on; several may look at a fleet, one
at a time changes it. Its steps and their order are in `converging` and `applying`, its decisions in `planning`.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from hive_mind.control import RESIDENT, TIMEOUT_S
from hive_mind.control import planning as plans
from hive_mind.control.applying import Applying
from hive_mind.control.converging import PERIOD_S, ConvergenceResult, Converging, KeptFacts, Watching, pause
from hive_mind.control.evicting import Evicted, HiveMember, Members, Remains, hive_members, remains
from hive_mind.control.manifests import API_VERSION
from hive_mind.control.manifests.expansion import expanded
from hive_mind.control.manifests.named_files import refuse_uninstalled
from hive_mind.control.manifests.reading import Source, read_text, refuse_unresolved, scaled, settled
from hive_mind.control.manifests.sources import SourceReader
from hive_mind.control.planning import Plan, summary
from hive_mind.control.platforms import CALL_TIMEOUT_S, Platform, Running
from hive_mind.control.remembering import Remembered, shut_out
from hive_mind.control.state import (
    FleetChanged,
    FleetFolder,
    FleetLocked,
    changing_pid,
    fleet_lock,
    fleets,
    purge,
    refuse_taken_names,
    remove_folder,
)
from hive_mind.control.status import FleetStatus
from hive_mind.control.status.conditions import fleet_status
from hive_mind.control.surroundings import Report, Surroundings, silent
from hive_mind.errors import BackendUnavailable, ConfigError, HiveError, InvalidInput, reason_of, sentence_of
from hive_mind.runtime.keys import KeyFolder
from hive_mind.runtime.settings import Settings, secret
from hive_mind.runtime.workers import Contact
from hive_mind.runtime.workers.config import STOP_TIMEOUT_S, BusConfig

__all__ = ["ConvergenceResult", "FleetStatus", "HiveController", "fleets"]

_REAL = Surroundings()


class HiveController:
    """One fleet; made by `open`."""

    def __init__(self, folder: FleetFolder, report: Report, around: Surroundings) -> None:
        self._folder, self._report, self._around = folder, report, around
        self._sources = SourceReader()
        self._kept = KeptFacts(folder.home)
        self._platforms: dict[str, Platform] = {}
        self._last_read: Source | None = None

    @classmethod
    @asynccontextmanager
    async def open(
        cls, home: Path, fleet: str, *, report: Report = silent, around: Surroundings = _REAL
    ) -> AsyncIterator["HiveController"]:
        controller = cls(FleetFolder(home, fleet), report, around)
        try:
            yield controller
        finally:
            for platform in controller._platforms.values():
                await platform.close()

    @property
    def folder(self) -> FleetFolder:
        return self._folder

    def source(self, revision: int | None = None) -> Source:
        """The manifest that was applied last, or that of a revision. Raises `InvalidInput` where there is none."""
        state = self._folder.state()
        text = self._folder.manifest_text(revision)
        folder = state.folders.get(revision or state.revision, state.folder) or str(self._folder.path)
        name = self._folder.fleet if revision is None else f"{self._folder.fleet} revision {revision}"
        last = self._last_read
        if last is None or (last.text, str(last.folder), last.name) != (text, folder, name):
            # A watching one reads it every few seconds.
            last = self._last_read = read_text(text, Path(folder), name)
        return last

    async def plan(self, source: Source) -> Plan:
        """The steps that `apply` would take. Raises `ManifestError`, and `BackendNotInstalled` for the bus."""
        self._check(source)
        plan = (await (await self._converging(source)).look(is_before_apply=True)).plan
        # One that watches holds it for a moment every few seconds.
        patience = self._around.patience(self._around.lock_wait_s)
        while (pid := changing_pid(self._folder.lock)) and not patience.is_over:
            await patience.sleep(_PAUSE_S)
        if not pid:
            return plan
        trouble = f"process {pid} is changing this fleet now: look again when it has ended"
        return msgspec.structs.replace(plan, troubles=(trouble, *plan.troubles))

    async def apply(
        self,
        source: Source,
        *,
        allow_data_loss: bool = False,
        timeout_s: float = TIMEOUT_S,
        on_plan: Callable[[Plan], None] = lambda _: None,
    ) -> ConvergenceResult:
        """Make it so; what did not get there is in the outcome. `on_plan` gets what will be done, just before it is.

        Raises `ManifestError`, `DataLoss`, `FleetLocked`, `FleetChanged`, and `BackendError` for a bus out of reach, with nothing
        changed.
        """
        self._check(source)
        refuse_unresolved(source, self._folder.home)
        patience = self._around.patience(timeout_s)
        revision = self._revision()
        async with self._changing(is_new=True) as has_waited:
            converging = await self._converging(source, allow_data_loss=allow_data_loss)
            look = await converging.look(is_before_apply=True)
            if look.plan and (has_waited or self._revision() != revision):
                raise FleetChanged(self._folder.fleet, summary(look.plan.actions))
            on_plan(look.plan)
            converging.refuse_loss(look.plan)
            await converging.refuse_unreachable(look)
            # Where the fleet is to run on another platform, it ends on the one it was on: nothing may run twice.
            kind, before = source.manifest.spec.platform.kind, converging.remembered.state.platform
            if kind != before and converging.remembered.state.revision:
                problems = await self._stopped(converging.remembered, TIMEOUT_S)
                if problems:
                    raise BackendUnavailable(before, "; ".join(problems))
            converging.remembered.keep(platform=kind)
            self._keep(source, converging.remembered)
            return await converging.run(patience)

    async def status(self) -> FleetStatus:
        state = self._folder.state()
        status = fleet_status(self._folder.fleet, state, await self.observe())
        return await asyncio.to_thread(self._at_rest if status.phase == "Stopped" else self._kept.filled_in, status)

    async def observe(self) -> Mapping[str, Running]:
        if not self._folder.exists:
            return {}
        return await (await self._platform(self._folder.state().platform)).observe()

    async def call(self, agent: str, what: str, *, timeout_s: float = CALL_TIMEOUT_S, **fields: object) -> Any:
        """Put a request of `api.requests` to an agent; "" for any that is ready."""
        platform, process, name = await self._host_of(agent)
        return await platform.call(process, name, what, timeout_s=timeout_s, **fields)

    async def contact(self, agent: str) -> Contact:
        """How the process of an agent is reached over HTTP. Raises `InvalidInput`, and `BackendUnavailable` where it is not."""
        platform, process, _ = await self._host_of(agent)
        return platform.contact(process)

    async def _host_of(self, agent: str) -> tuple[Platform, str, str]:
        """The platform, the process and the name of an agent; "" for any that is ready."""
        state, name = self._folder.state(), agent or await self._any_agent()
        if name not in (hosts := state.hosts):
            hosts_shown = ", ".join(sorted(hosts)) or "none"
            raise InvalidInput(f"fleet {self._folder.fleet!r} has no agent {name!r}; it has: {hosts_shown}")
        return await self._platform(state.platform), hosts[name], name

    async def members(self) -> list[HiveMember]:
        self._refuse_unknown()
        processes = await self.observe()
        views = await Members(await self._platform(self._folder.state().platform), time.monotonic).seen(processes)
        return hive_members([view for views_of_process in views.values() for view in views_of_process])

    async def evict(self, member: str, *, is_forced: bool = False, timeout_s: float = TIMEOUT_S) -> Evicted:
        """Put a member out of the hive for good; others take over what it held. Raises `HiveError` where nothing was done."""
        self._refuse_unknown()
        async with self._changing():
            state = self._folder.state()
            process = next((name for name, nodes in state.allocation.items() if member in nodes), "")
            members = Members(await self._platform(state.platform), time.monotonic)
            evicted = await members.evict(member, await self.observe(), process, is_forced=is_forced, timeout_s=timeout_s)
            keys = KeyFolder(self._folder.path / "keys", self._folder.fleet)
            await asyncio.to_thread(shut_out, member, keys, self._report)
            return evicted

    async def remains(self) -> Remains:
        """The remains that `refound` would begin with, as they are now. Raises `HiveError`."""
        self._refuse_unknown()
        return await remains(self._folder.home, self._folder.state())

    async def refound(self, *, timeout_s: float = TIMEOUT_S) -> ConvergenceResult:
        """Found the hive again, with the same topology, from the journals there are; what none of them has is lost.

        One that was interrupted is finished by another, or by the next apply that may lose facts. Raises `HiveError`.
        """
        self._refuse_unknown()
        patience, source = self._around.patience(timeout_s), self.source()
        refuse_unresolved(source, self._folder.home)
        async with self._changing():
            await remains(self._folder.home, self._folder.state())
            converging = await self._converging(source, allow_data_loss=True)
            converging.remembered.keep(is_refounding=True, is_stopped=False, drained=())
            return await converging.run(patience)

    def process_of(self, name: str) -> str:
        """The process of this name, or that of the agent of this name. Raises `InvalidInput`."""
        state = self._folder.state()
        if process := name if name in state.allocation else state.hosts.get(name):
            return process
        hosts_shown = ", ".join(sorted(state.allocation)) or "none"
        raise InvalidInput(f"fleet {self._folder.fleet!r} has no agent or process {name!r}; processes: {hosts_shown}")

    async def delete(self, *, purge: bool = False, timeout_s: float = TIMEOUT_S) -> ConvergenceResult:
        """Stop everything; memory stays, unless it is purged. Raises `HiveError` where something can't be stopped."""
        self._refuse_unknown()
        async with self._changing():
            plan, remembered = plans.removal(await self.observe(), is_purge=purge), Remembered(self._folder)
            remembered.keep(is_stopped=True)
            problems = await self._stopped(remembered, timeout_s)
            if not problems:
                await self._around.stop_bus(self._folder.path)
            if purge and not problems:
                problems = await self._purged_bus(remembered.state.hives)
            if purge and not problems:
                problems = await asyncio.to_thread(self._purged)
            return ConvergenceResult(plan.actions, tuple(problems), remembered.state.revision)

    async def scale(
        self, name: str | None, count: int, *, allow_data_loss: bool = False, timeout_s: float = TIMEOUT_S
    ) -> ConvergenceResult:
        """Another number of agents of a template. The kept manifest changes, and loses its comments."""
        source = self.source()
        other_source = read_text(scaled(source, name, count), source.folder, source.name)
        return await self.apply(other_source, allow_data_loss=allow_data_loss, timeout_s=timeout_s)

    async def undo(self, *, allow_data_loss: bool = False, timeout_s: float = TIMEOUT_S) -> ConvergenceResult:
        revisions = self._folder.kept_revisions()
        if len(revisions) < 2:
            raise InvalidInput(f"fleet {self._folder.fleet!r} has no former revision")
        return await self.apply(self.source(revisions[-2]), allow_data_loss=allow_data_loss, timeout_s=timeout_s)

    async def restart(self, agent: str | None = None, *, timeout_s: float = TIMEOUT_S) -> ConvergenceResult:
        """Stop and start the process of an agent, or every one, a few at a time; all of a fleet that was deleted are started."""
        self._refuse_unknown()
        patience = self._around.patience(timeout_s)
        source = self.source()
        refuse_unresolved(source, self._folder.home)
        async with self._changing():
            converging = await self._converging(source)
            names = [self.process_of(agent)] if agent else None
            was_stopped = converging.remembered.state.is_stopped
            converging.remembered.keep(drained=(), is_stopped=False)
            return await (converging.run(patience) if was_stopped else converging.restart(names, patience))

    async def drain(self, process: str, *, timeout_s: float = TIMEOUT_S) -> ConvergenceResult:
        """Let a process hand over what it holds and end. It stays away until the next apply or restart."""
        self._refuse_unknown()
        patience = self._around.patience(timeout_s)
        async with self._changing():
            converging = await self._converging(self.source())
            return await converging.drain(self.process_of(process), patience)

    async def watch(self, stop: asyncio.Event, *, period_s: float = PERIOD_S) -> None:
        """Keep it so, until told to stop. Failures are reported and tried again. Raises `BackendUnavailable` without its home."""
        watching, home, had_home = Watching(self._report), self._folder.home, False
        while not stop.is_set():
            if had_home and not home.exists():
                raise BackendUnavailable(str(home), f"it was deleted, so nobody watches fleet {self._folder.fleet} any more")
            had_home = home.exists()
            try:
                await self._watch_once(watching)
            except* FleetLocked:
                pass  # The lock's holder is doing the same work.
            except* (HiveError, OSError) as errors:
                watching.report_once(str(errors.exceptions[0]))
            await pause(stop, period_s)

    async def _watch_once(self, watching: Watching) -> None:
        state = self._folder.state() if self._folder.exists else None
        if state is None or state.is_stopped or state.revision == 0:
            return
        async with self._changing(wait_s=0.0):
            await watching.round(await self._converging(self.source()))

    def _at_rest(self, status: FleetStatus) -> FleetStatus:
        """Of a fleet of which nothing runs: the topology that its manifest has, and the facts that its agents will wake with."""
        topology = status.topology
        with suppress(HiveError, OSError):
            topology = self.source().manifest.spec.topology.kind
        facts = sum(map(self._kept.of, self._folder.state().agents))
        return msgspec.structs.replace(self._kept.filled_in(status), topology=topology, facts=facts)

    def _revision(self) -> int:
        return self._folder.state().revision if self._folder.exists else 0

    def _check(self, source: Source) -> None:
        if source.manifest.metadata.name != self._folder.fleet:
            raise InvalidInput(f"this manifest is of {source.manifest.metadata.name!r}, not of {self._folder.fleet!r}")
        refuse_taken_names(self._folder, {agent.name for agent in expanded(source.manifest)}, source.name)
        refuse_uninstalled(source.manifest)

    def _refuse_unknown(self) -> None:
        if not self._folder.exists:
            names = ", ".join(fleets(self._folder.home)) or "none"
            raise InvalidInput(f"there is no fleet {self._folder.fleet!r} in {self._folder.home}; there are: {names}")

    @asynccontextmanager
    async def _changing(self, wait_s: float | None = None, *, is_new: bool = False) -> AsyncIterator[bool]:
        """Alone; whether that had to be waited for. Raises `InvalidInput` where it was purged meanwhile, unless it may be new."""
        self._folder.make()
        wait = self._around.lock_wait_s if wait_s is None else wait_s
        async with fleet_lock(self._folder.lock, self._folder.fleet, wait) as has_waited:
            self._folder.make()
            if not is_new and not self._folder.exists:
                remove_folder(self._folder)
                self._refuse_unknown()
            yield has_waited

    async def _platform(self, kind: str) -> Platform:
        if kind not in self._platforms:
            self._platforms[kind] = await self._around.open_platform(kind, self._folder)
        return self._platforms[kind]

    async def _converging(self, source: Source, *, allow_data_loss: bool = False) -> Converging:
        platform = await self._platform(source.manifest.spec.platform.kind)
        remembered = Remembered(self._folder)
        wanted_source = await asyncio.to_thread(settled, source)
        return Converging(wanted_source, platform, remembered, self._around, self._report, self._sources, allow_data_loss)

    def _keep(self, source: Source, remembered: Remembered) -> None:
        """The manifest is what is meant from now on, also for one that goes on after an interruption."""
        state = remembered.state
        if state.revision and self._folder.manifest_text() == source.text and state.folder == str(source.folder):
            remembered.keep(is_stopped=False, drained=())
            return
        revision = state.revision + 1
        self._folder.keep_manifest(source.text, revision)
        revisions = self._folder.kept_revisions()
        folders = {number: folder for number, folder in state.folders.items() if number in revisions}
        folders[revision] = folder = str(source.folder)
        remembered.keep(revision=revision, folder=folder, folders=folders, is_stopped=False, drained=())

    async def _stopped(self, remembered: Remembered, timeout_s: float) -> list[str]:
        """Stop every process; what could not be stopped."""
        platform = await self._platform(remembered.state.platform)
        applying = Applying(platform, remembered, self._report, self._around, min(timeout_s, self._stop_timeout_s()))
        await applying.stop_all(await platform.observe())
        left = [name for name, process in (await platform.observe()).items() if process.is_alive]
        return [*applying.problems, *(f"{name} still runs" for name in left)]

    def _stop_timeout_s(self) -> float:
        """As the kept manifest has it. One that can't be read any more must not keep a fleet from being stopped."""
        try:
            return self.source().manifest.spec.platform.stop_timeout_s
        except ConfigError:
            return STOP_TIMEOUT_S

    async def _purged_bus(self, hives: Sequence[str]) -> list[str]:
        """Delete what the fleet's hives left on a bus that is not its own; why that can't be done."""
        try:
            bus = settled(self.source()).manifest.spec.bus
        except ConfigError as error:
            return [f"its manifest can't be read any more, so nobody knows which bus it used: {error}"]
        if not bus.url:
            return []
        try:
            config = BusConfig(bus.url, bus.searches, bus.credential, bus.searches_credential)
            for address in await self._around.purge_bus(config, hives, self._folder.home):
                self._report(f"what {', '.join(hives)} left on {address} stays until it expires, or is deleted there by hand")
        except (HiveError, OSError) as error:
            advice = f"where that server is gone for good, delete {self._folder.path}"
            return [f"what it left on its bus is still there ({sentence_of(error)}); {advice}"]
        return []

    def _purged(self) -> list[str]:
        try:
            purge(self._folder)
        except OSError as error:
            return [f"{error.filename} can't be removed: {reason_of(error)}"]
        return []

    async def _any_agent(self) -> str:
        status = await self.status()
        ready = [agent.name for agent in status.agents if agent.is_ready]
        if not ready:
            raise BackendUnavailable(self._folder.fleet, "no agent is ready; see what `hive-mind status` says")
        return self._around.rng.choice(ready)


_PAUSE_S = 0.05
# An agent that nobody asks lets go of its index: a home may have many.
_SLEEP_AFTER_S = 600


async def keep_open(
    controller: HiveController, agent: str, settings: Settings, *, patience_s: float = TIMEOUT_S
) -> ConvergenceResult:
    """Start the process of the resident fleet, with this agent beside those it has. Raises `HiveError`.

    Settings that embed or name a language model hold for all of its agents. Another client may be doing the same: it is waited
    for as long as starting may take.
    """
    return await among_others(lambda: _apply(controller, agent, settings), patience_s)


async def among_others(change: Callable[[], Awaitable[ConvergenceResult]], patience_s: float = TIMEOUT_S) -> ConvergenceResult:
    """Change the resident fleet, also where others are just changing it. Raises `FleetLocked` for one who never ends."""
    give_up = time.monotonic() + patience_s
    while time.monotonic() < give_up:
        with suppress(FleetChanged, FleetLocked):
            return await change()
        await asyncio.sleep(_PAUSE_S)
    return await change()


async def _apply(controller: HiveController, agent: str, settings: Settings) -> ConvergenceResult:
    agents = controller.folder.state().agents if controller.folder.exists else ()
    spec: dict[str, Any] = {
        "topology": "single",
        "agents": [{"name": name, "resources": {"sleepAfterS": _SLEEP_AFTER_S}} for name in [*dict.fromkeys([*agents, agent])]],
        "answering": settings.answering,
        "embedding": embedding_of(settings),
        # All in one process: each further one would load its own models.
        "platform": {"kind": "local", "agentsPerProcess": 1000},
    }
    if settings.llm:
        limits = {"timeoutS": settings.llm_timeout_s, "tries": settings.llm_tries, "tokenBudget": settings.token_budget}
        spec["llm"] = {"model": settings.llm} | limits | _endpoint(settings.llm_url, "LLM_KEY")
    text = json.dumps({"apiVersion": API_VERSION, "kind": "Hive", "metadata": {"name": RESIDENT}, "spec": spec}, indent=2)
    outcome = await controller.apply(read_text(text, settings.home.absolute(), "the resident agents"))
    if not outcome.is_converged:
        # Its neighbours are nothing to it: what is wrong with them is told to those who ask them.
        status = await controller.status()
        if any(view.name == agent and view.is_ready for view in status.agents):
            return msgspec.structs.replace(outcome, problems=())
    return outcome


def embedding_of(settings: Settings) -> dict[str, str]:
    """`spec.embedding` of a manifest whose agents embed as this program does."""
    section = {"kind": settings.embed, "index": settings.ann}
    if settings.embed != "none":
        section |= {"model": settings.embed_model}
    return section | (_endpoint(settings.embed_url, "EMBED_KEY") if settings.embed == "openai" else {})


def _endpoint(url: str, key: str) -> dict[str, str]:
    return ({"url": url} if url else {}) | ({"key": f"${{env:HIVE_MIND_{key}}}"} if secret(key) else {})
