"""Attacks on a hive by somebody who can write to its bus: everything that a twin hive says which believes everybody."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from hive_mind.bus import EVERYONE, Envelope
from hive_mind.hive.policy.admission import rating_key
from hive_mind.hive.policy.node_policy import PolicySettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.identity import Certificate, Keyring, PrivateKey, Revocations, Revoked, issued
from hive_mind.identity.epochs import Signing
from hive_mind.model.messages import (
    Announce,
    AppMessage,
    FactsReply,
    FactsRequest,
    Heartbeat,
    Replicate,
    SyncOffer,
    SyncState,
    TopologyUpdate,
)
from hive_mind.runtime.members.member import RunningMember
from tests.unit.runtime.members.town import Town, plan
from tests.waiting import until

MODERATED = HiveSettings(standing=PolicySettings(moderators=("ada",)))
TRUE, FALSE = "Pump 4 leaks at the seal.", "Pump 4 is as good as new."
DAY_MS = 24 * 3600 * 1000


class Hit(NamedTuple):
    """A fact as somebody finds it."""

    id: str
    content: str


async def found_by(member: RunningMember, question: str = "pump 4") -> list[Hit]:
    return [Hit(hit.fact.id, hit.fact.content) for hit in await member.memory.search_facts(question, 50)]


async def known_to(member: RunningMember) -> set[str]:
    return {hit.content for hit in await found_by(member)}


async def comes_to(member: RunningMember, text: str) -> None:
    """Wait until a member finds it."""
    for _ in range(500):
        if text in await known_to(member):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"{member.plan.name} does not hear: {text}")


async def said_in_a_twin(folder: Path, *names: str, true: Sequence[str] = (TRUE,)) -> Sequence[Envelope]:
    """All that a hive of the same names says in which nobody proves anything.

    The last one asserts what is false and takes something back; the first, who moderates, redacts what is true, rates the last
    and trusts it no more; the second leaves, which expels it. So promotions, removals, redactions, ratings, trust, topologies,
    beats, clocks, questions, replies and exchanges are among it.
    """
    town, seen = Town(folder), list[Envelope]()
    await town.bus.watch("hive", seen.append)
    members = [await town.begin(plan(name, *names, topology="flat", nodes=MODERATED)) for name in names]
    await until(lambda: not any(one.silent() for one in members))
    first, second, last = members[0], members[1], members[-1]
    for text in (*true, FALSE):
        await last.memory.store_fact("pumps", text)
    await comes_to(first, FALSE)
    spare = await last.memory.store_fact("pumps", "Pump 4 is taken back.")
    await last.memory.retract_fact(spare.id)
    entries = [(rating_key(first.plan.name, last.plan.name), "0:50"), (f"trust/{last.plan.name}", "0.0")]
    await first.runner.write(entries, first.plan.name)
    await second.runner.tell(EVERYONE, "greeting", b"hello")
    told = [hit.id for hit in await found_by(first) if hit.content in true]
    await first.runner.retract(told, first.plan.name, "redacted")
    await first.runner.fetch([(told[0], last.plan.name)])
    await asyncio.sleep(0.5)
    await second.runner.leave()
    await until(lambda: any(isinstance(one.message, TopologyUpdate) for one in seen))
    await asyncio.sleep(0.2)
    for member in town.open:
        await member.close()
    await town.bus.close(drain_s=0)
    said = {type(one.message) for one in seen}
    assert {Heartbeat, Replicate, Announce, TopologyUpdate, FactsRequest, FactsReply, SyncOffer, SyncState, AppMessage} <= said
    changes = [one for seen_one in seen if isinstance(seen_one.message, Replicate) for one in seen_one.message.changes]
    assert {True, False} == {bool(one.removals) for one in changes}
    return seen


def addressed(said: Sequence[Envelope], hive: str, names: Sequence[str], mark: str = "x") -> list[Envelope]:
    """The same to each of them, under ids that nobody has seen."""
    return [
        Envelope(f"{mark}{number}.{name}", hive, one.sender, (name,), one.type, one.message, one.correlation_id)
        for number, one in enumerate(said)
        for name in names
        if name != one.sender
    ]


def signed_by_a_stranger(envelopes: Sequence[Envelope], *names: str) -> list[Envelope]:
    """By a key whose certificate names all of them, and is of a root that nobody here knows; so are revocations it hands on."""
    root, own, now_ms = PrivateKey.generate(), PrivateKey.generate(), time.time_ns() // 1_000_000
    certificate = issued(root, Certificate("hive", (*names, "*"), own.public, 0, now_ms + DAY_MS))
    keyring = Keyring(root.public, own, certificate)
    keyring.revoke(issued(root, Revocations("hive", (Revoked(bytes(16)),))))
    signing = Signing(keyring, is_required=True)
    return [signing.signed(msgspec.structs.replace(one, id=f"s{one.id}")) for one in envelopes]


def signed(signing: Signing, envelopes: Sequence[Envelope], mark: str, **fields: str) -> list[Envelope]:
    """The same, by this key, under other ids, and with other `fields`."""
    return [signing.signed(msgspec.structs.replace(one, id=f"{mark}{one.id}", **fields)) for one in envelopes]


def flood(envelopes: Sequence[Envelope], root: PrivateKey, count: int) -> list[Envelope]:
    """Beats with as many certificates as may go with one, each another, all by a root that is not the fleet's."""
    beat = next(one for one in envelopes if isinstance(one.message, Heartbeat))
    made = [
        issued(root, Certificate("hive", (f"m{number}",), number.to_bytes(32, "big"), 0, 1 << 52)) for number in range(4 * count)
    ]
    return [
        msgspec.structs.replace(beat, id=f"flood{number}", vouched=tuple(made[4 * number : 4 * number + 4]))
        for number in range(count)
    ]


def replayed(sealed: Sequence[Envelope], hive: str, names: Sequence[str]) -> list[Envelope]:
    """What members really said: under other ids, to others, under others' names, with another's seal, in another hive's name."""
    found = list[Envelope]()
    for number, one in enumerate(sealed):
        for name in (name for name in names if name != one.sender):
            found.append(msgspec.structs.replace(one, hive=hive, id=f"r{number}.{name}", target=(name,)))
            other = next(other for other in names if other not in (name, one.sender))
            found.append(msgspec.structs.replace(one, hive=hive, id=f"n{number}.{name}", sender=other, target=(name,)))
            if name not in one.target and one.target != EVERYONE:
                found.append(msgspec.structs.replace(one, hive=hive, target=(name,)))
    return found
