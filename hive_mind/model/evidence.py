"""Data that replicas exchange: agents' assertions of statements, under their dots, and removals.

A fact in a hive is the set of its live assertions; confidence, confirmations, status and trust are computed from them and never
merged. An assertion is immutable and travels unchanged, so its author, time and confidence are the same after any number of hops.

A fact's content: the fields of a statement, which facts, candidates and lines of an export have under the same names.

Code that turns one into another, bounds it, or looks for text that must not leave an agent goes by these: a field that
`Statement` lacks stays at home, and one that it gets is carried, bounded and looked through wherever the others are.
"""

from functools import lru_cache
from hashlib import blake2b
from operator import attrgetter
from typing import Any, Literal

import msgspec

ACTOR_BYTES, COUNTER_BYTES = 8, 5
# It is asked for with every head that comes.
_BOOTS_REMEMBERED = 4_096

Actor = bytes
"""8 bytes: one boot of one node. Never used again after a restart, so a restored backup can't give out a dot twice."""
Dot = bytes
"""13 bytes: actor, then a counter of 40 bits, big-endian. Bytes order is (actor, counter) order; the wire needs no other form."""


@lru_cache(_BOOTS_REMEMBERED)
def actor_id(node: str, incarnation: bytes) -> Actor:
    """The actor that one boot of a node is: 8 bytes that follow from both, so that nobody else can claim them."""
    return blake2b(node.encode("utf-8", "replace") + b"\0" + incarnation, digest_size=ACTOR_BYTES).digest()


def dot(actor: Actor, counter: int) -> Dot:
    """The name of an actor's `counter`-th write in one partition; counters start at 1."""
    return actor + counter.to_bytes(COUNTER_BYTES, "big")


def actor_of(dot: Dot) -> Actor:
    return dot[:ACTOR_BYTES]


def counter_of(dot: Dot) -> int:
    return int.from_bytes(dot[ACTOR_BYTES:], "big")


def stamped_us(ms: int, counter: int) -> int:
    """`Stamp.us`, of its parts."""
    return 1000 * ms + min(counter, 999)


class Stamp(msgspec.Struct, frozen=True, order=True, array_like=True):
    """A hybrid logical time: milliseconds since 1970-01-01 UTC, a counter within them, and the actor that took it.

    Totally ordered, with no tie between two actors.
    """

    ms: int
    counter: int = 0
    actor: Actor = b""

    @property
    def us(self) -> int:
        """Microseconds that keep the order of what was written in one millisecond, as far as a millisecond has room for it."""
        return stamped_us(self.ms, self.counter)


class Statement(msgspec.Struct, frozen=True, array_like=True):
    """The content said, without its vouchers. Two statements of the same content are the same fact.

    `vector` is the fact's embedding by `model`, little-endian float16, or empty.
    """

    content: str
    concept: str = ""
    said_at: str = ""
    speaker: str = ""
    before: str = ""
    entities: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    model: str = ""
    vector: bytes = b""


class Assertion(msgspec.Struct, frozen=True, array_like=True):
    """One agent vouches for one statement.

    `root` is where the knowledge comes from: two assertions of one root are one piece of evidence. `confidence` is in [0, 1].
    `ttl_ms` is 0 for one that never expires. `expires_ms` is when it does, in hive time, or 0 where its author had no trusted
    clock: then each replica counts `ttl_ms` from when it first saw it.
    """

    fact_id: str
    agent: str
    root: str
    confidence: float
    stamp: Stamp
    statement: Statement
    ttl_ms: int = 0
    expires_ms: int = 0
    tenant: str = "default"


class Sealed(msgspec.Struct, frozen=True, array_like=True):
    """An assertion under its dot, with its author's seal (empty where a hive does not seal)."""

    dot: Dot
    assertion: Assertion
    seal: bytes = b""


Reason = Literal["retracted", "superseded", "expired", "quota", "redacted", "revoked"]
OWN_REASONS = frozenset({"superseded", "held back"})
"""Why an agent takes back what it said itself, whatever others say."""


class Removal(msgspec.Struct, frozen=True, array_like=True):
    """The proof that dots of a fact were taken away: its author and reason. Without a valid one no replica lets go of an
    assertion."""

    fact_id: str
    dots: tuple[Dot, ...]
    by: str
    why: Reason
    stamp: Stamp
    seal: bytes = b""


class Head(msgspec.Struct, frozen=True, array_like=True):
    """How many writes one boot of a node had made in a partition, in its own words. Nobody is believed to have seen more."""

    node: str
    incarnation: bytes
    counter: int
    seal: bytes = b""

    @property
    def actor(self) -> Actor:
        return actor_id(self.node, self.incarnation)


class Provenance(msgspec.Struct, frozen=True, array_like=True):
    """One piece of evidence as people are shown it."""

    agent: str
    root: str
    confidence: float
    stamp: Stamp


Status = Literal["held", "confirmed", "disputed", "quarantined"]


class HiveFact(msgspec.Struct, frozen=True):
    """A fact as a replica sees it now: the statement first made of it, and everything that follows from its live assertions.

    `confidence` in [0, 1] is the highest that was asserted, faded by age where the hive decays. `confirmations` counts further
    agents that have it from elsewhere. `trust` in [0, 2] is that of the most trusted agent that vouches for it. `disputed_by` are
    facts that can't be true beside it, of those its node keeps. `votes` are the log-odds given to it by trust and vouchers of its
    agents (`hive.trust.contradiction`); None where nothing is known of them.
    """

    id: str
    statement: Statement
    provenance: tuple[Provenance, ...]
    confidence: float
    confirmations: int
    trust: float
    status: Status = "held"
    disputed_by: tuple[str, ...] = ()
    votes: float | None = None

    @property
    def content(self) -> str:
        return self.statement.content


_OF_THE_VECTOR = ("model", "vector")
FIELDS = tuple(name for name in Statement.__struct_fields__ if name not in _OF_THE_VECTOR)
TEXTS = ("content", "concept", "before")
"""May be long. All others are names: of a speaker, a day, an entity."""
LISTS = tuple(
    name for name, default in zip(Statement.__struct_fields__[1:], Statement.__struct_defaults__, strict=True) if default == ()
)
_ONE = tuple(name for name in FIELDS if name not in TEXTS and name not in LISTS)

_fields, _texts, _one, _lists = (attrgetter(*names) for names in (FIELDS, TEXTS, _ONE, LISTS))


def said_of(record: object) -> dict[str, Any]:
    """Its fields by name, to make another of them."""
    return dict(zip(FIELDS, _fields(record), strict=True))


def texts_of(record: object) -> tuple[str, ...]:
    """Those that may be long, in the order of `TEXTS`."""
    texts: tuple[str, ...] = _texts(record)
    return texts


def names_of(record: object) -> tuple[str, ...]:
    return (*_one(record), *(name for names in _lists(record) for name in names))
