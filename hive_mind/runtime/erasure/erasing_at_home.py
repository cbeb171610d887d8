"""Erasing from the agents of a home that nobody runs, and from the copies that were made of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from hive_mind import backends
from hive_mind.bus.dead_letters import SUFFIX, DeadLetterFile
from hive_mind.errors import HiveError
from hive_mind.memory.erasing import ErasureScope, erase, found_in
from hive_mind.model.erasure import Erasure, Erasures
from hive_mind.replacing import abandoned, remove_abandoned, remove_passed
from hive_mind.runtime.erasure.copies import Copied, copies, has_residue, needles, noted, quotes, residue
from hive_mind.runtime.erasure.receipts import Confirmed, Owed, now_ms
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import opened_store
from hive_mind.sqlite import lock_path
from hive_mind.store.base import FactStore

_ADVICE = {
    "facts": "delete it, or write it anew: hive-mind facts export",
    "archive": "delete it, or write it anew: hive-mind backup --fleet",
    "backup": "delete it, or write it anew: hive-mind backup",
}


@dataclass(slots=True)
class Erased:
    """Facts and texts found, nodes that let go of them, and those that have not. `texts` and `names` are looked for last."""

    confirmed: list[Confirmed] = field(default_factory=list)
    owed: list[Owed] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    texts: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)

    def note(self, holder: str, scope: ErasureScope) -> None:
        """Somebody has let go of this, or would."""
        self.confirmed.append(Confirmed(holder, len(scope.facts), len(scope.episodes), now_ms()))
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
                erased.confirmed.append(Confirmed(f"dead letters {path}", 0, count, now_ms()))


async def erase_from_copies(home: Path, erasures: Sequence[Erasure], erased: Erased, *, is_dry: bool) -> None:
    """Backups are written anew in their place; of other copies those that have it are named."""
    halves = [Path(copied.path) for copied in noted(home)]
    for half in abandoned(halves) if is_dry else remove_abandoned(*halves):
        erased.note(f"half of a copy {half}", ErasureScope())
    for copied in copies(home):
        if copied.kind != "backup":
            _name_if_it_has(copied, erased)
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
    for path in residue(home, needles(erased.texts, erased.names)):
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
    return await erase(store, erasures, now_ms() * 1000, everything=everything)


def _name_if_it_has(copied: Copied, erased: Erased) -> None:
    """An archive is compressed: what it has can't be seen from outside, and it is named in any case."""
    path = Path(copied.path)
    if copied.kind == "archive" or has_residue(path, needles(erased.texts, erased.names)):
        erased.owed.append(Owed(copied.path, f"may have what was erased: {_ADVICE[copied.kind]}"))
