"""The interface of every bus: carry envelopes to named nodes, at least once where it can, and declare its capabilities.

A bus publishes and delivers; requests, replies and deadlines are the business of `hive`. A back end is one module with
`async def open(address: BusAddress, settings: BusSettings) -> EventBus`, which raises `ConfigError` for an address it can't take,
`BackendRejected` for credentials or entities the broker refuses, and `BackendUnavailable` where it can't be reached in time.

Counts what is published, by type of message.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import msgspec

from hive_mind.errors import ConfigError
from hive_mind.model.messages import Message

EVERYONE = ("*",)
"""As a target: every subscription of the hive there is now, but the sender's own."""


CORRELATION_CHARS_MAX = 256
UNREADABLE_BYTES_MAX = 64 * 1024
_BYTES_SHOWN = 256
BRIEF_S = 60.0
ATTEMPTS_MAX = 5


class Envelope(msgspec.Struct, frozen=True):
    """One message on its way. Immutable like the message, so a bus within a process hands out the same object to everybody."""

    id: str
    """Unique among all envelopes of its sender, also after a restart; the same when it is sent or delivered again."""
    hive: str
    sender: str
    target: tuple[str, ...]
    """Names of nodes, at least one, each once; or `EVERYONE`."""
    type: str
    message: Message
    correlation_id: str = ""
    """Names what this belongs to, such as a query; "" for what stands alone."""
    trace: str = ""
    """A `traceparent` of W3C Trace Context; "" where nobody traces."""
    sent_ms: int = 0
    """The sender's wall clock, for people and metrics; 0: not said."""
    is_brief: bool = False
    """Worth nothing any more after `BRIEF_S`: then a bus may drop it, though a reader has not had it. The field is not sent.

    Brief envelopes and others may overtake each other.
    """
    seal: bytes = b""
    """Its sender's signature, b"" where nobody signs."""
    vouched: tuple[bytes, ...] = ()
    """A root's statements on keys, handed on with it: see `identity`."""
    data: bytes = b""
    """The message as it travels, where that is known: the bytes that were signed."""


PUBLISH_TIMEOUT_S = 10.0
DRAIN_S = 5.0
"""How long what is under way may take when a bus is closed."""
DEAD_LETTERS_SHOWN = 1000
OTHER_PROGRAM = "of another program"
"""Bytes that no hive sent, on a bus that is shared with others: they are counted, and are nobody's dead letters."""


@dataclass(frozen=True, slots=True)
class BusSettings:
    """Settings of a back end besides an address. Those that need less ignore it."""

    credential: str = field(default="", repr=False)
    """A password, key or connection string; never logged."""
    state: Path | None = None
    """Folder for positions of a broker that keeps none itself; None: they are gone with the process."""
    certificate: Path | None = None
    """Authorities to trust for TLS, instead of the system's."""
    connect_timeout_s: float = 10.0
    reconnect_s_max: float = 30.0
    """Longest pause between attempts to reach a broker that is gone. Raise it to spare the broker, lower it to be back sooner."""
    watch_every_s: float = 30.0
    """How often a reader makes sure that it still hears what is sent to it; two misses and it connects anew."""
    envelope_bytes_max: int | None = None
    """None: the broker's limit."""
    kept_s: float = 24 * 3600.0
    """How long the broker keeps what nobody has read. Longer helps members that were away, and costs the broker memory."""
    names: Sequence[str] = ()
    """Those that read there, where a broker does not list them."""


@dataclass(frozen=True, slots=True)
class BusCapabilities:
    """Capabilities in which buses differ."""

    is_durable: bool
    """Whether what was published while a subscriber was away reaches it later."""
    survives_restart: bool
    """Whether what was accepted outlives the bus itself."""
    can_watch: bool = False
    """Whether `watch` works."""
    envelope_bytes_max: int | None = None
    """None: no bound."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscriber to the envelopes addressed to `name` within `hive`, and how many it takes at a time.

    `name` is a durable identity: on a durable bus, the next subscription under it goes on where the last one stopped.
    """

    hive: str
    name: str
    waiting_max: int = 1024
    """Envelopes that may wait; then publishers wait, or the broker keeps them. More costs memory and hides a slow subscriber."""
    held_bytes_max: int = 256 << 20
    """Bytes of what waits and of what is not acknowledged; then it is as if too many waited. More lets senders fill memory."""
    inflight_max: int = 256
    """Deliveries taken and not yet acknowledged; then no more are handed out. More lets a journal commit larger groups."""
    attempts_max: int = ATTEMPTS_MAX
    """Deliveries of one envelope before it is a dead letter."""
    ack_wait_s: float = 30.0
    """A delivery that is not settled within this time is delivered again. Raise it for slow work, or `extend` the delivery."""
    start: Literal["new", "earliest"] = "new"
    """Where a name begins that never subscribed before: with what is published from now on, or with all that is still kept."""
    gather_s: Callable[[], float] = field(default=float, compare=False)
    """For how long what is brief and for everybody may lie at the broker now, so that a look finds more; 0: it may not."""
    letters: "LetterBox | None" = field(default=None, compare=False)
    """Where what is refused is written before it is acknowledged; None: the process remembers it."""


