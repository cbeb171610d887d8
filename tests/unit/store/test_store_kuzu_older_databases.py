"""A database that an earlier hive-mind wrote, in the tables of its time, opens with everything in it."""

import asyncio
from pathlib import Path

from hive_mind.model.fact import Fact, Sharing
from hive_mind.model.ids import fact_id
from hive_mind.store import kuzu
from hive_mind.store.base import ReviseFact
from hive_mind.store.kuzu import KuzuSettings
from hive_mind.store.kuzu.database import Database
from hive_mind.store.kuzu.rows import MEMORY_COLUMNS, fact_row
from hive_mind.store.kuzu.schema import MIGRATIONS

SINCE = {"held_back": 2, "offered": 2}
"""The version that brought a column."""
KEPT = Fact(fact_id("The pump is red."), "The pump is red.", "pump", 0.7, ("ines", "otto"), 5, entities=("Ada",))


def written_by(version: int, path: Path) -> Path:
    columns = [column for column in MEMORY_COLUMNS if SINCE.get(column, 1) <= version]
    row = fact_row(KEPT) | {"seq": 1}
    old = Database(path, KuzuSettings(), MIGRATIONS[:version])
    creation = f"CREATE (:Memory {{{', '.join(f'{column}: ${column}' for column in columns)}}})"
    old.engine.transaction(lambda: old.engine.run(creation, {column: row[column] for column in columns}))
    old.close()
    return path


def test_facts_from_before_sharing_was_kept_are_private_and_can_be_shared(tmp_path: Path):
    path = written_by(1, tmp_path / "memory.db")
    shared = Fact(**{name: getattr(KEPT, name) for name in KEPT.__slots__} | {"sharing": Sharing.SHARED, "offered": ("ines",)})

    async def whole() -> None:
        store = await kuzu.open(path)
        assert [fact async for batch in store.facts() for fact in batch] == [KEPT]
        await store.write([ReviseFact(shared)])
        await store.close()
        again = await kuzu.open(path)
        assert [fact async for batch in again.facts() for fact in batch] == [shared]
        await again.close()

    asyncio.run(whole())
