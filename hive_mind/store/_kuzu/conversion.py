"""All of an old database as changes, in the order a store takes them; unreadable rows are skipped, and named.

Nodes come before the links between them, each in the order it was added. A page that can't be read is halved until the rows that
are to blame are found; a process that crashed is started again behind them. A damaged table does not keep others from being read.

Each row is proven where it can be: an id is a hash of what it names. A row that can't be right is an error that says which one it
was: nothing false is taken over. The tables had no column `held_back` and no `offered` in their first version.
"""

import re
from base64 import b64decode
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import numpy as np

from hive_mind.errors import InvalidInput
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.model.ids import entity_id, episode_id, fact_id
from hive_mind.store._checks import check
from hive_mind.store._kuzu.place import LOG, check_header, locked, part, unreadable, workshop
from hive_mind.store._kuzu.reader import POOLS_MB, Failed, GraphReader, Rows, opened, readable
from hive_mind.store.base import AddEntity, AddEpisode, AddFact, Change, Link, PutVector, SetMeta

# Kuzu scans the table for each page, so fewer are faster; a page is held in its pool.
_PAGE_ROWS = 16_384
# A crash costs half a second. After this many without an end the whole table counts as damaged.
_FAILURES_MAX = 200
_NAMED_MAX = 100
# Of a fact, an episode, an entity, or of the text of a vector.
_ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")

MEMORY, META = "Memory", "Meta"
TABLES = frozenset({MEMORY, META})
VERSION_KEY, VERSION_MAX = "schema:version", 2
_NAMED = "named:"
_SHOWN_CHARACTERS = 60
_FIELDS = get_type_hints(Fact).keys()
_LISTS = {name for name, hint in get_type_hints(Fact).items() if hint == tuple[str, ...]}

Row = Mapping[str, Any]

_texts = msgspec.json.Decoder(tuple[str, ...]).decode


@dataclass(slots=True)
class ConversionReport:
    """Result of the conversion. `lost` are sentences, at most a hundred and one."""

    taken: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)

    def lose(self, what: str) -> None:
        """Note what can't be taken over."""
        if len(self.lost) < _NAMED_MAX:
            self.lost.append(what)
        elif len(self.lost) == _NAMED_MAX:
            self.lost.append("and more, which are not named")


async def changes_from_kuzu(path: Path, report: ConversionReport) -> AsyncIterator[Sequence[Change]]:
    """Everything in the database `path`, which stays as it is, a few hundred changes at a time. Fills `report`.

    Raises `DatabaseLocked`, `DatabaseUnreadable` (none of ours, newer, or nothing of it can be read) or `BackendError`.
    """
    check_header(path)
    with locked(path), workshop(path) as folder:
        reader, with_older_edges = await readable(path, folder, report.lose)
        conversion = _Conversion(path, reader, report)
        try:
            async for changes in conversion.changes(with_older_edges):
                yield changes
        finally:
            await conversion.close()


