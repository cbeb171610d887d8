"""Content of a ledger: entries of append-only streams, and where each stream ends."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened in a stream.

    The writer gives `kind`, `body` and `at_ms` (since 1970-01-01 UTC); the ledger gives the rest. `seq` counts the entries
    of its stream from 0, `pos` those of the whole ledger from 1: of two entries the one with the larger `pos` came later.
    """

    kind: str
    body: bytes
    at_ms: int
    stream: str = ""
    seq: int = 0
    pos: int = 0


@dataclass(frozen=True, slots=True)
class Head:
    """The last entry of a stream; the next is appended at `seq + 1`. `kind` is "" where that entry is damaged."""

    stream: str
    seq: int
    pos: int
    kind: str
