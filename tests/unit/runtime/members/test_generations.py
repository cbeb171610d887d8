"""From one generation of a hive to the next: nothing is lost, nothing changes before the end, and all topologies take it.

Agents and nodes go on in the next generation as they were: they know what they knew and tell nothing twice.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hive_mind import backends
from hive_mind.bus.memory import MemoryBus
from hive_mind.embed.none import NoEmbedder
from hive_mind.errors import BackendRejected
from hive_mind.hive.effects import Put
from hive_mind.hive.membership import MembershipSettings
from hive_mind.hive.replication.resettlement import JournalSnapshot, Vouched
from hive_mind.model.fact import Sharing
from hive_mind.runtime.members import plan_of
from hive_mind.runtime.members.generations import Move, Moved, move, settle
from hive_mind.runtime.members.host import open_member
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import memory_with
from hive_mind.runtime.workers.config import HiveConfig, NodeConfig, WorkerConfig, founded
from tests.builders import run
from tests.hives import PUMP_ID, assertion
from tests.loops import InLoop
from tests.unit.runtime.moving import FEDERATED, OLD, SHARDED, TUNING, all_of, begun, contents, held, hives, moved
from tests.waiting import until

QUICK = MembershipSettings(beat_ms=50, suspect_after_ms=500, settle_ms=50)


@pytest.mark.parametrize("new", [SHARDED, FEDERATED, HiveConfig("fleet.g2", "flat", {"": ("x",)})], ids=lambda new: new.topology)
def test_everything_is_in_the_new_journals_and_the_old_ones_are_as_they_were(tmp_path: Path, new: HiveConfig) -> None:
    before, files = begun(tmp_path), contents(tmp_path / "hives" / "fleet")
    assert moved(tmp_path, new) == Moved(facts=12, assertions=12, registry=1)

    assert all_of(tmp_path, new) == before
    assert contents(tmp_path / "hives" / "fleet") == files
    assert hives(tmp_path) == ["fleet", "fleet.g2"]
    names = {node for nodes in new.founders.values() for node in nodes}
    assert {path.stem for path in (tmp_path / "hives" / "fleet.g2").iterdir()} == names


def test_journals_are_for_their_owner_alone(tmp_path: Path) -> None:
    begun(tmp_path)
    folder = tmp_path / "hives" / "fleet"
    assert folder.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir())


@pytest.mark.parametrize("hive", [OLD, SHARDED, FEDERATED], ids=lambda hive: hive.topology)
def test_a_worker_founds_the_topology_that_its_journals_were_made_for(hive: HiveConfig) -> None:
    for group, names in hive.founders.items():
        config = WorkerConfig("fleet", names[0], "/home", "/run", hive, (NodeConfig(names[0], (), group),), ())

        assert plan_of(config, config.nodes[0]).founding() == founded(hive)


def test_single_has_no_journals_and_a_hive_that_never_ran_has_nothing(tmp_path: Path) -> None:
    begun(tmp_path)
    single = HiveConfig("fleet.g2", "single")
    assert moved(tmp_path, single) == Moved()
    assert run(move(Move(tmp_path, single, (), HiveConfig("fleet.g3", "flat", {"": ("a",)}), {}, TUNING))) == Moved()
    assert hives(tmp_path) == ["fleet"]
    never = tmp_path / "never"
    assert moved(never) == Moved()
    assert all_of(never, OLD) == all_of(never, SHARDED) == ()


def test_journals_that_nobody_names_count_too(tmp_path: Path) -> None:
    before = begun(tmp_path)
    (tmp_path / "hives" / "fleet" / "a.sqlite").rename(tmp_path / "hives" / "fleet" / "former.sqlite")
    (tmp_path / "hives" / "fleet" / "b.sqlite").unlink()
    moved(tmp_path)
    assert all_of(tmp_path, SHARDED) == before


def test_what_is_known_to_be_lost_is_not_left_behind_in_silence(tmp_path: Path) -> None:
    begun(tmp_path)
    folder = tmp_path / "hives" / "fleet"
    (folder / "a.sqlite").unlink()

    async def forget() -> None:
        journal = await backends.load("journal", "sqlite").open(folder / "b.sqlite")
        kept = await journal.load()
        await journal.close()
        (folder / "b.sqlite").unlink()
        journal = await backends.load("journal", "sqlite").open(folder / "b.sqlite")
        await journal.write([record for record in kept if not _is_of_a(record, kept)])
        await journal.close()

    run(forget())

    with pytest.raises(BackendRejected, match=r"a \(6\).*nothing was changed"):
        moved(tmp_path)
    assert hives(tmp_path) == ["fleet"]
    assert moved(tmp_path, allow_loss=True).facts == 6


def _is_of_a(record: Put, kept: list[Put]) -> bool:
    """An assertion that node b only copied, or that b has seen it."""
    actors = {one.key.partition(b"\0")[2] for one in kept if one.table == "head" and b"\xa1a" in one.value}
    return record.table in ("assertion", "seen") and record.key.partition(b"\0")[2][:8] in actors


def test_ids_of_facts_do_not_change(tmp_path: Path) -> None:
    run(settle(tmp_path, JournalSnapshot((Vouched(assertion()),)), OLD, {}, TUNING))
    assert [fact.id for fact in all_of(tmp_path, OLD)] == [PUMP_ID]


class Town:
    """Members of a hive over one bus in this process, with databases and journals on disk."""

    def __init__(self, home: Path, bus: MemoryBus) -> None:
        self.home, self.bus = home, bus
        self.settings = Settings(home=home, embed="none", ann="exact")
        self.promoted: list[str] = []
        """What was promoted, by content."""

    async def begin(self, hive: HiveConfig, name: str) -> RunningMember:
        group = next(group for group, nodes in hive.founders.items() if name in nodes)
        config = WorkerConfig(
            "fleet", name, str(self.home), "/run", hive, (NodeConfig(name, (name,), group),), (), membership=QUICK
        )
        member = await open_member(self.settings, plan_of(config, config.nodes[0]), NoEmbedder(), self.bus)
        promote = member.runner.promote

        async def told(promotions: Any) -> Any:
            self.promoted += [one.statement.content for one in promotions]
            return await promote(promotions)

        member.runner.promote = told  # type: ignore[method-assign]
        return member

    @asynccontextmanager
    async def hive(self, hive: HiveConfig, *names: str) -> Any:
        members = [await self.begin(hive, name) for name in names]
        try:
            for member in members:
                await member.until_ready(20, lambda _: None)
            yield members
            await until(lambda: not any(member.is_busy for member in members))
        finally:
            for member in members:
                await member.close()


@pytest.fixture
def town(tmp_path: Path) -> InLoop:
    @asynccontextmanager
    async def over_a_bus() -> AsyncIterator[Town]:
        bus = MemoryBus()
        try:
            yield Town(tmp_path, bus)
        finally:
            await bus.close(drain_s=0)

    return InLoop(over_a_bus)


NEXT = {
    "flat": HiveConfig("fleet.g2", "flat", {"": ("a", "b")}),
    "federated": HiveConfig("fleet.g2", "federated", {"north": ("a",), "south": ("b",)}),
    "sharded": HiveConfig("fleet.g2", "sharded", {"": ("a", "b")}, replicas=1, partitions=8),
}
ATTACHED = {"a": "a", "b": "b"}


@pytest.mark.parametrize("topology", sorted(NEXT))
async def test_agents_know_what_they_knew_and_tell_nothing_twice(tmp_path: Path, topology: str, town: Town) -> None:
    async with town.hive(OLD, "a", "b") as (ann, ben):
        for number in range(8):
            await ann.memory.store_fact("pump", f"Pump {number} is red.", source="manual")
        await ben.memory.store_fact("pump", "Pump 3 is red.", source="visit")
        gone = await ben.memory.store_fact("pump", "Pump 9 is blue.")
        await ben.memory.retract_fact(gone.id)
        before = {fact.id for fact in await ann.memory.get_all_facts()}
        await until(lambda: not (ann.is_busy or ben.is_busy))
    town.promoted.clear()

    await move(Move(tmp_path, OLD, ("a", "b"), NEXT[topology], ATTACHED, TUNING))

    async with town.hive(NEXT[topology], "a", "b") as (ann, ben):
        for member in (ann, ben):
            assert {fact.id for fact in await member.memory.get_all_facts()} == before
            assert member.memory.completeness == 1.0
        own = await ann.memory.local_get_all_facts()
        assert {fact.sharing for fact in own} == {Sharing.SHARED}
        assert town.promoted == []

        # An agent still has the say about its own.
        three = next(fact for fact in own if fact.content == "Pump 4 is red.")
        await ann.memory.retract_fact(three.id)
        await until(lambda: not (ann.is_busy or ben.is_busy))
        assert three.id not in {fact.id for fact in await ben.memory.get_all_facts()}


async def test_a_holder_speaks_for_all_it_holds_though_it_is_alone(tmp_path: Path, town: Town) -> None:
    async with town.hive(OLD, "a", "b") as (ann, ben):
        await ann.memory.store_fact("pump", "Pump 1 is red.")
        await until(lambda: not (ann.is_busy or ben.is_busy))
    await move(Move(tmp_path, OLD, ("a", "b"), NEXT["flat"], ATTACHED, TUNING))

    ben = await town.begin(NEXT["flat"], "b")
    try:
        (hit,) = await ben.memory.search_facts("Which pump is red?")
        assert (hit.fact.content, ben.memory.completeness) == ("Pump 1 is red.", 1.0)
    finally:
        await ben.close()


async def test_what_an_agent_learned_and_took_back_while_it_was_alone_reaches_the_next_hive(tmp_path: Path, town: Town) -> None:
    async with town.hive(OLD, "a", "b") as (ann, ben):
        red = await ann.memory.store_fact("pump", "Pump 1 is red.")
        await until(lambda: not (ann.is_busy or ben.is_busy))
    async with memory_with(town.settings, "a", NoEmbedder()) as alone:
        await alone.store_fact("pump", "Pump 2 is blue.")
        await alone.retract_fact(red.id)
    town.promoted.clear()

    await move(Move(tmp_path, OLD, ("a", "b"), NEXT["sharded"], ATTACHED, TUNING))

    async with town.hive(NEXT["sharded"], "a", "b") as (ann, ben):
        await until(lambda: not (ann.is_busy or ben.is_busy))
        assert [fact.content for fact in await ben.memory.get_all_facts()] == ["Pump 2 is blue."]
        assert town.promoted == ["Pump 2 is blue."]


async def test_what_was_cut_short_is_told_again_and_once(tmp_path: Path, town: Town) -> None:
    alone = HiveConfig("fleet", "sharded", {"": ("a", "b", "c", "d")}, replicas=1, partitions=8)
    # Nobody else is there, so most of it waits in the outbox.
    ann = await town.begin(alone, "a")
    for number in range(10):
        await ann.memory.store_fact("pump", f"Pump {number} is red.", source="manual")
    states = {fact.sharing for fact in await ann.memory.local_get_all_facts()}
    await ann.close()
    assert Sharing.HELD in states

    await move(Move(tmp_path, alone, ("a", "b", "c", "d"), NEXT["sharded"], ATTACHED, TUNING))

    async with town.hive(NEXT["sharded"], "a", "b") as (ann, ben):
        await until(lambda: not (ann.is_busy or ben.is_busy))
        assert {fact.sharing for fact in await ann.memory.local_get_all_facts()} == {Sharing.SHARED}
        listed = await ben.memory.get_all_facts()
        assert sorted(fact.content for fact in listed) == [f"Pump {number} is red." for number in range(10)]
    assert [len(fact.provenance) for fact in await held(tmp_path, NEXT["sharded"])] == [1] * 10
