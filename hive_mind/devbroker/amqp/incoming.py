"""Deliveries that come in on a link: put together from their frames, struck by faults, handed to the entity, answered."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_mind.devbroker.amqp import performatives as amqp
from hive_mind.devbroker.amqp.decoding import DecodeError
from hive_mind.devbroker.amqp.encoding import described
from hive_mind.devbroker.amqp.error import DECODE_ERROR, AmqpError
from hive_mind.devbroker.amqp.performatives import Transfer
from hive_mind.devbroker.faults import Fault

if TYPE_CHECKING:
    from hive_mind.devbroker.amqp.link import ServerLink

ACCEPTED_STATE = b"\x00\x53\x24\x45"

# With fewer left, a client is given credit again.
_CREDIT_LOW = 100

_ID_MASK = 0xFFFFFFFF


def rejected_state(error: AmqpError) -> bytes:
    """The outcome that refuses a delivery."""
    return described(amqp.REJECTED, (error.encoded(),))


def ordered(fault: Fault) -> AmqpError:
    """What a client is told of a fault."""
    return AmqpError(fault.condition, "a fault that was ordered")


@dataclass(slots=True)
class _Partial:
    """A delivery of which not all frames are there."""

    first: Transfer
    payload: bytearray
    bytes_seen: int


class Incoming:
    """The receiving half of a link."""

    def __init__(self, link: "ServerLink") -> None:
        self._link = link
        self._partial: _Partial | None = None

    def on_transfer(self, transfer: Transfer, payload: bytes) -> None:
        """A frame of a delivery, often the only one."""
        if transfer.is_aborted:
            self.forget()
            return
        if self._partial is None and not transfer.has_more:
            self._complete(transfer, payload, len(payload))
            return
        partial = self._collect(transfer, payload)
        if not transfer.has_more:
            self.forget()
            self._complete(partial.first, bytes(partial.payload), partial.bytes_seen)

    def _collect(self, transfer: Transfer, payload: bytes) -> _Partial:
        partial = self._partial = self._partial or _Partial(transfer, bytearray(), 0)
        partial.bytes_seen += len(payload)
        # Past the limit the length still counts, so that the refusal comes at the end of the delivery.
        if partial.bytes_seen <= self._link.peer.limits.message_bytes_max:
            partial.payload += payload
            self._link.peer.hold_partial(len(payload))
        return partial

    def forget(self) -> None:
        """What is not complete will not be: the link ends, or the client takes it back."""
        if self._partial is not None:
            self._link.peer.hold_partial(-len(self._partial.payload))
            self._partial = None

    def _complete(self, transfer: Transfer, payload: bytes, size: int) -> None:
        if transfer.delivery_id is None:
            raise AmqpError("amqp:invalid-field", "a delivery without an id")
        if self._link.credit <= 0:
            self._link.detach(AmqpError("amqp:link:transfer-limit-exceeded", "a delivery without credit"))
            return
        self._link.delivery_count = (self._link.delivery_count + 1) & _ID_MASK
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
            self._refuse_large(size)
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

    def _refuse_large(self, size: int) -> None:
        limit = self._link.peer.limits.message_bytes_max
        if size > limit:
            raise AmqpError("amqp:link:message-size-exceeded", f"a message of {size} bytes; at most {limit} are allowed")

    def _struck(self, fault: Fault, payload: bytes, fmt: int) -> bytes | None:
        """The outcome of a delivery that a fault strikes, or None for none at all."""
        error = ordered(fault)
        match fault.action:
            case "error":
                return self._refused(payload, error)
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

    def _refused(self, payload: bytes, error: AmqpError) -> bytes:
        """A message is rejected; a request is accepted, and its answer says no."""
        if self._link.requests is None:
            raise error
        self._link.requests.refuse(self._link, payload, error)
        return ACCEPTED_STATE
