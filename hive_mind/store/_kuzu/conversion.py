"""All of an old database as changes, in the order a store takes them; what can't be read is gone around, and named.

Nodes come before the links between them, each in the order it was added. A page that can't be read is halved until the rows that
are to blame are found; a reader that crashed is started again behind them. A damaged table does not keep others from being read.
"""

import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hive_mind.model.fact import Relation
from hive_mind.store._kuzu.asking import POOLS_MB, Failed, Rows, Table, opened
from hive_mind.store._kuzu.mending import readable
from hive_mind.store._kuzu.place import LOG, check_header, locked, part, unreadable, workshop
from hive_mind.store._kuzu.rows import MEMORY, META, TABLES, VERSION_KEY, VERSION_MAX, BadRow, change_of
from hive_mind.store.base import AddEntity, AddEpisode, AddFact, Change, Link, PutVector

# Kuzu scans the table for each page, so fewer are faster; a page is held in its pool.
_PAGE_ROWS = 16_384
# A crash costs 0.2 s. Where so many did not find an end the whole table is damaged.
_FAILURES_MAX = 200
_NAMED_MAX = 100
# Of a fact, an episode, an entity, or of the text of a vector.
_ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")


@dataclass(slots=True)
class Report:
    """What came of it. `lost` are sentences, at most a hundred and one; `lost_rows` counts what they are about."""

    taken: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    lost_rows: int = 0

    def lose(self, what: str, rows: int = 0) -> None:
        """Note what can't be taken over."""
        self.lost_rows += rows
        if len(self.lost) < _NAMED_MAX:
            self.lost.append(what)
        elif len(self.lost) == _NAMED_MAX:
            self.lost.append("and more, which are not named")


def changes_from_kuzu(path: Path, report: Report) -> AsyncIterator[Sequence[Change]]:
    """Everything in the database `path`, which stays as it is, a few hundred changes at a time. Fills `report`.

    Raises `DatabaseLocked`, `DatabaseUnreadable` (none of ours, newer, or nothing of it can be read) or `BackendError`.
    """
    return _Conversion(path, report).changes()


