"""The desk: where agents lay down what a person is to decide, and where people decide it. It stands on a ledger.

Asking twice asks once. The first decision counts, from any process; later ones are kept as comments.
Decisions are followed by position, so a waiting run resumes after a restart and misses nothing.

Which items are open now: kept in memory, and brought up to date by what was appended since.

Changes of the ledger by other tasks and processes are seen at the next look. An item that can't be read is logged and left out,
so that it does not hide the others.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from hive_mind.clocks import wall_clock_ms
from hive_mind.errors import DatabaseUnreadable, InvalidInput, WireError
from hive_mind.judge.items import (
    BY_RUN,
    COMMENTED,
    DECIDED,
    OPEN_MAX,
    OPENED,
    PREFIX,
    REOPENED,
    Decision,
    Item,
    ItemView,
    Reopening,
    check,
    entry_of,
    expired,
    folded,
    stream_of,
    value_of,
)
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.ledger import Ledger
from hive_mind.model.entry import Entry

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision that counts, and where the ledger has it."""

    pos: int
    decision: Decision


class LedgerDesk:
    """A desk over an open ledger, which stays its owner's."""

    def __init__(self, ledger: Ledger, clock_ms: Callable[[], int] = wall_clock_ms) -> None:
        self.ledger, self._clock_ms = ledger, clock_ms
        self._open = OpenItems(ledger)
        self._asking = asyncio.Lock()

    async def ask(self, item: Item) -> bool:
        """Lay an item down, once, however often it is asked: True when it is there, durable, open or decided.

        False where its agent has as many open items as it may; ask again later. Raises `InvalidInput` and what a ledger raises.
        """
        check(item)
        # Together, or each of many at once would find the last free place.
        async with self._asking:
            if await self.ledger.read(stream_of(item.id)):
                return True
            if sum(view.item.agent == item.agent for view in (await self._open.now()).values()) >= OPEN_MAX:
                return False
            # False is as good: another process asked the same.
            await self.ledger.append(stream_of(item.id), 0, [entry_of(item, item.opened_ms, OPENED)])
            return True

    async def open(self, kind: str = "", agent: str = "") -> list[ItemView]:
        """The waiting items, the oldest first; of one kind and one agent if they are given."""
        views = (await self._open.now()).values()
        item_views = [v for v in views if kind in ("", v.item.kind) and agent in ("", v.item.agent)]
        return sorted(item_views, key=lambda view: (view.item.opened_ms, view.item.id))

    async def view(self, item_id: str) -> ItemView | None:
        """One item with all that was said about it; None where there is none."""
        return folded(await self.ledger.read(stream_of(item_id)))

    async def ids(self) -> list[str]:
        """Every item there ever was, the one that changed last first."""
        heads = await self.ledger.heads(PREFIX)
        return [head.stream.removeprefix(PREFIX) for head in sorted(heads, key=lambda head: -head.pos)]

    async def decide(self, decision: Decision) -> bool:
        """True when this decision is the one that counts; False when somebody was first, and this is kept as a comment.

        Durable when it returns; saying the same twice changes nothing. Raises `InvalidInput` for an item that does not exist.
        """

        def kept(view: ItemView, _: Sequence[Entry]) -> Entry | None:
            kind = DECIDED if view.is_open else COMMENTED
            return None if view.knows(decision) else entry_of(decision, self._clock_ms(), kind)

        view = _there(await self._append(decision.item, kept), decision.item)
        return view.is_open or view.decision == decision

    async def withdraw(self, item_ids: Iterable[str], because: str) -> None:
        """Take back what nobody waits for any more; what is decided stays so."""
        for item_id in item_ids:
            view = await self.view(item_id)
            if view is not None and view.is_open:
                await self.decide(Decision(item=item_id, action=JudgmentAction.ESCALATE, by=BY_RUN, because=because))

    async def reopen(self, item_id: str, by: str, because: str = "") -> bool:
        """Let it be decided again. False where it is open already. A decision that has taken effect is not undone."""
        reopening = entry_of(Reopening(by=by, because=because), self._clock_ms(), REOPENED)
        view = await self._append(item_id, lambda view, _: None if view.is_open else reopening)
        return not _there(view, item_id).is_open

    async def mirror(self, item_id: str, entry: Entry) -> bool:
        """Take over what another desk keeps of an item, once, however often it comes. False: its agent has no room here now.

        Entries of an item that is not here have no effect. Raises `WireError` for what can't be read.
        """
        value = value_of(entry)
        if isinstance(value, Item):
            return await self.ask(value)

        def mirrored(view: ItemView, entries: Sequence[Entry]) -> Entry | None:
            is_there = view.knows(value) if isinstance(value, Decision) else view.is_open
            if is_there or any((seen_entry.body, seen_entry.at_ms) == (entry.body, entry.at_ms) for seen_entry in entries):
                return None
            kind = REOPENED if isinstance(value, Reopening) else DECIDED if view.is_open else COMMENTED
            return Entry(kind, entry.body, entry.at_ms)

        await self._append(item_id, mirrored)
        return True

    async def expire(self) -> list[Decision]:
        """Decide what nobody decided in time; what came of that. Never accepts anything."""
        now_ms = self._clock_ms()
        late = [decision for view in await self.open() if (decision := expired(view, now_ms))]
        return [decision for decision in late if await self.decide(decision)]

    async def decided(self, since_pos: int = 0) -> list[Decided]:
        """Every decision that counts behind a position, until now. An item that was reopened has several."""
        decisions_read: list[Decided] = []
        while (page := await self.ledger.newer(since_pos, PREFIX)).upto != since_pos:
            decisions_read += [decided for entry in page.entries if (decided := _decided(entry))]
            since_pos = page.upto
        return decisions_read

    async def decisions(self, since_pos: int = 0) -> AsyncIterator[Decided]:
        """Every decision that counts behind a position, and those to come, as they come. An item that is reopened has several."""
        async for entry in self.ledger.follow(since_pos, PREFIX):
            if decided := _decided(entry):
                yield decided

    async def _append(self, item_id: str, entry_for: Callable[[ItemView, Sequence[Entry]], Entry | None]) -> ItemView | None:
        """Append what follows from the item and its entries, as they are then, if anything does. The item as it was before."""
        stream = stream_of(item_id)
        while True:
            entries = await self.ledger.read(stream)
            view = folded(entries)
            entry = entry_for(view, entries) if view else None
            if entry is None or await self.ledger.append(stream, len(entries), [entry]):
                return view


