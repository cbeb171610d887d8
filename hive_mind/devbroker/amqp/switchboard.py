"""The seam between the AMQP engine (connection, session, link) and the broker: what each asks of the other, and the limits.

Only protocols and values, so that neither side imports the other.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from hive_mind.devbroker.amqp.encoding import AmqpError
from hive_mind.devbroker.entity import Endpoint, Entity, EntityHost, Link
from hive_mind.devbroker.faults import Fault

IDLE_TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one peer may take. Each is far above what the clients of a hive use, and keeps a hostile peer's memory bounded."""

    message_bytes_max: int = 1 << 20
    frame_bytes_max: int = 1 << 16
    # Handles and channels count from 0.
    channel_max: int = 255
    handle_max: int = 255
    # Over all sessions of a connection.
    links_max: int = 2048
    # Of deliveries that are on their way in or out with not all their frames, over all links of a connection: in each direction.
    partial_bytes_max: int = 16 << 20
    # Unwritten bytes at which entities have to stop sending.
    output_bytes_max: int = 1 << 18
    connections_max: int = 5000
    handshake_s: float = 10.0
    idle_timeout_s: float = IDLE_TIMEOUT_S


class Switchboard(EntityHost, Protocol):
    """The broker behind a connection."""

    name: str
    limits: Limits

    def connected(self, peer: "Peer") -> bool:
        """Register a connection; False if there are too many."""
        ...

    def disconnected(self, peer: "Peer") -> None:
        """Forget a connection that was lost."""
        ...

    def is_login(self, user: str, password: str) -> bool:
        """Whether these are the name of a key and the key."""
        ...

    def route(self, link: "RoutedLink") -> "Entity | Requests":
        """The entity at the link's address. Raises `AmqpError` for an unknown entity or a missing token."""
        ...

    def take_fault(self, kind: str, address: str) -> Fault | None:
        """The fault that strikes here and now."""
        ...


class Peer(Protocol):
    """A connection, as its sessions and links, the router and the broker see it."""

    broker: Switchboard
    limits: Limits
    authorised: dict[str, float]
    """Path → when the token for it expires. The path "" stands for everything."""
    agent: str
    """The client's name for itself, in lower case."""
    is_closed: bool
    peer_frame_bytes: int
    """The largest frame that the client takes."""
    waiting_bytes: int
    """Of deliveries whose other frames wait for their session's window. Sessions count here."""

    @property
    def links(self) -> int:
        """Number of links, over all sessions."""
        ...

    def write(self, data: bytes) -> None:
        """Send bytes with all else of this turn."""
        ...

    def has_room(self) -> bool:
        """Whether the client keeps up with reading."""
        ...

    def hold_partial(self, count: int) -> None:
        """Account for the bytes of incomplete deliveries. Raises `AmqpError` when they are too many."""
        ...

    def stall(self, delay_s: float) -> None:
        """Neither answer nor read for a while."""
        ...

    def abort(self) -> None:
        """Drop the connection without a `close`."""
        ...

    def finish(self, *, is_graceful: bool) -> None:
        """End now, with or without a `close`."""
        ...


class RoutedLink(Link, Protocol):
    """A link as the router and `Requests` see it: an entity needs less."""

    reply_address: str
    """The address at which the client receives what comes on this link."""
    requests: "Requests | None"
    """To be set in `Switchboard.route` where requests are answered."""

    @property
    def peer(self) -> Peer: ...

    @property
    def siblings(self) -> Iterable["RoutedLink"]:
        """All links of the same session, in the order they were attached."""
        ...


class Requests(Endpoint[RoutedLink], Protocol):
    """An entity that answers requests instead of keeping messages."""

    def refuse(self, link: RoutedLink, payload: bytes, error: AmqpError) -> None: ...

    def fault_place(self, link: RoutedLink, payload: bytes) -> tuple[str, str]:
        """Under which kind and address a fault would strike this request. Raises `DecodeError`."""
        ...
