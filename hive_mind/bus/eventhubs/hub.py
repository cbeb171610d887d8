"""One hub as this process uses it: for each partition a sender, and a reader once somebody reads there."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from hive_mind.bus.base import EVERYONE, BusSettings, Envelope
from hive_mind.bus.eventhubs.clients import BACKEND, Clients, Event, off_loop, translating
from hive_mind.bus.eventhubs.partition_sender import PartitionSender
from hive_mind.bus.eventhubs.reader import Bounds, Care, Listener, PartitionReader
from hive_mind.bus.eventhubs.state import partition_of
from hive_mind.errors import BackendUnavailable

L = TypeVar("L", bound=Listener)

# A sender looks at the clock itself; a thread that hangs in the SDK does not.
_GRACE_S = 1.0
_JOIN_S = 3.0


class Hub:
    """Belongs to an event loop. Opens its senders at once, in parallel and without being waited for."""

    def __init__(self, clients: Clients, settings: BusSettings, partitions: int, batch_bytes_max: int) -> None:
        self.partitions, self.batch_bytes_max = partitions, batch_bytes_max
        self._clients, self._timeout_s = clients, settings.connect_timeout_s
        self._care = Care(settings.watch_every_s, settings.reconnect_s_max)
        self._senders = [PartitionSender(clients, partition, batch_bytes_max) for partition in range(partitions)]
        self._readers: dict[int, PartitionReader] = {}

    @property
    def is_connected(self) -> bool:
        """Whether what is to be read is read, and what was sent last was accepted."""
        is_hearing = all(reader.is_hearing for reader in self._readers.values())
        return is_hearing and not any(sender.is_failing for sender in self._senders)

    @property
    def reconnects(self) -> int:
        """How often a partition was read anew after a failure."""
        return sum(reader.reconnects for reader in self._readers.values())

    @property
    def last_error(self) -> str:
        """ "" while nothing has failed."""
        errors = [reader.last_error for reader in self._readers.values()] + [sender.last_error for sender in self._senders]
        return next(filter(None, errors), "")

    def partition_of(self, name: str) -> int:
        return partition_of(name, self.partitions)

    def partitions_of(self, envelope: Envelope) -> Sequence[int]:
        """Where an envelope must go: once to each partition where one of its targets reads."""
        if envelope.target == EVERYONE:
            return range(self.partitions)
        return tuple(dict.fromkeys(map(self.partition_of, envelope.target)))

    def reader(self, partition: int) -> PartitionReader:
        if partition not in self._readers:
            self._readers[partition] = PartitionReader(self._clients, partition, self._senders[partition], self._care)
        return self._readers[partition]

    async def listen(self, partition: int, make: Callable[[Bounds], L]) -> L:
        """Read for a listener, made for the present content of the partition. Returns when something was heard."""
        reader, listener = self.reader(partition), None
        try:
            async with asyncio.timeout(self._timeout_s):
                listener = make(await reader.bounds())
                reader.add(listener)
                await reader.prove(self._timeout_s)
        except BaseException as error:
            if listener is not None:
                reader.remove(listener)
            if isinstance(error, TimeoutError):
                raise self._silent(partition) from error
            raise
        return listener

    async def send(self, events: Mapping[int, Sequence[Event]], timeout_s: float) -> None:
        """Send to some partitions at a time, and return when the broker has accepted all."""
        sends = [self._senders[partition].send(partition_events, timeout_s) for partition, partition_events in events.items()]
        try:
            if sends:
                await asyncio.wait(sends, timeout=timeout_s + _GRACE_S)
        finally:
            has_hung = [send.cancel() for send in sends]
        for error in [send.exception() for send in sends if not send.cancelled()]:
            if error is not None:
                raise error
        if any(has_hung):
            raise BackendUnavailable(BACKEND, f"the broker did not answer within {timeout_s:g} s; some may have been accepted")

    async def close(self) -> None:
        for sender in self._senders:
            sender.close()
        await asyncio.gather(*(reader.close(_JOIN_S) for reader in self._readers.values()))
        await asyncio.gather(*(off_loop(partial(sender.join, _JOIN_S), "join") for sender in self._senders))

    def _silent(self, partition: int) -> BackendUnavailable:
        reason = self._readers[partition].last_error or self._senders[partition].last_error or "the broker is silent"
        where = f"partition {partition} of {self._clients.place}"
        return BackendUnavailable(BACKEND, f"{where} could not be read within {self._timeout_s:g} s: {reason}")


async def opened(clients: Clients, settings: BusSettings) -> Hub:
    """Ask the hub what it is, with the right to read and the right to send."""
    # Both to their end, or a thread would outlive an error.
    partitions, batch_bytes = await asyncio.gather(
        off_loop(lambda: _partitions(clients), "properties"),
        off_loop(lambda: _batch_bytes(clients), "link"),
        return_exceptions=True,
    )
    if isinstance(partitions, BaseException):
        raise partitions
    if isinstance(batch_bytes, BaseException):
        raise batch_bytes
    return Hub(clients, settings, partitions, batch_bytes)


def _partitions(clients: Clients) -> int:
    client = clients.consumer()
    try:
        with translating():
            return len(client.get_eventhub_properties()["partition_ids"])
    finally:
        client.close()


def _batch_bytes(clients: Clients) -> int:
    client = clients.producer()
    try:
        with translating():
            return client.create_batch().max_size_in_bytes
    finally:
        client.close()
