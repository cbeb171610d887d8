"""A text that somebody put under another text's id, with a checksum that fits, is named and shown to nobody."""

import sqlite3
from contextlib import closing
from pathlib import Path

from hive_mind import backends
from hive_mind.model.fact import Fact
from hive_mind.store.sqlite.rows import SELECT, NodeRow, node_row
from tests.builders import Home, found


def edit(path: Path, before: str, after: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for row in [NodeRow(*row) for row in connection.execute(f"{SELECT[NodeRow]} WHERE kind = 1")]:
            if isinstance(fact := row.value, Fact) and fact.content == before:
                fields = {name: getattr(fact, name) for name in Fact.__slots__} | {"content": after}
                made = node_row(row.seq, fact.id, Fact(**fields), row.changed)
                connection.execute("UPDATE node SET body = ?, sum = ? WHERE seq = ?", (made.body, made.sum, row.seq))


async def test_another_text_under_the_id_of_a_fact_is_named_and_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite"

    async with Home("sqlite", path).memory() as memory:
        fact = await memory.store_fact("pump", "The pump is red.")
        await memory.store_fact("valve", "The valve is shut.")
    edit(path, "The pump is red.", "The pump is safe.")

    async with Home("sqlite", path).memory() as memory:
        assert await found(memory, "pump") == []
        assert await memory.get_fact(fact.id) is None
        assert [one.content for one in await memory.get_all_facts()] == ["The valve is shut."]
        assert f"fact {fact.id}" in memory.trouble
    assert len(backends.load("store", "sqlite").problems(path)) == 1
