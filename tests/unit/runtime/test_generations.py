"""From one generation of a hive to the next: nothing is lost, nothing changes before the end, and agents go on as they were."""

import asyncio
import hashlib
import shutil
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from hive_mind import backends
from hive_mind.bus.memory import MemoryBus
from hive_mind.embed.none import NoEmbedder
from hive_mind.errors import BackendError, BackendRejected, DatabaseLocked, DatabaseUnreadable, InvalidInput
from hive_mind.hive.effects import Put
from hive_mind.hive.estate import Estate, Vouched
from hive_mind.hive.membership import MembershipSettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.model.evidence import HiveFact
from hive_mind.model.fact import Sharing
from hive_mind.model.messages import RegistryEntry
from hive_mind.runtime import generations
from hive_mind.runtime.generations import Moved, estate_of, founded, held, move, settle
from hive_mind.runtime.member import RunningMember, open_member
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import memory_with
from hive_mind.runtime.worker_config import HiveConfig, NodeConfig, WorkerConfig
from hive_mind.runtime.worker_nodes import plan_of
from tests.hives import PUMP_ID, assertion
from tests.unit.runtime.running import until

OLD = HiveConfig("fleet", "flat", {"": ("a", "b")})
SHARDED = HiveConfig("fleet.g2", "sharded", {"": ("a", "b", "c", "d")}, replicas=2, partitions=8)
FEDERATED = HiveConfig("fleet.g2", "federated", {"north": ("a", "c"), "south": ("b",)}, {"north": ("pumps",)}, 0.7)
TUNING = HiveSettings()
QUICK = MembershipSettings(beat_ms=50, suspect_after_ms=500, settle_ms=50)


def run(play: Coroutine[Any, Any, Any]) -> Any:
    async def whole() -> Any:
        async with asyncio.timeout(60):
            return await play

    return asyncio.run(whole())


def estate(facts: int = 12) -> Estate:
    said = (
        assertion(f"Pump {n} is red.", ms=1_700_000_000_000 + n, agent=f"agent {n % 3}", root=f"file {n % 4}")
        for n in range(facts)
    )
    trust = RegistryEntry("trust/agent 1", "1.5", assertion().stamp, "mo")
    return Estate(tuple(Vouched(one, "ab"[number % 2]) for number, one in enumerate(said)), (trust,))


def begun(home: Path, hive: HiveConfig = OLD, facts: int = 12) -> tuple[HiveFact, ...]:
    run(settle(home, estate(facts), hive, {}, TUNING))
    return all_of(home, hive)


def all_of(home: Path, hive: HiveConfig) -> tuple[HiveFact, ...]:
    found: tuple[HiveFact, ...] = run(held(home, hive, (), TUNING))
    return found


def moved(home: Path, new: HiveConfig = SHARDED, **options: Any) -> Moved:
    done: Moved = run(move(home, OLD, ("a", "b"), new, {}, TUNING, **options))
    return done


def contents(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def hives(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "hives").iterdir())


# ── moving ────────────────────────────────────────────────────────────────────────────────────────────────────────────


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


def test_single_has_no_journals(tmp_path: Path) -> None:
    begun(tmp_path)
    single = HiveConfig("fleet.g2", "single")

    assert moved(tmp_path, single) == Moved()
    assert run(move(tmp_path, single, (), HiveConfig("fleet.g3", "flat", {"": ("a",)}), {}, TUNING)) == Moved()
    assert hives(tmp_path) == ["fleet"]


def test_a_hive_that_never_ran_has_nothing(tmp_path: Path) -> None:
    assert moved(tmp_path) == Moved()
    assert all_of(tmp_path, OLD) == all_of(tmp_path, SHARDED) == ()


def test_a_missing_journal_is_fine_where_others_have_its_facts(tmp_path: Path) -> None:
    before = begun(tmp_path)
    (tmp_path / "hives" / "fleet" / "a.sqlite").unlink()

    moved(tmp_path)

    assert all_of(tmp_path, SHARDED) == before


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


