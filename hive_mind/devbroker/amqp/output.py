"""What a connection writes: frames gathered into one write per turn of the loop, and a stop sign when the peer does not read."""

import asyncio
from collections.abc import Callable


class Output:
    """The writing half of a connection. `on_room` is called when there is room again after somebody was told there is none."""

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
        """Write with all else of this turn."""
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
