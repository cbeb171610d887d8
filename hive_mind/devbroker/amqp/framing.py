"""Frames in and out: arriving bytes are cut into frames; frames to send are gathered into one write per turn of the loop."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from hive_mind.devbroker.amqp.error import FRAMING_ERROR, AmqpError

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
        """From now on there is somewhere to write to."""
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
        """Write now what is gathered, unless it is held."""
        if self._is_held or self._transport is None:
            return
        if self._frames and not self._transport.is_closing():
            self._transport.write(b"".join(self._frames))
        self.discard()
        self._feed()

    def discard(self) -> None:
        """Write nothing of what is gathered."""
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