# ── what can't be moved ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("keep", [0, 50, 5_000])
def test_a_damaged_journal_is_an_error_that_names_it(tmp_path: Path, keep: int) -> None:
    begun(tmp_path)
    path = tmp_path / "hives" / "fleet" / "b.sqlite"
    path.write_bytes(path.read_bytes()[:keep] + b"x" * 9_000)

    with pytest.raises(DatabaseUnreadable, match=r"fleet/b\.sqlite") as failure:
        moved(tmp_path)

    assert "hive-mind-journal-" not in str(failure.value)
    assert hives(tmp_path) == ["fleet"]


def test_a_journal_that_only_its_log_is_left_of_is_an_error(tmp_path: Path) -> None:
    begun(tmp_path)
    folder = tmp_path / "hives" / "fleet"
    (folder / "b.sqlite").rename(folder / "b.sqlite-wal")

    with pytest.raises(DatabaseUnreadable, match="log is there"):
        moved(tmp_path)


def test_a_value_that_no_node_writes_is_an_error_that_names_its_file(tmp_path: Path) -> None:
    begun(tmp_path)

    async def spoil() -> None:
        journal = await backends.load("journal", "sqlite").open(tmp_path / "hives" / "fleet" / "a.sqlite")
        await journal.write([Put("assertion", b"all\0" + bytes(13), b"nonsense")])
        await journal.close()

    run(spoil())

    with pytest.raises(DatabaseUnreadable, match=r"a\.sqlite holds what no node writes"):
        moved(tmp_path)
    assert hives(tmp_path) == ["fleet"]


def test_a_hive_that_runs_is_not_moved_but_can_be_looked_at(tmp_path: Path) -> None:
    before = begun(tmp_path)

    async def play() -> None:
        journal = await backends.load("journal", "sqlite").open(tmp_path / "hives" / "fleet" / "a.sqlite")
        try:
            await journal.write([Put("app.x", b"new", b"in the log")])
            with pytest.raises(DatabaseLocked):
                await move(tmp_path, OLD, (), SHARDED, {}, TUNING)
            assert await held(tmp_path, OLD, (), TUNING, while_open=True) == before
            seen = await estate_of(tmp_path, OLD, (), TUNING, while_open=True)
            assert Put("app.x", b"new", b"in the log") in seen.own["a"]
        finally:
            await journal.close()

    run(play())
    assert hives(tmp_path) == ["fleet"]


def test_what_a_killed_node_left_in_its_log_goes_along(tmp_path: Path) -> None:
    begun(tmp_path)

    async def play() -> None:
        there = tmp_path / "hives" / "fleet"
        journal = await backends.load("journal", "sqlite").open(there / "a.sqlite")
        await journal.write([Put("app.x", b"new", b"in the log")])
        # As a killed process leaves it.
        shutil.copytree(there, tmp_path / "killed" / "hives" / "fleet")
        await journal.close()

    run(play())
    files = contents(tmp_path / "killed" / "hives" / "fleet")
    assert "a.sqlite-wal" in files

    moved(tmp_path / "killed")

    seen = run(estate_of(tmp_path / "killed", SHARDED, (), TUNING))
    assert Put("app.x", b"new", b"in the log") in seen.own["a"]
    after = contents(tmp_path / "killed" / "hives" / "fleet")
    assert {name: after[name] for name in after if not name.endswith(".lock")} == {
        name: files[name] for name in files if not name.endswith(".lock")
    }


def test_a_journal_is_whole_however_much_is_written_while_it_is_read(tmp_path: Path) -> None:
    async def play() -> None:
        sqlite: Any = backends.load("journal", "sqlite")
        path, stop = tmp_path / "busy.sqlite", asyncio.Event()
        journal = await sqlite.open(path)

        async def write() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                # All of one number, or none.
                await journal.write([Put("t", bytes([row]), number.to_bytes(4, "big") * 5_000) for row in range(16)])

        writing = asyncio.create_task(write())
        seen = []
        for _ in range(15):
            found = await sqlite.read(path, while_open=True)
            assert len({put.value for put in found}) <= 1
            seen += [found[0].value[:4]] if found else []
        stop.set()
        await writing
        await journal.close()
        assert seen == sorted(seen)

    run(play())


