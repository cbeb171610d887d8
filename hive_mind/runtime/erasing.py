"""Carries out at one node what its hive is to forget: in the memories of its agents and in its journal, and confirms it.

The registry says what is to be forgotten, and is exchanged before anything else: a member that was away hears of it when it is
back. A memory remembers what was erased from it, so one that is restored from a backup is cleaned again.

Agents of a home that nobody runs are erased from here too, and the copies that were made of them.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

import msgspec

from hive_mind import backends
from hive_mind.bus import Envelope
from hive_mind.bus.dead_letters import SUFFIX, DeadLetterFile
from hive_mind.clocks import wall_clock_ms
from hive_mind.errors import BackendUnavailable, HiveError
from hive_mind.hive.policy.admission import erased_key
from hive_mind.hive.policy.registry import Registry
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.memory.erased_from import lacking
from hive_mind.memory.erasing import ErasureScope, erase, found_in
from hive_mind.model.erasure import Erasure, Erasures, read_key
from hive_mind.runtime.copies import Copied, copies, has_lines_of, has_residue, needles, noted, quotes, residue
from hive_mind.runtime.receipts import Confirmed, Owed
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import opened_store
from hive_mind.safe_files import abandoned, being_written, remove_abandoned, remove_passed
from hive_mind.sqlite import lock_path
from hive_mind.store import FactStore

_log = logging.getLogger(__name__)

Held = Callable[[], Collection[str]]


class Memory(Protocol):
    """The agent's memory."""

    @property
    def local(self) -> CognitiveMemory:
        """Where it keeps it."""

    async def erase(self, wanted: Sequence[Erasure], at_us: int, *, everything: bool = False) -> ErasureScope:
        """Let go of what is meant."""


class Runner(Protocol):
    """The runner of the node."""

    async def scrub(self, is_meant: Callable[[Envelope], bool]) -> None:
        """Leave no byte of what the node let go of in the journal, nor of what is meant in what it refused."""

    async def write(self, entries: Sequence[tuple[str, str]], by: str) -> Sequence[str]:
        """Write registry entries; why each was refused."""


class Eraser:
    """Of one node. Call `look` often: it costs nothing while there is nothing to do."""

    def __init__(self, node: str, runner: Runner) -> None:
        self._node, self._runner = node, runner
        self._erasures_done: set[Erasure] = set()
        self._turn = asyncio.Lock()
        self._reported = ""

    def due(self, registry: Registry) -> list[Erasure]:
        """Those that were not carried out yet in this boot."""
        return [erasure for erasure in erasures_of(registry) if erasure not in self._erasures_done]

    async def look(self, registry: Registry, agents: Mapping[str, Memory], now_ms: int, held: Held) -> None:
        """Carry out what was not carried out yet in this boot, and confirm it. A failed one is tried again at the next look.

        `held`: facts that the node has of what is to be erased: one that does not know the time yet lets go of nothing.
        """
        erasures = self.due(registry)
        if not erasures or self._turn.locked():
            return
        async with self._turn:
            try:
                await self._carry_out(registry, erasures, agents, now_ms, held)
            except HiveError as error:
                if str(error) != self._reported:
                    _log.warning("%s can't erase what it should, and tries again: %s", self._node, error)
                self._reported = str(error)
            else:
                self._reported = ""
                self._erasures_done.update(erasures)

    async def _carry_out(
        self, registry: Registry, erasures: Sequence[Erasure], agents: Mapping[str, Memory], now_ms: int, held: Held
    ) -> None:
        facts = episodes = 0
        for name, memory in agents.items():
            for one in await lacking(memory.local, erasures):
                scope = await memory.erase([one], now_ms * 1000, everything=Erasures([one]).covers_agent(name))
                facts, episodes = facts + len(scope.facts), episodes + len(scope.episodes)
                # It sleeps since, and would count as it was before.
                async with memory.local.awake():
                    pass
        unconfirmed = [erasure for erasure in erasures if registry.get(erased_key(self._node, erasure)) is None]
        if not unconfirmed:
            return
        if held():
            raise BackendUnavailable(self._node, "its journal still has some of it")
        await self._runner.scrub(quotes(erasures))
        value = msgspec.json.encode({"agents": sorted(agents), "facts": facts, "episodes": episodes, "at_ms": now_ms}).decode()
        refusals = await self._runner.write([(erased_key(self._node, erasure), value) for erasure in unconfirmed], self._node)
        if reason := next(filter(None, refusals), ""):
            raise BackendUnavailable(self._node, f"its confirmation was not taken: {reason}")


def erasures_of(registry: Registry) -> list[Erasure]:
    """The erasures to be done, as far as a registry knows."""
    keys = (read_key(key.partition("/")[2]) for key in registry.in_force("erasure"))
    return [erasure for erasure in keys if erasure is not None]


