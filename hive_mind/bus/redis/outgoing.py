"""Traffic to Redis: envelopes and acknowledgements of all publishers and subscribers of a bus, in as few round trips as can be.

One task owns one connection. It sends whatever has gathered while the last round trip was under way, in the order in which it was
handed over; so a lone publisher waits for no other, and many share a round trip. When the connection breaks it sends unanswered
commands again: the ids of envelopes let their readers see it once.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from redis.exceptions import RedisError

from hive_mind.bus.redis.wire import Command, Packed, ServerAddress, Wire, begin, meaning
from hive_mind.errors import BackendError, BackendUnavailable
from hive_mind.retry import RetrySettings, delay_s

# In one round trip: enough to make it cheap, few enough that others don't wait long.
COMMANDS_MAX = 512
_BYTES_MAX = 4 << 20
# Acknowledgements gather for this time, unless something is sent anyway: nobody waits for them.
_ACKS_AFTER_S = 0.005
_ACKS_MAX = 500
# Commands under way on a sound connection are waited for at least this long, however little time their publisher gave.
_REPLY_S = 1.0
_FULL = RetrySettings(delay_first_s=0.02, delay_max_s=1.0)

Acked = Callable[[bytes, Sequence[bytes]], None]


class RedisSender:
    """`start` connects. `error` is the last trouble, `reconnects` how often it was overcome."""

    def __init__(self, place: ServerAddress, on_reconnect: Callable[[], None]) -> None:
        self._wire = Wire(place)
        self._delays = RetrySettings(delay_first_s=0.05, delay_max_s=place.settings.reconnect_s_max)
        self._on_reconnect = on_reconnect
        self._rng = random.Random()  # noqa: S311 - jitter
        self._sends: deque[_Send] = deque()
        self._under_way: list[_Send] = []
        self._acks: dict[tuple[bytes, str], tuple[list[bytes], Acked]] = {}
        self._acks_count = 0
        self._bell = asyncio.Event()
        self._ack_timer: asyncio.TimerHandle | None = None
        self._not_before = 0.0
        self._full_for = 0
        self._idle: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self.error = ""
        self.reconnects = 0

    @property
    def is_connected(self) -> bool:
        return self._wire.is_connected and self._task is not None and not self._task.done()

    async def start(self) -> None:
        """Connect. Raises `BackendError`."""
        await self._wire.connect()
        self._task = begin(self._run(), "redis outgoing", self._note)

    async def send(self, commands: Sequence[Command | Packed], size: int, timeout_s: float) -> None:
        """Carry commands out. Raises what the last attempt failed with when they were not within the time."""
        send = self._enqueue(commands, size)
        loop = asyncio.get_running_loop()
        timer = loop.call_later(timeout_s, self._expire, send, loop.time() + _REPLY_S)
        try:
            await send.done
        finally:
            # One that is under way is sent whole, but not again.
            send.is_withdrawn = True
            timer.cancel()
            if send.timer is not None:
                send.timer.cancel()

    def post(self, command: Command) -> None:
        """Carry a command out as soon as can be, however often that fails, as long as this lives."""
        # An error was noted already.
        self._enqueue([command], 0).done.add_done_callback(lambda sent: sent.cancelled() or sent.exception())

    def acknowledge(self, key: bytes, group: str, id: bytes, on_result: Acked) -> None:
        """Acknowledge an entry soon; `then` is called with those that are acknowledged."""
        acks = self._acks.get((key, group))
        if acks is None:
            acks = self._acks[key, group] = [], on_result
        acks[0].append(id)
        self._acks_count += 1
        if self._acks_count >= _ACKS_MAX:
            self._bell.set()
        elif self._ack_timer is None:
            self._ack_timer = asyncio.get_running_loop().call_later(_ACKS_AFTER_S, self._bell.set)

    async def close(self, drain_s: float) -> None:
        if self._task is None:
            return
        if self._sends or self._under_way or self._acks:
            self._idle = asyncio.get_running_loop().create_future()
            self._bell.set()
            await asyncio.wait([self._idle], timeout=drain_s)
        task, self._task = self._task, None
        left = [*self._under_way, *self._sends]
        task.cancel()
        await asyncio.wait([task])
        if self._ack_timer is not None:
            self._ack_timer.cancel()
        for send in left:
            send.fail(BackendUnavailable("redis", "the bus was closed before the server had taken it"))
        await self._wire.close()

    def _enqueue(self, commands: Sequence[Command | Packed], size: int) -> "_Send":
        send = _Send(commands, size)
        self._sends.append(send)
        self._bell.set()
        return send

    def _expire(self, send: "_Send", until: float) -> None:
        loop = asyncio.get_running_loop()
        if self.is_connected and send.error is None and loop.time() < until:
            send.timer = loop.call_at(until, self._expire, send, until)
            return
        why = send.error or BackendUnavailable(
            "redis", f"no reply in time{': ' if self.error else ''}{self.error.removeprefix('redis: ')}"
        )
        send.fail(why)

    async def _run(self) -> None:
        while True:
            await self._bell.wait()
            self._bell.clear()
            while self._has_work():
                if not self._wire.is_connected:
                    await self._reconnect()
                await self._round_trip()
            if self._idle is not None and not self._idle.done() and not self._sends and not self._acks:
                self._idle.set_result(None)

    def _has_work(self) -> bool:
        return bool(self._acks) or (bool(self._sends) and asyncio.get_running_loop().time() >= self._not_before)

    async def _reconnect(self) -> None:
        attempt = 0
        while True:
            try:
                await self._wire.connect()
            except BackendError as error:
                self._note(error)
                attempt += 1
                await asyncio.sleep(delay_s(attempt, self._delays, rng=self._rng))
            else:
                self.reconnects += 1
                self._on_reconnect()
                return

    async def _round_trip(self) -> None:
        acks, self._acks, self._acks_count = self._acks, {}, 0
        if self._ack_timer is not None:
            self._ack_timer.cancel()
            self._ack_timer = None
        sends = self._under_way = self._next_sends()
        commands: list[Command | Packed] = [("XACK", key, group, *ids) for (key, group), (ids, _) in acks.items()]
        for send in sends:
            commands += send.commands
        try:
            replies = await self._wire.call(*commands)
        except BackendError as error:
            self._note(error)
            self._give_back(sends, error)
            for (key, group), (ids, on_result) in acks.items():
                for id in ids:
                    self.acknowledge(key, group, id, on_result)
            return
        finally:
            self._under_way = []
        for (key, _), (ids, on_result) in acks.items():
            on_result(key, ids)
        self._settle(sends, replies[len(acks) :])

    def _next_sends(self) -> "list[_Send]":
        sends: list[_Send] = []
        if asyncio.get_running_loop().time() < self._not_before:
            return sends
        commands = size = 0
        while self._sends and (not sends or (commands < COMMANDS_MAX and size < _BYTES_MAX)):
            send = self._sends.popleft()
            if not send.is_withdrawn:
                sends.append(send)
                commands, size = commands + len(send.commands), size + send.size
        return sends

    def _settle(self, sends: "Sequence[_Send]", replies: Sequence[Any]) -> None:
        start, full = 0, []
        for send in sends:
            own_replies = replies[start : start + len(send.commands)]
            start += len(send.commands)
            failed = [n for n, reply in enumerate(own_replies) if isinstance(reply, RedisError)]
            if not failed:
                if not send.done.done():
                    send.done.set_result(None)
                continue
            error = meaning(own_replies[failed[0]])
            if error.retryable:
                send.commands = [send.commands[n] for n in failed]
                full.append(send)
            else:
                send.fail(error)
        self._full_for = self._full_for + 1 if full else 0
        if full:
            # The server takes nothing more now: try again a little later, and a little later still.
            loop, wait_s = asyncio.get_running_loop(), delay_s(self._full_for, _FULL, rng=self._rng)
            self._not_before = loop.time() + wait_s
            loop.call_later(wait_s, self._bell.set)
            refusal = meaning(next(reply for reply in replies if isinstance(reply, RedisError)))
            self._give_back(full, refusal)
            self._note(refusal)

    def _give_back(self, sends: "Sequence[_Send]", error: BackendError) -> None:
        for send in reversed(sends):
            send.error = error
            if not send.is_withdrawn:
                self._sends.appendleft(send)
        self._bell.set()

    def _note(self, error: object) -> None:
        self.error = str(error)


class _Send:
    """Commands that somebody waits for."""

    __slots__ = ("commands", "done", "error", "is_withdrawn", "size", "timer")

    def __init__(self, commands: Sequence[Command | Packed], size: int) -> None:
        self.commands, self.size = commands, size
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.error: BackendError | None = None
        self.is_withdrawn = False
        self.timer: asyncio.TimerHandle | None = None

    def fail(self, error: BackendError) -> None:
        self.is_withdrawn = True
        if not self.done.done():
            self.done.set_exception(error)
