"""The sessions of a connection, by the number of their channel, and how a link begins: its entity is found and asked."""

from collections.abc import Callable
from typing import Any

from hive_mind.devbroker.amqp import performatives as amqp
from hive_mind.devbroker.amqp.encoding import FALSE, NULL, TRUE, boolean, described, encode, ubyte, uint, ulong, ushort
from hive_mind.devbroker.amqp.error import DECODE_ERROR, NOT_ALLOWED, RESOURCE_LIMIT, AmqpError
from hive_mind.devbroker.amqp.link import ServerLink, ordered
from hive_mind.devbroker.amqp.performatives import Attach, Performative, Terminus
from hive_mind.devbroker.amqp.session import WINDOW, Session
from hive_mind.devbroker.amqp.switchboard import Peer
from hive_mind.devbroker.faults import Fault


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
        """Let all links send what they can."""
        for session in list(self._sessions.values()):
            session.pump()

    def end_all(self) -> None:
        """The connection is no more."""
        sessions = list(self._sessions.values())
        self._sessions.clear()
        for session in sessions:
            session.end()

    def _begin(self, channel: int, fields: list[Any]) -> None:
        limits = self._connection.limits
        if channel in self._sessions or channel > limits.channel_max:
            raise AmqpError(NOT_ALLOWED, f"channel {channel} is taken, or above channel-max")
        self._ended.discard(channel)
        session = self._sessions[channel] = Session(self._connection, channel, amqp.read_begin(fields))
        numbers = [uint(0), uint(WINDOW), uint(WINDOW), uint(limits.handle_max)]
        session.write(amqp.BEGIN, [ushort(channel), *numbers, NULL, NULL, NULL])

    def _end(self, channel: int, session: Session) -> None:
        del self._sessions[channel]
        self._ended.add(channel)
        session.end()
        session.write(amqp.END, [NULL])


_HANDLERS: dict[int, Callable[[Session, list[Any]], None]] = {
    amqp.ATTACH: lambda session, fields: attach(session, amqp.read_attach(fields)),
    amqp.FLOW: lambda session, fields: session.on_flow(amqp.read_flow(fields)),
    amqp.DISPOSITION: lambda session, fields: session.on_disposition(amqp.read_disposition(fields)),
    amqp.DETACH: lambda session, fields: session.on_detach(amqp.read_handle(fields)),
}


def attach(session: Session, said: Attach) -> None:
    """A client wants a link. Raises `AmqpError` for a handle that it can't have."""
    if said.handle in session.links:
        raise AmqpError("amqp:session:handle-in-use", f"handle {said.handle} has a link")
    if said.handle > session.connection.limits.handle_max:
        raise AmqpError("amqp:connection:framing-error", f"handle {said.handle} is above handle-max")
    if session.connection.links >= session.connection.limits.links_max:
        raise AmqpError(RESOURCE_LIMIT, "too many links on one connection")
    link = ServerLink(session, said)
    fault = session.connection.broker.take_fault("attach", link.address)
    if fault is not None and _is_lost(session, fault):
        session.detached.add(said.handle)
        return
    session.detached.discard(said.handle)
    session.links[said.handle] = link
    _ask_entity(link, fault)


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


def _ask_entity(link: ServerLink, fault: Fault | None) -> None:
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


def _fields(link: ServerLink, *, is_refused: bool) -> list[bytes]:
    said = link.attach
    source = NULL if is_refused and link.is_sender else _encoded(amqp.SOURCE, said.source)
    target = NULL if is_refused and not link.is_sender else _encoded(amqp.TARGET, said.target)
    settling = [ubyte(said.sender_settles), ubyte(said.receiver_settles)]
    first_count = uint(0) if link.is_sender else NULL
    size_max = ulong(link.peer.limits.message_bytes_max)
    head = [encode(said.name), uint(said.handle), boolean(not link.is_sender), *settling, source, target]
    # Clients index these fields by place, so the empty ones are written too.
    return [*head, NULL, FALSE, first_count, size_max, NULL, NULL, NULL]


def _encoded(code: int, terminus: Terminus | None) -> bytes:
    return NULL if terminus is None else described(code, map(encode, terminus.fields))
