"""Notices: each item for which a run waits is sent to people, once, however often the process is killed.

A notice is sent first and noted then, in a stream of the item's name, so a kill between the two sends it again: it is marked with
the id of its item, and its recipient can tell. One that could not be sent is sent again as long as the item waits.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import msgspec

from hive_mind.agents.desk import LedgerDesk, key_of
from hive_mind.agents.replies import KEY, Reply, token_of, ways
from hive_mind.clocks import wall_clock_ms
from hive_mind.errors import BackendError
from hive_mind.judge.items import OPENED, REPLY_HOURS, ItemView
from hive_mind.judge.items import PREFIX as ITEMS
from hive_mind.ledger.base import Ledger
from hive_mind.model.entry import Entry

_log = logging.getLogger(__name__)

SENT = "notice/"
"""of the streams that say of an item that its notice was sent"""
KINDS = ("judgment", "tool", "question")
"""of the items that runs lay down"""
_AGAIN_S, _AGAIN_MAX_S = 5.0, 300.0

Deliver = Callable[[str, dict[str, Any]], Awaitable[None]]
"""gets the id and the notice as JSON; raises `BackendError` where nobody got it"""


class Notices:
    """Of one ledger, which stays its owner's. `link`: where replies are taken, up to the token; "" for nowhere."""

    def __init__(
        self,
        ledger: Ledger,
        deliver: Deliver,
        *,
        link: str = "",
        hours: float = REPLY_HOURS,
        clock_ms: Callable[[], int] = wall_clock_ms,
    ) -> None:
        self._ledger, self._deliver, self.link, self.hours, self._clock_ms = ledger, deliver, link, hours, clock_ms
        self._desk = LedgerDesk(ledger, clock_ms=clock_ms)
        self._turn = asyncio.Lock()

    async def send_due(self) -> int:
        """Send the notice of each item of a run that waits and has none; the number that could not be sent.

        Raises what a ledger raises.
        """
        async with self._turn:
            waiting = [view for view in await self._desk.open() if view.item.kind in KINDS]
            return sum([not await self._sent(view) for view in waiting if not await self._ledger.read(SENT + view.item.id)])

    async def _sent(self, view: ItemView) -> bool:
        try:
            await self._deliver(view.item.id, await self._notice(view))
        except BackendError as error:
            _log.warning("item %s waits, and its notice could not be sent; tried again: %s", view.item.id[:8], error)
            return False
        # False where another process has sent one, too.
        await self._ledger.append(SENT + view.item.id, 0, [Entry("sent", b"{}", self._clock_ms())])
        return True

    async def follow(self) -> None:
        """Tell of what waits, and of what will, until it is cancelled. Raises what a ledger raises."""
        since = max((head.pos for head in await self._ledger.heads("")), default=0)
        opened, again_s = asyncio.Event(), _AGAIN_S
        looking = asyncio.create_task(self._look(since, opened), name="items that are laid down")
        try:
            while not looking.done():
                opened.clear()
                failed = await self.send_due()
                again_s = min(again_s * 2, _AGAIN_MAX_S) if failed else _AGAIN_S
                with suppress(TimeoutError):
                    async with asyncio.timeout(again_s if failed else None):
                        await opened.wait()
            looking.result()
        finally:
            looking.cancel()
            await asyncio.wait([looking])

    async def _look(self, since: int, opened: asyncio.Event) -> None:
        try:
            async for entry in self._ledger.follow(since, ITEMS):
                if entry.kind == OPENED:
                    opened.set()
        finally:
            opened.set()

    async def _notice(self, view: ItemView) -> dict[str, Any]:
        item, expires_ms = view.item, self._clock_ms() + round(timedelta(hours=self.hours).total_seconds() * 1_000)
        notice = {
            "id": item.id,
            "kind": item.kind,
            "agent": item.agent,
            "run": item.subject.partition("/")[0],
            "title": item.title,
            "opened_ms": item.opened_ms,
            "context": dict(item.context),
            "signals": msgspec.to_builtins(item.signals),
        }
        if not self.link:
            return notice
        key = await key_of(self._ledger, KEY, self._clock_ms())
        tokens = {way: token_of(key, Reply(item.id, way, len(view.former), expires_ms)) for way in ways(item)}
        return {**notice, "expires_ms": expires_ms, "replies": {way: f"{self.link}/{token}" for way, token in tokens.items()}}
