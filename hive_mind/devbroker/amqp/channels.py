"""The sessions of a connection, by the number of their channel, and how a link begins: its entity is found and asked.

A session has its links, the numbers of its deliveries, and the windows in both directions.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from hive_mind.devbroker.amqp import (
    DECODE_ERROR,
    FALSE,
    NOT_ALLOWED,
    NULL,
    RESOURCE_LIMIT,
    TRUE,
    AmqpError,
    boolean,
    described,
    encode,
    encoded_list,
    frame,
    ubyte,
    uint,
    ulong,
    ushort,
)
from hive_mind.devbroker.amqp import performatives as amqp
from hive_mind.devbroker.amqp.entity import DeliveryOutcome
from hive_mind.devbroker.amqp.link import ACCEPTED_STATE, ID_MASK, ServerLink, ordered, rejected_state
from hive_mind.devbroker.amqp.performatives import Attach, Begin, Disposition, Flow, Performative, Terminus
from hive_mind.devbroker.amqp.switchboard import Fault, Peer

# Frames a client may send before it hears of us.
WINDOW = 1 << 14

# A disposition over more unknown deliveries than this is answered for none of them.
UNKNOWN_MAX = 1024

# The bytes of a transfer beside its payload, with the longest tag.
_TRANSFER_OVERHEAD = 80


class Session:
    """A channel with links in it."""

    def __init__(self, connection: Peer, channel: int, begin: Begin) -> None:
        self.connection, self.channel = connection, channel
        self.links: dict[int, ServerLink] = {}
        self._next_incoming_id, self._window = begin.next_outgoing_id, begin.incoming_window
        # Deliveries and frames are counted apart: a large delivery takes several frames.
        self._next_delivery_id = self._next_transfer_id = 0
        self._unacknowledged_frames = 0
        self._waiting: deque[bytes] = deque()
        # Handles of links that we ended: frames that were under way may still name them, until the client's own detach.
        self.detached: set[int] = set()

    def write(self, code: int, fields: list[bytes]) -> None:
        self.connection.write(frame(self.channel, described(code, fields)))

    @property
    def has_window(self) -> bool:
        is_bounded = self.connection.waiting_bytes < self.connection.limits.partial_bytes_max
        return self._window > 0 and not self._waiting and is_bounded

    def send_delivery(self, handle: int, tag: bytes, payload: bytes, fmt: int, *, is_settled: bool) -> int:
        """Send a delivery in as many frames as it takes, those beyond the window when it opens. Returns the delivery's id."""
        delivery_id = self._next_delivery_id
        self._next_delivery_id = (delivery_id + 1) & ID_MASK
        head = [uint(handle), uint(delivery_id), encode(tag), uint(fmt), boolean(is_settled)]
        room = self.connection.peer_frame_bytes - _TRANSFER_OVERHEAD
        last = max(0, (len(payload) - 1) // room)
        for number in range(last + 1):
            # Clients index these fields by place, so the empty ones are written too.
            fields = encoded_list([*head, boolean(number < last), NULL, NULL, NULL, NULL, NULL])
            part = payload[number * room : (number + 1) * room]
            self._wait(frame(self.channel, b"\x00\x53\x14" + fields + part))
        self._send_waiting()
        return delivery_id

    def _wait(self, data: bytes) -> None:
        self._waiting.append(data)
        self.connection.waiting_bytes += len(data)

    def _send_waiting(self) -> None:
        while self._waiting and self._window > 0:
            waiting = self._waiting.popleft()
            self.connection.waiting_bytes -= len(waiting)
            self.connection.write(waiting)
            self._next_transfer_id = (self._next_transfer_id + 1) & ID_MASK
            self._window -= 1

    def on_flow(self, flow: Flow) -> None:
        sent_since = (self._next_transfer_id - (flow.next_incoming_id or 0)) & ID_MASK
        self._window = max(0, flow.incoming_window - sent_since)
        self._send_waiting()
        if flow.handle is None:
            self.pump()
            if flow.wants_echo:
                self.send_flow()
        elif link := self._link(flow.handle):
            link.on_flow(flow)

    def _link(self, handle: int) -> ServerLink | None:
        """The link with a handle; None where it ended a moment ago. Raises `AmqpError` where there was none."""
        link = self.links.get(handle)
        if link is None and handle not in self.detached:
            raise AmqpError("amqp:session:unattached-handle", f"handle {handle} has no link")
        return link

    def pump(self) -> None:
        for link in list(self.links.values()):
            link.pump()

    def send_flow(self, link: ServerLink | None = None, *, is_draining: bool = False) -> None:
        self._unacknowledged_frames = 0
        fields = [uint(self._next_incoming_id), uint(WINDOW), uint(self._next_transfer_id), uint(WINDOW)]
        if link is None:
            fields += [NULL, NULL, NULL, NULL]
        else:
            fields += [uint(link.handle), uint(link.delivery_count), uint(link.credit), uint(0)]
        self.write(amqp.FLOW, [*fields, boolean(is_draining), FALSE, NULL])

    def on_transfer(self, fields: list[Any], payload: bytes) -> None:
        transfer = amqp.fields_of(amqp.Transfer, fields)
        self._next_incoming_id = (self._next_incoming_id + 1) & ID_MASK
        self._unacknowledged_frames += 1
        if link := self._link(transfer.handle):
            link.on_transfer(transfer, payload)
        if self._unacknowledged_frames > WINDOW // 2:
            self.send_flow()

    def send_disposition(self, delivery_id: int, state: bytes, *, is_receiver: bool) -> None:
        number = uint(delivery_id)
        self.write(amqp.DISPOSITION, [boolean(is_receiver), number, number, TRUE, state, FALSE])

    def on_disposition(self, disposition: Disposition) -> None:
        # About its own deliveries there is nothing to hear: they are settled when they are answered.
        if not disposition.is_receiver:
            return
        count = ((disposition.last - disposition.first) & ID_MASK) + 1
        known_ids = list(self._unsettled(disposition.first, count))
        for link, delivery_id in known_ids:
            self._settle(link, delivery_id, disposition)
        if len(known_ids) < count <= UNKNOWN_MAX and not disposition.is_settled:
            self._refuse_unknown(disposition.first, count, {delivery_id for _, delivery_id in known_ids})

    def _unsettled(self, first: int, count: int) -> Iterator[tuple[ServerLink, int]]:
        for link in self.links.values():
            if len(link.unsettled) < count:
                numbers = [number for number in link.unsettled if (number - first) & ID_MASK < count]
            else:
                numbers = [number for step in range(count) if (number := (first + step) & ID_MASK) in link.unsettled]
            for delivery_id in numbers:
                yield link, delivery_id

    def _settle(self, link: ServerLink, delivery_id: int, disposition: Disposition) -> None:
        # Settled without an outcome is taken as accepted; a provisional state, such as "received", changes nothing.
        outcome = disposition.outcome or (DeliveryOutcome("accepted") if disposition.is_settled else None)
        if outcome is None or delivery_id not in link.unsettled:
            return
        payload = link.unsettled.pop(delivery_id)
        try:
            link.entity.settle(link, payload, outcome)
            codes = {"rejected": amqp.REJECTED, "released": amqp.RELEASED, "modified": amqp.MODIFIED}
            state = ACCEPTED_STATE if outcome.kind == "accepted" else described(codes[outcome.kind], ())
        except AmqpError as error:
            state = rejected_state(error)
        if not disposition.is_settled:
            self.send_disposition(delivery_id, state, is_receiver=False)

    def _refuse_unknown(self, first: int, count: int, known_ids: set[int]) -> None:
        lost = rejected_state(AmqpError("com.microsoft:message-lock-lost", "this delivery is not, or no longer, the receiver's"))
        for step in range(count):
            delivery_id = (first + step) & ID_MASK
            if delivery_id not in known_ids:
                self.send_disposition(delivery_id, lost, is_receiver=False)

    def detach(self, link: ServerLink, error: AmqpError | None = None) -> None:
        if not link.is_closed:
            self.forget(link)
            self.write(amqp.DETACH, [uint(link.handle), TRUE, error.encoded() if error else NULL])
            link.close()

    def forget(self, link: ServerLink) -> None:
        del self.links[link.handle]
        self.detached.add(link.handle)

    def on_detach(self, handle: int) -> None:
        if link := self._link(handle):
            self.detach(link)
        self.detached.discard(handle)

    def end(self) -> None:
        links = list(self.links.values())
        self.links.clear()
        self.connection.waiting_bytes -= sum(map(len, self._waiting))
        self._waiting.clear()
        for link in links:
            link.close()


class Channels:
    """Hands each frame to the session it is for."""

    def __init__(self, connection: Peer) -> None:
        self._connection = connection
        self._sessions: dict[int, Session] = {}
        # Some clients end a session and then each of its links: those frames mean nothing any more.
        self._ended: set[int] = set()

    def on_frame(self, channel: int, frame: Performative, body: bytes) -> None:
        """A frame of an open connection. Raises `AmqpError`."""
        if frame.code == amqp.BEGIN:
            self._begin(channel, frame.fields)
            return
        session = self._sessions.get(channel)
        if session is None:
            if channel not in self._ended:
                raise AmqpError(NOT_ALLOWED, f"channel {channel} has no session")
        elif frame.code == amqp.TRANSFER:
            session.on_transfer(frame.fields, body[frame.end :])
        elif frame.code == amqp.END:
            self._end(channel, session)
        elif (handler := _HANDLERS.get(frame.code)) is not None:
            handler(session, frame.fields)
        else:
            raise AmqpError(DECODE_ERROR, "a frame that holds no performative of AMQP")

    @property
    def links(self) -> int:
        return sum(len(session.links) for session in self._sessions.values())

    def pump(self) -> None:
        for session in list(self._sessions.values()):
            session.pump()

    def end_all(self) -> None:
        sessions = list(self._sessions.values())
        self._sessions.clear()
        for session in sessions:
            session.end()

    def _begin(self, channel: int, fields: list[Any]) -> None:
        limits = self._connection.limits
        if channel in self._sessions or channel > limits.channel_max:
            raise AmqpError(NOT_ALLOWED, f"channel {channel} is taken, or above channel-max")
        self._ended.discard(channel)
        session = self._sessions[channel] = Session(self._connection, channel, amqp.fields_of(Begin, fields))
        numbers = [uint(0), uint(WINDOW), uint(WINDOW), uint(limits.handle_max)]
        session.write(amqp.BEGIN, [ushort(channel), *numbers, NULL, NULL, NULL])

    def _end(self, channel: int, session: Session) -> None:
        del self._sessions[channel]
        self._ended.add(channel)
        session.end()
        session.write(amqp.END, [NULL])


_HANDLERS: dict[int, Callable[[Session, list[Any]], None]] = {
    amqp.ATTACH: lambda session, fields: attach(session, amqp.fields_of(Attach, fields)),
    amqp.FLOW: lambda session, fields: session.on_flow(amqp.fields_of(Flow, fields)),
    amqp.DISPOSITION: lambda session, fields: session.on_disposition(amqp.fields_of(Disposition, fields)),
    amqp.DETACH: lambda session, fields: session.on_detach(amqp.fields_of(amqp.Detach, fields).handle),
}


def attach(session: Session, request: Attach) -> None:
    """A client wants a link. Raises `AmqpError` for a handle that it can't have."""
    if request.handle in session.links:
        raise AmqpError("amqp:session:handle-in-use", f"handle {request.handle} has a link")
    if request.handle > session.connection.limits.handle_max:
        raise AmqpError("amqp:connection:framing-error", f"handle {request.handle} is above handle-max")
    if session.connection.links >= session.connection.limits.links_max:
        raise AmqpError(RESOURCE_LIMIT, "too many links on one connection")
    link = ServerLink(session, request)
    fault = session.connection.broker.take_fault("attach", link.address)
    if fault is not None and _is_lost(session, fault):
        session.detached.add(request.handle)
        return
    session.detached.discard(request.handle)
    session.links[request.handle] = link
    try:
        if fault is not None and fault.action == "error":
            raise ordered(fault)
        link.entity = link.peer.broker.route(link)
        link.entity.on_attach(link)
    except AmqpError as error:
        _answer(link, error)
        return
    _answer(link)
    if fault is not None and fault.action == "detach":
        link.detach(ordered(fault))
    if fault is not None and fault.action == "accept-then-drop":
        link.peer.abort()


def _answer(link: ServerLink, error: AmqpError | None = None) -> None:
    """Accept a link, or refuse it: the answer then lacks one end, and a detach with the error follows."""
    link.session.write(amqp.ATTACH, _fields(link, is_refused=error is not None))
    if error is not None:
        link.is_closed = True
        link.session.forget(link)
        link.peer.broker.count(f"refused {error.condition}")
        link.session.write(amqp.DETACH, [uint(link.handle), TRUE, error.encoded()])
        return
    link.is_answered = True
    if link.is_sender:
        link.pump()
    else:
        link.grant()


def _is_lost(session: Session, fault: Fault) -> bool:
    """Whether a fault leaves the client without an answer."""
    if fault.action == "drop-connection":
        session.connection.abort()
    if fault.action == "delay":
        session.connection.stall(fault.delay_s)
    return fault.action in ("drop-connection", "ignore")


def _fields(link: ServerLink, *, is_refused: bool) -> list[bytes]:
    request = link.attach
    source = NULL if is_refused and link.is_sender else _encoded(amqp.SOURCE, request.source)
    target = NULL if is_refused and not link.is_sender else _encoded(amqp.TARGET, request.target)
    settling = [ubyte(request.sender_settles), ubyte(request.receiver_settles)]
    first_count = uint(0) if link.is_sender else NULL
    size_max = ulong(link.peer.limits.message_bytes_max)
    head = [encode(request.name), uint(request.handle), boolean(not link.is_sender), *settling, source, target]
    # Clients index these fields by place, so the empty ones are written too.
    return [*head, NULL, FALSE, first_count, size_max, NULL, NULL, NULL]


def _encoded(code: int, terminus: Terminus | None) -> bytes:
    return NULL if terminus is None else described(code, map(encode, terminus.fields))
