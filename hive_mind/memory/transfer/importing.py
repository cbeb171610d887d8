"""Taking in the lines of another memory, in batches: bounded in RAM, and going on where it was stopped.

All lines are examined before the first is taken in, so a bad one means that nothing is. Then come episodes and facts, batch by
batch, and the links between them last, when both ends are there. How far it came is written with each batch: after a kill,
importing the same lines again resumes there.

A store that takes facts in without an index of them: for bulk writers that ask nothing.

It decides what to write as a memory does, and asks the store what is known of the facts at hand instead of holding them all.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.memory.editions import timed
from hive_mind.memory.erasing import erasures_in, kept_changes, kept_of
from hive_mind.memory.intake import take_in
from hive_mind.memory.opening import MODEL_KEY, may_embed, record, warn_other_model
from hive_mind.memory.transfer import Examination, Examined, Lines, Record, is_taken, record_of
from hive_mind.memory.vectors import VectorSource
from hive_mind.model.decoding import json_decoder
from hive_mind.model.fact import Fact
from hive_mind.store import AddEpisode, Change, FactStore, Link, SetMeta

BEGUN_KEY = "import.begun"
"""Where a database keeps how far an import came that was not finished."""

# Of a durable write. For 200,000 facts 8,000 at once take a tenth less processor time and 15 MB more than these, half as many a
# twentieth more. (benchmarks/importing.py)
BATCH_RECORDS = 2_000
# A fact takes a model some milliseconds, and somebody is watching.
BATCH_EMBEDDED = 256
# An episode may be a book.
_BATCH_CHARACTERS = 4_000_000
# Some milliseconds of work before somebody else may have a turn, or end this.
_LINES_AT_ONCE = 500

Keep = Callable[[Sequence[Fact], Sequence[Change]], Awaitable[int]]
"""Writes facts and other changes at once; how many more current facts there are then."""
Progress = Callable[[int, int, str], None]
"""Gets how many lines are done, of how many (0: not known yet), and what is done with them."""


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of an import. `added` counts current facts that were not there, `lines` those that are not blank.

    `skipped_lines` were taken in by an earlier run that was stopped; `added` does not count them.
    """

    lines: int
    facts: int
    added: int
    skipped_lines: int


class _Reached(msgspec.Struct, frozen=True):
    """How far lines with this digest were taken in: episodes and facts before one line, links before another."""

    digest: str
    nodes: int
    links: int


@dataclass(slots=True)
class _Batch:
    facts: list[Fact] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    characters: int = 0

    def take(self, record: Record, characters: int) -> None:
        self.characters += characters
        match record:
            case Fact():
                self.facts.append(record)
            case Link():
                self.changes.append(record)
            case _:
                self.changes.append(AddEpisode(record))

    def is_full(self, records_max: int) -> bool:
        return len(self.facts) + len(self.changes) >= records_max or self.characters >= _BATCH_CHARACTERS


async def import_all(
    lines: Lines,
    keep: Keep,
    meta: Mapping[str, str],
    *,
    batch_records: int = BATCH_RECORDS,
    progress: Progress | None = None,
) -> Imported:
    """Take everything in, durable when this returns. `meta` are the named values of the database that `keep` writes to.

    Raises `InvalidInput` naming the bad lines; then nothing was taken in.
    """
    report = progress or _no_progress
    examined = await _examined(lines, report)
    start = _reached(meta, examined)
    added, has_marker = 0, BEGUN_KEY in meta and bool(meta[BEGUN_KEY])
    report(_lines_before(start, examined), examined.end, "importing")
    for batch, reached in _batches(lines, examined, start, batch_records):
        is_last = reached == _Reached(examined.digest, examined.nodes_to, examined.end)
        # A single batch leaves no trace: there is nothing to go on with.
        marker = [] if is_last and not has_marker else [SetMeta(BEGUN_KEY, "" if is_last else _encoded(reached))]
        report_batch = partial(report, _lines_before(reached, examined), examined.end, "importing")
        if batch.facts or batch.changes or marker:
            added += await _finished(keep(batch.facts, [*batch.changes, *marker]), report_batch)
            has_marker = bool(marker)
        report_batch()
    return Imported(examined.lines, examined.facts, added, _lines_before(start, examined))


async def _examined(lines: Lines, report: Progress) -> Examined:
    with Examination() as examination:
        for line in lines():
            if examination.taken % _LINES_AT_ONCE == 0:
                report(examination.taken, 0, "checking")
                await asyncio.sleep(0)
            examination.take(line)
        return examination.result()


