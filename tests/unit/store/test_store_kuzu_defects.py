"""One test for each way in which Kuzu 0.11 loses data or crashes, showing that it can't be reached through our store."""

import asyncio
import gc
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from hive_mind.errors import BackendError, BackendUnavailable, DatabaseLocked, InvalidInput
from hive_mind.model.fact import Fact, Relation
from hive_mind.store import kuzu
from hive_mind.store.base import AddFact, Link, PutVector, ReviseFact
from hive_mind.store.kuzu import KuzuSettings, reading
from hive_mind.store.kuzu import commit as commit_module
from hive_mind.store.kuzu import database as database_module
from hive_mind.store.kuzu.engine import Engine, EngineError
from hive_mind.store.kuzu.upkeep import log_bytes, write_back
from tests.unit.store.kuzu_builders import a_fact, adds, contents, database


@pytest.fixture
def checkpointed(monkeypatch: pytest.MonkeyPatch) -> list[Engine]:
    """Every engine that was asked for a checkpoint, in order."""
    engines: list[Engine] = []

    def watched(engine: Engine, path: Path) -> None:
        engines.append(engine)
        write_back(engine, path)

    monkeypatch.setattr(database_module, "write_back", watched)
    return engines


def test_no_open_ever_sees_a_second_checkpoint(tmp_path: Path, checkpointed: list[Engine]) -> None:
    often = KuzuSettings(checkpoint_log_bytes=8_000, checkpoint_at_close_log_bytes=1)

    async def scenario() -> None:
        store = await kuzu.open(tmp_path / "x", often)
        for n in range(60):
            await store.write(adds(2, f"Round {n},"))
        await store.close()

    asyncio.run(scenario())

    assert len(checkpointed) > 2
    assert len({id(engine) for engine in checkpointed}) == len(checkpointed)
    assert all(engine.is_closed for engine in checkpointed)
    with database(tmp_path / "x") as opened:
        assert len(contents(opened)) == 120


