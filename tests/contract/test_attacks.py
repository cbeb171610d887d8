"""A stranger on the bus, over every broker: nothing it says is taken in, all of it is counted, and members go on."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from hive_mind.bus.base import Envelope
from hive_mind.embed.none import NoEmbedder
from hive_mind.hive.membership.membership import MembershipSettings
from hive_mind.runtime.members.member import MemberPlan, RunningMember, open_member
from hive_mind.runtime.secrets.keys import KeyFolder, Proof
from hive_mind.runtime.settings import Settings
from tests.attacking import (
    FALSE,
    MODERATED,
    TRUE,
    addressed,
    comes_to,
    known_to,
    replayed,
    said_in_a_twin,
    signed_by_a_stranger,
)
from tests.contract.bus_builders import Scenario, World

NAMES = ("ada", "bob", "cleo")
# As slow as a busy machine needs: nobody is to be expelled for being late.
CALM = MembershipSettings(beat_ms=300, suspect_after_ms=60_000)


async def member(world: World, keys: KeyFolder, folder: Path, name: str, stack: AsyncExitStack) -> RunningMember:
    world.harness.provide(world.hive, name)
    plan = MemberPlan(
        name, "", hive=world.hive, members=NAMES, membership=CALM, nodes=MODERATED, proof=Proof("require", keys.path, name)
    )
    running = await open_member(plan, Settings(home=folder, store="memory", ann="exact"), NoEmbedder(), world.bus)
    stack.push_async_callback(running.close)
    return running


def unproven(one: RunningMember) -> int:
    return sum(one.runner.figures.unproven.values())


@pytest.mark.slow
def test_of_what_a_stranger_says_in_members_names_nothing_is_taken_in(
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
            attacks: list[Envelope] = [*forged, *signed_by_a_stranger(forged, *NAMES)]
            for start in range(0, len(attacks), 50):
                await world.bus.publish(attacks[start : start + 50], timeout_s=30)
            # Honest words get through meanwhile.
            await members[0].memory.store_fact("pumps", "Pump 4 is in hall 2.")
            await comes_to(members[1], "Pump 4 is in hall 2.")
            wanted = {name: sum(1 for one in attacks if one.target == (name,)) for name in NAMES}
            for _ in range(1_000):
                if all(unproven(one) >= wanted[one.plan.name] for one in members):
                    break
                await asyncio.sleep(0.03)
            for one in members:
                assert one.runner.figures.unproven == {
                    "unsigned": wanted[one.plan.name] // 2,
                    "unknown key": wanted[one.plan.name] // 2,
                }
                assert {TRUE, "Pump 4 is in hall 2."} <= await known_to(one)
                assert FALSE not in await known_to(one)
                assert one.member.membership.topology.nodes == NAMES  # type: ignore[union-attr]
            await is_worth_nothing_again(world, members, honest)

    with_bus(scenario)


async def is_worth_nothing_again(world: World, members: list[RunningMember], seen: list[Envelope]) -> None:
    """What members really said is worth nothing to others, under others' names, or under another seal."""
    again = replayed(seen, world.hive, NAMES)
    for start in range(0, len(again), 50):
        await world.bus.publish(again[start : start + 50], timeout_s=30)
    wanted = {name: sum(1 for one in again if one.target == (name,)) for name in NAMES}
    for _ in range(1_000):
        if all(one.runner.figures.unproven.get("forged", 0) >= wanted[one.plan.name] for one in members):
            break
        await asyncio.sleep(0.03)
    assert {one.plan.name: one.runner.figures.unproven.get("forged", 0) for one in members} == wanted
    for one in members:
        assert {TRUE, "Pump 4 is in hall 2."} <= await known_to(one)
