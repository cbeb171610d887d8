"""From one generation of a hive to the next: its facts, read from the journals of nodes that rest, become the journals of others.

The former journals stay as they are. The new ones are made in a folder of another name, are read again, and get their own name as
the last step: a process killed before that has changed nothing, and does it again. No node of either hive may run meanwhile.

Contents of a hive travel as JSON Lines: every assertion with its author, source and times, and what was decided for all. Nothing
in the lines is believed: each is checked as if another node had sent it, and one bad line means that nothing is taken.

An agent's memory gets back what it lost from the journals of a home, as far as these have it.
"""

import asyncio
import shutil
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec

from hive_mind import backends
from hive_mind.counted import counted
from hive_mind.errors import BackendError, BackendRejected, DatabaseUnreadable, InvalidInput, reason_of
from hive_mind.hive.effects import Put
from hive_mind.hive.policy import UNSEALED, Seal
from hive_mind.hive.policy.admission import problem_with, refusal
from hive_mind.hive.replication.resettlement import (
    Journal,
    JournalMerger,
    JournalSnapshot,
    Resettlement,
    Vouched,
    attached_to,
    facts_of,
)
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology.spec import is_shared
from hive_mind.memory.transfer import PROBLEM_CHARACTERS_MAX, PROBLEMS_SHOWN
from hive_mind.model.decoding import json_decoder
from hive_mind.model.evidence import ACTOR_BYTES, Assertion, Sealed, Stamp, Statement, dot, said_of
from hive_mind.model.fact import Fact, Sharing
from hive_mind.model.messages import Appointment, RegistryEntry
from hive_mind.runtime.members.host import fresh_chance
from hive_mind.runtime.node import system_clock
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import opened_store
from hive_mind.runtime.workers.config import HiveConfig, founded
from hive_mind.safe_files import REPLACED, UNFINISHED, sync_file, sync_folder
from hive_mind.store import AddFact


@dataclass(frozen=True, slots=True)
class Moved:
    """How much the new generation begins with. `undelivered`: things said to nodes that are no more, which nobody will hear."""

    facts: int = 0
    assertions: int = 0
    registry: int = 0
    undelivered: int = 0


@dataclass(frozen=True, slots=True)
class Move:
    """The journals of `old` are to become those of `new`."""

    home: Path
    old: HiveConfig
    old_nodes: Sequence[str]
    new: HiveConfig
    attached: Mapping[str, str]
    """New nodes by agent."""
    tuning: HiveSettings
    replace: bool = False
    """Whether to make them also where they were made before, if no node ever began with them."""
    allow_loss: bool = False
    """Whether to go on where a journal is missing whose node is known to have written what no other journal has."""
    seal: Seal = UNSEALED
    """Of the one that moves them, for a hive of sealed facts."""


async def move(order: Move) -> Moved:
    """Make the journals of the next generation. Raises `HiveError`, and has changed nothing then."""
    old, new = order.old, order.new
    if old.id == new.id:
        raise InvalidInput(f"a new generation needs another id than {old.id!r}")
    if founded(new) is None or not is_shared(old.topology):
        return Moved()
    snapshot = await snapshot_of(order.home, old, order.old_nodes, order.tuning)
    if snapshot.lost and not order.allow_loss:
        raise _lost(snapshot.lost)
    parts = (order.home, snapshot, new, order.attached, order.tuning)
    return await settle(*parts, former=_group_of(old), replace=order.replace, seal=order.seal)


