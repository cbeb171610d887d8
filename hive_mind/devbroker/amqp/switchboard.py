"""What the engine (connection, session, link) asks of the broker it serves, and within which limits."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hive_mind.devbroker.entity import Entity, Timer
from hive_mind.devbroker.faults import Fault

if TYPE_CHECKING:
    from hive_mind.devbroker.amqp.connection import Connection
    from hive_mind.devbroker.amqp.link import ServerLink
    from hive_mind.devbroker.requests import RequestEntity


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
    # What waits to be written before entities are told to stop.
    output_bytes_max: int = 1 << 18
    connections_max: int = 5000
    handshake_s: float = 10.0
    idle_timeout_s: float = 120.0


class Switchboard(Protocol):
    """The broker behind a connection."""

    name: str
    limits: Limits

    def connected(self, connection: "Connection") -> bool:
        """A connection is there; False if there are too many."""
        ...

    def disconnected(self, connection: "Connection") -> None:
        """It is gone."""
        ...

    def is_login(self, user: str, password: str) -> bool:
        """Whether these are the name of a key and the key."""
        ...

    def route(self, link: "ServerLink") -> "Entity | RequestEntity":
        """The entity at the link's address. Raises `AmqpError` where there is none or no token for it."""
        ...

    def take_fault(self, kind: str, address: str) -> Fault | None:
        """The fault that strikes here and now."""
        ...

    def count(self, name: str, by: int = 1) -> None:
        """Add to a figure."""
        ...

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> Timer:
        """Call after a while."""
        ...
