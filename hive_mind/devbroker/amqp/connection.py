"""Frames in and out: arriving bytes are cut into frames; frames to send are gathered into one write per turn of the loop.

The server's side of one connection: bytes to frames, frames to sessions, heartbeats, and an orderly end for any disorder.

Nothing a peer sends may harm another or grow memory without bound. A frame that can't be understood, or comes at the wrong
time, is answered with a `close` that says why; the frames after it are thrown away.

The bytes before the first frame of AMQP: protocol headers and SASL.

The identity of a client is found out later by `$cbs`, from its token. Only PLAIN says it here: the name of a key and the key,
which then open everything, as in the service. The other mechanisms let anybody in to bring a token.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from hive_mind.devbroker.amqp import (
    FORCED,
    FRAMING_ERROR,
    NOT_ALLOWED,
    NULL,
    RESOURCE_LIMIT,
    AmqpError,
    Array,
    Symbol,
    described,
    encode,
    frame,
    ubyte,
    uint,
    ushort,
)
from hive_mind.devbroker.amqp import frame as encoded_frame
from hive_mind.devbroker.amqp import performatives as amqp
from hive_mind.devbroker.amqp.channels import Channels
from hive_mind.devbroker.amqp.entity import Timer
from hive_mind.devbroker.amqp.performatives import Performative
from hive_mind.devbroker.amqp.switchboard import Limits, Switchboard

HEADER_BYTES = 8

AMQP_KIND, SASL_KIND = 0, 1


@dataclass(frozen=True, slots=True)
class AmqpFrame:
    """A frame without its header. For a protocol header `is_header` is true, and `body` has all of it."""

    kind: int
    channel: int
    body: bytes
    is_header: bool = False


class FrameBuffer:
    """The bytes that are not a whole frame yet: less than one frame, unless nobody takes the whole ones."""

    def __init__(self, frame_bytes_max: int) -> None:
        self._frame_bytes_max = frame_bytes_max
        self._data = b""
        self._position = 0

    def add(self, data: bytes) -> None:
        self._data = self._data[self._position :] + data
        self._position = 0

    def clear(self) -> None:
        self._data, self._position = b"", 0

    def take(self) -> AmqpFrame | None:
        """The next frame, if it is whole. Raises `AmqpError` for what can't be one."""
        data, start = self._data, self._position
        if len(data) - start < HEADER_BYTES:
            return None
        is_header = data.startswith(b"AMQP", start)
        size = HEADER_BYTES if is_header else int.from_bytes(data[start : start + 4])
        if not HEADER_BYTES <= size <= self._frame_bytes_max:
            raise AmqpError(FRAMING_ERROR, f"a frame of {size} bytes; at most {self._frame_bytes_max} are allowed")
        if len(data) - start < size:
            return None
        self._position = end = start + size
        if is_header:
            return AmqpFrame(SASL_KIND, 0, data[start:end], is_header=True)
        body = start + data[start + 4] * 4
        if not start + HEADER_BYTES <= body <= end:
            raise AmqpError(FRAMING_ERROR, "a frame that begins outside of itself")
        return AmqpFrame(data[start + 5], int.from_bytes(data[start + 6 : start + 8]), data[body:end])


class Output:
    """The writing half of a connection. `on_room` is called when there is room again after `has_room` was false."""

    def __init__(self, bytes_max: int, on_room: Callable[[], None]) -> None:
        self._bytes_max, self._on_room = bytes_max, on_room
        self._frames: list[bytes] = []
        self._bytes = 0
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._is_scheduled = self._is_paused = self._is_held = self._is_starving = False

    def open(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def has_room(self) -> bool:
        """Whether another delivery may be written; a False is followed by a call of `on_room`."""
        has_room = not self._is_paused and not self._is_held and self._bytes < self._bytes_max
        self._is_starving = self._is_starving or not has_room
        return has_room

    def write(self, data: bytes) -> None:
        self._frames.append(data)
        self._bytes += len(data)
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._flush_scheduled)

    def flush(self) -> None:
        if self._is_held or self._transport is None:
            return
        if self._frames and not self._transport.is_closing():
            self._transport.write(b"".join(self._frames))
        self.discard()
        self._feed()

    def discard(self) -> None:
        self._frames.clear()
        self._bytes = 0

    def pause(self, *, is_paused: bool) -> None:
        """The peer does not read, or reads again."""
        self._is_paused = is_paused
        self._feed()

    def hold(self, *, is_held: bool) -> None:
        """Gather, but write nothing for now; or write it all."""
        self._is_held = is_held
        self.flush()

    def _flush_scheduled(self) -> None:
        self._is_scheduled = False
        self.flush()

    def _feed(self) -> None:
        if self._is_starving and not self._is_paused and not self._is_held:
            self._is_starving = False
            self._loop.call_soon(self._on_room)


_log = logging.getLogger(__name__)

_HEARTBEAT = b"\x00\x00\x00\x08\x02\x00\x00\x00"

