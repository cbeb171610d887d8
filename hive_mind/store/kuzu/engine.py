"""The only file that imports `kuzu`: one opened database with one connection and its prepared statements.

It closes the doors behind which Kuzu 0.11 loses data or crashes: no automatic checkpoint, statements prepared once, every
parameter always given, results read and closed at once, everything released in the right order. It knows no table of ours
and imports nothing of this package, because it is also run as a script: `python engine.py FILE` reads a whole file and
exits, so that a damaged one takes down that process and not ours.
"""

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

import kuzu

Rows = list[list[Any]]
EngineError = RuntimeError
"""What Kuzu raises, whatever went wrong."""

STORAGE_VERSION: int = kuzu.Database.get_storage_version()
"""The file format this Kuzu reads and writes."""

_PARAMETER = re.compile(r"\$(\w+)")


class Engine:
    """Not thread-safe: one thread owns it. Raises `EngineError`."""

    def __init__(self, path: str, *, pool_bytes: int, max_bytes: int, threads: int = 1, read_only: bool = False) -> None:
        self.pool_bytes = pool_bytes
        self.is_closed = False
        # Filled by `run`; its size is the number of different statements in the code.
        self._prepared: dict[str, tuple[kuzu.PreparedStatement, frozenset[str]]] = {}
        self._database = kuzu.Database(
            path,
            buffer_pool_size=pool_bytes,
            max_db_size=max_bytes,
            max_num_threads=threads,
            read_only=read_only,
            # A checkpoint at a moment of Kuzu's choosing may be the second of this open: not crash-safe.
            auto_checkpoint=False,
        )
        try:
            self._connection = kuzu.Connection(self._database, num_threads=threads)
            if not read_only:
                self.run_once("CALL force_checkpoint_on_close=false")
        except BaseException:
            self._database.close()
            raise

    def run(self, query: str, parameters: Mapping[str, Any] | None = None) -> Rows:
        """All rows of a query that is prepared on its first use and kept.

        `parameters` must be complete: Kuzu would silently reuse the value of the last call for one left out.
        """
        given = dict(parameters or {})
        statement, names = self._prepared.get(query) or self._prepare(query, given)
        if given.keys() != names:
            raise TypeError(f"parameters {sorted(given)} where {sorted(names)} are needed")
        return _all_rows(self._connection.execute(statement, given))

    def run_once(self, query: str) -> Rows:
        """All rows of a query that is not kept. Each call costs memory until the engine is closed."""
        return _all_rows(self._connection.execute(query))

    def transaction(self, work: Callable[[], None]) -> None:
        """Run `work` in a transaction: all of it is on disk when this returns, or none of it ever."""
        self.run("BEGIN TRANSACTION")
        try:
            work()
        except BaseException:
            self._roll_back()
            raise
        self.run("COMMIT")

    def close(self) -> None:
        """Release everything; twice is fine. The order matters: a statement that outlives its database is a crash."""
        self.is_closed = True
        self._prepared.clear()
        self._connection.close()
        self._database.close()

    def _prepare(self, query: str, example: dict[str, Any]) -> tuple[kuzu.PreparedStatement, frozenset[str]]:
        # The class and not Connection.prepare, which warns of its deprecation and has no successor that does not leak.
        statement = kuzu.PreparedStatement(self._connection, query, example)
        if not statement.is_success():
            raise EngineError(statement.get_error_message())
        self._prepared[query] = statement, frozenset(_PARAMETER.findall(query))
        return self._prepared[query]

    def _roll_back(self) -> None:
        try:
            self.run("ROLLBACK")
        except EngineError:
            # A failed statement has ended the transaction already.
            return


def is_out_of_pool(error: EngineError) -> bool:
    """Whether more would have gone with a larger buffer pool."""
    return "Buffer manager exception" in str(error)


def is_duplicate(error: EngineError) -> bool:
    """Whether a primary key was there already."""
    return "duplicated primary key" in str(error)


def _all_rows(result: Any) -> Rows:
    # One statement per call, so one result. Left open it would outlive the database.
    try:
        rows: Rows = result.get_all()
        return rows
    finally:
        result.close()


def read_everything(path: str) -> None:
    """Open a file for reading only, which replays its log in memory, and read every value of every table."""
    engine = Engine(path, pool_bytes=256 << 20, max_bytes=1 << 32, read_only=True)
    try:
        for _, table, kind, *_ in engine.run_once("CALL show_tables() RETURN *"):
            if kind == "NODE":
                columns = [row[0] for row in engine.run_once(f"CALL table_info('{table}') RETURN name")]
                smallest = ", ".join(f"min(x.`{column}`)" for column in columns)
                engine.run_once(f"MATCH (x:`{table}`) RETURN {smallest}")
            else:
                engine.run_once(f"MATCH (a)-[:`{table}`]->(b) RETURN count(*)")
    finally:
        engine.close()


if __name__ == "__main__":
    try:
        read_everything(sys.argv[1])
    except EngineError as error:
        sys.exit(str(error))
