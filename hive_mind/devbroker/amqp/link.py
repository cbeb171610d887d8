"""One attached link: credit and deliveries in both directions.

`is_sender` is the broker's side: such a link carries messages to a client that receives. The entity behind the link decides what
is sent and what is accepted. What comes in is put together in `incoming`.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from hive_mind.devbroker.amqp.error import NOT_ALLOWED, AmqpError
from hive_mind.devbroker.amqp.incoming import Incoming
from hive_mind.devbroker.amqp.performatives import Attach, Flow, Transfer
from hive_mind.devbroker.entity import Entity

if TYPE_CHECKING:
    from hive_mind.devbroker.amqp.connection import Connection
    from hive_mind.devbroker.amqp.session import Session
    from hive_mind.devbroker.requests import RequestEntity

# Deliveries a sending client may have under way.
CREDIT = 300

_ID_MASK = 0xFFFFFFFF


def address_path(address: str) -> str:
    """The path alone: of `amqps://host:port/hub/Partitions/1` it is `hub/Partitions/1`."""
    try:
        return unquote(urlsplit(address).path if "://" in address else address).strip("/")
    except ValueError:
        raise AmqpError("amqp:invalid-field", "an address that is no URL") from None


class ServerLink:
    """See `entity.Link`."""

    entity: "Entity | RequestEntity"

    def __init__(self, session: "Session", attach: Attach, answer: Callable[["ServerLink", AmqpError | None], None]) -> None:
        terminus = attach.source if attach.is_receiver else attach.target
        self.session, self.attach, self._answer = session, attach, answer
        self.is_sender = attach.is_receiver
        self.address = address_path(terminus.address if terminus else "")
        self.reply_address = attach.target.address if attach.is_receiver and attach.target else ""
        self.is_presettled = attach.sender_settles == 1
        self.filters: Mapping[str, Any] = attach.source.filters if attach.source else {}
        self.properties, self.capabilities = attach.properties, attach.capabilities
        self.unsettled: dict[int, Any] = {}
        self.answer_filters: Mapping[str, Any] | None = None
        self.answer_properties: dict[Any, Any] = {}
        self.requests: RequestEntity | None = None
        self.is_closed = self.is_waiting = self.is_answered = False
        self.credit = self.delivery_count = 0
        self._is_draining = False
        self._incoming = Incoming(self)

    @property
    def handle(self) -> int:
        """The client's number of this link, and ours."""
        return self.attach.handle

    @property
    def peer(self) -> "Connection":
        """The connection."""
        return self.session.connection

    @property
    def can_send(self) -> bool:
        """Whether there is credit, a window, and room in the socket."""
        return self.credit > 0 and not self.is_closed and self.session.has_window and self.peer.has_room()

    def send(self, payload: bytes, tag: bytes, held: object | None = None, fmt: int = 0) -> int:
        """Send one delivery."""
        self.credit -= 1
        self.delivery_count = (self.delivery_count + 1) & _ID_MASK
        delivery_id = self.session.send_delivery(self.handle, tag, payload, fmt, is_settled=held is None)
        if held is not None:
            self.unsettled[delivery_id] = held
        return delivery_id

    def on_flow(self, flow: Flow) -> None:
        """The client gives credit, or takes it back."""
        if self.is_sender:
            # What was sent since the client wrote this is used up already.
            self.credit = max(0, flow.credit - ((self.delivery_count - flow.delivery_count) & _ID_MASK))
            self._is_draining = flow.is_draining
            self.pump()
        if flow.wants_echo:
            self.session.send_flow(self)

    def pump(self) -> None:
        """Let the entity send what it can."""
        if self.is_sender and self.is_answered and not self.is_closed:
            self.entity.pump(self)
            self._finish_drain()

    def _finish_drain(self) -> None:
        if self._is_draining and self.credit > 0 and not self.is_closed and self.session.has_window and self.peer.has_room():
            self.delivery_count = (self.delivery_count + self.credit) & _ID_MASK
            self.credit, self._is_draining = 0, False
            self.session.send_flow(self, is_draining=True)

    def grant(self) -> None:
        """Allow a client to send."""
        self.credit = CREDIT
        self.session.send_flow(self)

    def on_transfer(self, transfer: Transfer, payload: bytes) -> None:
        """A frame of a delivery."""
        if self.is_sender or not self.is_answered:
            raise AmqpError(NOT_ALLOWED, "a transfer on a link that does not take any")
        self._incoming.on_transfer(transfer, payload)

    def detach(self, error: AmqpError | None = None) -> None:
        """End the link from our side."""
        self.session.detach(self, error)

    def answer_later(self) -> None:
        """The entity calls `answer` when it knows."""
        self.is_waiting = True

    def answer(self, error: AmqpError | None = None) -> None:
        """What the entity knows now."""
        if self.is_waiting and not self.is_closed:
            self.is_waiting = False
            self._answer(self, error)

    def close(self) -> None:
        """The link is no more; tell the entity, if it ever knew."""
        if not self.is_closed:
            self.is_closed = True
            self._incoming.forget()
            if self.is_answered or self.is_waiting:
                self.entity.on_detach(self)
