"""Brings a database from whatever version it has to the newest one, or refuses and leaves it alone.

Each step is one transaction that also writes the new version, in an open of its own: a process killed anywhere leaves
the version before the step or the one after it, never something between.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from hive_mind.store.kuzu.engine import Engine
from hive_mind.store.kuzu.inspection import unreadable
from hive_mind.store.kuzu.schema import TABLES, VERSION_KEY, Migration


def migrated(path: Path, open_engine: Callable[[], Engine], migrations: Sequence[Migration]) -> Engine:
    """An open engine at the newest version. Raises `DatabaseUnreadable` for a newer database or somebody else's."""
    engine = open_engine()
    try:
        while (version := version_of(engine, path)) < len(migrations):
            _take_step(engine, version + 1, migrations[version])
            engine.close()
            engine = open_engine()
        if version > len(migrations):
            raise unreadable(
                path,
                f"has version {version} of the tables, this hive-mind knows up to {len(migrations)}",
                "upgrade hive-mind to open it",
            )
    except BaseException:
        engine.close()
        raise
    return engine


def version_of(engine: Engine, path: Path) -> int:
    """The version of the tables; 0 for a database without any. Raises `DatabaseUnreadable` for tables that are not ours."""
    tables = {row[0] for row in engine.run_once("CALL show_tables() RETURN name")}
    if not tables:
        return 0
    if tables >= TABLES:
        found = engine.run("MATCH (m:Meta {key: $key}) RETURN m.value", {"key": VERSION_KEY})
        if found and found[0][0].isdecimal():
            return int(found[0][0])
    raise unreadable(path, f"is a Kuzu database of another program (tables {', '.join(sorted(tables))})")


def _take_step(engine: Engine, number: int, migration: Migration) -> None:
    def work() -> None:
        for statement in migration.statements:
            engine.run_once(statement)
        # The table exists from the first step on; a new row per version would be kept for ever.
        parameters = {"key": VERSION_KEY, "value": str(number)}
        engine.run(
            "MERGE (m:Meta {key: $key}) ON CREATE SET m.seq = 0, m.model = '', m.value = $value ON MATCH SET m.value = $value",
            parameters,
        )

    engine.transaction(work)