class LetterBox(Protocol):
    """Where a subscriber's dead letters are: see `bus.dead_letters`, which has the one there is."""

    @property
    def trouble(self) -> str:
        """Why nothing can be written there now; "" while it can."""


class Delivery(Protocol):
    """An envelope in the hands of a subscriber, until `ack`, `nack` or `dead_letter` is called; a second call does nothing.

    The bus reports it to the broker soon after. Where that fails the envelope is delivered again, and recognised by its id.
    """

    @property
    def envelope(self) -> Envelope: ...

    @property
    def attempt(self) -> int:
        """Number of this delivery of it, from 1."""

    @property
    def waited_ms(self) -> int:
        """For how long it lay at the broker because `Subscription.gather_s` lets it."""

    async def ack(self) -> None:
        """It needs no repetition."""

    async def nack(self, *, delay_s: float = 0.0, reason: str = "") -> None:
        """Deliver it again, before all that waits or after `delay_s`; after the last attempt it is a dead letter for `reason`."""

    async def dead_letter(self, reason: str, *, is_proven: bool = True) -> None:
        """It can't be handled, now or later: put it aside, and acknowledge it once that is written.

        Where its sender is not proven, it is only counted if there is one in that name already.
        """

    def extend(self, seconds: float) -> None:
        """Work takes longer: deliver it again only if it is not settled within `seconds` from now."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message put aside, its target and the reason. `envelope` is None where the bytes were no envelope; then they are in
    `data`.

    But no more than their first `UNREADABLE_BYTES_MAX` (64 KB): unreadable bytes are useless, and an attacker may send them to
    fill the store.
    """

    name: str
    envelope: Envelope | None
    attempts: int
    reason: str
    id: str = ""
    """Names it within its bus."""
    at_ms: int = 0
    """When, by the wall clock of the process that put it aside."""
    data: bytes = b""
    count: int = 1
    """How many messages it stands for."""

    @property
    def data_shown(self) -> str:
        return f"{len(self.data)} bytes that are not a message: {self.data[:_BYTES_SHOWN].hex(' ')}"


@dataclass(frozen=True, slots=True)
class QueueState:
    """Messages on the bus for one name. None where the broker does not tell."""

    name: str
    waiting: int | None
    unacknowledged: int | None
    dead: int | None
    oldest_s: float | None = None
    """Age of the oldest that waits."""


@dataclass(frozen=True, slots=True)
class BrokerVitals:
    """How a broker does. `limit_bytes`: of its memory; beyond it writes are refused."""

    used_bytes: int = 0
    limit_bytes: int = 0
    ahead_ms: int = 0
    """By how much the clock of this machine is ahead of the broker's."""
    trouble: str = ""
    """The problem a person has to mend there, and how; "" where there is none."""


@dataclass(frozen=True, slots=True)
class BusHealth:
    """How a bus does, since it was opened."""

    is_connected: bool
    reconnects: int = 0
    redelivered: int = 0
    duplicates: int = 0
    """Deliveries of an id that was acknowledged already; nobody saw them again."""
    dead_letters: int = 0
    unreadable: Mapping[str, int] = field(default_factory=dict)
    """Messages of which nothing can be read here, by what is wrong with them."""
    last_error: str = ""
    """"" while nothing has failed."""
    vitals: "BrokerVitals | None" = None
    """The broker's latest vitals; None for one that sends none."""


def added(*counts: Mapping[str, int]) -> Counter[str]:
    total = Counter[str]()
    for count in counts:
        total.update(count)
    return total


class Inbox(Protocol):
    """Where deliveries of one subscription wait. Envelopes of one sender come in the order in which it published them.

    One that is delivered again comes out of order.
    """

    def take(self, deliveries_max: int) -> Sequence["Delivery"]:
        """Waiting deliveries, `deliveries_max` at most; never more unacknowledged ones at a time than the subscription allows."""

    async def close(self) -> None:
        """Give the name free. Where the bus is durable, unacknowledged messages are delivered again to the next of this name."""


