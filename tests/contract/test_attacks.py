"""Attacks over every broker: by a stranger on the bus, by keys that are good no more, and by a member that lies.

Nothing of it is taken in, all of it is counted, and members go on.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest

from hive_mind import backends
from hive_mind.bus import Envelope
from hive_mind.embed.none import NoEmbedder
from hive_mind.hive.membership import MembershipSettings
from hive_mind.hive.policy import sealed, sealed_head
from hive_mind.hive.topology import ALL
from hive_mind.identity import KeySeal, PrivateKey
from hive_mind.model.evidence import Assertion, Head, Stamp, Statement, dot
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import Changes, Replicate
from hive_mind.runtime.keys import KeyFolder, Proof
from hive_mind.runtime.members import MemberPlan
from hive_mind.runtime.members.host import open_member
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.settings import Settings
from tests.attacking import (
    FALSE,
    MODERATED,
    TRUE,
    addressed,
    comes_to,
    flood,
    known_to,
    replayed,
    said_in_a_twin,
    signed,
    signed_by_a_stranger,
)
from tests.contract.bus_builders import Scenario, World, envelope
from tests.contract.hostile import samples
from tests.sampled import usually

NAMES = ("ada", "bob", "cleo")
# As slow as a busy machine needs: nobody is to be expelled for being late.
CALM = MembershipSettings(beat_ms=300, suspect_after_ms=60_000)


async def member(world: World, keys: KeyFolder, folder: Path, name: str, stack: AsyncExitStack) -> RunningMember:
    world.harness.provide(world.hive, name)
    plan = MemberPlan(
        name, "", hive=world.hive, members=NAMES, membership=CALM, nodes=MODERATED, proof=Proof("require", keys.path, name)
    )
    running = await open_member(Settings(home=folder, store="memory", ann="exact"), plan, NoEmbedder(), world.bus)
    stack.push_async_callback(running.close)
    return running


def unproven(one: RunningMember) -> int:
    return sum(one.runner.figures.unproven.values())


# An envelope is the same bytes over each of them, and what is checked too; over AMQP it takes ten times as long.
_BUSES = usually(backends.known("bus"), "memory", "redis")


@pytest.mark.slow
@pytest.mark.parametrize("started_broker", _BUSES, indirect=True)
def test_of_what_strangers_spent_keys_and_liars_say_nothing_is_taken_in(
    with_bus: Callable[[Scenario], None], tmp_path: Path
) -> None:
    keys = KeyFolder(tmp_path / "keys", "hive")
    keys.found()
    for name in NAMES:
        keys.issue(name)
    said = asyncio.run(said_in_a_twin(tmp_path / "twin", *NAMES))

    async def scenario(world: World) -> None:
        async with AsyncExitStack() as stack:
            seen = list[Envelope]()
            if world.bus.capabilities.can_watch:
                stack.push_async_callback((await world.bus.watch(world.hive, seen.append)).close)
            members = [await member(world, keys, tmp_path / name, name, stack) for name in NAMES]
            for one in members:
                assert await one.until_ready(60, lambda _: None) == ()
            await members[-1].memory.store_fact("pumps", TRUE)
            for one in members:
                await comes_to(one, TRUE)
            honest = seen[:60]
            forged = addressed(said, world.hive, NAMES)
            forged += addressed([envelope(one, sender="ada") for one in samples(1, 1)], world.hive, NAMES, "every")
            attacks: list[Envelope] = [*forged, *signed_by_a_stranger(forged, *NAMES)]
            await publish(world, attacks)
            # Honest words get through meanwhile.
            await members[0].memory.store_fact("pumps", "Pump 4 is in hall 2.")
            await comes_to(members[1], "Pump 4 is in hall 2.")
            wanted = {name: sum(1 for one in attacks if one.target == (name,)) for name in NAMES}
            for _ in range(1_000):
                if all(unproven(one) >= wanted[one.plan.name] for one in members):
                    break
                await asyncio.sleep(0.03)
            for one in members:
                await comes_to(one, "Pump 4 is in hall 2.")
                assert one.runner.figures.unproven == {
                    "unsigned": wanted[one.plan.name] // 2,
                    "unknown key": wanted[one.plan.name] // 2,
                }
                assert {TRUE, "Pump 4 is in hall 2."} <= await known_to(one)
                assert FALSE not in await known_to(one)
                assert one.member.membership.topology.nodes == NAMES  # type: ignore[union-attr]
            await is_worth_nothing_again(world, members, honest)
            await keys_that_are_good_no_more(world, members, keys, forged)
            await a_member_that_lies(world, members, keys, forged)

    with_bus(scenario)


async def is_worth_nothing_again(world: World, members: list[RunningMember], seen: list[Envelope]) -> None:
    """What members really said is worth nothing to others, under others' names, or under another seal."""
    again = replayed(seen, world.hive, NAMES)
    await publish(world, again)
    wanted = {name: sum(1 for one in again if one.target == (name,)) for name in NAMES}
    for _ in range(1_000):
        if all(one.runner.figures.unproven.get("forged", 0) >= wanted[one.plan.name] for one in members):
            break
        await asyncio.sleep(0.03)
    assert {one.plan.name: one.runner.figures.unproven.get("forged", 0) for one in members} == wanted
    for one in members:
        assert {TRUE, "Pump 4 is in hall 2."} <= await known_to(one)


