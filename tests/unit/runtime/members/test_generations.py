"""From one generation of a hive to the next: nothing is lost, nothing changes before the end, and all topologies take it."""

from pathlib import Path

import pytest

from hive_mind import backends
from hive_mind.errors import BackendRejected
from hive_mind.hive.effects import Put
from hive_mind.hive.replication.journal_snapshot import JournalSnapshot, Vouched
from hive_mind.runtime.members.generations import Move, Moved, founded, move, settle
from hive_mind.runtime.workers.config import HiveConfig, NodeConfig, WorkerConfig
from hive_mind.runtime.workers.nodes import plan_of
from tests.hives import PUMP_ID, assertion
from tests.unit.runtime.moving import FEDERATED, OLD, SHARDED, TUNING, all_of, begun, contents, hives, moved, run


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
    assert run(move(Move(tmp_path, single, (), HiveConfig("fleet.g3", "flat", {"": ("a",)}), {}, TUNING))) == Moved()
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


def test_ids_of_facts_do_not_change(tmp_path: Path) -> None:
    run(settle(tmp_path, JournalSnapshot((Vouched(assertion()),)), OLD, {}, TUNING))
    assert [fact.id for fact in all_of(tmp_path, OLD)] == [PUMP_ID]
