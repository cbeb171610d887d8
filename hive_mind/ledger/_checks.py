"""What may be appended, whatever the back end."""

from collections.abc import Sequence

from hive_mind.errors import InvalidInput
from hive_mind.ledger.base import BODY_MAX_BYTES, NAME_MAX_CHARACTERS
from hive_mind.model.entry import Entry

# SQLite's integers.
_NUMBER_MAX = (1 << 63) - 1


def check(stream: str, seq: int, entries: Sequence[Entry]) -> None:
    """Raises `InvalidInput` for what no ledger keeps."""
    _check_name("stream", stream)
    if not 0 <= seq <= _NUMBER_MAX - len(entries):
        raise InvalidInput(f"sequence number {seq} of stream {stream!r}: the first is 0")
    for entry in entries:
        _check_name("kind", entry.kind)
        if len(entry.body) > BODY_MAX_BYTES:
            size, most = f"{len(entry.body):,}", f"{BODY_MAX_BYTES:,}"
            raise InvalidInput(f"an entry of {size} bytes for stream {stream!r}: at most {most}; keep it in a file and name that")
        if not 0 <= entry.at_ms <= _NUMBER_MAX:
            raise InvalidInput(f"an entry of time {entry.at_ms} for stream {stream!r}: give milliseconds since 1970")


def check_drop(stream: str, entries: Sequence[Entry]) -> None:
    """Raises `InvalidInput` for a drop that would leave no trace: the last position could be given again."""
    check(stream, 0, entries)
    if not entries:
        raise InvalidInput(f"streams are dropped together with an entry that says so: give one for stream {stream!r}")


def beyond_end(stream: str, seq: int, length: int) -> InvalidInput:
    """The error for an entry that would leave a hole."""
    return InvalidInput(f"stream {stream!r} has {length:,} entries: entry {seq:,} can't be appended before entry {length:,}")


def _check_name(what: str, name: str) -> None:
    # Printable, so that it can be shown in a message and has a place in every order.
    if not 0 < len(name) <= NAME_MAX_CHARACTERS or not name.isprintable():
        raise InvalidInput(f"{what} {name[:NAME_MAX_CHARACTERS]!r}: use 1 to {NAME_MAX_CHARACTERS} printable characters")