async def publish(world: World, envelopes: Sequence[Envelope]) -> None:
    for start in range(0, len(envelopes), 50):
        await world.bus.publish(envelopes[start : start + 50], timeout_s=30)


async def sent(world: World, members: Sequence[RunningMember], attacks: Sequence[Envelope]) -> dict[str, Counter[str]]:
    """Publish it; by member, what was counted of it once all of it is."""
    before = {one.plan.name: Counter(one.runner.figures.unproven) for one in members}
    await publish(world, attacks)

    def counted() -> dict[str, Counter[str]]:
        return {one.plan.name: Counter(one.runner.figures.unproven) - before[one.plan.name] for one in members}

    wanted = {name: sum(1 for one in attacks if one.target == (name,)) for name in before}
    for _ in range(1_000):
        if all(sum(counted()[name].values()) >= number for name, number in wanted.items()):
            break
        await asyncio.sleep(0.03)
    return counted()


async def keys_that_are_good_no_more(
    world: World, members: list[RunningMember], keys: KeyFolder, forged: Sequence[Envelope]
) -> None:
    """One that expired, one that was stolen and is revoked, one of this fleet that speaks for others, and in another hive."""
    some = list({(one.type, one.target): one for one in forged if one.sender not in one.target}.values())
    each = {name: sum(1 for one in some if one.target == (name,)) for name in NAMES}
    keys.issue("late", days=-1)
    stolen = keys.issue("stolen")
    attacks = signed(keys.signing("late", "require"), some, "l", sender="late")
    attacks += signed(keys.signing("stolen", "require"), some, "o")
    elsewhere = signed(keys.signing("stolen", "require"), some, "e", sender="stolen", hive="elsewhere")
    attacks += [msgspec.structs.replace(one, hive=world.hive) for one in elsewhere]
    attacks += flood(some, PrivateKey.generate(), 100)
    found = await sent(world, members, attacks)
    flooded = attacks[-1].target[0]
    assert found == {
        name: Counter({"expired": number, "forged": 2 * number} | ({"unsigned": 100} if name == flooded else {}))
        for name, number in each.items()
    }
    # It is believed to be who it was issued for, until that is revoked and known: nothing was said by it before.
    keys.revoke(stolen.key_id)
    for one in members:
        one.look_at_keys()
    found = await sent(world, members, signed(keys.signing("stolen", "require"), some, "r", sender="stolen"))
    assert found == {name: Counter({"revoked": number}) for name, number in each.items()}
    for one in members:
        assert {TRUE, "Pump 4 is in hall 2."} <= await known_to(one)
        assert FALSE not in await known_to(one)
        signing = one.runner._intake._signing
        assert signing is not None
        assert len(list(signing.keyring.known)) == len(NAMES) + 2


async def a_member_that_lies(world: World, members: list[RunningMember], keys: KeyFolder, forged: Sequence[Envelope]) -> None:
    """It sends in its own name, by its own key, what others never said: facts, removals, entries, beats, topologies, replies.

    It also speaks for another tenant. Nothing in it is sealed by whom it speaks for.
    """
    liar, signing = "bob", keys.signing("bob", "require")
    seal = KeySeal(signing.keyring, world.hive, is_required=True)
    now_ms = time.time_ns() // 1_000_000
    foreign = Assertion(fact_id(FALSE, "another"), liar, "notes", 0.9, Stamp(now_ms), Statement(FALSE, "pumps"), tenant="another")
    head = sealed_head(seal, ALL, Head(liar, bytes(8), 1))
    batch = Replicate("foreign", (Changes(ALL, (sealed(seal, ALL, dot(head.actor, 1), foreign),), (), (head,)),))
    lies = [one for one in forged if liar not in one.target]
    lies += addressed([envelope(batch, sender=liar)], world.hive, NAMES, "tenant")
    await publish(world, signed(signing, lies, "b", sender=liar))
    # What is counted comes last: then everybody has heard the rest.
    end = addressed([envelope("end", sender="mallory")], world.hive, NAMES, "end")
    assert await sent(world, members, end) == {name: Counter({"unsigned": 1}) for name in NAMES}
    await members[0].memory.store_fact("pumps", "Pump 4 is still loud.")
    for one in members:
        await comes_to(one, "Pump 4 is still loud.")
        assert {TRUE, "Pump 4 is in hall 2."} <= await known_to(one)
        assert FALSE not in await known_to(one)
        assert one.member.membership.topology.nodes == NAMES  # type: ignore[union-attr]
        shares = one.member.node.partitions.shares.values()
        assert {given.assertion.tenant for share in shares for given in share.all_sealed()} == {"default"}