@pytest.mark.parametrize(
    ("new", "attached"), [(OLD, {}), (HiveConfig("fleet.g2", "ring", {"": ("a",)}), {}), (SHARDED, {"ines": "nowhere"})]
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, new: HiveConfig, attached: dict[str, str]) -> None:
    begun(tmp_path)

    with pytest.raises(InvalidInput):
        run(move(tmp_path, OLD, (), new, attached, TUNING))
    assert hives(tmp_path) == ["fleet"]


# ── again, and after a crash ──────────────────────────────────────────────────────────────────────────────────────────


def test_journals_that_are_there_are_replaced_only_if_no_node_ever_had_them_open(tmp_path: Path) -> None:
    begun(tmp_path)
    moved(tmp_path)

    with pytest.raises(InvalidInput, match="is there already"):
        moved(tmp_path)
    assert moved(tmp_path, FEDERATED, replace=True).facts == 12

    async def begin() -> None:
        await (await backends.load("journal", "sqlite").open(tmp_path / "hives" / "fleet.g2" / "a.sqlite")).close()

    run(begin())
    with pytest.raises(InvalidInput, match="has run"):
        moved(tmp_path, replace=True)


class Killed(BaseException):
    """The process is no more."""


class Dying:
    """Lets so many steps happen; from then on nothing does, tidying up neither."""

    def __init__(self, patch: pytest.MonkeyPatch, steps: int) -> None:
        self.left = steps
        for owner, name in ((generations, "_sync"), (generations, "_emptied"), (shutil, "rmtree"), (Path, "rename")):
            patch.setattr(owner, name, self._stepped(getattr(owner, name)))
        write_one = generations._write_one

        async def write(*given: Any) -> None:
            self._step()
            await write_one(*given)

        patch.setattr(generations, "_write_one", write)

    def _step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed

    def _stepped(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any, **options: Any) -> Any:
            self._step()
            return real(*given, **options)

        return step


def deaths(home: Path, folder: Path) -> Iterator[int]:
    """The number of steps, again and again in a copy of the home, until it is one too many."""
    for steps in range(100):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(home, folder)
        with pytest.MonkeyPatch.context() as patch:
            dying = Dying(patch, steps)
            with suppress(Killed):
                moved(folder, replace=True)
            if dying.left > 0:
                return
        yield steps


@pytest.mark.parametrize("is_second", [False, True])
def test_whoever_is_killed_has_changed_nothing_and_does_it_again(tmp_path: Path, is_second: bool) -> None:
    home, folder = tmp_path / "home", tmp_path / "copy"
    before = begun(home)
    if is_second:
        moved(home, FEDERATED)
    files = contents(home / "hives" / "fleet")

    died = 0
    for steps in deaths(home, folder):
        died = steps + 1
        assert contents(folder / "hives" / "fleet") == files
        assert all_of(folder, SHARDED) in {(), before}
        moved(folder, replace=True)
        assert all_of(folder, SHARDED) == before
        assert hives(folder) == ["fleet", "fleet.g2"]

    assert died > 10


def test_a_failure_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(tmp_path)

    async def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(generations, "_write_one", fail)

    with pytest.raises(BackendError, match="No space"):
        moved(tmp_path)
    assert hives(tmp_path) == ["fleet"]


# ── agents and nodes that go on ───────────────────────────────────────────────────────────────────────────────────────


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
        member = await open_member(plan_of(config, config.nodes[0]), self.settings, NoEmbedder(), self.bus)
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


def in_town(home: Path, play: Callable[[Town], Awaitable[None]]) -> None:
    async def whole() -> None:
        bus = MemoryBus()
        try:
            await play(Town(home, bus))
        finally:
            await bus.close(drain_s=0)

    run(whole())


NEXT = {
    "flat": HiveConfig("fleet.g2", "flat", {"": ("a", "b")}),
    "federated": HiveConfig("fleet.g2", "federated", {"north": ("a",), "south": ("b",)}),
    "sharded": HiveConfig("fleet.g2", "sharded", {"": ("a", "b")}, replicas=1, partitions=8),
}
ATTACHED = {"a": "a", "b": "b"}