async def settle(
    home: Path,
    snapshot: JournalSnapshot,
    new: HiveConfig,
    attached: Mapping[str, str],
    tuning: HiveSettings,
    *,
    former: Mapping[str, str] | None = None,
    replace: bool = False,
    seal: Seal = UNSEALED,
) -> Moved:
    """The journals of a hive that begins with a snapshot. `former` are groups by node, of nodes that are no more."""
    if (topology := founded(new)) is None:
        return Moved()
    if unknown := sorted(set(attached.values()) - set(topology.nodes)):
        raise InvalidInput(f"agents are attached to nodes that hive {new.id!r} has not: {', '.join(unknown)}")
    folder = home / "hives" / new.id
    _refuse_used(folder, replace=replace)
    heirs = {group: min(nodes) for group, nodes in new.founders.items() if nodes}
    node_of = attached_to(topology, attached, former or {}, heirs)
    work = Resettlement(snapshot, topology, node_of, tuning, fresh_chance(), system_clock(), seal)
    unfinished = folder.with_name(folder.name + UNFINISHED)
    try:
        await asyncio.to_thread(_emptied, unfinished)
        sqlite: Any = backends.load("journal", "sqlite")
        journals = work.journals()
        while (journal := await asyncio.to_thread(next, journals, None)) is not None:
            await _write_one(sqlite, unfinished, journal)
        moved = await _snapshot_in(unfinished, (), tuning)
        # Where journals do not say what they were made of, nobody may delete the former ones.
        missing = {claim.assertion for claim in snapshot.vouched} ^ {claim.assertion for claim in moved.vouched}
        if missing or len(moved.entries) < len(snapshot.entries):
            loss = f"{counted(len(missing), 'assertion')} of {len(snapshot.vouched):,} can't be read again there"
            raise BackendError("hive", f"{folder}: {loss}; nothing was changed: check the disk, and try it again")
        await asyncio.to_thread(_put_in_place, unfinished, folder)
    except OSError as error:
        raise BackendError("hive", f"{folder}: {reason_of(error)}; nothing was changed: check the disk") from error
    finally:
        await asyncio.to_thread(shutil.rmtree, unfinished, ignore_errors=True)
    facts = await asyncio.to_thread(facts_of, snapshot, tuning, fresh_chance(), system_clock())
    return Moved(len(facts), len(snapshot.vouched), len(snapshot.entries), work.undelivered)


async def snapshot_of(
    home: Path, hive: HiveConfig, nodes: Iterable[str], tuning: HiveSettings, *, while_open: bool = False
) -> JournalSnapshot:
    """The joint contents of the journals of a hive, including nodes that nobody names. A missing one is fine, a damaged one not.

    Raises `DatabaseLocked`, `DatabaseUnreadable` or `BackendError`.
    """
    return await _snapshot_in(home / "hives" / hive.id, nodes, tuning, while_open=while_open)


async def _snapshot_in(folder: Path, nodes: Iterable[str], tuning: HiveSettings, *, while_open: bool = False) -> JournalSnapshot:
    reading = JournalMerger(tuning.standing.moderators)
    names = {*nodes, *await asyncio.to_thread(lambda: [path.stem for path in folder.glob("*.sqlite")])}
    async for name, records in _journals(folder, sorted(names), while_open=while_open):
        try:
            await asyncio.to_thread(reading.take, name, records)
        except ValueError as error:
            path = folder / f"{name}.sqlite"
            raise DatabaseUnreadable("sqlite", f"{path} holds what no node writes ({error}). Nothing was changed") from error
    return await asyncio.to_thread(reading.snapshot)


async def _journals(folder: Path, names: Iterable[str], *, while_open: bool) -> AsyncIterator[tuple[str, list[Put]]]:
    read_journal = backends.load("journal", "sqlite").read
    for name in names:
        path = folder / f"{name}.sqlite"
        # A log without its file is no missing journal: it is half of one.
        if path.exists() or path.with_name(path.name + "-wal").exists():
            yield name, await read_journal(path, while_open=while_open)


async def _write_one(sqlite: Any, folder: Path, new_journal: Journal) -> None:
    path = folder / f"{new_journal.node}.sqlite"
    journal = await sqlite.open(path)
    try:
        await journal.write(new_journal.records)
    finally:
        await journal.close()
    # A node that opens it leaves this behind; so it is seen whether one ever did.
    _lock_of(path).unlink(missing_ok=True)


