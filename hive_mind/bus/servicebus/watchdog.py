"""Makes sure from time to time that subscriptions still hear, and keeps the sender's connection from falling asleep.

A link can look sound and be dead: then nothing fails, nothing comes. Two pings in a row that nobody hears, and the reader
connects anew.
"""

import asyncio
import logging
import random
import secrets
from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary

from hive_mind.bus.servicebus.account import end
from hive_mind.bus.servicebus.inbox import ServiceBusInbox
from hive_mind.bus.servicebus.messages import ping_of
from hive_mind.bus.servicebus.outgoing import TopicSender
from hive_mind.errors import BackendError

_log = logging.getLogger(__name__)

_MISSES_MAX = 2
# An answer takes milliseconds.
_PATIENCE_S = 5.0
# Nobody has this target, so the ping is gone as soon as it is accepted.
_NOBODY = "-"


class Watchdog:
    """Looks at what `inboxes` gives, every `every_s`."""

    def __init__(self, outgoing: TopicSender, inboxes: Callable[[], Sequence[ServiceBusInbox]], every_s: float) -> None:
        self._outgoing, self._inboxes, self._every_s = outgoing, inboxes, every_s
        self._misses: WeakKeyDictionary[ServiceBusInbox, int] = WeakKeyDictionary()
        self._rng = random.Random()  # noqa: S311 - jitter
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="servicebus watchdog")

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            await end(task)

    async def _run(self) -> None:
        while True:
            # Members that started together don't ping together for ever.
            await asyncio.sleep(self._every_s * self._rng.uniform(0.8, 1.2))
            await self._look()

    async def _look(self) -> None:
        boxes = [box for box in self._inboxes() if box.can_receive]
        if boxes:
            await asyncio.gather(*(self._examine(box) for box in boxes))
        else:
            await self._keep_awake()

    async def _examine(self, box: ServiceBusInbox) -> None:
        try:
            is_alive = await box.probe(min(_PATIENCE_S, self._every_s))
        except BackendError:
            # Nothing could be sent: that says nothing about hearing, and the sender sees to itself.
            return
        self._misses[box] = 0 if is_alive or not box.can_receive else self._misses.get(box, 0) + 1
        if self._misses[box] >= _MISSES_MAX:
            self._misses[box] = 0
            _log.warning("subscription %s did not receive %d pings: reconnecting", box.path, _MISSES_MAX)
            await box.reader.reconnect()

    async def _keep_awake(self) -> None:
        try:
            await self._outgoing.publish([ping_of(_NOBODY, secrets.token_hex(8))], _PATIENCE_S)
        except BackendError as error:
            _log.debug("the topic can't be reached: %s", error)
