"""What is written into our files by a process that may end at any moment, and what must be found afterwards.

Write n is the same in every run, so whoever looks knows what each number of whole writes leaves behind (`expected`). Every write
also tells its number: the last one says how many there are, and everything else must agree with it.
"""

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hive_mind.bus.dead_letters import DeadLetterFile, Refusal, unreadable
from hive_mind.hive.effects import Delete, Put, Record
from hive_mind.journal import sqlite as journals
from hive_mind.ledger import sqlite as ledgers
from hive_mind.model.content import Episode
from hive_mind.model.entry import Entry
from hive_mind.model.fact import Fact, Relation
from hive_mind.store import AddEntity, AddEpisode, AddFact, Change, DropVectors, Link, PutVector, ReviseFact, SetMeta
from hive_mind.store import sqlite as records
from hive_mind.store.sqlite import record
from hive_mind.store.sqlite.reading import RecordReader

State = Mapping[object, object]
MODEL = "m"
COUNTER = "written"
# Whoever looks at one moment after the other needs the last few; each is a dictionary of all there is.
_STATES_MAX = 24


class Workload(ABC):
    """One kind of file. Writes are numbered from 1."""

    file: str
    """where it lies in a home"""

    def __init__(self) -> None:
        self._states: dict[int, dict[object, object]] = {0: {}}

    def expected(self, writes: int) -> State:
        """What so many writes leave behind."""
        if writes not in self._states:
            nearest = max(number for number in self._states if number < writes)
            state = dict(self._states[nearest])
            for number in range(nearest + 1, writes + 1):
                self._apply(state, number)
            self._states[writes] = state
            if len(self._states) > _STATES_MAX:
                del self._states[min(filter(None, self._states))]
        return self._states[writes]

    @abstractmethod
    def _apply(self, state: dict[object, object], number: int) -> None: ...

    @abstractmethod
    async def open(self, path: Path) -> Any: ...

    @abstractmethod
    async def write(self, opened: Any, number: int) -> None: ...

    @abstractmethod
    async def found(self, opened: Any) -> tuple[int, State]:
        """How many writes the counter says, and what is there."""

    @abstractmethod
    def with_small_logs(self, _rng: random.Random) -> None:
        """Write back every few writes, in this process."""

    async def written(self, opened: Any) -> int:
        """How many writes the counter says."""
        return (await self.found(opened))[0]

    async def unrest(self, _opened: Any, _path: Path, _rng: random.Random) -> None:
        """What else happens to such a file between writes."""
        return


class JournalWorkload(Workload):
    file = "nodes/north/journal.sqlite"

    def records_of(self, number: int) -> list[Record]:
        """Of very different lengths; keys come back, so that values are replaced, and some are deleted."""
        row = number % 13
        puts = [Put("dots", _key(row, place), _value(number, place)) for place in range(4)]
        return [*puts, Delete("dots", _key((number + 5) % 13, 0)), Put("meta", COUNTER.encode(), str(number).encode())]

    def _apply(self, state: dict[object, object], number: int) -> None:
        for some in self.records_of(number):
            if isinstance(some, Put):
                state[some.table, some.key] = some.value
            else:
                state.pop((some.table, some.key), None)

    async def open(self, path: Path) -> Any:
        return await journals.open(path)

    async def write(self, opened: Any, number: int) -> None:
        await opened.write(self.records_of(number))

    async def found(self, opened: Any) -> tuple[int, State]:
        state = {(put.table, put.key): put.value for put in await opened.load()}
        return int(state.get(("meta", COUNTER.encode()), b"0")), state

    def with_small_logs(self, _rng: random.Random) -> None:
        journals.FORMAT = replace(journals.FORMAT, log_bytes=24 * journals.FORMAT.page_bytes)


def _key(row: int, place: int) -> bytes:
    return f"{row:04}.{place}".encode()


def _value(number: int, place: int) -> bytes:
    return f"{number}.{place}|".encode() * (1 + (number * 7 + place * 131) % 600)


class RecordWorkload(Workload):
    file = "agents/alice/memory.sqlite"

    def __init__(self) -> None:
        super().__init__()
        self._readers: list[RecordReader] = []

    def changes_of(self, number: int) -> list[Change]:
        """Facts with all that belongs to them; every fourth write revises an older fact, every 16th begins the vectors anew."""
        made: list[Change] = [SetMeta(COUNTER, str(number))]
        if number % 4 == 0:
            older = 1 + number * 7919 % (number - 1)
            older -= older % 4 == 0
            revised = replace(_fact(older, 0), sources=("alice", f"log {number}"), labels=(f"revised {number}",))
            return [ReviseFact(revised), *made]
        if number % 16 == 1:
            made.append(DropVectors(MODEL))
        for place in range(2):
            fact, episode, entity = _fact(number, place), _episode(number, place), f"n{number % 7}"
            made += [AddFact(fact), AddEpisode(episode), AddEntity(entity, f"Name {number % 7}")]
            made += [Link(Relation.DERIVES_FROM, fact.id, episode.id), Link(Relation.MENTIONS, fact.id, entity)]
            made.append(PutVector(MODEL, f"v{number}.{place}", _vector(number)))
        return made

    def _apply(self, state: dict[object, object], number: int) -> None:
        for change in self.changes_of(number):
            match change:
                case AddFact(fact) | ReviseFact(fact):
                    state["fact", fact.id] = fact
                case AddEpisode(episode):
                    state["episode", episode.id] = episode
                case Link():
                    state[change] = True
                case PutVector(_, key, vector):
                    state["vector", key] = vector.astype("<f2").tobytes()
                case DropVectors():
                    for key in [some for some in state if isinstance(some, tuple) and some[0] == "vector"]:
                        del state[key]
                case SetMeta(key, value):
                    state["meta", key] = value

    async def open(self, path: Path) -> Any:
        return await records.open(path)

    async def write(self, opened: Any, number: int) -> None:
        await opened.write(self.changes_of(number))

    async def written(self, opened: Any) -> int:
        return int((await opened.meta()).get(COUNTER, "0"))

    async def found(self, opened: Any) -> tuple[int, State]:
        state: dict[object, object] = {("fact", fact.id): fact async for page in opened.facts() for fact in page}
        state |= {("episode", some.id): some async for page in opened.all_episodes() for some in page}
        state |= {("vector", key): value.tobytes() async for page in opened.vectors(MODEL) for key, value in page.items()}
        state |= {link: True async for page in opened.links() for link in page}
        meta = await opened.meta()
        state |= {("meta", key): value for key, value in meta.items()}
        assert not opened.trouble, opened.trouble
        return int(meta.get(COUNTER, "0")), state

    def with_small_logs(self, _rng: random.Random) -> None:
        record.FORMAT = replace(record.FORMAT, log_bytes=60 * record.FORMAT.page_bytes)

    async def unrest(self, opened: Any, path: Path, rng: random.Random) -> None:
        """Readers of one moment, which keep the log from beginning anew; a memory that falls asleep."""
        chance = rng.random()
        if chance < 0.1:
            self._readers.append(RecordReader(path))
        elif chance < 0.25:
            with suppress(IndexError):
                self._readers.pop().__exit__()
        elif chance < 0.3:
            await opened.tidy()


