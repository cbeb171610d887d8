"""Seeing everything that is published in a hive: reads all its streams, and takes nothing from anybody."""

import asyncio
import logging
import random
from collections import OrderedDict
from collections.abc import Callable, Iterable

from hive_mind.bus.base import Envelope, Key, key_of
from hive_mind.bus.codec import decode
from hive_mind.bus.redis import keys
from hive_mind.bus.redis.wire import REPLY_WITHIN_S, Command, ServerAddress, Wire, begin, keep_reading, pairs, value
from hive_mind.errors import WireError
from hive_mind.retry import RetrySettings

_log = logging.getLogger(__name__)

# New names are noticed within this time; nothing that was sent to them meanwhile is missed.
_BLOCK_MS = 250
_COUNT = 256
# An envelope to many is in many streams, and shown once.
_SHOWN_MAX = 10_000


class BusWatch:
    """See `base.Watch`. Begins with `start`."""

    def __init__(self, place: ServerAddress, hive: str, on_envelope: Callable[[Envelope], None], forget: "Forget") -> None:
        self._wire, self._hive, self._on_envelope, self._forget = Wire(place), hive, on_envelope, forget
        self._read_up_to: dict[bytes, bytes] = {}
        self._shown: OrderedDict[Key, None] = OrderedDict()
        self._delays = RetrySettings(delay_first_s=0.1, delay_max_s=place.settings.reconnect_s_max)
        self._rng = random.Random()  # noqa: S311 - jitter
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Connect, and note where everything ends now. Raises `BackendError`."""
        await self._wire.connect()
        names = await self._wire.one("HKEYS", keys.names(self._hive))
        streams = self._streams(names)
        for stream, reply in zip(streams, await self._wire.call(*(("XINFO", "STREAM", one) for one in streams)), strict=True):
            self._read_up_to[stream] = b"0" if isinstance(reply, Exception) else pairs(reply)[b"last-generated-id"]
        reading = keep_reading(self._wire, self._read, self._delays, self._rng, on=f"watching hive {self._hive}")
        self._task = begin(reading, f"redis watch of {self._hive}", lambda _: None)

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
            self._forget(self)
        await self._wire.close()

    async def _read(self) -> None:
        for stream in self._streams(await self._wire.one("HKEYS", keys.names(self._hive))):
            # A stream that was not there before began later, so all of it is new.
            self._read_up_to.setdefault(stream, b"0")
        streams: Command = ("STREAMS", *self._read_up_to, *self._read_up_to.values())
        (reply,) = await self._wire.call(
            ("XREAD", "COUNT", _COUNT, "BLOCK", _BLOCK_MS, *streams), within_s=REPLY_WITHIN_S + _BLOCK_MS / 1000
        )
        found = [(entry, stream) for stream, entries in value(reply) or () for entry in entries]
        found.sort(key=lambda one: keys.time_of(one[0][0]))
        for (id, fields), stream in found:
            self._read_up_to[stream] = id
            self._show(fields[1])

    def _streams(self, names: Iterable[bytes]) -> list[bytes]:
        """All that there may be, each once."""
        common = keys.everyone(self._hive), keys.brief(self._hive)
        streams = [stream for name in names for stream in keys.read_by(self._hive, name.decode())]
        return list(dict.fromkeys([*common, *streams]))

    def _show(self, data: bytes) -> None:
        try:
            envelope = decode(data)
        except WireError:
            # Its reader puts it aside.
            return
        key = key_of(envelope)
        if key not in self._shown:
            self._shown[key] = None
            while len(self._shown) > _SHOWN_MAX:
                self._shown.popitem(last=False)
            self._on_envelope(envelope)


Forget = Callable[[BusWatch], None]
