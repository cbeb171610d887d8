"""How a hive is laid out in Redis: which key holds what.

Names are quoted, so that no hive can read another's keys by a clever name.
"""

from functools import lru_cache
from urllib.parse import quote

BODY = b"e"
"""The field of an entry that has the envelope's bytes."""

ONLY_CONSUMER = "only"
"""The consumer of a subscription that is not shared: always the same, so the next process owns what the last one left."""


@lru_cache(maxsize=65_536)
def inbox(hive: str, name: str) -> bytes:
    """Stream: messages to a name. Its one group is called like the name."""
    return f"hive:{_quoted(hive)}:inbox:{_quoted(name)}".encode()


@lru_cache(maxsize=1024)
def everyone(hive: str) -> bytes:
    """Stream: messages to everyone. A group for each name."""
    return f"hive:{_quoted(hive)}:all".encode()


@lru_cache(maxsize=1024)
def brief(hive: str) -> bytes:
    """Stream: messages to everyone that are soon worth nothing. A group for each name."""
    return f"hive:{_quoted(hive)}:brief".encode()


@lru_cache(maxsize=65_536)
def brief_inbox(hive: str, name: str) -> bytes:
    """Stream: messages to a name that are soon worth nothing. Its one group is called like the name."""
    return f"hive:{_quoted(hive)}:brief:{_quoted(name)}".encode()


def brief_of(hive: str, name: str) -> tuple[bytes, ...]:
    """Those of the streams that a name reads whose messages are soon worth nothing."""
    return brief_inbox(hive, name), brief(hive)


def read_by(hive: str, name: str) -> tuple[bytes, ...]:
    """The streams in which a name has a group."""
    return inbox(hive, name), everyone(hive), *brief_of(hive, name)


def letters(hive: str) -> bytes:
    """Stream: dead letters, with name, reason, attempts, time and bytes."""
    return f"hive:{_quoted(hive)}:dlq".encode()


def names(hive: str) -> bytes:
    """Hash: every name that was sent to or subscribed, and when its subscriber was last alive (server's clock, ms; 0: never)."""
    return f"hive:{_quoted(hive)}:names".encode()


def owners(hive: str) -> bytes:
    """Hash: the process that subscribed last under a name which is not shared."""
    return f"hive:{_quoted(hive)}:owners".encode()


def keeper(hive: str) -> bytes:
    """String that expires: somebody is trimming this hive's streams."""
    return f"hive:{_quoted(hive)}:keeper".encode()


def all_of(hive: str) -> bytes:
    """A pattern that all keys of a hive fit, and no other's: characters of patterns are quoted in names."""
    return f"hive:{_quoted(hive)}:*".encode()


def time_of(id: bytes) -> int:
    """When an entry was added, by the server's clock, ms."""
    return int(id.partition(b"-")[0])


def parts(id: bytes) -> tuple[int, int]:
    """The time, and the number within it: ids are in this order."""
    ms, _, number = id.partition(b"-")
    return int(ms), int(number or 0)


def after(id: bytes) -> bytes:
    """The smallest id that is greater."""
    ms, number = parts(id)
    return b"%d-%d" % (ms, number + 1)


def _quoted(name: str) -> str:
    return quote(name, safe="")
