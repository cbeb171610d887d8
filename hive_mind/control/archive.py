"""From an archive to a fleet: everything is checked and made in a folder beside, then put in place, and the state comes last.

An import leaves a fleet that is known and stopped. The next `apply`, of the manifest in the archive or of any other, starts it
and moves the hive's facts into the topology which that manifest wants, as it does whenever the topology changes. After an
interruption, importing the same file again resumes there.

A whole fleet in one file: its manifest, what every agent remembers, and what the hive holds, with all evidence.

While the fleet runs, agents are asked for what they remember, and journals are read as they are at this moment. `restoring` is
the way back.
"""

import asyncio
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec
import yaml

import hive_mind
from hive_mind.clocks import wall_clock_ms
from hive_mind.control.archive_file import HIVE, MANIFEST, Archive, Archived, Writer, digest_of, reading, writing
from hive_mind.control.manifests.reading import read_text
from hive_mind.control.platforms import CALL_TIMEOUT_S
from hive_mind.control.state import FleetFolder, FleetState, checked_name, fleet_lock, private_folder
from hive_mind.errors import BackendError, BackendUnavailable, InvalidInput, reason_of
from hive_mind.hive.replication.resettlement import JournalSnapshot
from hive_mind.hive.settings import HiveSettings
from hive_mind.memory.transfer import Lines
from hive_mind.memory.transfer.importing import import_all
from hive_mind.model.decoding import json_decoder
from hive_mind.runtime.keys import KeyFolder
from hive_mind.runtime.members.generations import Moved, lines_of, settle, snapshot_in, snapshot_of
from hive_mind.runtime.settings import Settings, is_kept
from hive_mind.runtime.wiring import open_memory, unindexed
from hive_mind.runtime.workers.config import HiveConfig
from hive_mind.safe_files import sync_folder, write_whole

_NODE = "archive"
_COMPLETE = "complete"


async def import_(path: Path, home: Path, fleet: str = "", root: str = "") -> Archived:
    """Restore a fleet into a home that has neither it nor its agents; `fleet`: under another name. It stays stopped.

    `root`: the first digits of the key that must have signed it; without one anybody's archive is taken.

    Raises `HiveError`, and has changed nothing then.
    """
    with reading(path) as archive:
        signer = archive.about.root_id
        if root and not (signer and signer.startswith(root.lower())):
            by = f"was signed by root {signer[:12]}" if signer else "was signed by nobody"
            raise InvalidInput(f"{archive.path} {by}, not by root {root}: ask for an archive of that fleet, or leave --root out")
        name = checked_name(fleet or archive.about.fleet, "fleet")
        manifest = _manifest(archive, name)
        folder = FleetFolder(home, name)
        work = _Import(archive, folder, manifest, folder.home / f".import-{name}")
        home, fleet = work.folder.home, work.folder.fleet
        if work.folder.exists and not work.is_in_place():
            raise InvalidInput(f"{home} has a fleet {fleet!r} already: purge it, take another name, or import into another home")
        is_begun = (work.staging / _COMPLETE).exists()
        for target in work.targets():
            is_placed = is_begun and not (work.staging / target).exists()
            if (home / target).exists() and not is_placed:
                raise InvalidInput(f"{home / target} is there already: remove it, or import into another home")
        try:
            return await _carried_out(work, is_home_new=not await asyncio.to_thread(folder.home.exists))
        except OSError as error:
            raise BackendError("archive", f"{folder.home}: {reason_of(error)}; check the folder and the disk") from error


async def _carried_out(work: "_Import", *, is_home_new: bool) -> Archived:
    private_folder(work.folder.path)
    async with fleet_lock(work.folder.lock, work.folder.fleet, 0.0):
        try:
            return await work.carry_out()
        except BaseException:
            await asyncio.to_thread(_tidy, work.folder, is_home_new=is_home_new)
            raise