# How long a refused peer may take to read the reason: closing at once would discard it with the unread bytes.
_LINGER_S = 1.0

# Heartbeats are sent at half the interval a peer asks for, and not more often than this.
_BEAT_MIN_S = 0.1

AMQP_HEADER, SASL_HEADER = b"AMQP\x00\x01\x00\x00", b"AMQP\x03\x01\x00\x00"

_MECHANISMS = ("MSSBCBS", "ANONYMOUS", "EXTERNAL", "PLAIN")
_OK, _AUTH = 0, 1


class Connection(asyncio.Protocol):
    """One peer."""

    def __init__(self, broker: Switchboard) -> None:
        self.broker = broker
        self.limits: Limits = broker.limits
        self.authorised: dict[str, float] = {}
        self.is_closed = False
        self.peer_frame_bytes = 512
        # Of deliveries whose other frames wait for their session's window.
        self.waiting_bytes = 0
        self.peer_idle_s = 0.0
        self.agent = ""
        self._loop = asyncio.get_running_loop()
        self._channels = Channels(self)
        self._output = Output(self.limits.output_bytes_max, self._channels.pump)
        self._handshake = Handshake(broker)
        self._frames = FrameBuffer(self.limits.frame_bytes_max)
        self._partial_bytes = 0
        self._is_open = self._is_stalled = False
        self._last_heard = self._loop.time()
        self._timers: dict[str, Timer] = {}
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._output.open(self._transport)
        if (sock := transport.get_extra_info("socket")) is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not self.broker.connected(self):
            self.abort()
            return
        self._after("handshake", self.limits.handshake_s, self._refuse_slow)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - how it was lost makes no difference
        self._end()
        self.broker.disconnected(self)

    def pause_writing(self) -> None:
        """The peer does not read. Then nothing is read from it either: each request could take another answer."""
        self._output.pause(is_paused=True)
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._output.pause(is_paused=False)
        if not self._is_stalled:
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        self._last_heard = self._loop.time()
        if not self.is_closed:
            self._frames.add(data)
            self._read()

    def _read(self) -> None:
        try:
            while not self.is_closed and not self._is_stalled and (frame := self._frames.take()) is not None:
                if frame.is_header:
                    self.write(self._handshake.on_header(frame.body))
                elif frame.kind == SASL_KIND:
                    performative = amqp.read(frame.body)
                    self.write(self._handshake.on_frame(performative.code, performative.fields))
                    if self._handshake.is_trusted:
                        self.authorised[""] = float("inf")
                    if self._handshake.is_refused:
                        self.broker.count("refused logins")
                        self._linger()
                elif frame.kind != AMQP_KIND or not self._handshake.is_done:
                    raise AmqpError(FRAMING_ERROR, "a frame of another kind, or before the protocol header")
                elif frame.body:
                    self._on_performative(frame.channel, amqp.read(frame.body), frame.body)
        except AmqpError as error:
            self.close(error)
        except Exception as error:  # noqa: BLE001 - one peer's bytes must never end the broker; counted, and tests look for it
            _log.exception("a frame could not be handled")
            self.broker.count("internal errors")
            self.close(AmqpError("amqp:internal-error", type(error).__name__))
        else:
            self._output.flush()

    def _on_performative(self, channel: int, performative: Performative, body: bytes) -> None:
        if performative.code == amqp.OPEN:
            if self._is_open:
                raise AmqpError(NOT_ALLOWED, "the connection is open already")
            peer_open = amqp.fields_of(amqp.Open, performative.fields)
            self._cancel("handshake")
            self.peer_frame_bytes = min(peer_open.max_frame_bytes, self.limits.frame_bytes_max)
            self.peer_idle_s = peer_open.idle_timeout_ms / 1000
            self.agent = peer_open.agent
            self._write_open(peer_open.hostname)
            self._beat()
        elif not self._is_open:
            raise AmqpError(NOT_ALLOWED, "a frame before the connection is open")
        elif performative.code == amqp.CLOSE:
            self.close()
        else:
            self._channels.on_frame(channel, performative, body)

    def _write_open(self, hostname: str = "") -> None:
        self._is_open = True
        idle_ms = uint(int(self.limits.idle_timeout_s * 1000)) if self.limits.idle_timeout_s else NULL
        numbers = [uint(self.limits.frame_bytes_max), ushort(self.limits.channel_max), idle_ms]
        product = encode({Symbol("product"): self.broker.name})
        names = [encode(self.broker.name), encode(hostname)]
        self.write(encoded_frame(0, described(amqp.OPEN, [*names, *numbers, NULL, NULL, NULL, NULL, product])))

    def write(self, data: bytes) -> None:
        self._output.write(data)

    def has_room(self) -> bool:
        return not self.is_closed and self._output.has_room()

    @property
    def links(self) -> int:
        return self._channels.links

    def hold_partial(self, count: int) -> None:
        """Account for the bytes of deliveries that are not complete. Raises `AmqpError` when they are too many."""
        self._partial_bytes += count
        if self._partial_bytes > self.limits.partial_bytes_max:
            raise AmqpError(RESOURCE_LIMIT, "too many bytes in deliveries that are not complete")

    def stall(self, delay_s: float) -> None:
        """Neither answer nor read for a while."""
        if not self._is_stalled and not self.is_closed:
            self._is_stalled = True
            self._output.hold(is_held=True)
            self._transport.pause_reading()
            self._after("stall", delay_s, self._go_on)

    def _go_on(self) -> None:
        self._is_stalled = False
        if not self.is_closed:
            self._output.hold(is_held=False)
            self._transport.resume_reading()
            self._read()

    def _after(self, name: str, delay_s: float, callback: Callable[[], None]) -> None:
        self._cancel(name)
        self._timers[name] = self.broker.call_later(delay_s, callback)

    def _cancel(self, name: str) -> None:
        if timer := self._timers.pop(name, None):
            timer.cancel()

    def _refuse_slow(self) -> None:
        self.broker.count("slow handshakes")
        self.abort()

    def _beat(self) -> None:
        idle_s = self.limits.idle_timeout_s
        if idle_s and self._loop.time() - self._last_heard > idle_s:
            self.close(AmqpError(FORCED, f"the connection was inactive for more than {idle_s:g} s"))
            return
        if self.peer_idle_s:
            self.write(_HEARTBEAT)
        waits_s = [wait_s / 2 for wait_s in (self.peer_idle_s, idle_s) if wait_s]
        if waits_s:
            self._after("beat", max(_BEAT_MIN_S, min(waits_s)), self._beat)

    def close(self, error: AmqpError | None = None) -> None:
        if self.is_closed:
            return
        if error is not None:
            _log.info("connection closed: %s", error)
            self.broker.count(f"closed {error.condition}")
        self._write_close(error)
        self._linger()

    def _write_close(self, error: AmqpError | None) -> None:
        if not self._handshake.is_done:
            # There is no frame for it yet; the header says what is spoken here.
            self.write(SASL_HEADER)
            return
        if not self._is_open:
            self._write_open()
        self.write(encoded_frame(0, described(amqp.CLOSE, [error.encoded() if error else NULL])))

    def abort(self) -> None:
        self._end()
        self._output.discard()
        self._transport.abort()

    def _linger(self) -> None:
        self._end()
        self._output.hold(is_held=False)
        if self._transport.can_write_eof():
            # The peer may have gone already.
            with suppress(OSError):
                self._transport.write_eof()
        self._after("linger", _LINGER_S, self._transport.abort)

    def finish(self, *, is_graceful: bool) -> None:
        """End at once, with or without a word: the broker stops."""
        if not is_graceful:
            self.abort()
            return
        self.close(AmqpError(FORCED, "the broker is shutting down"))
        self._cancel("linger")
        self._transport.close()

    def _end(self) -> None:
        self.is_closed = True
        self._frames.clear()
        for name in list(self._timers):
            self._cancel(name)
        self._channels.end_all()


