"""The sessions of a connection, by the number of their channel."""

from collections.abc import Callable
from typing import Any

from hive_mind.devbroker.amqp import performatives as amqp
from hive_mind.devbroker.amqp.attaching import attach
from hive_mind.devbroker.amqp.encoding import NULL, uint, ushort
from hive_mind.devbroker.amqp.error import DECODE_ERROR, NOT_ALLOWED, AmqpError
from hive_mind.devbroker.amqp.performatives import Performative
from hive_mind.devbroker.amqp.session import WINDOW, Session
from hive_mind.devbroker.amqp.switchboard import Peer


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
