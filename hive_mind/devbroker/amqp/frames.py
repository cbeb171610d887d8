"""Bytes as they arrive, cut into frames and protocol headers."""

from typing import NamedTuple

from hive_mind.devbroker.amqp.error import FRAMING_ERROR, AmqpError

HEADER_BYTES = 8

AMQP_KIND, SASL_KIND = 0, 1


class Frame(NamedTuple):
    """A frame without its header. A protocol header is told by `is_header`, and stands whole in `body`."""

    kind: int
    channel: int
    body: bytes
    is_header: bool = False


class FrameBuffer:
    """What has arrived and is not a whole frame yet: less than one frame, unless nobody takes what is whole."""

    def __init__(self, frame_bytes_max: int) -> None:
        self._frame_bytes_max = frame_bytes_max
        self._data = b""
        self._position = 0

    def add(self, data: bytes) -> None:
        """More bytes."""
        self._data = self._data[self._position :] + data
        self._position = 0

    def clear(self) -> None:
        """Forget everything."""
        self._data, self._position = b"", 0

    def take(self) -> Frame | None:
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
            return Frame(SASL_KIND, 0, data[start:end], is_header=True)
        body = start + data[start + 4] * 4
        if not start + HEADER_BYTES <= body <= end:
            raise AmqpError(FRAMING_ERROR, "a frame that begins outside of itself")
        return Frame(data[start + 5], int.from_bytes(data[start + 6 : start + 8]), data[body:end])