class _Conversion:
    def __init__(self, path: Path, reader: GraphReader, report: ConversionReport) -> None:
        self._path, self._reader, self._report = path, reader, report
        self._ids: set[str] = set()
        self._keys: set[str] = set()

    async def close(self) -> None:
        await self._reader.close()

    async def changes(self, with_older_edges: Path | None) -> AsyncIterator[Sequence[Change]]:
        tables = self._reader.tables
        if tables and not tables.keys() >= TABLES:
            raise unreadable(self._path, f"is a Kuzu database of another program (tables {', '.join(sorted(tables))})")
        await self._refuse_newer()
        for table in (tables[name] for name in (MEMORY, META) if name in tables):
            async for rows in self._pages("page", table.rows, table=table.name, columns=table.columns):
                named = [dict(zip(table.columns, values, strict=True)) for _, *values in rows]
                yield self._counted(self._changes_of(table.name, named))
        async for links in self._edges():
            yield links
        if with_older_edges:
            await self._read_from(with_older_edges)
            async for links in self._edges():
                yield links
        self._name_unread()

    def _name_unread(self) -> None:
        """Kuzu's log has no checksums: it may take a flipped bit's damage for its end, without a word."""
        log = part(self._path, LOG)
        in_log = {found.decode() for found in _ID.findall(log.read_bytes() if log.exists() else b"")}
        if unread := in_log - self._ids - self._keys:
            self._report.lose(f"{len(unread)} ids occur in its log and in no readable row: it is damaged there")

    async def _refuse_newer(self) -> None:
        """Its version is the first row that was ever made."""
        if not self._reader.tables:
            return
        try:
            pages = self._reader.ask("page", table=META, columns=["key", "value"], first=0, end=1)
            found = {key: value async for rows in pages for _, key, value in rows}
        except Failed as failed:
            # Then it is one of those that are known, as far as its rows can be read.
            await self._recover(failed)
            return
        version = found.get(VERSION_KEY, "")
        if version.isdecimal() and int(version) > VERSION_MAX:
            what = f"has version {version} of the tables, and {VERSION_MAX} is the last one known here: upgrade hive-mind"
            raise unreadable(self._path, what)

    def _changes_of(self, table: str, rows: Sequence[dict[str, object]]) -> list[Change]:
        changes = []
        for row in rows:
            try:
                change = change_of(table, row)
            except BadRow as bad:
                self._report.lose(str(bad))
            else:
                changes += [change] if change is not None and self._note(change) else []
        return changes

    def _note(self, change: Change) -> bool:
        """Note what is taken; whether it was not taken before: two rows of one id are damage, and the first one counts."""
        match change:
            case AddFact(fact=node) | AddEpisode(episode=node) | (AddEntity() as node):
                is_new = node.id not in self._ids
                self._ids.add(node.id)
                return is_new
            case PutVector(key=key):
                self._keys.add(key)
        return True

    async def _edges(self) -> AsyncIterator[Sequence[Change]]:
        for relation in (one for one in Relation if one in self._reader.tables):
            async for rows in self._pages("edges", self._reader.tables[MEMORY].rows, relation=relation.value):
                links = [Link(relation, start, end) for _, start, end in rows if start in self._ids and end in self._ids]
                if len(links) < len(rows):
                    self._report.lose(f"{len(rows) - len(links)} links {relation} from or to what is lost")
                yield self._counted(links)

    def _counted(self, changes: Sequence[Change]) -> Sequence[Change]:
        self._report.taken.update(type(change).__name__ for change in changes)
        return changes

    async def _pages(self, name: str, places: int, **wanted: object) -> AsyncIterator[Rows]:
        """Rows of a table, or edges that leave them, in the order of their places; each row begins with its own."""
        failures = 0
        ranges = [(first, min(first + _PAGE_ROWS, places)) for first in range(0, places, _PAGE_ROWS)][::-1]
        while ranges:
            first, end = ranges.pop()
            try:
                async for rows in self._reader.ask(name, **wanted, first=first, end=end):
                    if rows:
                        yield rows
                        # Of a row's edges more may come; the same one twice is one.
                        first = max(first, rows[-1][0] + (name == "page"))
            except Failed as failed:
                failures += 1
                ranges += self._further(failed, first, end, str(wanted.get("table") or wanted["relation"]), failures)
                if failed.is_over or failed.is_out_of_pool:
                    await self._recover(failed)

    def _further(self, failed: Failed, first: int, end: int, what: str, failures: int) -> list[tuple[int, int]]:
        """Ranges to try next of one that could not be read: the last one first."""
        if failed.is_out_of_pool and self._reader.pool + 1 < len(POOLS_MB):
            return [(first, end)]
        if end - first > 1 and failures < _FAILURES_MAX:
            middle = (first + end) // 2
            return [(middle, end), (first, middle)]
        places = f"row {first}" if end - first == 1 else f"rows {first} to {end - 1}"
        self._report.lose(f"{places} of {what}: {failed}")
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


class BadRow(Exception):
    """A row that is not as it was written. The message names it."""


def change_of(table: str, row: Row) -> Change | None:
    """The change in a row; None for one that is the database's own. Raises `BadRow`."""
    try:
        change = _node(row) if table == MEMORY else _value(row)
        if change is not None:
            check([change])
    except (ValueError, TypeError, LookupError, AttributeError, msgspec.MsgspecError, InvalidInput) as error:
        raise BadRow(f"{_name(table, row)}: {error}") from error
    return change


def _node(row: Row) -> Change:
    identity, kind, text = row["id"], row["kind"], row["content"]
    match kind:
        case "fact":
            fact = _fact(row)
            _prove(identity, fact_id(text))
            return AddFact(fact)
        case "episode":
            (source,) = _texts(row["sources"])
            _prove(identity, episode_id(text, source))
            times = row["said_at"], row["learned_at_us"]
            return AddEpisode(Episode(identity, text, source, *times, row["speaker"], row["title"], row["summary"]))
        case "entity":
            _prove(identity, entity_id(text))
            return AddEntity(identity, text)
    raise ValueError(f"there is no kind {kind!r}")


def _fact(row: Row) -> Fact:
    lists = {name: _texts(row[name]) for name in _LISTS & row.keys()}
    return msgspec.convert({name: row[name] for name in _FIELDS & row.keys()} | lists, Fact)


def _value(row: Row) -> Change | None:
    key, model = row["key"], row["model"]
    if not model:
        if key != VERSION_KEY and not key.startswith(_NAMED):
            raise ValueError("there is no such named value")
        return SetMeta(key.removeprefix(_NAMED), row["value"]) if key != VERSION_KEY else None
    # The length kept ("a", "b:c") and ("a:b", "c") apart.
    prefix = f"vector:{len(model)}:{model}:"
    if not key.startswith(prefix):
        raise ValueError("its key is of another model")
    numbers = np.frombuffer(b64decode(row["value"], validate=True), dtype="<f2")
    return PutVector(model, key.removeprefix(prefix), numbers.astype(np.float32))


def _prove(given: str, computed: str) -> None:
    if given != computed:
        raise ValueError(f"its id is not that of its content ({computed})")


def _name(table: str, row: Row) -> str:
    if table == META:
        return f"value {str(row['key'])[:_SHOWN_CHARACTERS]!r}"
    return f"{row['kind'] or 'row'} {row['id']} {str(row['content'])[:_SHOWN_CHARACTERS]!r}"
