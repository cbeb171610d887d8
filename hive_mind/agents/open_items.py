"""Which items are open now: kept in memory, and brought up to date by what was appended since.

Whatever other tasks and processes do with the ledger is seen at the next look. An item that can't be read is logged and left out,
so that it does not hide the others.
"""

import asyncio
import logging
from collections.abc import Mapping

from hive_mind.errors import DatabaseUnreadable, WireError
from hive_mind.judge.items import DECIDED, OPENED, PREFIX, REOPENED, ItemView, folded
from hive_mind.ledger.base import Ledger
from hive_mind.model.entry import Entry

_log = logging.getLogger(__name__)


class OpenItems:
    """Of one ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._views: dict[str, ItemView] = {}
        self._pos: int | None = None
        self._turn = asyncio.Lock()

    async def now(self) -> Mapping[str, ItemView]:
        """By stream. Good until the next call."""
        async with self._turn:
            pos = await self._begun() if self._pos is None else self._pos
            while (page := await self._ledger.newer(pos, PREFIX)).upto != pos:
                for entry in page.entries:
                    await self._take(entry)
                pos = page.upto
            self._pos = pos
            return self._views

    async def _begun(self) -> int:
        """Only streams that end open are read; the position until which that is known."""
        heads = await self._ledger.heads(PREFIX)
        for head in heads:
            if head.kind in (OPENED, REOPENED):
                await self._look_at(head.stream)
        return max((head.pos for head in heads), default=0)

    async def _take(self, entry: Entry) -> None:
        if entry.kind == DECIDED:
            self._views.pop(entry.stream, None)
        elif entry.kind in (OPENED, REOPENED):
            await self._look_at(entry.stream)

    async def _look_at(self, stream: str) -> None:
        """As it is by now, which may be later than the entry that made us look: what came since is seen again, to no effect."""
        try:
            view = folded(await self._ledger.read(stream))
        except (DatabaseUnreadable, WireError) as error:
            _log.error("an item is left out: %s", error)
            return
        if view is not None and view.is_open:
            self._views[stream] = view