@runtime_checkable
class Instant(Protocol):
    """Optional: a bus that can publish without waiting."""

    def offer(self, envelope: Envelope) -> bool:
        """Do at once what `publish` would, without a task and its turn; False where that would have to wait, or can't be."""


class EventBus(Protocol):
    """Carries envelopes: all that a node needs of it. Belongs to the event loop on which it was opened."""

    @property
    def capabilities(self) -> BusCapabilities: ...

    async def publish(self, envelopes: Sequence[Envelope], *, timeout_s: float = PUBLISH_TIMEOUT_S) -> None:
        """Hand envelopes over, in order; when this returns, the bus has accepted all.

        Nobody subscribed under a target's name is no error. Waits while there is no room and raises `BackendThrottled` when that
        takes longer than `timeout_s`, `BackendUnavailable` when the bus is closed or not reachable; then some may have been
        accepted. Raises `MessageTooLarge` before anything is sent. A cancelled caller leaves each envelope whole or unsent.
        """

    async def subscribe(self, subscription: Subscription, on_ready: Callable[[], None]) -> Inbox:
        """From now on, keep what is addressed to a name; when this returns, nothing published from here on is missed.

        `on_ready` is called on the event loop whenever there may be something to take; it must not wait, nor publish or take.
        Raises `InvalidInput` when this bus has the name already.
        """

    async def watch(self, hive: str, on_envelope: Callable[[Envelope], None]) -> "Watch":
        """See everything that is published in a hive from now on, and take nothing away. Raises `ConfigError` where it can't."""

    @property
    def health(self) -> BusHealth:
        """How it does, as far as it knows without asking anybody."""

    async def close(self, *, drain_s: float = DRAIN_S) -> None:
        """Accept nothing more, wait until everything was acknowledged or `drain_s` have passed, leave no task or thread behind.

        Closing twice is fine.
        """


@runtime_checkable
class BusAdmin(Protocol):
    """For people who look at what lies on a bus: no node needs it. A back end is one beside being a bus, or is not.

    Its dead letters are those that the broker made, or a node of an earlier version: nodes keep theirs in `bus.dead_letters`.
    """

    async def queues(self, hive: str) -> Sequence[QueueState]:
        """Messages on the bus, by name of the subscription, sorted."""

    async def dead_letters(self, hive: str, *, limit: int = DEAD_LETTERS_SHOWN) -> Sequence[DeadLetter]:
        """Messages of a hive that the broker put aside, oldest first."""

    async def drop(self, hive: str, ids: Sequence[str]) -> int:
        """Forget dead letters. How many there were."""


def admin_of(bus: object) -> BusAdmin:
    """Where to look at what lies on a bus. Raises `ConfigError` where its back end tells nothing of that."""
    # One that encrypts changes what goes over another, and nothing of what lies there.
    inner = getattr(bus, "inner", bus)
    if not isinstance(inner, BusAdmin):
        raise ConfigError("this bus tells nothing of what lies on it: use the broker's own tools")
    return inner


class Watch(Protocol):
    """A running watch."""

    async def close(self) -> None: ...


def type_of(message: Message) -> str:
    return _tag_of(type(message))


@cache
def _tag_of(kind: type[Message]) -> str:
    return str(kind.__struct_config__.tag)


@dataclass(frozen=True, slots=True)
class Key:
    """The identity of an envelope: the same one again has the same, another that bears its id has not."""

    sender: str
    id: str
    mark: str


def key_of(envelope: Envelope) -> Key:
    """An attacker that reads along knows which ids come next. So a sealed envelope is not its id alone: one forged under it is
    another, and the honest one is not taken for a duplicate."""
    if not envelope.seal:
        return Key(envelope.sender, envelope.id, "")
    fields = (envelope.hive, *envelope.target, envelope.type, envelope.correlation_id, str(envelope.sent_ms))
    mark = blake2b(envelope.seal + "\0".join(fields).encode("utf-8", "replace") + b"\0" + envelope.data, digest_size=8)
    return Key(envelope.sender, envelope.id, mark.hexdigest())


def correlation_of(message: Message) -> str:
    """The query or the request a message belongs to, "" where it has none."""
    name: str = getattr(message, "query", "") or getattr(message, "request", "")
    # Ours are short; a longer one came from somebody else, and its answer must still be an envelope.
    return name[:CORRELATION_CHARS_MAX]
