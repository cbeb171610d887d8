"""A peer of the broker that writes frames by hand, right into the connection, and reads what comes back."""

import asyncio
import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from hive_mind.devbroker import Broker, BrokerSettings, Limits
from hive_mind.devbroker.amqp import Described, Symbol, UInt, ULong, UShort, described, encode, frame
from hive_mind.devbroker.amqp import performatives as amqp
from hive_mind.devbroker.amqp.connection import AMQP_HEADER, Connection, FrameBuffer
from hive_mind.devbroker.amqp.decoding import decode
from tests.unit.devbroker.values import section

# Long enough to never come in a test, unless the test sets others.
LIMITS = Limits(idle_timeout_s=0, handshake_s=600)


class Heard(NamedTuple):
    """A frame of the broker; `code` is -1 for a protocol header."""

    code: int
    channel: int
    fields: list[Any]
    payload: bytes

    def error(self, place: int) -> str:
        """The condition of the error in a field."""
        return self.fields[place].value[0] if self.fields[place] is not None else ""


class WireEnd(asyncio.Transport):
    """The broker's transport, with nobody behind it but the test."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_reading, self.end = True, ""
        self.changed = asyncio.Event()

    def write(self, data):
        self.written += data
        self.changed.set()

    def is_closing(self):
        return self.end in ("closed", "aborted")

    def can_write_eof(self):
        return True

    def write_eof(self):
        self.end = "eof"
        self.changed.set()

    def close(self):
        self.end = "closed"
        self.changed.set()

    def abort(self):
        self.end = "aborted"
        self.changed.set()

    def pause_reading(self):
        self.is_reading = False

    def resume_reading(self):
        self.is_reading = True


class Peer:
    """One connection to a broker."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.connection = Connection(broker)
        self.wire = WireEnd()
        self.connection.connection_made(self.wire)
        self._next_delivery = 0

    def send(self, data: bytes) -> None:
        self.connection.data_received(data)

    def say(self, code: int, *fields: Any, channel: int = 0, payload: bytes = b"", kind: int = 0) -> None:
        self.send(frame(channel, described(code, map(encode, fields)) + payload, kind))

    async def turn(self) -> None:
        """Let the broker do what it put off."""
        for _ in range(4):
            await asyncio.sleep(0)

    async def until(self, has_happened: Callable[[], object]) -> None:
        """Wait until the broker did something, a minute at most."""
        async with asyncio.timeout(60):
            while not has_happened():
                self.wire.changed.clear()
                await self.wire.changed.wait()

    def heard(self, code: int | None = None) -> list[Heard]:
        """What the broker wrote since this was last asked, or the frames with a code of it."""
        buffer = FrameBuffer(1 << 30)
        buffer.add(self.wire.written)
        self.wire.written = b""
        frames = []
        while (got := buffer.take()) is not None:
            frames.append(_heard(got))
        return [each for each in frames if code is None or each.code == code]

    def open(self, *, max_frame=65536, idle_ms=None, agent="") -> None:
        self.send(AMQP_HEADER)
        properties = {Symbol("user-agent"): agent}
        self.say(amqp.OPEN, "test", "host", UInt(max_frame), None, idle_ms and UInt(idle_ms), None, None, None, None, properties)

    def begin(self, channel=0, window=1000) -> None:
        self.say(amqp.BEGIN, None, UInt(0), UInt(window), UInt(1000), channel=channel)

    def attach_sender(self, handle: int, address: str, **named: Any) -> None:
        self._attach(handle, False, _source(""), _target(address), **named)

    def attach_receiver(self, handle: int, address: str, *, filters=None, credit=100, reply_to="", **named: Any) -> None:
        self._attach(handle, True, _source(address, filters), _target(reply_to), **named)
        if credit:
            self.flow(handle, credit)

    def flow(self, handle: int, credit: int, *, count=0, drain=False, next_id=0, window=1000, channel=0) -> None:
        numbers = [UInt(next_id), UInt(window), UInt(0), UInt(1000), UInt(handle), UInt(count), UInt(credit), None]
        self.say(amqp.FLOW, *numbers, drain, False, channel=channel)

    def transfer(self, handle: int, payload: bytes, *, fmt=0, is_settled=False, has_more=False, number=None) -> int:
        number = self._next_delivery if number is None else number
        self.say(amqp.TRANSFER, UInt(handle), UInt(number), b"t", UInt(fmt), is_settled, has_more, payload=payload)
        self._next_delivery = number + (not has_more)
        return number

    def message(self, handle: int, text: str, **named: Any) -> int:
        return self.transfer(handle, section(0x75, text.encode()), **named)

    def request(self, handle: int, asked: dict[str, Any], body: Any = None, reply_to="me") -> None:
        self.transfer(handle, section(0x73, ["r1", None, None, None, reply_to]) + section(0x74, asked) + section(0x77, body))

    def _attach(
        self, handle, is_receiver, source, target, *, settles=None, properties=None, capabilities=None, channel=0
    ) -> None:
        middle = [None, None, UInt(0), None, None, capabilities, properties]
        self.say(amqp.ATTACH, f"link{handle}", UInt(handle), is_receiver, settles, None, source, target, *middle, channel=channel)


def with_peer(needs_token=False, limits=LIMITS, hub="hub", is_open=True, **settings: Any) -> Callable[..., Any]:
    """For tests that are coroutines of a peer: a broker with a hub of four partitions, and a peer with a session."""

    def decorate(test):
        @functools.wraps(test)
        def run(*args, **named):
            asyncio.run(_run(functools.partial(test, *args, **named), is_open))

        async def _run(test, is_open):
            broker = Broker(BrokerSettings(needs_token=needs_token, limits=limits, **settings))
            broker.entities.add_hub(hub, 4)
            peer = Peer(broker)
            if is_open:
                peer.open()
                peer.begin()
                peer.heard()
            await test(peer=peer)
            peer.connection.connection_lost(None)
            assert broker.stats["internal errors"] == 0

        parameters = [value for name, value in inspect.signature(test).parameters.items() if name != "peer"]
        run.__signature__ = inspect.Signature(parameters)
        return run

    return decorate


def limits(**changed: Any) -> Limits:
    return replace(LIMITS, **changed)


def selector(text: str) -> dict[Any, Any]:
    name = Symbol("apache.org:selector-filter:string")
    return {name: Described(name, text)}


def _source(address, filters=None):
    return Described(ULong(amqp.SOURCE), [address, UInt(0), None, None, False, None, None, filters])


def _target(address):
    return Described(ULong(amqp.TARGET), [address])


def _heard(got) -> Heard:
    if got.is_header:
        return Heard(-1, 0, [got.body], b"")
    if not got.body:
        return Heard(0, 0, [], b"")
    value, end = decode(got.body)
    return Heard(int(value.descriptor), got.channel, value.value + [None] * 15, got.body[end:])


__all__ = ["Heard", "Peer", "UShort", "limits", "selector", "with_peer"]