_ADVICE = {
    "facts": "delete it, or write it anew: hive-mind facts export",
    "archive": "delete it, or write it anew: hive-mind backup --fleet",
    "backup": "delete it, or write it anew: hive-mind backup",
}


@dataclass(slots=True)
class Erased:
    """Facts and texts found, nodes that let go of them, and those that have not. `texts` and `names` are looked for last.

    `away`: agents and nodes that clean their own files on their return.
    """

    confirmed: list[Confirmed] = field(default_factory=list)
    owed: list[Owed] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    texts: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    away: set[str] = field(default_factory=set)

    def note(self, holder: str, scope: ErasureScope) -> None:
        """Somebody has let go of this, or would."""
        self.confirmed.append(Confirmed(holder, len(scope.facts), len(scope.episodes), wall_clock_ms()))
        self.facts += [fact.content for fact in scope.facts]
        self.texts.update(fact.content for fact in scope.facts)


async def erase_from_agents(
    settings: Settings, agents: Sequence[str], erasures: Sequence[Erasure], erased: Erased, *, is_dry: bool
) -> None:
    """Each agent's record, closed when this returns. One that can't be opened is owed."""
    for agent in agents:
        everything = Erasures(erasures).covers_agent(agent)
        try:
            async with opened_store(settings, agent) as store:
                erased.note(f"agent {agent}", await _done(store, erasures, everything=everything, is_dry=is_dry))
        except HiveError as error:
            erased.owed.append(Owed(f"agent {agent}", str(error)))


def erase_from_letters(home: Path, erasures: Sequence[Erasure], erased: Erased, *, is_dry: bool) -> None:
    """Of all that nodes refused, whether they run or not."""
    for path in sorted((home / "hives").glob(f"*/*{SUFFIX}")):
        try:
            count = DeadLetterFile(path).erase(quotes(erasures), is_dry=is_dry)
        except HiveError as error:
            erased.owed.append(Owed(str(path), str(error)))
        else:
            if count:
                erased.confirmed.append(Confirmed(f"dead letters {path}", 0, count, wall_clock_ms()))


async def erase_from_copies(home: Path, erasures: Sequence[Erasure], erased: Erased, *, is_dry: bool) -> None:
    """Backups are written anew in their place; of other copies those that have it are named."""
    halves = [Path(copied.path) for copied in noted(home)]
    for half in abandoned(halves) if is_dry else remove_abandoned(*halves):
        erased.note(f"half of a copy {half}", ErasureScope())
    for path in being_written(halves):
        # It may have begun before the memory was erased, and gets its name when this has ended.
        erased.owed.append(Owed(str(path), "is being written: erase again when it is there"))
    for copied in copies(home):
        if copied.kind != "backup":
            _name_if_it_has(copied, erasures, erased)
            continue
        everything = Erasures(erasures).covers_agent(copied.of)
        try:
            erased.note(
                f"backup {copied.path}", await _in_backup(Path(copied.path), erasures, everything=everything, is_dry=is_dry)
            )
        except HiveError as error:
            erased.owed.append(Owed(copied.path, f"{error}; {_ADVICE['backup']}"))


def look_for_residue(home: Path, erased: Erased) -> None:
    """Name every file of a home that still has a byte of it. Copies that killed processes left elsewhere go."""
    remove_passed()
    # Said already, and nobody should delete a memory that is in use.
    owed = {debt.who for debt in erased.owed}
    for path in residue(home, needles(erased.texts, erased.names)):
        journal_of = path.name.partition(".")[0] if path.parent.parent.name == "hives" else ""
        if f"agent {path.parent.name}" in owed or erased.away & {path.parent.name, journal_of}:
            continue
        erased.owed.append(Owed(str(path), "still has a text that was erased: delete it, or what quotes it, and erase again"))


async def _in_backup(path: Path, erasures: Sequence[Erasure], *, everything: bool, is_dry: bool) -> ErasureScope:
    store = cast(FactStore, await backends.load("store", "sqlite").open(path))
    try:
        return await _done(store, erasures, everything=everything, is_dry=is_dry)
    finally:
        await store.close()
        lock_path(path).unlink(missing_ok=True)


async def _done(store: FactStore, erasures: Sequence[Erasure], *, everything: bool, is_dry: bool) -> ErasureScope:
    if is_dry:
        return await found_in(store, Erasures(erasures), everything=everything)
    return await erase(store, erasures, wall_clock_ms() * 1000, everything=everything)


def _name_if_it_has(copied: Copied, erasures: Sequence[Erasure], erased: Erased) -> None:
    """An archive is compressed: what it has can't be seen from outside, and it is named in any case."""
    path = Path(copied.path)
    is_meant = copied.kind == "archive" or Erasures(erasures).covers_agent(copied.of)
    # When it is erased again, the memory has no texts of it any more.
    if is_meant or has_residue(path, needles(erased.texts, erased.names)) or has_lines_of(path, erasures):
        erased.owed.append(Owed(copied.path, f"may have what was erased: {_ADVICE[copied.kind]}"))
