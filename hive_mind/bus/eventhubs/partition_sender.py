"""Sending to one partition: a thread with a sender, and the queue in front of it.

Envelopes that wait together go out as one batch: many small publishers cost no more than one that sends many envelopes at a time.
An envelope that a busy broker refused, or that got lost with a connection, is sent again until nobody waits for it any more:
that can put it on the hub twice, and readers recognise it by its id.
"""

import asyncio
import random
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from azure.eventhub import EventData, EventDataBatch, EventHubProducerClient

from hive_mind.bus.eventhubs.clients import BACKEND, Clients, Event, Socket, pack, translated
from hive_mind.errors import BackendError, BackendUnavailable
from hive_mind.retry import RetrySettings, delay_s
from hive_mind.settling import Waiter, settle

# Event Hubs drops a connection that was silent for four minutes, and opening another costs the next message half a second. So a
# sender that nobody uses says something now and then; one that is used never does. One that failed tries sooner to be well.
_SILENT_S, _FAILED_S = 120.0, 1.0
# Jobs that go out together. More would make the first of them wait for its answer.
_TOGETHER_MAX = 500
_PAUSES = RetrySettings(delay_first_s=0.05, delay_max_s=2.0)


@dataclass(eq=False, slots=True)
class _Job:
    events: Sequence[Event]
    deadline: float
    waiter: asyncio.Future[None] | None
    error: BackendError | None = field(default=None)

    @property
    def is_wanted(self) -> bool:
        """Whether sending it makes sense: its publisher waits for it, and nothing of it failed."""
        return self.error is None and not (self.waiter is not None and self.waiter.done())


_STOP = _Job((), 0.0, None)


class PartitionSender:
    """Sends to one partition, in the order in which it was asked."""

    def __init__(self, clients: Clients, partition: int, batch_bytes_max: int) -> None:
        self.last_error, self.is_failing = "", False
        self._clients, self._partition, self._bytes_max = clients, str(partition), batch_bytes_max
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._socket = Socket()
        self._is_closing = threading.Event()
        self._rng = random.Random()  # noqa: S311 - keeps a fleet from trying again in step, hides nothing
        self._thread = threading.Thread(target=self._run, name=f"eventhubs send {partition}", daemon=True)
        self._thread.start()

    def send(self, events: Sequence[Event], timeout_s: float) -> asyncio.Future[None]:
        """Done when the broker has accepted all. A cancelled send leaves each event whole or unsent."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._jobs.put(_Job(events, time.monotonic() + timeout_s, waiter))
        return waiter

    def close(self) -> None:
        """Send nothing more; the thread ends soon."""
        self._is_closing.set()
        self._jobs.put(_STOP)

    def join(self, timeout_s: float) -> bool:
        """Wait for the thread; whether it ended."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _hello(self) -> _Job:
        return _Job((Event("", b""),), time.monotonic() + self._clients.timeout_s, None)

    # ── in the thread ────────────────────────────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        client = self._clients.producer()
        # Opens the sender before somebody waits for it.
        self._send(client, [self._hello()])
        while (jobs := self._next()) is not None:
            self._send(client, jobs)
        client.close()
        self._socket.close()

    def _next(self) -> list[_Job] | None:
        """Jobs that wait, at least one; None when it is time to end."""
        try:
            jobs = [self._jobs.get(timeout=_FAILED_S if self.is_failing else _SILENT_S)]
        except Empty:
            return [self._hello()]
        with suppress(Empty):
            while len(jobs) < _TOGETHER_MAX:
                jobs.append(self._jobs.get_nowait())
        if _STOP in jobs:
            _settle(jobs, BackendUnavailable(BACKEND, "the bus was closed before this was sent"))
            return None
        return jobs

    def _send(self, client: EventHubProducerClient, jobs: Sequence[_Job]) -> None:
        for batch, riders in self._batches(jobs):
            error = self._deliver(client, batch, riders)
            self.is_failing = error is not None and error.retryable
            self.last_error = str(error) if error is not None else self.last_error
            for job in riders:
                job.error = error
        _settle(jobs)

    def _batches(self, jobs: Sequence[_Job]) -> Iterable[tuple[EventDataBatch, list[_Job]]]:
        """As few batches as the link allows. Nothing follows of a job of which something failed."""
        batch, riders = self._batch(), list[_Job]()
        for job in jobs:
            for event in job.events if job.is_wanted else ():
                data = EventData(pack(event))
                try:
                    batch.add(data)
                except ValueError:
                    yield batch, riders
                    batch, riders = self._batch(), []
                    if not job.is_wanted:
                        break
                    batch.add(data)
                if not riders or riders[-1] is not job:
                    riders.append(job)
        if riders:
            yield batch, riders

    def _batch(self) -> EventDataBatch:
        return EventDataBatch(max_size_in_bytes=self._bytes_max, partition_id=self._partition)

    def _deliver(self, client: EventHubProducerClient, batch: EventDataBatch, riders: Sequence[_Job]) -> BackendError | None:
        """Send until it is accepted, or nobody waits, or it makes no sense. None: accepted."""
        error, attempt = BackendError(BACKEND, "not sent: no attempt was made"), 0
        while deadlines := [job.deadline for job in riders if job.is_wanted]:
            remaining_s = max(deadlines) - time.monotonic()
            if remaining_s <= 0 and attempt:
                break
            try:
                client.send_batch(batch, timeout=max(remaining_s, 0.1))
                self._socket.look(client._producers[self._partition])  # noqa: SLF001 - see `Socket`
            except Exception as failure:  # noqa: BLE001 - any error belongs to the publisher
                error, attempt = translated(failure), attempt + 1
                error.__cause__ = failure
            else:
                return None
            pause_s = delay_s(attempt, _PAUSES, rng=self._rng)
            is_awaited = any(job.waiter is not None for job in riders)
            if not (error.retryable and is_awaited) or pause_s > remaining_s or self._is_closing.wait(pause_s):
                break
        return error


def _settle(jobs: Sequence[_Job], error: BackendError | None = None) -> None:
    by_error: dict[BackendError | None, list[Waiter]] = {}
    for job in jobs:
        if job.waiter is not None:
            by_error.setdefault(job.error or error, []).append(job.waiter)
    for reason, waiters in by_error.items():
        settle(waiters, error=reason)