class Handshake:
    """Where a connection stands before it is open, and what is to be answered. `is_done` when frames of AMQP may follow."""

    def __init__(self, broker: Switchboard) -> None:
        self._broker = broker
        self._has_sasl = self._is_authenticated = False
        self.is_done = self.is_refused = self.is_trusted = False

    def on_header(self, header: bytes) -> bytes:
        """The answer to a protocol header. Raises `AmqpError` for one that is not spoken here, or not now."""
        if header == AMQP_HEADER and not self.is_done and self._has_sasl == self._is_authenticated:
            self.is_done = True
            return AMQP_HEADER
        if header == SASL_HEADER and not self._has_sasl and not self.is_done:
            self._has_sasl = True
            mechanisms = encode(Array(map(Symbol, _MECHANISMS)))
            return SASL_HEADER + frame(0, described(amqp.SASL_MECHANISMS, (mechanisms,)), kind=1)
        raise AmqpError(FRAMING_ERROR, "a protocol header that is not spoken here, or not now")

    def on_frame(self, code: int, fields: list[Any]) -> bytes:
        """The answer to a frame of SASL: the outcome. Afterwards `is_refused` may be true."""
        if not self._has_sasl or self._is_authenticated or code != amqp.SASL_INIT:
            raise AmqpError(NOT_ALLOWED, "a frame of SASL that is out of turn")
        mechanism, response = (*fields, None, None)[:2]
        self.is_trusted = mechanism == "PLAIN" and self._is_login(response)
        self.is_refused = mechanism not in _MECHANISMS or (mechanism == "PLAIN" and not self.is_trusted)
        self._is_authenticated = not self.is_refused
        return frame(0, described(amqp.SASL_OUTCOME, (ubyte(_AUTH if self.is_refused else _OK), NULL)), kind=1)

    def _is_login(self, response: Any) -> bool:
        parts = response.split(b"\0") if isinstance(response, bytes) else []
        if len(parts) != 3:
            return False
        return self._broker.is_login(*(part.decode("utf-8", "replace") for part in parts[1:]))
