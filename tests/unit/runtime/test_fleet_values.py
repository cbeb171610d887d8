"""What the runs of a fleet share, over members of a real hive in this process."""

import asyncio

import pytest

from hive_mind.agents.runs.shared_values import KEYS_MAX, RegistryValues, Values
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.hive.policy.admission import state_key
from tests.unit.runtime.members.town import Town, plan


async def test_the_newest_value_of_a_name_counts_whoever_wrote_it_and_every_member_reads_it(town: Town) -> None:
    members = [await town.begin(plan(name, "ann", "bob", topology="flat")) for name in ("ann", "bob")]
    for member in members:
        await member.until_ready(10, lambda _: None)
    ann, bob = [RegistryValues(name, member) for name, member in zip(("ann", "bob"), members, strict=True)]
    await ann.write(Values("r1/p1", {"rate": 1, "town": "Bree"}))
    await _until(bob, {"rate": 1, "town": "Bree"})
    await bob.write(Values("r2/p1", {"rate": 2}))
    await _until(ann, {"rate": 2, "town": "Bree"})


async def test_what_was_told_before_is_not_told_again_and_too_many_or_too_long_values_are_refused(town: Town) -> None:
    member = await town.begin(plan("ann", "ann", topology="flat"))
    await member.until_ready(10, lambda _: None)
    ann, registry = RegistryValues("ann", member), member.member.node.registry
    await ann.write(Values("r1/p1", {"rate": 1}))
    stamp = registry.in_force("state")[state_key("ann", "rate")]
    await ann.write(Values("r1/p1", {"rate": 1}))
    assert registry.in_force("state")[state_key("ann", "rate")] == stamp, "as after a kill"

    await ann.write(Values("r1/p1", {f"k{number}": number for number in range(KEYS_MAX - 1)}))
    with pytest.raises(InvalidInput, match="at most 100 values"):
        await ann.write(Values("r1/p2", {"one_more": 1}))
    with pytest.raises(InvalidInput, match="at most 4000 characters"):
        await ann.write(Values("r1/p3", {"k1": "x" * 5_000}))
    assert await ann.read(["k1", "one_more"]) == {"k1": 1}


async def test_before_it_knows_its_hive_a_member_says_so(town: Town) -> None:
    member = await town.begin(plan("ann", is_joining=True, topology="flat"))
    with pytest.raises(BackendUnavailable, match="does not know its hive yet"):
        await RegistryValues("ann", member).read(["rate"])


async def _until(values: RegistryValues, known: dict[str, object]) -> None:
    while await values.read(sorted(known)) != known:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
