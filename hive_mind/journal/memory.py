"""A journal in this process's memory: for tests, trials and hives that may forget.

It keeps the whole contract of `journal.Journal` except one word: nothing is durable. Two calls of `open` give two independent
journals; a path is accepted, so that back ends can be exchanged, and not touched.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from hive_mind.errors import BackendUnavailable
from hive_mind.hive.effects import Kept, Put, Record, keep
from hive_mind.journal import Journal


async def open(path: Path | None = None) -> Journal:
    del path
    return MemoryJournal()


class MemoryJournal:
    """See `journal.Journal`. May begin with what another one gave by `load`, as a restart would find it."""

    def __init__(self, kept: Iterable[Put] = ()) -> None:
        self._records = {(put.table, put.key): put for put in kept}
        self._is_closed = False

    async def load(self) -> list[Kept]:
        self._refuse_if_closed()
        return [self._records[place] for place in sorted(self._records)]

    async def write(self, records: Sequence[Record]) -> None:
        """All of them: nothing here can fail half-way, because nothing is awaited."""
        self._refuse_if_closed()
        keep(self._records, records)

    async def scrub(self) -> None:
        self._refuse_if_closed()

    async def close(self) -> None:
        """Nothing to release; the records are gone for the caller."""
        self._is_closed = True

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise BackendUnavailable("memory", "the journal is closed; open another one")
