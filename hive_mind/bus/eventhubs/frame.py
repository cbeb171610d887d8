"""The bytes of an event: a mark, the hive it belongs to, and an envelope.

The hive stands before the envelope so that readers of other hives need not understand what follows. It is no property of the
event, because the SDK takes longer to write one property than all the rest.
"""

from typing import NamedTuple

# What begins otherwise was not sent by a hive. No text begins like that.
_MARK = b"\x93hive"
_LENGTH_BYTES = 2

AROUND_BYTES = 2048
"""What an event needs beside its envelope: this frame, with a name of 256 characters, and its place in a batch."""


class Event(NamedTuple):
    """What was sent. The empty hive is for what senders and readers tell themselves."""

    hive: str
    data: bytes


def pack(event: Event) -> bytes:
    """The body of an event."""
    hive = event.hive.encode()
    return b"".join((_MARK, len(hive).to_bytes(_LENGTH_BYTES, "big"), hive, event.data))


def unpack(body: bytes) -> Event | None:
    """What a body says; None if no hive sent it."""
    start = len(_MARK) + _LENGTH_BYTES
    if not body.startswith(_MARK) or len(body) < start:
        return None
    end = start + int.from_bytes(body[len(_MARK) : start], "big")
    return Event(body[start:end].decode(errors="replace"), body[end:]) if len(body) >= end else None
