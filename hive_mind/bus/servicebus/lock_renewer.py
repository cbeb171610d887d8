"""Renews locks of one subscription, over a connection of its own.

The SDK reads and writes under one lock per connection, so a renewal on the reader's would wait for its next message. A link that
is only used for management is never given credit, so nothing is delivered to it.
"""

import asyncio

from azure.servicebus import ServiceBusReceivedMessage
from azure.servicebus.aio import ServiceBusReceiver
from azure.servicebus.exceptions import MessageLockLostError

from hive_mind.bus.servicebus.account import Account, Line
from hive_mind.bus.servicebus.errors import translated

# Of one request; an answer takes milliseconds.
_REQUEST_S = 10.0


class LockRenewer:
    """Connects when first asked, and again after a failure."""

    def __init__(self, account: Account, subscription: str) -> None:
        self._account, self._subscription = account, subscription
        self._line: Line[ServiceBusReceiver] | None = None
        self._lock = asyncio.Lock()

    async def renew(self, message: ServiceBusReceivedMessage) -> bool:
        """Keep a lock for another while; False when it is gone. Raises `BackendError`."""
        async with self._lock:
            try:
                async with asyncio.timeout(_REQUEST_S):
                    await (await self._link()).renew_message_lock(message)
            except MessageLockLostError:
                return False
            except Exception as error:
                await self.close()
                raise translated(error, f"subscription {self._subscription!r}") from error
            return True

    async def close(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            await line.close()

    async def _link(self) -> ServiceBusReceiver:
        if self._line is None:
            self._line = self._account.from_subscription(self._subscription)
            await self._line.open()
        return self._line.link
