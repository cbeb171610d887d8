"""Small builders for the tests of the Kuzu store: facts, and a database without its thread."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hive_mind.model.fact import Fact
from hive_mind.model.ids import fact_id
from hive_mind.store.base import AddFact, Change
from hive_mind.store.kuzu import KuzuSettings, reading
from hive_mind.store.kuzu.database import Database


def a_fact(content: str, confidence: float = 0.8) -> Fact:
    return Fact(fact_id(content), content, "topic", confidence, ("alice",), 1_700_000_000_000_001)


def adds(count: int, prefix: str = "Fact") -> list[Change]:
    return [AddFact(a_fact(f"{prefix} {n}")) for n in range(count)]


@contextmanager
def database(path: Path, settings: KuzuSettings | None = None) -> Iterator[Database]:
    opened = Database(path, settings or KuzuSettings())
    try:
        yield opened
    finally:
        opened.close()


def contents(opened: Database) -> list[str]:
    return [f.content for f in opened.read(lambda engine: reading.facts(engine, (0, opened.last_seq)))]


def files(path: Path) -> dict[str, bytes]:
    """The database's files as they are, without the lock's note."""
    return {f.name: f.read_bytes() for f in path.parent.iterdir() if f.is_file() and f.suffix != ".lock"}