def _reached(meta: Mapping[str, str], examined: Examined) -> _Reached:
    """Where to begin: where the same lines were left, or at the first."""
    begun_text = meta.get(BEGUN_KEY, "")
    reached = json_decoder(_Reached)(begun_text) if begun_text else None
    return reached if reached and reached.digest == examined.digest else _Reached(examined.digest, 0, examined.links_from)


def _lines_before(reached: _Reached, examined: Examined) -> int:
    """How many lines are done with. Where links stand among facts, all lines are gone through twice."""
    if reached.nodes < examined.nodes_to:
        return min(reached.nodes, examined.links_from)
    return reached.links


def _batches(lines: Lines, examined: Examined, start: _Reached, records_max: int) -> Iterator[tuple[_Batch, _Reached]]:
    """Batches to write, and how far everything is then; with the last one all is done."""
    if start.nodes < examined.nodes_to:
        for batch, at in _batches_of(lines, start.nodes, examined.nodes_to, _is_node, records_max):
            yield batch, _Reached(examined.digest, at, start.links)
    if start.links < examined.end:
        for batch, at in _batches_of(lines, start.links, examined.end, _is_link, records_max):
            yield batch, _Reached(examined.digest, examined.nodes_to, at)


def _batches_of(
    lines: Lines, first: int, end: int, is_meant: Callable[[Record], bool], records_max: int
) -> Iterator[tuple[_Batch, int]]:
    """Some of the records of some lines, and where those end; the last batch may be empty."""
    batch = _Batch()
    for number, line in enumerate(islice(lines(), first, end), start=first):
        if batch.is_full(records_max):
            yield batch, number
            batch = _Batch()
        if line.strip() and is_meant(record := _again(line, number)):
            batch.take(record, len(line))
    yield batch, end


def _again(line: bytes | str, number: int) -> Record:
    try:
        return record_of(line)
    except InvalidInput as error:
        raise InvalidInput(f"line {number + 1} was changed while it was imported: import it again, it goes on") from error


def _is_node(record: Record) -> bool:
    return not isinstance(record, Link)


def _is_link(record: Record) -> bool:
    return isinstance(record, Link) and is_taken(record)


def _encoded(reached: _Reached) -> str:
    return msgspec.json.encode(reached).decode()


async def _finished(write: Awaitable[int], report: Callable[[], None]) -> int:
    """Its outcome. A cancelled caller finishes it first, and reports it."""
    task = asyncio.ensure_future(write)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled() and task.exception() is None:
            report()
        raise


def _no_progress(done: int, total: int, what: str) -> None:
    del done, total, what


class Unindexed:
    """For one task; nobody else may write to the store meanwhile."""

    def __init__(self, store: FactStore, vectors: VectorSource, meta: Mapping[str, str]) -> None:
        self.store, self.meta, self._vectors = store, meta, vectors
        self._recorded, self._erasures = meta.get(MODEL_KEY, ""), erasures_in(meta)
        warn_other_model(self._recorded, vectors)

    @property
    def embeds(self) -> bool:
        """Whether facts get vectors."""
        return may_embed(self._recorded, self._vectors)

    async def keep(self, facts: Sequence[Fact], changes: Sequence[Change] = ()) -> int:
        """Write facts as they were said and other changes, all or none. How many more current facts there are then."""
        changes = await kept_changes(self.store, facts, changes, self._erasures)
        facts = kept_of(facts, self._erasures)
        known_facts = await self.store.find({fact.id for fact in facts})
        intake = timed(take_in(facts, known_facts.get, None), known_facts.get, time.time_ns() // 1000)
        await self.store.write([*intake.changes, *await self._new_vectors(facts, known_facts), *changes])
        return current_count(intake.facts) - current_count(known_facts.values())

    async def _new_vectors(self, facts: Sequence[Fact], facts_known: Mapping[str, Fact]) -> list[Change]:
        """Of what was not to be found before."""
        if not self.embeds:
            return []
        new = [fact for fact in facts if (earlier := facts_known.get(fact.id)) is None or earlier.is_retracted]
        _, cache = await self._vectors.of_facts(new)
        if not cache:
            return []
        changes: list[Change] = [*cache, *(record(self._vectors) if not self._recorded else ())]
        self._recorded = self._vectors.model
        return changes


def current_count(facts: Iterable[Fact]) -> int:
    """How many facts are current, each counted once, as it is last."""
    return sum(fact.is_current for fact in {fact.id: fact for fact in facts}.values())
