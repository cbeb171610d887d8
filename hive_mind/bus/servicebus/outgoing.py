"""Traffic to a topic: envelopes of all publishers of a bus, in their order, in as few batches as can be.

One task owns the sender, because the SDK's clients can't be shared by tasks, and because a send that was begun must not be
cancelled half way. Messages that wait while a batch is under way go with the next one. After a failure the rest is sent again
under the same message ids; duplicate detection, or the reader's memory of ids, drops those that had arrived.
"""

import asyncio
import random
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import ServiceBusSender
from azure.servicebus.exceptions import MessageSizeExceededError

from hive_mind.bus.servicebus.account import NAME, Account, Line, end, translated
from hive_mind.errors import BackendError, BackendThrottled, BackendUnavailable
from hive_mind.retry import RetrySettings, delay_s

# A batch ends here or at the broker's limit. Larger ones make the next publisher wait.
_BATCH_MESSAGES_MAX = 200
# An answer takes milliseconds; a peer that takes this long is gone.
_ATTEMPT_S = 10.0
# A publisher that gives less time than an answer takes is given this while the connection stands.
_ANSWER_S = 2.0
# Properties and framing of a message beside its body.
_OVERHEAD_BYTES = 4096


class Job:
    """A publisher's messages."""

    __slots__ = ("_left", "done", "has_begun", "is_in_part")

    def __init__(self, messages: int) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._left = messages
        self.has_begun = False
        """Whether something of it may be on the broker."""
        self.is_in_part = False
        """Whether something of it is on the broker for certain."""

    @property
    def is_wanted(self) -> bool:
        """A job given up before any of it was sent is not sent; one begun is brought to its end."""
        return self.has_begun or not self.done.done()

    def accept_one(self) -> None:
        self._left -= 1
        self.is_in_part = True
        if not self._left and not self.done.done():
            self.done.set_result(None)

    def give_up(self) -> bool:
        """Nobody waits for it any more; whether that is before it was decided."""
        if self.done.cancel():
            return True
        # Seen, also where the publisher was cancelled meanwhile.
        self.done.exception()
        return False

    def fail(self, error: BackendError) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class TopicSender:
    """`open` connects. `error` is the last trouble, `reconnects` how often it was overcome."""

    def __init__(self, account: Account, reconnect_s_max: float) -> None:
        self._account = account
        self._delays = RetrySettings(delay_first_s=0.1, delay_max_s=reconnect_s_max)
        self._rng = random.Random()  # noqa: S311 - jitter
        self._waiting: deque[tuple[Job, ServiceBusMessage]] = deque()
        self._bell = asyncio.Event()
        self._line: Line[ServiceBusSender] | None = None
        self._task: asyncio.Task[None] | None = None
        self._failures = 0
        self._trouble: BackendError | None = None
        self._error = ""
        self._idle: asyncio.Future[None] | None = None
        self.message_bytes_max = 0
        """Of a body; known once it is open."""
        self.reconnects = 0

    @property
    def is_connected(self) -> bool:
        return self._line is not None

    @property
    def error(self) -> str:
        return self._error

    async def open(self) -> None:
        """Connect. Raises `BackendError`."""
        await self._connect()
        self._task = asyncio.create_task(self._run(), name="servicebus outgoing")

    async def publish(self, messages: Sequence[ServiceBusMessage], timeout_s: float) -> None:
        """Return when the broker has them all. Raises what the last attempt failed with when that takes too long."""
        job = Job(len(messages))
        self._waiting.extend((job, message) for message in messages)
        self._bell.set()
        try:
            await asyncio.wait([job.done], timeout=timeout_s)
            if not job.done.done() and self.is_connected and self._trouble is None and timeout_s < _ANSWER_S:
                await asyncio.wait([job.done], timeout=_ANSWER_S - timeout_s)
        finally:
            is_late = job.give_up()
        if is_late:
            raise self._lateness(job, timeout_s)
        job.done.result()

    async def close(self, drain_s: float) -> None:
        if self._task is None:
            return
        if self._waiting:
            self._idle = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._idle], timeout=drain_s)
        task, self._task = self._task, None
        await end(task)
        for job, _ in self._waiting:
            job.fail(BackendUnavailable(NAME, "the bus was closed before this was sent"))
        self._waiting.clear()
        await self._hang_up()

    async def _run(self) -> None:
        while True:
            if self._line is None:
                await self._reconnect()
            elif self._waiting:
                parts: deque[tuple[Job, ServiceBusMessage]] = deque()
                while self._waiting and len(parts) < _BATCH_MESSAGES_MAX:
                    job, message = self._waiting.popleft()
                    if job.is_wanted:
                        job.has_begun = True
                        parts.append((job, message))
                try:
                    await self._send(self._line.link, parts)
                except Exception as error:  # noqa: BLE001 - the SDK raises whatever its sockets do
                    await self._deal_with(translated(error, f"topic {self._account.topic!r}"), parts)
                else:
                    self._failures, self._trouble = 0, None
            else:
                if self._idle is not None and not self._idle.done():
                    self._idle.set_result(None)
                self._bell.clear()
                await self._bell.wait()

    async def _reconnect(self) -> None:
        await self._pause()
        # While nothing is sent, abandoned jobs must not pile up.
        self._waiting = deque(part for part in self._waiting if part[0].is_wanted)
        try:
            await self._connect()
        except BackendError as error:
            self._note(error)
            if not error.retryable:
                for job, _ in self._waiting:
                    job.fail(error)
                self._waiting.clear()
        else:
            self.reconnects += 1

    async def _send(self, sender: ServiceBusSender, parts: deque[tuple[Job, ServiceBusMessage]]) -> None:
        """Accepted messages leave `parts`."""
        while parts:
            if len(parts) == 1:
                count = 1
                await sender.send_messages(parts[0][1], timeout=_ATTEMPT_S)
            else:
                batch = await sender.create_message_batch()
                with suppress(MessageSizeExceededError):
                    for _, message in parts:
                        batch.add_message(message)
                count = len(batch)
                await sender.send_messages(batch if count > 1 else parts[0][1], timeout=_ATTEMPT_S)
            for _ in range(max(count, 1)):
                parts.popleft()[0].accept_one()

    async def _deal_with(self, error: BackendError, parts: deque[tuple[Job, ServiceBusMessage]]) -> None:
        self._note(error)
        if error.retryable:
            self._waiting.extendleft(reversed(parts))
        else:
            for job, _ in parts:
                job.fail(error)
        if isinstance(error, BackendThrottled):
            # It was refused as a whole, so nobody need be in doubt.
            for job, _ in parts:
                job.has_begun = job.is_in_part
            await self._pause()
        else:
            await self._hang_up()

    async def _pause(self) -> None:
        """Wait the longer, the more attempts failed one after another."""
        if self._failures:
            await asyncio.sleep(delay_s(self._failures, self._delays, rng=self._rng))

    async def _connect(self) -> None:
        line = self._account.to_topic()
        try:
            async with asyncio.timeout(_ATTEMPT_S):
                batch = await (await line.open()).create_message_batch()
        except BaseException as error:
            await line.close()
            if not isinstance(error, Exception):
                raise
            raise translated(error, f"topic {self._account.topic!r} at {self._account.host}") from error
        self.message_bytes_max = batch.max_size_in_bytes - _OVERHEAD_BYTES
        self._line = line

    async def _hang_up(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            await line.close()

    def _lateness(self, job: Job, timeout_s: float) -> BackendError:
        if isinstance(self._trouble, BackendThrottled):
            return BackendThrottled(NAME, str(self._trouble).removeprefix(f"{NAME}: "), self._trouble.retry_after_s)
        doubt = "it may have arrived all the same: publish it again as it is" if job.has_begun else "nothing was sent"
        why = f" ({str(self._trouble).removeprefix(f'{NAME}: ')})" if self._trouble else ""
        return BackendUnavailable(NAME, f"not accepted within {timeout_s:g} s{why}; {doubt}")

    def _note(self, error: BackendError) -> None:
        self._failures += 1
        self._trouble, self._error = error, str(error)