def test_the_file_is_not_touched_between_checkpoints(tmp_path: Path, checkpointed: list[Engine]) -> None:
    with database(tmp_path / "x") as opened:
        before = (tmp_path / "x").stat()
        for n in range(30):
            opened.write(adds(20, f"Round {n},"))
            opened.checkpoint_if_due()
        after = (tmp_path / "x").stat()

        assert (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
        assert checkpointed == []


def test_readers_and_writers_go_on_around_checkpoints(tmp_path: Path) -> None:
    often = KuzuSettings(checkpoint_log_bytes=8_000)

    async def reader(store: kuzu.store.KuzuStore) -> int:
        return max([(await store.counts())["facts"] for _ in range(40)])

    async def scenario() -> None:
        store = await kuzu.open(tmp_path / "x", often)
        writers = [store.write(adds(3, f"Writer {n},")) for n in range(100)]
        await asyncio.gather(*(reader(store) for _ in range(4)), *writers)  # type: ignore[arg-type]
        assert (await store.counts())["facts"] == 300
        await store.close()

    asyncio.run(scenario())


def test_a_write_larger_than_the_buffer_pool_is_kept_and_its_log_written_back(tmp_path: Path) -> None:
    small = KuzuSettings(buffer_pool_bytes=16 << 20)
    path = tmp_path / "x"
    with database(path, small) as opened:
        opened.write([AddFact(a_fact(f"{n} " + "long text " * 100)) for n in range(12_000)])
        assert log_bytes(path) > 12 << 20

        opened.checkpoint_if_due()

        assert log_bytes(path) == 0
        assert opened.engine.pool_bytes == 16 << 20
        assert opened.read(reading.counts)["facts"] == 12_000


def test_a_failed_checkpoint_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise RuntimeError("no room")

    with database(tmp_path / "x", KuzuSettings(checkpoint_log_bytes=1)) as opened:
        monkeypatch.setattr(database_module, "write_back", failing)
        opened.write(adds(10))
        opened.checkpoint_if_due()
        opened.write(adds(10, "Later"))
        assert len(contents(opened)) == 20


def test_statements_are_prepared_once(tmp_path: Path) -> None:
    with database(tmp_path / "x") as opened:
        opened.write([*adds(1), *adds(20, "Many")])
        opened.write(adds(1, "Warm"))
        known = len(opened.engine._prepared)
        for n in range(100):
            opened.write(adds(1 + n % 30, f"Round {n},"))
            contents(opened)

        assert len(opened.engine._prepared) <= known + 1


def test_a_parameter_left_out_is_an_error_and_not_the_last_value(tmp_path: Path) -> None:
    with database(tmp_path / "x") as opened:
        query = "MATCH (m:Memory {id: $id}) WHERE m.kind = $kind RETURN m.id"
        opened.engine.run(query, {"id": "a", "kind": "fact"})

        with pytest.raises(TypeError, match="kind"):
            opened.engine.run(query, {"id": "a"})


def test_times_are_integers_in_the_tables(tmp_path: Path) -> None:
    with database(tmp_path / "x") as opened:
        for table in ("Memory", "Meta"):
            kinds = {row[2] for row in opened.engine.run_once(f"CALL table_info('{table}') RETURN *")}
            assert kinds <= {"STRING", "INT64", "DOUBLE"}


def test_closing_while_somebody_still_reads_is_an_error_for_the_reader_only(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = await kuzu.open(tmp_path / "x", KuzuSettings(page_rows=10))
        await store.write(adds(100))
        reader = store.facts()
        first = await anext(reader)
        await store.close()

        assert len(first) == 10
        with pytest.raises(BackendUnavailable, match="closed"):
            await anext(reader)

    asyncio.run(scenario())


def test_the_same_process_can_not_open_a_file_twice(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)

    async def scenario() -> None:
        store = await kuzu.open(tmp_path / "x")
        for path in (tmp_path / "x", tmp_path / "link" / "x", tmp_path / "link" / ".." / tmp_path.name / "x"):
            with pytest.raises(DatabaseLocked, match="this process has it open already"):
                await kuzu.open(path)
        await store.write(adds(1))
        await store.close()
        await (await kuzu.open(tmp_path / "x")).close()

    asyncio.run(scenario())


def test_no_index_of_kuzus_own_is_made(tmp_path: Path) -> None:
    with database(tmp_path / "x") as opened:
        assert opened.engine.run_once("CALL show_indexes() RETURN *") == []


def test_a_write_that_fails_after_changing_rows_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Kuzu 0.11: after a rolled back SET the row reports conflicts for ever, or the process crashes.
    def failing(*_: object) -> None:
        raise EngineError("the disk said no")

    with database(tmp_path / "x") as opened:
        opened.write(adds(10))
        before = opened.engine

        with monkeypatch.context() as patch:
            patch.setattr(commit_module, "_link", failing)
            with pytest.raises(BackendError, match="the disk said no"):
                opened.write([*adds(3, "New"), *(ReviseFact(a_fact(f"Fact {n}", 0.0)) for n in range(10))])

        assert before.is_closed
        assert {f.confidence for f in opened.read(lambda e: reading.facts(e, (0, opened.last_seq)))} == {0.8}
        for n in range(10):
            opened.write([ReviseFact(a_fact(f"Fact {m}", n / 10)) for m in range(10)])
        assert contents(opened) == [f"Fact {n}" for n in range(10)]


def test_after_a_refused_duplicate_the_engine_is_a_fresh_one(tmp_path: Path) -> None:
    with database(tmp_path / "x") as opened:
        opened.write(adds(1))
        before = opened.engine

        with pytest.raises(InvalidInput, match="already"):
            opened.write([*adds(1, "New"), *adds(1)])

        assert before.is_closed
        assert contents(opened) == ["Fact 0"]


@pytest.mark.parametrize("absent", ["from", "to", "revised"])
def test_what_names_an_absent_thing_is_refused_before_anything_is_written(tmp_path: Path, absent: str) -> None:
    here = a_fact("Fact 0").id
    bad = {
        "from": Link(Relation.SUPERSEDES, "absent", here),
        "to": Link(Relation.SUPERSEDES, here, "absent"),
        "revised": ReviseFact(a_fact("absent")),
    }[absent]
    with database(tmp_path / "x") as opened:
        opened.write(adds(1))
        before = opened.engine

        with pytest.raises(InvalidInput, match="not in the store"):
            opened.write([*adds(5, "New"), bad])

        assert opened.engine is before
        assert not before.is_closed


def test_long_texts_that_do_not_fit_the_buffer_pool_together_are_read_one_by_one(tmp_path: Path) -> None:
    small = KuzuSettings(buffer_pool_bytes=32 << 20)
    many = [a_fact(f"{n} " + "x" * 400_000) for n in range(80)]

    async def scenario() -> list[Fact]:
        store = await kuzu.open(tmp_path / "x", small)
        for one in many:
            await store.write([AddFact(one)])
        found = [f async for batch in store.facts() for f in batch]
        await store.close()
        return found

    assert asyncio.run(scenario()) == many


def test_writes_that_wait_together_share_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commits: list[int] = []
    write = database_module.Database.write

    def counted(self: database_module.Database, changes: list[AddFact]) -> None:
        commits.append(len(changes))
        write(self, changes)

    monkeypatch.setattr(database_module.Database, "write", counted)

    async def scenario() -> None:
        store = await kuzu.open(tmp_path / "x", KuzuSettings(group_max_writes=64))
        await asyncio.gather(*(store.write([change]) for change in adds(200)))
        await store.close()

    asyncio.run(scenario())

    assert sum(commits) == 200
    assert len(commits) < 100
    assert max(commits) <= 64


def test_a_forgotten_store_closes_itself(tmp_path: Path) -> None:
    before = threading.active_count()

    async def scenario() -> None:
        store = await kuzu.open(tmp_path / "x")
        await store.write(adds(3))

    asyncio.run(scenario())
    gc.collect()

    assert threading.active_count() == before
    with database(tmp_path / "x") as opened:
        assert len(contents(opened)) == 3


def test_a_program_that_ends_while_it_opens_ends_well(tmp_path: Path) -> None:
    code = """
        import asyncio, sys
        from pathlib import Path
        from hive_mind.store import kuzu

        async def main() -> None:
            opening = asyncio.create_task(kuzu.open(Path(sys.argv[1])))
            await asyncio.sleep(0.01)
            opening.cancel()

        asyncio.run(main())
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "x")]

    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert (ended.returncode, ended.stderr) == (0, "")


def test_who_is_cancelled_while_opening_leaves_neither_thread_nor_lock(tmp_path: Path) -> None:
    before = threading.active_count()

    async def scenario() -> None:
        opening = asyncio.create_task(kuzu.open(tmp_path / "cancelled"))
        await asyncio.sleep(0)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        for thread in threading.enumerate():
            if thread.name == "kuzu cancelled":
                thread.join()
        await (await kuzu.open(tmp_path / "cancelled")).close()

    asyncio.run(scenario())
    assert threading.active_count() == before


def test_a_vector_that_was_cached_already_costs_a_second_look_and_no_error(tmp_path: Path) -> None:
    import numpy as np

    ones, twos = np.ones(4, np.float32), np.full(4, 2, np.float32)

    async def scenario() -> None:
        store = await kuzu.open(tmp_path / "x")
        await store.write([PutVector("m", "k", ones)])
        await asyncio.gather(*(store.write([AddFact(a_fact(f"F{n}")), PutVector("m", "k", twos)]) for n in range(5)))
        assert (await store.counts())["facts"] == 5
        assert [v.tolist() async for batch in store.vectors("m") for v in batch.values()] == [[2.0] * 4]
        await store.close()

    asyncio.run(scenario())