def _decided(entry: Entry) -> Decided | None:
    value = value_of(entry) if entry.kind == DECIDED else None
    return Decided(entry.pos, value) if isinstance(value, Decision) else None


def _there(view: ItemView | None, item_id: str) -> ItemView:
    if view is None:
        raise InvalidInput(f"there is no item {item_id!r} on this desk; take an id from the list of what waits")
    return view


async def key_of(ledger: Ledger, stream: str, now_ms: int) -> str:
    """A secret of this ledger, kept in a stream, and made when it is asked for the first time."""
    if not (entries := await ledger.read(stream)):
        await ledger.append(stream, 0, [Entry("key", secrets.token_hex(16).encode(), now_ms)])
        entries = await ledger.read(stream)
    return entries[0].body.decode()


async def readable_view(ledger: Ledger, stream: str) -> ItemView | None:
    """The item of this stream; None where there is none. One that can't be read is logged and left out."""
    try:
        return folded(await ledger.read(stream))
    except (DatabaseUnreadable, WireError) as error:
        _log.error("an item is left out: %s", error)
        return None


class OpenItems:
    """Of one ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._views: dict[str, ItemView] = {}
        self._pos: int | None = None
        self._turn = asyncio.Lock()

    async def now(self) -> Mapping[str, ItemView]:
        """By stream. Good until the next call."""
        async with self._turn:
            pos = await self._begun() if self._pos is None else self._pos
            while (page := await self.ledger.newer(pos, PREFIX)).upto != pos:
                for entry in page.entries:
                    if entry.kind == DECIDED:
                        self._views.pop(entry.stream, None)
                    elif entry.kind in (OPENED, REOPENED):
                        await self._look_at(entry.stream)
                pos = page.upto
            self._pos = pos
            return self._views

    async def _begun(self) -> int:
        """Only streams that end open are read; the position until which that is known."""
        heads = await self.ledger.heads(PREFIX)
        for head in heads:
            if head.kind in (OPENED, REOPENED):
                await self._look_at(head.stream)
        return max((head.pos for head in heads), default=0)

    async def _look_at(self, stream: str) -> None:
        """As it is by now, which may be later than the entry that made us look: what came since is seen again, to no effect."""
        view = await readable_view(self.ledger, stream)
        if view is not None and view.is_open:
            self._views[stream] = view