@dataclass(frozen=True, slots=True)
class _Import:
    """Everything is made in a folder beside, and then put in place piece by piece; the state comes last."""

    archive: Archive
    folder: FleetFolder
    manifest: str
    staging: Path

    async def carry_out(self) -> Archived:
        digest = await asyncio.to_thread(digest_of, self.archive.path)
        if not self.is_complete(digest):
            try:
                await asyncio.to_thread(shutil.rmtree, self.staging, ignore_errors=True)
                private_folder(self.staging)
                snapshot = await asyncio.to_thread(self._snapshot)
                lines = 0
                for agent in self.archive.agents:
                    of_agent = partial(self.archive.each_line, f"agents/{agent}.jsonl")
                    count, former = await _restored(self.staging, agent, of_agent)
                    snapshot = _without_former(snapshot, agent, former)
                    lines += count
                    if self.archive.has(f"agents/{agent}.sources"):
                        _restore_sources(self.staging / "agents" / agent, self.archive.text(f"agents/{agent}.sources"))
                moved = await self._settled(snapshot)
                archived = Archived(
                    self.folder.fleet, self.archive.agents, lines, moved.assertions, moved.registry, self.archive.about.root_id
                )
                write_whole(self.staging / _COMPLETE, digest.encode() + b"\n" + msgspec.json.encode(archived))
            except BaseException:
                await asyncio.to_thread(shutil.rmtree, self.staging, ignore_errors=True)
                raise
        archived = self._archived()
        # At a stroke: a thread would go on behind the back of a command that is told to end, and of its lock.
        self._put_in_place(archived)
        return archived

    def is_in_place(self) -> bool:
        """Whether somebody was killed who had put all of it in place, and nobody has changed the fleet since."""
        if not (self.staging / _COMPLETE).exists() or any((self.staging / target).exists() for target in self.targets()):
            return False
        return self.folder.state() == self._state(self._archived())

    def _archived(self) -> Archived:
        return json_decoder(Archived)((self.staging / _COMPLETE).read_bytes().split(b"\n", 1)[1])

    def is_complete(self, digest: str) -> bool:
        """Whether somebody was killed who had made all of it and perhaps put some of it in place."""
        try:
            checksum = (self.staging / _COMPLETE).read_text("utf-8").split("\n")[0]
        except FileNotFoundError:
            return False
        if checksum != digest:
            raise InvalidInput(
                f"another archive was imported as {self.folder.fleet!r} and not to the end: import that one again first"
            )
        # Otherwise that fleet was begun and purged since; only the folder beside was forgotten.
        homes = (self.staging, self.folder.home)
        return all(any((home / "agents" / agent).exists() for home in homes) for agent in self.archive.agents)

    async def _settled(self, snapshot: JournalSnapshot) -> Moved:
        """Journals of a hive that holds this, if there is anything."""
        tenants = sorted({claim.assertion.tenant for claim in snapshot.vouched})
        if len(tenants) > 1:
            raise InvalidInput(f"{self.archive.path} holds facts of several tenants ({', '.join(tenants)}): a hive is of one")
        if not (snapshot.vouched or snapshot.entries):
            return Moved()
        standing = HiveSettings().standing
        tuning = HiveSettings(standing=replace(standing, tenant=tenants[0]) if tenants else standing)
        return await settle(self.staging, snapshot, self._hive(), {}, tuning)

    def _snapshot(self) -> JournalSnapshot:
        return snapshot_in(self.archive.lines(HIVE)) if self.archive.has(HIVE) else JournalSnapshot()

    def _hive(self) -> HiveConfig:
        """One node that nobody will run: the next generation begins with its journal."""
        return HiveConfig(self.folder.fleet, "flat", {"": (_NODE,)})

    def targets(self) -> list[Path]:
        return [*(Path("agents") / agent for agent in self.archive.agents), Path("hives") / self.folder.fleet]

    def _put_in_place(self, archived: Archived) -> None:
        for target in self.targets():
            if (self.staging / target).exists():
                private_folder((self.folder.home / target).parent)
                (self.staging / target).rename(self.folder.home / target)
                sync_folder((self.folder.home / target).parent)
        self.folder.make().keep_manifest(self.manifest, 1)
        self.folder.keep(self._state(archived))
        (self.staging / _COMPLETE).unlink()
        shutil.rmtree(self.staging, ignore_errors=True)

    def _state(self, archived: Archived) -> FleetState:
        has_hive = archived.assertions + archived.registry > 0
        return FleetState(
            # Alone for now: so whichever topology is applied, facts move there from the last hive.
            hive=HiveConfig(self.folder.fleet, "single"),
            last_hive=self._hive() if has_hive else None,
            nodes=(_NODE,) if has_hive else (),
            revision=1,
            folder=str(self.folder.path),
            agents=archived.agents,
            hives=(self.folder.fleet,),
            is_stopped=True,
        )


def _manifest(archive: Archive, fleet: str) -> str:
    """The manifest, checked; under another name where that is wanted."""
    text = archive.text(MANIFEST)
    source = read_text(text, archive.path.parent, f"{archive.path}: {MANIFEST}")
    if source.manifest.metadata.name == fleet:
        return text
    value = yaml.safe_load(text)
    value["metadata"]["name"] = fleet
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True)


