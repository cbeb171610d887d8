"""One desk for a fleet: people decide there what any of its agents asks, and what they decide comes back to the agent.

Agent and desk have each a ledger. Each keeps up to where it has that of the other, and asks for what is newer when it begins;
from then on the other sends what is new. Nothing waits on the way: what a process did not keep before it was killed, it asks for
again, and both take over what is not there yet, so a page more does no harm. The bus is the way: machines have no other.

A ledger that begins anew, or was restored from a copy, gives positions again. So a position goes with a mark of the entry there;
where that is another now, or gone, everything is sent.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from hashlib import blake2b

import msgspec

from hive_mind.agents.desk import LedgerDesk, readable_view
from hive_mind.clocks import wall_clock_ms
from hive_mind.errors import BackendError, BackendUnavailable, HiveError, InvalidInput
from hive_mind.hive.effects import Delete, Put, Record
from hive_mind.hive.replication.reliable_channels import Act, IncomingMessage
from hive_mind.judge.items import COMMENTED, ITEM_MAX_BYTES, OPENED, PREFIX, Decision, Item, check, value_of
from hive_mind.judge.judgment import DeskConfig
from hive_mind.ledger import Ledger
from hive_mind.model.decoding import json_decoder, msgpack_decoder
from hive_mind.model.entry import Entry

_log = logging.getLogger(__name__)

KIND = "hive-mind.desk"
"""Kind of the application message."""
PEERS = "desk/"
"""of the streams that say where another agent is, and up to where its ledger is known here"""
_FORMER_KIND, _FORMER_TABLE = "hive-mind.item", "app.post"
"""Letters of earlier versions: what they say is asked for again."""

_AGAIN_S, _AGAIN_MAX_S = 1.0, 30.0
_SILENT_S = 4.0
"""An agent that is waited for as long as this is silent."""
_PAGES_MAX = 1_000


class Place(msgspec.Struct, frozen=True):
    """A position of a ledger, and the mark of its entry: "" where there is none, or an earlier version wrote it."""

    pos: int = 0
    mark: str = ""


_NOWHERE = Place()


def place_of(entry: Entry) -> Place:
    content = msgspec.msgpack.encode((entry.stream, entry.kind, entry.at_ms, entry.body))
    return Place(entry.pos, blake2b(content, digest_size=8).hexdigest())


class ItemEntry(msgspec.Struct, frozen=True):
    """An entry of the stream of an item, as the sender's ledger has it at `pos`."""

    item: str
    kind: str
    body: bytes
    at_ms: int
    pos: int

    @property
    def place(self) -> Place:
        return place_of(Entry(self.kind, self.body, self.at_ms, PREFIX + self.item, pos=self.pos))

    @property
    def entry(self) -> Entry:
        return Entry(self.kind, self.body, self.at_ms, stream=f"a page about item {self.item}")


class DeskPage(msgspec.Struct, frozen=True):
    """To agent `to`: what the ledger of `agent` has for it behind position `since`, until `upto` (0: nothing is said of that).

    `have`: up to where the sender has the ledger of `to`. `asks`: it wants all that is newer, because it knows nothing else.
    """

    to: str
    agent: str
    have: int
    asks: bool = False
    since: int = 0
    upto: int = 0
    entries: tuple[ItemEntry, ...] = ()
    have_mark: str = ""
    since_mark: str = ""
    upto_mark: str = ""


class Peer(msgspec.Struct, frozen=True):
    """The node of another agent, up to which entry its ledger is known here, and since when it does not answer (0: it does)."""

    node: str = ""
    have: int = 0
    silent_since_ms: int = 0
    mark: str = ""


Take = Callable[[DeskPage, str], None]
"""Takes a page and the node that sent it. May forget it."""
Tell = Callable[[Sequence[str], str, bytes], Awaitable[object]]
"""Durable when it returns, and reaches each node once: `Requests.tell`. Raises `HiveError`."""


