"""A ledger in this process's memory: for tests, trials and runs that may be forgotten.

It keeps the whole contract of `ledger.Ledger` except one word: nothing is durable. Two calls of `open` give two independent
ledgers; a path is accepted, so that back ends can be exchanged, and not touched.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

from hive_mind.errors import BackendUnavailable
from hive_mind.ledger import PAGE_ENTRIES, Arrivals, Ledger, Page, beyond_end, check, check_drop, followed
from hive_mind.model.entry import Entry, Head


async def open(path: Path | None = None, is_shared: bool = False) -> Ledger:
    del path, is_shared
    return _MemoryLedger()


class _MemoryLedger:
    """See `ledger.Ledger`."""

    def __init__(self) -> None:
        self._all: list[Entry | None] = []
        """By position; None where the stream was dropped."""
        self._streams: dict[str, list[Entry]] = {}
        self._arrivals = Arrivals()

    async def append(self, stream: str, seq: int, entries: Sequence[Entry]) -> bool:
        """All of them or nothing: nothing here can fail half-way, because nothing is awaited."""
        self._refuse_if_closed()
        check(stream, seq, entries)
        length = len(self._streams.get(stream, ()))
        if seq > length:
            raise beyond_end(stream, seq, length)
        if seq < length:
            return False
        self._keep(stream, seq, entries)
        return True

    async def drop(self, heads: Sequence[Head], stream: str, entries: Sequence[Entry]) -> bool:
        self._refuse_if_closed()
        check_drop(stream, entries)
        if any([entry.pos for entry in self._streams.get(head.stream, ())[-1:]] != [head.pos] for head in heads):
            return False
        for head in heads:
            for entry in self._streams.pop(head.stream, ()):
                self._all[entry.pos - 1] = None
        self._keep(stream, len(self._streams.get(stream, ())), entries)
        return True

    def _keep(self, stream: str, seq: int, entries: Sequence[Entry]) -> None:
        first_pos = len(self._all) + 1
        numbered = [replace(e, stream=stream, seq=seq + n, pos=first_pos + n) for n, e in enumerate(entries)]
        if numbered:
            self._all += numbered
            self._streams.setdefault(stream, []).extend(numbered)
            self._arrivals.notify()

    async def read(self, stream: str, since: int = 0) -> list[Entry]:
        self._refuse_if_closed()
        return self._streams.get(stream, [])[max(since, 0) :]

    async def heads(self, prefix: str) -> list[Head]:
        self._refuse_if_closed()
        lasts = (self._streams[name][-1] for name in sorted(name for name in self._streams if name.startswith(prefix)))
        return [Head(last.stream, last.seq, last.pos, last.kind) for last in lasts]

    async def newer(self, since_pos: int, prefix: str = "") -> Page:
        self._refuse_if_closed()
        entries = self._all[max(since_pos, 0) : max(since_pos, 0) + PAGE_ENTRIES]
        upto = max(since_pos, 0) + len(entries) if entries else since_pos
        return Page([entry for entry in entries if entry is not None and entry.stream.startswith(prefix)], upto)

    def follow(self, since_pos: int, prefix: str = "") -> AsyncIterator[Entry]:
        return followed(lambda since: self.newer(since, prefix), self._arrivals, since_pos, every_s=None)

    async def close(self) -> None:
        """Nothing to release; the entries are gone for the caller."""
        self._arrivals.end()

    def _refuse_if_closed(self) -> None:
        if self._arrivals.are_over():
            raise BackendUnavailable("memory", "the ledger is closed; open another one")
