"""The contents of a hive as JSON Lines and back: every assertion with its author, source and times, and what was decided for all.

Nothing in the lines is believed: each is checked as if another node had sent it, and one bad line means that nothing is taken.

Gives back to an agent's memory what it lost, as far as the hives of its home can.

Facts that an agent shared are in its node's journal and in those of the nodes beside it, in one home.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.hive.policy.admission import problem_with, refusal
from hive_mind.hive.policy.seal import UNSEALED
from hive_mind.hive.replication.resettlement import JournalSnapshot, Vouched
from hive_mind.hive.settings import HiveSettings
from hive_mind.memory.transfer.examining import PROBLEMS_SHOWN
from hive_mind.memory.transfer.transfer import PROBLEM_CHARACTERS_MAX
from hive_mind.model.decoding import json_decoder
from hive_mind.model.evidence import ACTOR_BYTES, Assertion, Sealed, Stamp, Statement, dot, said_of
from hive_mind.model.fact import Fact, Sharing
from hive_mind.model.messages import Appointment, RegistryEntry
from hive_mind.replacing import REPLACED, UNFINISHED
from hive_mind.runtime.members.generations import snapshot_of
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import opened_store
from hive_mind.runtime.workers.config import HiveConfig
from hive_mind.store.base import AddFact, FactStore

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
    folders = sorted(path for path in (settings.home / "hives").glob("*") if path.is_dir() and not _is_leftover(path))
    vouched = [claim for folder in folders for claim in await _vouched(settings.home, folder.name, agent)]
    facts = _facts(vouched)
    async with opened_store(settings, agent) as store:
        added = await _add(store, facts)
    return GivenBack(added, len(facts), tuple(folder.name for folder in folders))


def _is_leftover(folder: Path) -> bool:
    return folder.name.endswith((UNFINISHED, REPLACED))


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
            learned_at_us=one.stamp.ms * 1000,
            sharing=Sharing.SHARED,
        )
        sources = tuple(dict.fromkeys((*fact.sources, one.root)))
        facts[one.fact_id] = replace(fact, sources=sources, offered=sources)
    return list(facts.values())


async def _add(store: FactStore, facts: Sequence[Fact]) -> int:
    known_facts = await store.find(fact.id for fact in facts)
    missing = [fact for fact in facts if fact.id not in known_facts]
    await store.write([AddFact(fact) for fact in missing])
    return len(missing)