def _fact(number: int, place: int) -> Fact:
    content = f"Fact {number}.{place} " + "x" * ((number * 37 + place * 11) % 900)
    return Fact(f"f{number}.{place}", content, "topic", 0.5, ("alice",), number, entities=(f"n{number % 7}",))


def _episode(number: int, place: int) -> Episode:
    return Episode(f"e{number}.{place}", f"Episode {number}.{place}", "alice", "", number)


def _vector(number: int) -> "np.ndarray[Any, np.dtype[np.float32]]":
    return np.full(64, number % 100, np.float32)


class LedgerWorkload(Workload):
    """Shared, as the commands of people have it open. What the last write is says the last entry that is there."""

    file = "agents/alice/ledger.sqlite"

    def entries_of(self, number: int) -> tuple[str, int, list[Entry]]:
        """Of very different lengths, some on pages of their own."""
        size = 1 + number % 3
        before = sum(1 + earlier % 3 for earlier in range(number % 5 or 5, number, 5))
        return f"run/{number % 5}", before, [Entry("step", _value(number, place), number) for place in range(size)]

    def _apply(self, state: dict[object, object], number: int) -> None:
        stream, first, entries = self.entries_of(number)
        state |= {(stream, first + place): entry.body for place, entry in enumerate(entries)}

    async def open(self, path: Path) -> Any:
        return await ledgers.open(path, is_shared=True)

    async def write(self, opened: Any, number: int) -> None:
        assert await opened.append(*self.entries_of(number))

    async def found(self, opened: Any) -> tuple[int, State]:
        entries = [entry for head in await opened.heads("") for entry in await opened.read(head.stream)]
        state = {(entry.stream, entry.seq): entry.body for entry in entries}
        return max((entry.at_ms for entry in entries), default=0), state

    def with_small_logs(self, _rng: random.Random) -> None:
        ledgers.FORMAT = replace(ledgers.FORMAT, log_bytes=24 * ledgers.FORMAT.page_bytes)


class LettersWorkload(Workload):
    """What a node refused: opened for each write. The last one says its number as that of its attempt."""

    file = "hives/harbour/bob.dlq"

    def refusals_of(self, number: int) -> list[Refusal]:
        """Of very different lengths; some come again and again, and are counted."""
        garbage = [unreadable(_value(number, place), number, f"malformed {number}") for place in range(2)]
        return [*garbage, unreadable(_value(number % 7, 9), number, f"again {number}")]

    def _apply(self, state: dict[object, object], number: int) -> None:
        for refused in self.refusals_of(number):
            _, count = state.get(refused.data, ("", 0))  # type: ignore[misc]
            state[refused.data] = refused.reason, count + 1

    async def open(self, path: Path) -> Any:
        return Refusing(path)

    async def write(self, opened: Any, number: int) -> None:
        # One after the other, as a node writes: threads take their turns in any order.
        async with opened.turn:
            await asyncio.to_thread(opened.file.write, self.refusals_of(number))

    async def found(self, opened: Any) -> tuple[int, State]:
        letters = opened.file.letters(limit=1_000_000)
        state = {letter.data: (letter.reason, letter.count) for letter in letters}
        return max((letter.attempts for letter in letters), default=0), state

    def with_small_logs(self, _rng: random.Random) -> None:
        """It is written back whenever it is closed, which is after each write."""


class Refusing:
    """A file that needs no closing, as the others do."""

    def __init__(self, path: Path) -> None:
        self.file, self.turn = DeadLetterFile(path), asyncio.Lock()

    async def close(self) -> None:
        return


WORKLOADS: Mapping[str, type[Workload]] = {
    "journal": JournalWorkload,
    "record": RecordWorkload,
    "ledger": LedgerWorkload,
    "letters": LettersWorkload,
}


def difference(found: State, expected: State) -> Sequence[str]:
    """What is not as it should be, in a few words each."""
    names = [name for name in {**found, **expected} if found.get(name) != expected.get(name)]
    return [f"{name}: {str(found.get(name))[:60]} instead of {str(expected.get(name))[:60]}" for name in names[:5]]