def _emptied(folder: Path) -> None:
    """Leftovers of somebody who was killed are of no use."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)


def _put_in_place(unfinished: Path, folder: Path) -> None:
    """Everything on disk, and then under its name, in one step."""
    for path in sorted(unfinished.iterdir()):
        sync_file(path)
    sync_folder(unfinished)
    replaced = folder.with_name(folder.name + REPLACED)
    shutil.rmtree(replaced, ignore_errors=True)
    if folder.exists():
        folder.rename(replaced)
    unfinished.rename(folder)
    sync_folder(folder.parent)
    shutil.rmtree(replaced, ignore_errors=True)


def _refuse_used(folder: Path, *, replace: bool) -> None:
    if not folder.exists() or not any(folder.iterdir()):
        return
    if used := sorted(path.name for path in folder.glob("*.sqlite") if _lock_of(path).exists()):
        raise InvalidInput(f"{folder} belongs to a hive that has run ({used[0]}): give the new generation another id")
    if not replace:
        raise InvalidInput(f"{folder} is there already: remove it, or give the new generation another id")


def _lock_of(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _group_of(hive: HiveConfig) -> dict[str, str]:
    return {node: group for group, nodes in hive.founders.items() for node in nodes}


def _lost(lost: Mapping[str, int]) -> BackendRejected:
    holes = ", ".join(f"{node} ({count})" for node, count in sorted(lost.items()))
    return BackendRejected(
        "hive",
        f"these nodes have written what no journal that is there has: {holes}. "
        "Put their journals back, or allow that loss; nothing was changed",
    )


LINE_BYTES_MAX = 4 << 20
# A dot is no part of a snapshot, and has to be one for the check.
_ANY_DOT = dot(bytes(ACTOR_BYTES), 1)

_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
_Actor = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{2}){0,64}$")]
_Time = tuple[_Count, _Count, _Actor]


class _AssertionLine(msgspec.Struct, tag_field="type", tag="assertion", forbid_unknown_fields=True, omit_defaults=True):
    fact_id: str
    content: str
    agent: str
    root: str
    confidence: float
    stamp: _Time
    node: str = ""
    ttl_ms: _Count = 0
    expires_ms: _Count = 0
    tenant: str = "default"
    concept: str = ""
    said_at: str = ""
    speaker: str = ""
    before: str = ""
    entities: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    model: str = ""
    vector: str = ""


class _EntryLine(msgspec.Struct, tag_field="type", tag="entry", forbid_unknown_fields=True, omit_defaults=True):
    key: str
    value: str
    stamp: _Time
    by: str = ""
    appointed: tuple[_Time, str] | None = None


_Line = _AssertionLine | _EntryLine
_decode = json_decoder(_Line)
_encode = msgspec.json.Encoder().encode


def lines_of(snapshot: JournalSnapshot) -> Iterator[bytes]:
    """One line each, without line ends: assertions in the order of their stamps, then entries."""
    for claim in snapshot.vouched:
        yield _encode(_line(claim))
    for entry in snapshot.entries:
        appointment = entry.appointment
        appointed = None if appointment is None else (_time(appointment.stamp), appointment.by)
        yield _encode(_EntryLine(entry.key, entry.value, _time(entry.stamp), entry.by, appointed))


def snapshot_in(lines: Iterable[bytes]) -> JournalSnapshot:
    """The snapshot that `lines_of` wrote. Raises `InvalidInput` that names the first bad lines and what is wrong with each."""
    vouched: list[Vouched] = []
    entries: list[RegistryEntry] = []
    problems: list[str] = []
    for number, line in enumerate(lines, start=1):
        try:
            line_read = _checked(line)
        except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError, InvalidInput) as error:
            problems.append(f"line {number}: {str(error)[:PROBLEM_CHARACTERS_MAX]}")
            if len(problems) >= PROBLEMS_SHOWN:
                break
        else:
            if isinstance(line_read, Vouched):
                vouched.append(line_read)
            else:
                entries.append(line_read)
    if problems:
        raise InvalidInput("\n  ".join(["what the hive held can't be read:", *problems]))
    once = {
        (claim.assertion.fact_id, claim.assertion.agent, claim.assertion.root): claim for claim in sorted(vouched, key=_stamp)
    }
    return JournalSnapshot(tuple(sorted(once.values(), key=_stamp)), tuple(entries))


def _stamp(claim: Vouched) -> Stamp:
    return claim.assertion.stamp


def _line(claim: Vouched) -> _AssertionLine:
    statement, assertion = claim.assertion.statement, claim.assertion
    return _AssertionLine(
        **said_of(statement),
        fact_id=assertion.fact_id,
        agent=assertion.agent,
        root=assertion.root,
        confidence=assertion.confidence,
        stamp=_time(assertion.stamp),
        node=claim.node,
        ttl_ms=assertion.ttl_ms,
        expires_ms=assertion.expires_ms,
        tenant=assertion.tenant,
        model=statement.model,
        vector=b64encode(statement.vector).decode(),
    )


def _checked(line: bytes) -> Vouched | RegistryEntry:
    if len(line) > LINE_BYTES_MAX:
        raise InvalidInput(f"a line has at most {LINE_BYTES_MAX} bytes")
    decoded = _decode(line)
    if isinstance(decoded, _EntryLine):
        appointment = None if decoded.appointed is None else Appointment(_stamp_of(decoded.appointed[0]), decoded.appointed[1])
        entry = RegistryEntry(decoded.key, decoded.value, _stamp_of(decoded.stamp), decoded.by, appointment=appointment)
        _refuse(problem_with(entry))
        return entry
    assertion = _assertion(decoded)
    _refuse(refusal(Sealed(_ANY_DOT, assertion), "", decoded.tenant, UNSEALED))
    return Vouched(assertion, decoded.node)


def _assertion(line: _AssertionLine) -> Assertion:
    statement = Statement(**said_of(line), model=line.model, vector=b64decode(line.vector, validate=True))
    stamp = _stamp_of(line.stamp)
    return Assertion(
        line.fact_id, line.agent, line.root, line.confidence, stamp, statement, line.ttl_ms, line.expires_ms, line.tenant
    )


def _refuse(reason: str) -> None:
    if reason:
        raise InvalidInput(reason)


def _time(stamp: Stamp) -> _Time:
    return stamp.ms, stamp.counter, stamp.actor.hex()


def _stamp_of(time: _Time) -> Stamp:
    return Stamp(time[0], time[1], bytes.fromhex(time[2]))


@dataclass(frozen=True, slots=True)
class GivenBack:
    """`facts` were missing and are there again, of `known` that the agent shared and nobody took back; `hives` were read."""

    facts: int
    known: int
    hives: tuple[str, ...]


async def give_back(settings: Settings, agent: str) -> GivenBack:
    """Add to an agent's memory what its hives have of it, also while their nodes run.

    Raises `DatabaseLocked`, `DatabaseUnreadable` or `BackendError`.
    """
    hives, leftovers = (settings.home / "hives").glob("*"), (UNFINISHED, REPLACED)
    folders = sorted(path for path in hives if path.is_dir() and not path.name.endswith(leftovers))
    vouched = [claim for folder in folders for claim in await _vouched(settings.home, folder.name, agent)]
    facts = _facts(vouched)
    async with opened_store(settings, agent) as store:
        known_facts = await store.find(fact.id for fact in facts)
        missing = [fact for fact in facts if fact.id not in known_facts]
        await store.write([AddFact(fact) for fact in missing])
    return GivenBack(len(missing), len(facts), tuple(folder.name for folder in folders))


async def _vouched(home: Path, hive: str, agent: str) -> list[Vouched]:
    snapshot = await snapshot_of(home, HiveConfig(hive), (), HiveSettings(), while_open=True)
    return [claim for claim in snapshot.vouched if claim.assertion.agent == agent]


def _facts(vouched: Iterable[Vouched]) -> Sequence[Fact]:
    """One for each statement; the sources it was shared for are its roots, and it is as old as the first of them."""
    facts: dict[str, Fact] = {}
    for one in sorted((each.assertion for each in vouched), key=lambda assertion: assertion.stamp):
        fact = facts.get(one.fact_id) or Fact(
            **said_of(one.statement),
            id=one.fact_id,
            confidence=one.confidence,
            sources=(),
            learned_at_us=one.stamp.us,
            sharing=Sharing.SHARED,
        )
        sources = tuple(dict.fromkeys((*fact.sources, one.root)))
        facts[one.fact_id] = replace(fact, sources=sources, offered=sources)
    return list(facts.values())
