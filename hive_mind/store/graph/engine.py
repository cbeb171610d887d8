"""The only file that imports `kuzu`: one opened database with one connection and its prepared statements.

It closes doors behind which Kuzu 0.11 loses data or crashes: no automatic checkpoint, statements prepared once, every parameter
always given, results read and closed at once, everything released in the right order.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import kuzu

EngineError = RuntimeError
"""Kuzu's exception, whatever went wrong."""

Taken = TypeVar("Taken")

VERSION = str(kuzu.version)

# Address space only; Kuzu's own choice of 8 TB fails where that is limited.
_DATABASE_MAX_BYTES = 1 << 38


class Engine:
    """Not thread-safe: one thread owns it. Raises `EngineError`. `pool_bytes` is a cap, not a reservation."""

    def __init__(self, path: Path, pool_bytes: int, *, read_only: bool = False) -> None:
        self._prepared: dict[str, kuzu.PreparedStatement] = {}
        self._database = kuzu.Database(
            str(path),
            buffer_pool_size=pool_bytes,
            max_db_size=_DATABASE_MAX_BYTES,
            max_num_threads=2,
            read_only=read_only,
            # A checkpoint at a moment of Kuzu's choosing may be the second of this open: not crash-safe.
            auto_checkpoint=False,
        )
        try:
            self._connection = kuzu.Connection(self._database)
            if not read_only:
                self.run("CALL force_checkpoint_on_close=false")
        except BaseException:
            self._database.close()
            raise

    def run(self, query: str, /, **parameters: Any) -> list[list[Any]]:
        """All rows of a query of ours. It is prepared on its first use and kept; each use gives the same parameters."""
        return list(self.rows(query, **parameters))

    def rows(self, query: str, /, **parameters: Any) -> Iterator[list[Any]]:
        """The same, one by one, and closed when they were all taken."""
        statement = self._prepared.get(query)
        if statement is None:
            # The class and not Connection.prepare, which warns of its deprecation and has no successor that does not leak.
            statement = kuzu.PreparedStatement(self._connection, query, parameters)
            if not statement.is_success():
                raise EngineError(statement.get_error_message())
            self._prepared[query] = statement
        result: Any = self._connection.execute(statement, parameters)
        try:
            while result.has_next():
                yield result.get_next()
        finally:
            result.close()

    def run_foreign(self, query: str, timeout_s: float, take: Callable[[Any], Taken]) -> Taken:
        """The output of `take` for a foreign query's result, on a connection of its own, which is then dropped."""
        connection = kuzu.Connection(self._database)
        try:
            connection.set_query_timeout(max(1, int(timeout_s * 1000)))
            result: Any = connection.execute(query)
            try:
                return take(result)
            finally:
                result.close()
        finally:
            connection.close()

    def close(self) -> None:
        """Release everything. The order matters: a statement that outlives its database is a crash."""
        self._prepared.clear()
        self._connection.close()
        self._database.close()