class _Conversion:
    def __init__(self, path: Path, report: Report) -> None:
        self._path, self._report = path.resolve(), report
        self._ids: set[str] = set()
        self._keys: set[str] = set()

    async def changes(self) -> AsyncIterator[Sequence[Change]]:
        """See `changes_from_kuzu`."""
        check_header(self._path)
        with locked(self._path) as closed_log, workshop(self._path) as folder:
            self._reader, self._with_older_edges = await readable(self._path, folder, closed_log, self._report.lose)
            try:
                async for changes in self._all():
                    yield changes
                self._tell_unread()
            finally:
                await self._reader.close()

    def _tell_unread(self) -> None:
        """Kuzu's log has no checksums: what a flipped bit made of it, it may take for its end, without a word."""
        log = part(self._path, LOG)
        known = {*self._ids, *self._keys}
        if unread := {found.decode() for found in _ID.findall(log.read_bytes() if log.exists() else b"")} - known:
            self._report.lose(
                f"{len(unread)} ids stand in its log and in no row that could be read: it is damaged there", len(unread)
            )

    async def _all(self) -> AsyncIterator[Sequence[Change]]:
        tables = self._reader.tables
        if not tables:
            return
        if not tables.keys() >= TABLES:
            raise unreadable(self._path, f"is a Kuzu database of another program (tables {', '.join(sorted(tables))})")
        await self._refuse_newer()
        async for changes in self._rows(tables[MEMORY]):
            yield changes
        async for changes in self._rows(tables[META]):
            yield changes
        async for links in self._edges():
            yield links
        if self._with_older_edges:
            await self._read_from(self._with_older_edges)
            async for links in self._edges():
                yield links

    async def _edges(self) -> AsyncIterator[Sequence[Change]]:
        for relation in (one for one in Relation if one in self._reader.tables):
            places = self._reader.tables[MEMORY].rows
            async for rows in self._pages(relation, places, {"what": "edges", "relation": relation}):
                yield self._links(relation, rows)

    async def _rows(self, table: Table) -> AsyncIterator[Sequence[Change]]:
        wanted = {"what": "page", "table": table.name, "columns": table.columns}
        async for rows in self._pages(table.name, table.rows, wanted):
            yield self._changes(table, rows)

    async def _refuse_newer(self) -> None:
        """Its version is the first row that was ever made."""
        wanted = {"what": "page", "table": META, "columns": ["key", "value"], "first": 0, "end": 1}
        try:
            found = {key: value async for rows in self._reader.ask(wanted) for _, key, value in rows}
        except Failed as failed:
            # Then it is one of those that are known, as far as its rows can be read.
            await self._recover(failed)
            return
        version = found.get(VERSION_KEY, "")
        if version.isdecimal() and int(version) > VERSION_MAX:
            what = f"has version {version} of the tables, and {VERSION_MAX} is the last one known here: upgrade hive-mind"
            raise unreadable(self._path, what)

    def _changes(self, table: Table, rows: Rows) -> list[Change]:
        changes = []
        for _, *values in rows:
            try:
                change = change_of(table.name, dict(zip(table.columns, values, strict=True)))
            except BadRow as bad:
                self._report.lose(str(bad), 1)
            else:
                changes += [change] if change is not None and self._is_new(change) else []
                if isinstance(change, PutVector):
                    self._keys.add(change.key)
        return self._taken(changes)

    def _is_new(self, change: Change) -> bool:
        """Whether it was not taken before; two rows of one id are damage, and the first one counts."""
        match change:
            case AddFact(fact=node) | AddEpisode(episode=node) | (AddEntity() as node):
                is_new = node.id not in self._ids
                self._ids.add(node.id)
                return is_new
        return True

    def _links(self, relation: Relation, rows: Rows) -> list[Change]:
        links = [Link(relation, start, end) for _, start, end in rows if start in self._ids and end in self._ids]
        if len(links) < len(rows):
            self._report.lose(f"{len(rows) - len(links)} links {relation} from or to what is lost", len(rows) - len(links))
        return self._taken(links)

    def _taken(self, changes: Sequence[Change]) -> list[Change]:
        self._report.taken.update(type(change).__name__ for change in changes)
        return [*changes]

    async def _pages(self, name: str, places: int, wanted: Mapping[str, object]) -> AsyncIterator[Rows]:
        """Rows of a table, or edges that leave them, in the order of their places; each row begins with its own."""
        failures = 0
        ranges = [(first, min(first + _PAGE_ROWS, places)) for first in range(0, places, _PAGE_ROWS)][::-1]
        while ranges:
            first, end = ranges.pop()
            try:
                async for rows in self._reader.ask({**wanted, "first": first, "end": end}):
                    if rows:
                        yield rows
                        first = max(first, rows[-1][0] + (name in TABLES))
            except Failed as failed:
                failures += 1
                ranges += self._further(failed, first, end, name, failures)
                if failed.is_over or failed.is_out_of_pool:
                    await self._recover(failed)

    def _further(self, failed: Failed, first: int, end: int, name: str, failures: int) -> list[tuple[int, int]]:
        """What to try next of a range that could not be read: the last one first."""
        if failed.is_out_of_pool and self._reader.pool + 1 < len(POOLS_MB):
            return [(first, end)]
        if end - first > 1 and failures < _FAILURES_MAX:
            middle = (first + end) // 2
            return [(middle, end), (first, middle)]
        what = f"row {first}" if end - first == 1 else f"rows {first} to {end - 1}"
        self._report.lose(f"{what} of {name}: {failed}", end - first)
        return []

    async def _recover(self, failed: Failed) -> None:
        """Another process in place of one that is gone, or one with more memory."""
        await self._read_from(self._reader.path, min(self._reader.pool + failed.is_out_of_pool, len(POOLS_MB) - 1))

    async def _read_from(self, copy: Path, pool: int = 0) -> None:
        await self._reader.close()
        try:
            self._reader = await opened(copy, pool)
        except Failed as failed:
            raise unreadable(self._path, f"could be opened once and then not again ({failed})") from failed