class DeskPages:
    """Of one node: pages for the desks of its agents. `otherwise` takes any other message, `kept` is what a journal had."""

    def __init__(
        self, node: str, otherwise: Act, is_there: Callable[[str], bool], journal: Callable[[], Iterable[Put]] = tuple
    ) -> None:
        self.node, self.is_there = node, is_there
        self._otherwise, self._kept = otherwise, journal
        self._takers: dict[str, Take] = {}

    def write(self, message: IncomingMessage) -> Sequence[Record]:
        """The handler of `AppMessages`. Raises `InvalidInput` for what is no page though it says so."""
        if message.kind == KIND:
            # Nothing is believed of it but that it came.
            try:
                page = msgpack_decoder(DeskPage)(message.data)
                for part in page.entries:
                    if part.kind == COMMENTED:
                        raise InvalidInput(f"it has the unknown kind {part.kind!r}")
                    item_named, value = part.item, value_of(part.entry)
                    if isinstance(value, Item):
                        check(value)
                        item_named = value.id
                    elif isinstance(value, Decision):
                        item_named = value.item
                    if item_named != part.item:
                        raise InvalidInput(f"it is about item {part.item} and speaks of item {item_named}")
            except (msgspec.MsgspecError, HiveError) as error:
                raise InvalidInput(f"{message.sender} sent a page that can't be read: {error}") from None
            if take := self._takers.get(page.to):
                take(page, message.sender)
        elif message.kind != _FORMER_KIND:
            return self._otherwise(message)
        journal, self._kept = self._kept, tuple
        return [Delete(put.table, put.key) for put in journal() if put.table == _FORMER_TABLE]

    def bring_to(self, agent: str, take: Take | None) -> None:
        """From now on its pages go there; None: nowhere."""
        if take:
            self._takers[agent] = take
        else:
            self._takers.pop(agent, None)

    def hand_over(self, page: DeskPage) -> None:
        """From one agent of this node to another. Raises `BackendUnavailable` where that takes none now."""
        if (take := self._takers.get(page.to)) is None:
            raise BackendUnavailable(f"the desk of {page.to}", "it takes nothing now")
        take(page, self.node)


