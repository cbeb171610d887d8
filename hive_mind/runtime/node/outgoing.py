"""Messages from a node, on their way to the bus: in order, as many at a time as there are, and never in anybody's way.

A bus that is gone is tried again and again. A message that could not be sent for some seconds is dropped, for a node repeats what
matters; it is notified when the bus is back, so that it does so at once. However long that takes, this stays small.

The bell wakes one task that waits: `asyncio.Event`, made for many, costs a runner a tenth of its turn.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import NamedTuple

from hive_mind.bus import Envelope, EventBus, Instant
from hive_mind.errors import BackendThrottled, BackendTimeout, BackendUnavailable, HiveError

_log = logging.getLogger(__name__)

_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.05, 1.0
# Of the usual wait: what is granted to somebody who had no room the last time.
_STUCK_SHARE = 1 / 20
# One full queue among many that take messages is no refusal of the bus.
_REFUSING_S = 1.0


@dataclass(frozen=True, slots=True)
class OutgoingSettings:
    """`wait_s`: how long a full queue of another node may hold up what goes to others, before the message counts as lost. Raise
    it and a stuck member slows the others down; lower it and a busy one gets more things twice.

    `kept_s`, `kept_max`: for how long, and how many, messages wait for a bus that is gone. Raise them and fewer are repeated.
    `batch_max`: how many are handed to the bus in one call.
    """

    wait_s: float = 0.25
    kept_s: float = 5.0
    kept_max: int = 4096
    batch_max: int = 512


class _Waiting(NamedTuple):
    since_s: float
    envelope: Envelope


class OutgoingQueue:
    """A line of envelopes. `run` sends them until `stop`; `on_back` is called when the bus takes messages again."""

    def __init__(self, node: str, bus: EventBus, settings: OutgoingSettings, on_back: Callable[[], None]) -> None:
        self._node, self._bus, self._settings, self._on_back = node, bus, settings, on_back
        self._waiting: deque[_Waiting] = deque()
        self._under_way = 0
        self._bell, self._stopped, self._empty = Bell(), asyncio.Event(), asyncio.Event()
        self._empty.set()
        # Targets whose queue was full the last time.
        self._stuck: set[str] = set()
        self._failures = 0
        self._refused_since_s: float | None = None
        self._refusal = ""
        # Such a bus needs no line, as long as nothing stands in it. Its exact class must say so: a subclass or wrapper that
        # inspects or delays what is published is not bypassed.
        self._offer = bus.offer if isinstance(bus, Instant) and "offer" in vars(type(bus)) else None
        self.lost = 0

    def __len__(self) -> int:
        return len(self._waiting) + self._under_way

    @property
    def refusal(self) -> str:
        """Why the bus has taken nothing for some time, though it was tried; "" while it takes messages."""
        is_long = self._refused_since_s is not None and monotonic() - self._refused_since_s > _REFUSING_S
        return self._refusal if is_long else ""

    def add(self, envelope: Envelope) -> None:
        """Send it, behind those that wait. Never waits."""
        if self._stopped.is_set():
            return
        # Where nothing is to go before it, and nothing went wrong.
        if self._offer is not None and not (self._waiting or self._under_way or self._stuck or self._failures):
            # Whatever is wrong with it, `run` meets it again and deals with it.
            with suppress(Exception):
                if self._offer(envelope):
                    return
        if len(self._waiting) >= self._settings.kept_max:
            self._waiting.popleft()
            self._lose(1, f"more than {self._settings.kept_max} wait for the bus")
        if not self._waiting:
            self._empty.clear()
            self._bell.ring()
        self._waiting.append(_Waiting(monotonic(), envelope))

    def stop(self) -> None:
        self._stopped.set()
        self._waiting.clear()
        self._bell.ring()
        self._empty.set()

    async def until_empty(self) -> None:
        await self._empty.wait()

    async def run(self) -> None:
        while not self._stopped.is_set():
            self._bell.clear()
            if batch := self._next():
                self._under_way = len(batch)
                try:
                    await self._send(batch)
                finally:
                    self._under_way = 0
            else:
                self._empty.set()
                await self._bell.wait()

    def _next(self) -> list[_Waiting]:
        """Those in front. One to somebody who had no room the last time goes alone: the others must not wait for it again."""
        self._forget_old()
        if not self._stuck and len(self._waiting) <= self._settings.batch_max:
            batch = list(self._waiting)
            self._waiting.clear()
            return batch
        batch = []
        while self._waiting and len(batch) < self._settings.batch_max:
            is_free = self._is_free(self._waiting[0])
            if batch and not is_free:
                break
            batch.append(self._waiting.popleft())
            if not is_free:
                break
        return batch

    def _forget_old(self) -> None:
        if not self._waiting:
            return
        oldest_s, former = monotonic() - self._settings.kept_s, len(self._waiting)
        while self._waiting and self._waiting[0].since_s < oldest_s:
            self._waiting.popleft()
        if former > len(self._waiting):
            self._lose(former - len(self._waiting), f"the bus took nothing for {self._settings.kept_s:g} s")

    async def _send(self, batch: Sequence[_Waiting]) -> None:
        share = 1.0 if self._is_free(batch[0]) else _STUCK_SHARE
        try:
            await self._bus.publish([waiting.envelope for waiting in batch], timeout_s=self._settings.wait_s * share)
        except (BackendUnavailable, BackendTimeout) as error:
            self._note_refusal(error)
            if not self._failures:
                _log.warning("node %s can't send, and goes on by itself until the bus is back: %s", self._node, error)
            pause_s = min(_FIRST_PAUSE_S * 2.0 ** min(self._failures, 16), _LAST_PAUSE_S)
            self._failures += 1
            # By chance, or all members of a hive would come back in the same moment.
            pause_s *= random.uniform(0.5, 1.0)  # noqa: S311 - not for a secret
            try:
                await asyncio.wait_for(self._stopped.wait(), pause_s)
            except TimeoutError:
                self._waiting.extendleft(reversed(batch))
        except HiveError as error:
            await self._send_each(batch, error)
        else:
            self._accepted(batch)

    async def _send_each(self, batch: Sequence[_Waiting], error: HiveError) -> None:
        """One of them is to blame. Others may have been accepted: they keep their ids, so nobody sees them twice."""
        if len(batch) == 1:
            self._refused(batch[0].envelope, error)
            return
        for waiting in batch:
            if self._stopped.is_set():
                return
            try:
                await self._bus.publish([waiting.envelope], timeout_s=self._settings.wait_s * _STUCK_SHARE)
            except HiveError as second_error:
                self._refused(waiting.envelope, second_error)
            else:
                self._accepted([waiting])

    def _note_refusal(self, error: HiveError) -> None:
        self._refusal = str(error)
        if self._refused_since_s is None:
            self._refused_since_s = monotonic()

    def _accepted(self, batch: Sequence[_Waiting]) -> None:
        self._refused_since_s = None
        if self._stuck:
            self._stuck.difference_update(*(waiting.envelope.target for waiting in batch))
        if self._failures:
            self._failures = 0
            _log.info("node %s: the bus takes messages again", self._node)
            self._on_back()

    def _refused(self, envelope: Envelope, error: HiveError) -> None:
        self._note_refusal(error)
        if isinstance(error, BackendThrottled):
            self._stuck.update(envelope.target)
        self._lose(1, str(error))

    def _lose(self, count: int, why: str) -> None:
        former, self.lost = self.lost, self.lost + count
        # At 1, 2, 4, 8, …: a broken bus is heard of, and fills no disk.
        if former.bit_length() != self.lost.bit_length():
            _log.warning("node %s: %d messages lost so far, what matters is sent again: %s", self._node, self.lost, why)

    def _is_free(self, waiting: _Waiting) -> bool:
        return self._stuck.isdisjoint(waiting.envelope.target)


class Bell:
    """Rung any number of times, it wakes once; it stays rung until `clear`."""

    def __init__(self) -> None:
        self.is_rung = False
        self._waiting: asyncio.Future[None] | None = None

    def ring(self) -> None:
        self.is_rung = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def clear(self) -> None:
        self.is_rung = False

    async def wait(self) -> None:
        """Return when it is rung. One task at a time."""
        if not self.is_rung:
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting


class Alarm:
    """One bell, set by a monotonic clock that may be another one than the event loop's."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None
        self._at_ms = 0

    def set(self, at_ms: int, now_ms: int) -> None:
        """Ring then, unless that is to happen sooner anyway. It may ring too early, and wants to be set again each time."""
        if self._timer is not None:
            if self._at_ms <= at_ms:
                return
            self._timer.cancel()
        self._at_ms = at_ms
        # At least a millisecond, or a node that always wants a tick would leave nobody else a turn.
        self._timer = asyncio.get_running_loop().call_later(max(at_ms - now_ms, 1) / 1000, self._on_time)

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _on_time(self) -> None:
        self._timer = None
        self._ring()
