"""The protocols between the router and an entity (a hub, a queue, a topic, a subscription): three small ones.

The engine speaks AMQP and knows nothing of queues; an entity keeps messages and knows nothing of frames. An entity refuses by
raising `AmqpError`: from `on_attach` the link is refused, from `on_message` the delivery is rejected, from `settle` the outcome
is answered with a rejection, from `manage` the request gets an error status. All calls come from one thread, the broker's loop.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from hive_mind.devbroker.amqp import AmqpError
from hive_mind.devbroker.amqp.sections import Message

OutcomeKind = Literal["accepted", "rejected", "released", "modified"]


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """A receiver's outcome for a delivery. `info` is the map in the error of a rejection (reason of a dead letter)."""

    kind: OutcomeKind
    condition: str = ""
    info: Mapping[Any, Any] = field(default_factory=dict)
    is_undeliverable_here: bool = False


@dataclass(frozen=True, slots=True)
class ManagementReply:
    """The answer to a management request: an HTTP-like status, a line for people, and the body."""

    status: int
    text: str
    body: Any


class Timer(Protocol):
    """Something that will be called later."""

    def cancel(self) -> None: ...


class EntityHost(Protocol):
    """The methods of the broker that an entity may call."""

    def now(self) -> float:
        """Seconds since 1970; tests may turn this clock."""
        ...

    def call_soon(self, callback: Callable[[], object]) -> None: ...

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> Timer:
        """Call after a while; nothing is called once the broker stopped."""
        ...

    def count(self, name: str, by: int = 1) -> None: ...


class Link(Protocol):
    """An attached link as an entity sees it. Links are compared and hashed by identity."""

    is_sender: bool
    """Whether the broker sends: the client is a receiver."""
    address: str
    """The path of the entity as the client wrote it, without scheme, host and slashes at its ends."""
    is_presettled: bool
    """Whether the client wants deliveries settled as they are sent: receive and delete."""
    is_closed: bool
    filters: Mapping[str, Any]
    """The filters of the client's source, without their descriptors: by the client's names for them and by their kinds."""
    properties: Mapping[str, Any]
    capabilities: frozenset[str]
    """The capabilities that the client desires."""
    unsettled: dict[int, Any]
    """Delivery id → what `send` was given as `held`. An entity may take out what it no longer waits for."""

    @property
    def can_send(self) -> bool:
        """Whether there is credit, a window, and room in the socket."""
        ...

    def send(self, payload: bytes, tag: bytes, held: object | None = None, fmt: int = 0) -> int:
        """Send one delivery and return its id. With `held` it is unsettled until `Entity.settle`; without, it is settled."""
        ...

    def detach(self, error: AmqpError | None = None) -> None:
        """End the link from our side; `on_detach` is called."""
        ...


L = TypeVar("L", bound=Link, contravariant=True)


class Endpoint(Protocol[L]):
    """The target of a link."""

    def on_attach(self, link: L) -> None:
        """A client attaches, with its token already checked. Raises `AmqpError` to refuse."""
        ...

    def on_detach(self, link: L) -> None:
        """The link is gone: detached, or its session or connection ended. Once per accepted link."""
        ...

    def on_message(self, link: L, payload: bytes, fmt: int) -> None:
        """A whole delivery arrived. Returning means it is accepted. Raises `AmqpError` or `DecodeError` to reject it."""
        ...

    def pump(self, link: L) -> None:
        """The link may be able to send (again): send while `link.can_send`. Never called before the attach is answered."""
        ...

    def settle(self, link: L, held: Any, outcome: DeliveryOutcome) -> None:
        """The client settled what was sent with `held`; it is out of `link.unsettled` already."""
        ...


class Entity(Endpoint[Link], Protocol):
    """A place where messages are kept."""

    def manage(self, request: Message) -> ManagementReply:
        """A request to `<entity>/$management`: its operation and parameters are application properties and `request.value()`."""
        ...
