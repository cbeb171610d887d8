"""One attached link: credit and deliveries in both directions.

`is_sender` is the broker's side: such a link carries messages to a client that receives. The entity behind the link decides what
is sent and what is accepted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from hive_mind.devbroker.amqp import DECODE_ERROR, NOT_ALLOWED, AmqpError, described
from hive_mind.devbroker.amqp import performatives as amqp
from hive_mind.devbroker.amqp.decoding import DecodeError
from hive_mind.devbroker.amqp.entity import Entity
from hive_mind.devbroker.amqp.performatives import Attach, Flow, Transfer
from hive_mind.devbroker.amqp.switchboard import Fault, Peer, Requests, RoutedLink

ACCEPTED_STATE = b"\x00\x53\x24\x45"

# With fewer left, a client is given credit again.
_CREDIT_LOW = 100

# Deliveries a sending client may have under way.
CREDIT = 300

ID_MASK = 0xFFFFFFFF


def rejected_state(error: AmqpError) -> bytes:
    return described(amqp.REJECTED, (error.encoded(),))


def ordered(fault: Fault) -> AmqpError:
    return AmqpError(fault.condition, "a fault that was ordered")


def address_path(address: str) -> str:
    """The path alone: of `amqps://host:port/hub/Partitions/1` it is `hub/Partitions/1`."""
    try:
        return unquote(urlsplit(address).path if "://" in address else address).strip("/")
    except ValueError:
        raise AmqpError("amqp:invalid-field", "the address is not a valid URL") from None


class LinkSession(Protocol):
    """The methods that a link needs of its session."""

    @property
    def connection(self) -> Peer: ...

    @property
    def links(self) -> Mapping[int, "ServerLink"]:
        """By their handles."""

    @property
    def has_window(self) -> bool:
        """Whether the client takes another frame."""

    def write(self, code: int, fields: list[bytes]) -> None:
        """Send a performative on this channel."""

    def send_delivery(self, handle: int, tag: bytes, payload: bytes, fmt: int, *, is_settled: bool) -> int:
        """Send a delivery; returns its id."""

    def send_flow(self, link: "ServerLink | None" = None, *, is_draining: bool = False) -> None: ...

    def send_disposition(self, delivery_id: int, state: bytes, *, is_receiver: bool) -> None: ...

    def detach(self, link: "ServerLink", error: AmqpError | None = None) -> None: ...

    def forget(self, link: "ServerLink") -> None:
        """Drop a link that ended."""


class ServerLink:
    """See `entity.Link`."""

    entity: Entity | Requests

    def __init__(self, session: LinkSession, attach: Attach) -> None:
        terminus = attach.source if attach.is_receiver else attach.target
        self.session, self.attach = session, attach
        self.is_sender = attach.is_receiver
        self.address = address_path(terminus.address if terminus else "")
        self.reply_address = attach.target.address if attach.is_receiver and attach.target else ""
        self.is_presettled = attach.sender_settles == 1
        self.filters: Mapping[str, Any] = attach.source.filters if attach.source else {}
        self.properties: Mapping[str, Any] = attach.properties
        self.capabilities = attach.capabilities
        self.unsettled: dict[int, Any] = {}
        self.requests: Requests | None = None
        self.is_closed = self.is_answered = False
        self.credit = self.delivery_count = 0
        self._is_draining = False
        self._incoming = _Incoming(self)

    @property
    def handle(self) -> int:
        return self.attach.handle

    @property
    def peer(self) -> Peer:
        return self.session.connection

    @property
    def siblings(self) -> Iterable[RoutedLink]:
        return self.session.links.values()

    @property
    def can_send(self) -> bool:
        return self.credit > 0 and not self.is_closed and self.session.has_window and self.peer.has_room()

    def send(self, payload: bytes, tag: bytes, held: object | None = None, fmt: int = 0) -> int:
        self.credit -= 1
        self.delivery_count = (self.delivery_count + 1) & ID_MASK
        delivery_id = self.session.send_delivery(self.handle, tag, payload, fmt, is_settled=held is None)
        if held is not None:
            self.unsettled[delivery_id] = held
        return delivery_id

    def on_flow(self, flow: Flow) -> None:
        if self.is_sender:
            # Credit for messages sent since the client wrote this is used up already.
            self.credit = max(0, flow.credit - ((self.delivery_count - flow.delivery_count) & ID_MASK))
            self._is_draining = flow.is_draining
            self.pump()
        if flow.wants_echo:
            self.session.send_flow(self)

    def pump(self) -> None:
        if self.is_sender and self.is_answered and not self.is_closed:
            self.entity.pump(self)
            if self._is_draining and self.credit > 0 and not self.is_closed and self.session.has_window and self.peer.has_room():
                self.delivery_count = (self.delivery_count + self.credit) & ID_MASK
                self.credit, self._is_draining = 0, False
                self.session.send_flow(self, is_draining=True)

    def grant(self) -> None:
        self.credit = CREDIT
        self.session.send_flow(self)

    def on_transfer(self, transfer: Transfer, payload: bytes) -> None:
        if self.is_sender or not self.is_answered:
            raise AmqpError(NOT_ALLOWED, "a transfer on a link that does not take any")
        self._incoming.on_transfer(transfer, payload)

    def detach(self, error: AmqpError | None = None) -> None:
        self.session.detach(self, error)

    def close(self) -> None:
        """The link is no more; tell the entity, if it ever knew."""
        if not self.is_closed:
            self.is_closed = True
            self._incoming.forget()
            if self.is_answered:
                self.entity.on_detach(self)


@dataclass(slots=True)
class _Partial:
    """A delivery of which not all frames are there."""

    first: Transfer
    payload: bytearray
    bytes_seen: int


class _Incoming:
    """The receiving half of a link: deliveries are put together from their frames, struck by faults, handed over, answered."""

    def __init__(self, link: "ServerLink") -> None:
        self._link = link
        self._partial: _Partial | None = None

    def on_transfer(self, transfer: Transfer, payload: bytes) -> None:
        if transfer.is_aborted:
            self.forget()
            return
        if self._partial is None and not transfer.has_more:
            self._complete(transfer, payload, len(payload))
            return
        partial = self._partial = self._partial or _Partial(transfer, bytearray(), 0)
        partial.bytes_seen += len(payload)
        # Past the limit the length still counts, so that the refusal comes at the end of the delivery.
        if partial.bytes_seen <= self._link.peer.limits.message_bytes_max:
            partial.payload += payload
            self._link.peer.hold_partial(len(payload))
        if not transfer.has_more:
            self.forget()
            self._complete(partial.first, bytes(partial.payload), partial.bytes_seen)

    def forget(self) -> None:
        """Drop the incomplete delivery: the link ends, or the client takes it back."""
        if self._partial is not None:
            self._link.peer.hold_partial(-len(self._partial.payload))
            self._partial = None

    def _complete(self, transfer: Transfer, payload: bytes, size: int) -> None:
        if transfer.delivery_id is None:
            raise AmqpError("amqp:invalid-field", "a delivery without an id")
        if self._link.credit <= 0:
            self._link.detach(AmqpError("amqp:link:transfer-limit-exceeded", "a delivery without credit"))
            return
        self._link.delivery_count = (self._link.delivery_count + 1) & ID_MASK
        self._link.credit -= 1
        state = self._taken(payload, transfer.fmt, size)
        if state is None or self._link.is_closed or self._link.peer.is_closed:
            return
        if not transfer.is_settled:
            self._link.session.send_disposition(transfer.delivery_id, state, is_receiver=True)
        if self._link.credit < _CREDIT_LOW:
            self._link.grant()

    def _taken(self, payload: bytes, fmt: int, size: int) -> bytes | None:
        """The outcome of a delivery, or None where a fault leaves the client without one."""
        try:
            limit = self._link.peer.limits.message_bytes_max
            if size > limit:
                raise AmqpError("amqp:link:message-size-exceeded", f"a message of {size} bytes; at most {limit} are allowed")
            kind, address = (
                self._link.requests.fault_place(self._link, payload) if self._link.requests else ("send", self._link.address)
            )
            fault = self._link.peer.broker.take_fault(kind, address)
            return self._delivered(payload, fmt) if fault is None else self._struck(fault, payload, fmt)
        except AmqpError as error:
            return self._rejected(error)
        except DecodeError as error:
            return self._rejected(AmqpError(DECODE_ERROR, str(error)))

    def _delivered(self, payload: bytes, fmt: int) -> bytes:
        self._link.entity.on_message(self._link, payload, fmt)
        return ACCEPTED_STATE

    def _rejected(self, error: AmqpError) -> bytes:
        self._link.peer.broker.count(f"rejected {error.condition}")
        return rejected_state(error)

    def _struck(self, fault: Fault, payload: bytes, fmt: int) -> bytes | None:
        """The outcome of a delivery that a fault strikes, or None for none at all."""
        error = ordered(fault)
        match fault.action:
            case "error":
                # A message is rejected; a request is accepted, and its answer says no.
                if self._link.requests is None:
                    raise error
                self._link.requests.refuse(self._link, payload, error)
                return ACCEPTED_STATE
            case "delay":
                self._link.peer.stall(fault.delay_s)
                return self._delivered(payload, fmt)
            case "detach":
                self._link.detach(error)
            case "accept-then-drop":
                self._delivered(payload, fmt)
                self._link.peer.abort()
            case "drop-connection":
                self._link.peer.abort()
            case "ignore":
                pass
        return None