class DeskExchange:
    """Of one agent. `ledger` and `desk` stay their owner's. `run` it while the agent is there."""

    def __init__(self, agent: str, at: DeskConfig, ledger: Ledger, desk: LedgerDesk, pages: DeskPages, tell: Tell) -> None:
        self._agent, self._at, self._ledger, self._desk, self._pages, self._tell = agent, at, ledger, desk, pages, tell
        self._is_desk = at.agent == agent
        self._inbox: asyncio.Queue[tuple[DeskPage, str]] = asyncio.Queue(_PAGES_MAX)
        self._peers: dict[str, Peer] = {}
        # Up to where each agent that listens was sent this ledger.
        self._sent: dict[str, Place] = {}
        # Agents that have not answered: when each is to be asked, how long to wait then, and how long was waited so far.
        self._unheard: dict[str, tuple[float, float, float]] = {}
        self._turn = asyncio.Lock()

    async def run(self) -> None:
        """Ask for what is new, take it, and send what is new here. Until it is cancelled; raises what a ledger raises."""
        self._peers = await peers_of(self._ledger)
        if not self._is_desk:
            desk = self._peers.get(self._at.agent, Peer())
            self._peers = {self._at.agent: msgspec.structs.replace(desk, node=self._at.node)}
        self._sent = {}
        for agent in self._peers:
            self._ask_again(agent)
        self._pages.bring_to(self._agent, self._receive)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._ask())
                tasks.create_task(self._take_pages())
                tasks.create_task(self._send_news(await self._end()))
        finally:
            self._pages.bring_to(self._agent, None)

    async def _ask(self) -> None:
        """Each that has not answered, later and later: it may be starting, or its node be away."""
        while True:
            now_s = asyncio.get_running_loop().time()
            async with self._turn:
                for agent, (due_s, pause_s, waited_s) in list(self._unheard.items()):
                    if agent in self._peers and due_s <= now_s:
                        self._unheard[agent] = now_s + pause_s, min(2 * pause_s, _AGAIN_MAX_S), waited_s + pause_s
                        if waited_s >= _SILENT_S and not (peer := self._peers[agent]).silent_since_ms:
                            since_ms = wall_clock_ms() - round(1_000 * waited_s)
                            await self._note(agent, msgspec.structs.replace(peer, silent_since_ms=since_ms))
                        await self._send(agent, asks=True)
            await asyncio.sleep(_AGAIN_S)

    def _ask_again(self, agent: str) -> None:
        waited_s = self._unheard[agent][2] if agent in self._unheard else 0.0
        self._unheard[agent] = 0.0, _AGAIN_S, waited_s

    def _receive(self, page: DeskPage, sender: str) -> None:
        try:
            self._inbox.put_nowait((page, sender))
        except asyncio.QueueFull:
            self._ask_again(page.agent)

    async def _take_pages(self) -> None:
        while True:
            page, sender = await self._inbox.get()
            async with self._turn:
                try:
                    await self._take(page, sender)
                except HiveError as error:
                    _log.warning("agent %s could not store what %s said, and asks again: %s", self._agent, page.agent, error)
                    self._ask_again(page.agent)

    async def _take(self, page: DeskPage, sender: str) -> None:
        peer = self._peers.get(page.agent, Peer())
        if not self._may_write(page, sender, peer):
            _log.warning("agent %s: node %s may not say anything at its desk as agent %s", self._agent, sender, page.agent)
            return
        if not page.asks:
            self._unheard.pop(page.agent, None)
        # In memory first: where the ledger fails it is asked again.
        self._peers[page.agent] = msgspec.structs.replace(peer, node=sender)
        have = Place(peer.have, peer.mark)
        # An earlier version sends no marks.
        if page.since and (page.since != have.pos or page.since_mark not in ("", have.mark)):
            self._ask_again(page.agent)
        elif page.upto:
            have = await self._taken(page, sender)
        heard = Peer(sender, have.pos, mark=have.mark)
        if heard != peer:
            await self._note(page.agent, heard)
        if page.asks or page.agent not in self._sent:
            await self._send_since(page.agent, Place(page.have, page.have_mark), is_due=page.asks)

    async def _taken(self, page: DeskPage, sender: str) -> Place:
        """Take its entries over; up to where there was room. Those that have no business here are dropped, and logged."""
        owner, upto = page.agent if self._is_desk else self._agent, Place(page.since, page.since_mark)
        for part in page.entries:
            if not await self._is_about(part, owner):
                _log.warning("agent %s: node %s may not say anything about item %s here", self._agent, sender, part.item)
            elif not await self._desk.mirror(part.item, part.entry):
                self._ask_again(page.agent)
                return upto
            upto = part.place
        return Place(page.upto, page.upto_mark)

    def _may_write(self, page: DeskPage, sender: str, peer: Peer) -> bool:
        if not self._is_desk:
            return (page.agent, sender) == (self._at.agent, self._at.node)
        # An agent that moved asks from where it is now.
        return page.agent != self._agent and (page.asks or sender == peer.node)

    async def _is_about(self, part: ItemEntry, owner: str) -> bool:
        """Whether it says something of an item of this agent that may be said here: only a desk is asked anything."""
        if isinstance(item := value_of(part.entry), Item):
            return self._is_desk and item.agent == owner
        view = await self._desk.view(part.item)
        return view is None or view.item.agent == owner

    async def _note(self, agent: str, peer: Peer) -> None:
        stream = PEERS + agent
        # The time tells it from what the same ledger, begun anew, may have at this position.
        entries = [Entry("peer", msgspec.json.encode(peer), wall_clock_ms())]
        if not await self._ledger.append(stream, len(await self._ledger.read(stream)), entries):
            raise BackendError("ledger", f"another process takes what is said at the desk of {self._agent}")
        self._peers[agent] = peer

    async def _send_news(self, pos: int) -> None:
        async for entry in self._ledger.follow(pos, PREFIX):
            async with self._turn:
                to = await self._listener(entry)
                if (since := self._sent.get(to)) and since.pos < entry.pos:
                    await self._send(to, since=since, upto=place_of(entry), entries=[entry])

    async def _send_since(self, agent: str, have: Place, *, is_due: bool) -> None:
        """Send all that is new to an agent, in pages; one at least where it is due."""
        since = have if have.mark and have == await self._place(have.pos) else _NOWHERE
        pos, entries = since.pos, list[Entry]()
        while (newer := await self._ledger.newer(pos, PREFIX)).upto != pos:
            for entry in newer.entries:
                if await self._listener(entry, is_first=not have.pos) != agent:
                    continue
                if entries and sum(len(part.body) for part in entries) + len(entry.body) > ITEM_MAX_BYTES:
                    upto = place_of(entries[-1])
                    await self._send(agent, since=since, upto=upto, entries=entries)
                    since, entries = upto, []
                entries.append(entry)
            pos = newer.upto
        self._sent[agent] = upto = await self._place(pos)
        if entries or is_due:
            await self._send(agent, since=since, upto=upto, entries=entries)

    async def _place(self, pos: int) -> Place:
        entries = (await self._ledger.newer(pos - 1)).entries if pos > 0 else ()
        return place_of(entries[0]) if entries and entries[0].pos == pos else Place(pos)

    async def _listener(self, entry: Entry, *, is_first: bool = False) -> str:
        """The agent to which it is sent, "" for none. To a desk that is new only what waits is news."""
        if entry.kind == COMMENTED or (entry.kind == OPENED and self._is_desk):
            return ""
        view = await readable_view(self._ledger, entry.stream)
        if view is None or (view.item.agent == self._agent) == self._is_desk:
            return ""
        if self._is_desk:
            return view.item.agent
        return "" if is_first and not view.is_open else self._at.agent

    async def _send(
        self, agent: str, *, asks: bool = False, since: Place = _NOWHERE, upto: Place = _NOWHERE, entries: Sequence[Entry] = ()
    ) -> None:
        """Where it can't be sent, the agent is asked again, and says then up to where it has everything."""
        peer = self._peers[agent]
        parts = tuple(ItemEntry(e.stream.removeprefix(PREFIX), e.kind, e.body, e.at_ms, e.pos) for e in entries)
        marks = peer.mark, since.mark, upto.mark
        page = DeskPage(agent, self._agent, peer.have, asks, since.pos, upto.pos, parts, *marks)
        try:
            if peer.node == self._pages.node:
                self._pages.hand_over(page)
            elif self._pages.is_there(peer.node):
                await self._tell((peer.node,), KIND, msgspec.msgpack.encode(page))
            else:
                raise BackendUnavailable(f"the desk of {agent}", f"node {peer.node} is away")
        except BackendError as error:
            _log.info("agent %s: what is said of items of %s is sent later: %s", self._agent, agent, error)
            self._sent.pop(agent, None)
            self._ask_again(agent)
        else:
            if asks:
                self._sent.pop(agent, None)
            else:
                self._sent[agent] = upto

    async def _end(self) -> int:
        return max((head.pos for head in await self._ledger.heads("")), default=0)


async def peers_of(ledger: Ledger) -> dict[str, Peer]:
    """The agents with which the owner of this ledger exchanges items. Raises what a ledger raises."""
    streams = [head.stream for head in await ledger.heads(PEERS)]
    return {stream.removeprefix(PEERS): json_decoder(Peer)((await ledger.read(stream))[-1].body) for stream in streams}
