"""Following a ledger: give the entries there page by page, then wait to be woken.

A follower that looked and found nothing must not miss an entry that came just then; so appends are counted, and no follower falls
asleep before it has seen the last one.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable

from hive_mind.errors import BackendUnavailable
from hive_mind.ledger.base import Page
from hive_mind.model.entry import Entry
from hive_mind.settling import settle


class Arrivals:
    """Tells followers that something was appended. `notify` and `end` may be called from any thread."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._waiting: set[asyncio.Future[None]] = set()
        self.count = 0
        self._is_over = False

    def notify(self) -> None:
        with self._turn:
            self.count += 1
            waiting, self._waiting = self._waiting, set()
        settle(waiting)

    def end(self) -> None:
        self._is_over = True
        self.notify()

    def are_over(self) -> bool:
        return self._is_over

    async def after(self, count: int, timeout_s: float | None) -> None:
        """Until there were more than `count`, or so much time has passed."""
        waiter = asyncio.get_running_loop().create_future()
        with self._turn:
            if self.count != count:
                return
            self._waiting.add(waiter)
        try:
            await asyncio.wait((waiter,), timeout=timeout_s)
        finally:
            with self._turn:
                self._waiting.discard(waiter)


async def followed(
    newer: Callable[[int], Awaitable[Page]], arrivals: Arrivals, since_pos: int, every_s: float | None
) -> AsyncIterator[Entry]:
    """All entries behind `since_pos`, and those to come. `every_s`: how often to look for what nobody tells of."""
    while not arrivals.are_over():
        count = arrivals.count
        try:
            page = await newer(since_pos)
        except BackendUnavailable:
            if arrivals.are_over():
                return
            raise
        for entry in page.entries:
            yield entry
        if page.upto == since_pos:
            await arrivals.after(count, every_s)
        since_pos = page.upto