@pytest.mark.parametrize("topology", sorted(NEXT))
def test_agents_know_what_they_knew_and_tell_nothing_twice(tmp_path: Path, topology: str) -> None:
    async def play(town: Town) -> None:
        async with town.hive(OLD, "a", "b") as (ann, ben):
            for number in range(8):
                await ann.memory.store_fact("pump", f"Pump {number} is red.", source="manual")
            await ben.memory.store_fact("pump", "Pump 3 is red.", source="visit")
            gone = await ben.memory.store_fact("pump", "Pump 9 is blue.")
            await ben.memory.retract_fact(gone.id)
            before = {fact.id for fact in await ann.memory.get_all_facts()}
            await until(lambda: not (ann.is_busy or ben.is_busy))
        town.promoted.clear()

        await move(tmp_path, OLD, ("a", "b"), NEXT[topology], ATTACHED, TUNING)

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

    in_town(tmp_path, play)


def test_a_holder_speaks_for_all_it_holds_though_it_is_alone(tmp_path: Path) -> None:
    async def play(town: Town) -> None:
        async with town.hive(OLD, "a", "b") as (ann, ben):
            await ann.memory.store_fact("pump", "Pump 1 is red.")
            await until(lambda: not (ann.is_busy or ben.is_busy))
        await move(tmp_path, OLD, ("a", "b"), NEXT["flat"], ATTACHED, TUNING)

        ben = await town.begin(NEXT["flat"], "b")
        try:
            (hit,) = await ben.memory.search_facts("Which pump is red?")
            assert (hit.fact.content, ben.memory.completeness) == ("Pump 1 is red.", 1.0)
        finally:
            await ben.close()

    in_town(tmp_path, play)


def test_what_an_agent_learned_and_took_back_while_it_was_alone_reaches_the_next_hive(tmp_path: Path) -> None:
    async def play(town: Town) -> None:
        async with town.hive(OLD, "a", "b") as (ann, ben):
            red = await ann.memory.store_fact("pump", "Pump 1 is red.")
            await until(lambda: not (ann.is_busy or ben.is_busy))
        async with memory_with(town.settings, "a", NoEmbedder()) as alone:
            await alone.store_fact("pump", "Pump 2 is blue.")
            await alone.retract_fact(red.id)
        town.promoted.clear()

        await move(tmp_path, OLD, ("a", "b"), NEXT["sharded"], ATTACHED, TUNING)

        async with town.hive(NEXT["sharded"], "a", "b") as (ann, ben):
            await until(lambda: not (ann.is_busy or ben.is_busy))
            assert [fact.content for fact in await ben.memory.get_all_facts()] == ["Pump 2 is blue."]
            assert town.promoted == ["Pump 2 is blue."]

    in_town(tmp_path, play)


def test_what_was_cut_short_is_told_again_and_once(tmp_path: Path) -> None:
    async def play(town: Town) -> None:
        alone = HiveConfig("fleet", "sharded", {"": ("a", "b", "c", "d")}, replicas=1, partitions=8)
        # Nobody else is there, so most of it waits in the outbox.
        ann = await town.begin(alone, "a")
        for number in range(10):
            await ann.memory.store_fact("pump", f"Pump {number} is red.", source="manual")
        states = {fact.sharing for fact in await ann.memory.local_get_all_facts()}
        await ann.close()
        assert Sharing.HELD in states

        await move(tmp_path, alone, ("a", "b", "c", "d"), NEXT["sharded"], ATTACHED, TUNING)

        async with town.hive(NEXT["sharded"], "a", "b") as (ann, ben):
            await until(lambda: not (ann.is_busy or ben.is_busy))
            own = await ann.memory.local_get_all_facts()
            assert {fact.sharing for fact in own} == {Sharing.SHARED}
            listed = await ben.memory.get_all_facts()
            assert sorted(fact.content for fact in listed) == [f"Pump {number} is red." for number in range(10)]
        found = await held(tmp_path, NEXT["sharded"], (), TUNING)
        assert [len(fact.provenance) for fact in found] == [1] * 10

    in_town(tmp_path, play)


def test_ids_of_facts_do_not_change(tmp_path: Path) -> None:
    run(settle(tmp_path, Estate((Vouched(assertion()),)), OLD, {}, TUNING))

    assert [fact.id for fact in all_of(tmp_path, OLD)] == [PUMP_ID]