async def _restored(home: Path, agent: str, lines: Lines) -> tuple[int, frozenset[str]]:
    """How many lines an agent remembers, and the ids of facts that are not current any more."""
    try:
        async with unindexed(settings_at(home), agent) as target:
            import_result = await import_all(lines, target.keep, target.meta)
            former = [fact.id async for facts in target.store.facts() for fact in facts if not fact.is_current]
            return import_result.lines, frozenset(former)
    except InvalidInput as error:
        raise InvalidInput(f"what {agent} remembers can't be read: {error}") from error


def _without_former(snapshot: JournalSnapshot, agent: str, former: frozenset[str]) -> JournalSnapshot:
    """Without what an agent takes back: it will not know any more that the hive was ever told."""
    claims = [claim for claim in snapshot.vouched if claim.assertion.agent != agent or claim.assertion.fact_id not in former]
    return replace(snapshot, vouched=tuple(claims))


def _restore_sources(folder: Path, text: str) -> None:
    try:
        json_decoder(dict[str, str])(text)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"the list of what {folder.name} has learned can't be read: {error}") from error
    write_whole(private_folder(folder) / "sources.json", text.encode())


def settings_at(home: Path) -> Settings:
    """Of memories that are only read and written: their workers embed what has no vector."""
    return Settings(home=home, store="sqlite", embed="none", ann="exact")


def _tidy(folder: FleetFolder, *, is_home_new: bool) -> None:
    if folder.exists:
        return
    for path in (folder.lock, folder.manifest):
        path.unlink(missing_ok=True)
    above = [folder.path.parent, *([folder.home] if is_home_new else [])]
    for path in [*folder.path.glob("*/"), folder.path, *above]:
        with suppress(OSError):
            path.rmdir()


__all__ = ["Archived", "Call", "export", "import_"]


class Call(Protocol):
    """How an agent that runs is asked: `HiveController.call`."""

    async def __call__(self, agent: str, what: str, *, timeout_s: float = CALL_TIMEOUT_S, **fields: object) -> Any:
        """Raises `BackendUnavailable` where it is not running."""


async def export(home: Path, fleet: str, path: Path, *, call: Call | None = None) -> Archived:
    """Write a fleet to `path`, while it runs or not. `call` reaches agents that run; without it they must not.

    Raises `HiveError`, and has written nothing then.
    """
    folder = FleetFolder(home, fleet)
    if not folder.exists:
        raise InvalidInput(f"there is no fleet {fleet!r} in {home}")
    state = folder.state()
    # The hive first: what an agent learns meanwhile is in its memory, and will be offered to the hive again.
    snapshot = await _snapshot(folder, state)
    agents, count = [], 0
    with writing(path) as writer:
        writer.add(MANIFEST, folder.manifest_text().encode().splitlines())
        await asyncio.to_thread(writer.add, HIVE, lines_of(snapshot))
        for agent in dict.fromkeys([*state.agents, *state.hosts]):
            lines = await _lines(folder, state, agent, call)
            if lines is not None:
                agents.append(agent)
                count += await asyncio.to_thread(_add_agent, writer, folder, agent, lines)
        root = KeyFolder(folder.path / "keys", fleet).root_if_here()
        writer.finish(fleet, wall_clock_ms(), hive_mind.__version__, root)
    root_id = root.id.hex() if root is not None else ""
    return Archived(fleet, tuple(agents), count, len(snapshot.vouched), len(snapshot.entries), root_id)


async def _snapshot(folder: FleetFolder, state: FleetState) -> JournalSnapshot:
    if state.last_hive is None:
        return JournalSnapshot()
    # As workers were configured; moderators decide what a removal counts.
    config = await asyncio.to_thread(folder.any_config)
    tuning = config.tuning if config is not None else HiveSettings()
    return await snapshot_of(folder.home, state.last_hive, state.nodes, tuning, while_open=True)


async def _lines(folder: FleetFolder, state: FleetState, agent: str, call: Call | None) -> list[bytes] | None:
    """The lines of an agent's memory, given by itself or read in its place; None for one that remembers nothing."""
    if call is not None and agent in state.hosts:
        try:
            reply = await call(agent, "export")
            return [str(line).encode() for line in reply["lines"]]
        except BackendUnavailable:
            pass  # It does not run.
    settings = settings_at(folder.home)
    if not is_kept(settings, agent):
        return None
    async with await open_memory(settings, agent, is_reading=True) as memory:
        return [line.encode() async for line in memory.export()]


def _add_agent(writer: Writer, folder: FleetFolder, agent: str, lines: Iterable[bytes]) -> int:
    sources = folder.agent(agent) / "sources.json"
    if sources.exists():
        writer.add(f"agents/{agent}.sources", sources.read_bytes().splitlines())
    return writer.add(f"agents/{agent}.jsonl", lines)
