"""One desk for a fleet: what an agent asks of people lies there, too, and what is decided there comes back to the agent.

Agent and desk have each a ledger. Each sends the other, as a letter, every entry of an item that it should have: the agent
those of its own items, the desk those of everybody else's. Both take over what is not there yet, so a letter more does no harm,
and none is missing: how far a ledger was sent is kept in it. A letter that one agent can't take now waits, and keeps nobody else
waiting: from where it is to be sent again is kept, too. An agent that moved says so and is sent everything again, as all are by a
desk that moved: letters on their way to where they were are lost.
"""

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from typing import Protocol

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.post import KIND, DeskLetter, Post, packed
from hive_mind.errors import BackendError
from hive_mind.judge.items import COMMENTED, DECIDED, OPENED, PREFIX, ItemView, item_of
from hive_mind.judge.judge_settings import DeskConfig
from hive_mind.ledger.base import Ledger
from hive_mind.model.entry import Entry

_log = logging.getLogger(__name__)

_SENT, _FROM, _LATE = "post/sent/", "post/from/", "post/late/"
_PLACE = "post/place"
_AGAIN_S = 1.0
_KEPT_EVERY = 1_000


class Tell(Protocol):
    """Durable when it returns, and reaches each node once: `Requests.tell`."""

    def __call__(self, to: Sequence[str], kind: str, data: bytes) -> Awaitable[object]:
        """Raises `HiveError`."""
        ...


class DeskMail:
    """The messages of one agent's desk, both ways. `ledger` and `desk` stay their owner's. `run` it while the agent is there."""

    def __init__(self, agent: str, at: DeskConfig, ledger: Ledger, desk: LedgerDesk, post: Post, tell: Tell) -> None:
        self._agent, self._at, self._ledger, self._desk, self._post, self._tell = agent, at, ledger, desk, post, tell
        self._nodes: dict[str, str] = {}
        # Agents whose items could not be sent, and behind which position.
        self._late: dict[str, int] = {}
        self._sending = asyncio.Lock()

    async def run(self) -> None:
        """Send what is said of items, from where the last process stopped, and take letters. Until it is cancelled."""
        self._post.bring_to(self._agent, self.receive)
        for head in await self._ledger.heads(_LATE):
            await self._load_late(head.stream)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._announce())
            tasks.create_task(self._send_all())
            tasks.create_task(self._send_late())

    async def _announce(self) -> None:
        """Say at the desk where this agent is, if that is new; and what waits, which the desk may have told it where it was."""
        place = f"{self._at.agent}\n{self._post.node}".encode()
        known = await self._ledger.read(_PLACE)
        if known and known[-1].body == place:
            return
        if known:
            is_same_desk = known[-1].body.partition(b"\n")[0] == self._at.agent.encode()
            views = [view for view in await self._latest() if view.item.agent == self._agent]
            # To a desk that knows nothing of it an item that is decided would be one to decide.
            for view in [view for view in views if view.is_open] or views[: int(is_same_desk)]:
                await self._say(view)
            for head in await self._ledger.heads(_FROM) if self._at.agent == self._agent else ():
                async with self._sending:
                    await self._note_late(head.stream.removeprefix(_FROM), 0)
        await self._ledger.append(_PLACE, len(known), [Entry("place", place, 0)])

    async def _latest(self) -> list[ItemView]:
        heads = sorted(await self._ledger.heads(PREFIX), key=lambda head: -head.pos)
        views = [await self._desk.view(head.stream.removeprefix(PREFIX)) for head in heads]
        return [view for view in views if view is not None]

    async def _say(self, view: ItemView) -> None:
        """Until the desk takes it."""
        opened = (await self._ledger.read(PREFIX + view.item.id))[0]
        while True:
            with suppress(BackendError):
                await self._send_to_other(view, opened)
                return
            await asyncio.sleep(_AGAIN_S)

    async def _send_all(self) -> None:
        stream = f"{_SENT}{self._at.agent}@{self._at.node}/{self._post.node}"
        kept = await self._ledger.read(stream)
        pos = int(kept[-1].body) if kept else 0
        # To a desk that is new only what waits is news.
        old = 0 if kept else await self._end()
        seq, seen = len(kept), 0
        async for entry in self._ledger.follow(pos, PREFIX):
            is_sent = await self._send(entry, is_old=entry.pos <= old)
            seen += 1
            if is_sent or seen >= _KEPT_EVERY:
                await self._ledger.append(stream, seq, [Entry("sent", str(entry.pos).encode(), entry.at_ms)])
                seq, seen = seq + 1, 0

    async def receive(self, letter: DeskLetter) -> bool:
        """Take a letter over; False where there is no room for the item now. One that has no business here is dropped, and
        logged.
        """
        if not await self._is_welcome(letter):
            _log.warning("agent %s: node %s may not say anything about item %s here", self._agent, letter.sender, letter.item)
            return True
        if not await self._desk.mirror(letter.item, letter.entry):
            return False
        if letter.kind == OPENED:
            # Its agent may have missed what was decided, while it moved.
            await self._send_decision(letter.item)
        return True

    async def _end(self) -> int:
        return max((head.pos for head in await self._ledger.heads(PREFIX)), default=0)

    async def _send(self, entry: Entry, *, is_old: bool) -> bool:
        if entry.kind == COMMENTED:
            return False
        item_id = entry.stream.removeprefix(PREFIX)
        view = await self._desk.view(item_id)
        if view is None or (is_old and not view.is_open):
            return False
        if entry.kind == OPENED and view.item.agent != self._agent:
            # It came from there.
            return False
        async with self._sending:
            if view.item.agent in self._late:
                return False
            try:
                return await self._send_to_other(view, entry)
            except BackendError as error:
                _log.warning("agent %s: what is said of items of %s is sent later: %s", self._agent, view.item.agent, error)
                await self._note_late(view.item.agent, entry.pos - 1)
                return False

    async def _send_late(self) -> None:
        """Until it is taken: an agent may be starting, a desk full, a node away."""
        while True:
            await asyncio.sleep(_AGAIN_S)
            for agent in list(self._late):
                # Nothing may be left to that follows while it is found that nothing is.
                async with self._sending:
                    with suppress(BackendError):
                        await self._send_since(agent, self._late[agent])
                        await self._note_late(agent, None)

    async def _send_since(self, agent: str, pos: int) -> None:
        while (page := await self._ledger.newer(pos, PREFIX)).upto != pos:
            for entry in page.entries:
                view = await self._desk.view(entry.stream.removeprefix(PREFIX))
                is_theirs = view is not None and view.item.agent == agent
                if view and is_theirs and entry.kind != COMMENTED and (entry.kind != OPENED or agent == self._agent):
                    try:
                        await self._send_to_other(view, entry)
                    except BackendError:
                        await self._note_late(agent, entry.pos - 1)
                        raise
            pos = page.upto

    async def _note_late(self, agent: str, pos: int | None) -> None:
        if self._late.get(agent) == pos:
            return
        stream, body = _LATE + agent, b"" if pos is None else str(pos).encode()
        if not await self._ledger.append(stream, len(await self._ledger.read(stream)), [Entry("late", body, 0)]):
            raise BackendError("ledger", f"another process sends what is said at the desk of {self._agent}")
        await self._load_late(stream)

    async def _load_late(self, stream: str) -> None:
        body, agent = (await self._ledger.read(stream))[-1].body, stream.removeprefix(_LATE)
        self._late.pop(agent, None)
        if body:
            self._late[agent] = int(body)

    async def _send_decision(self, item_id: str) -> None:
        entries = await self._ledger.read(PREFIX + item_id)
        view = await self._desk.view(item_id)
        decided = [entry for entry in entries if entry.kind == DECIDED]
        if view is not None and not view.is_open and decided:
            await self._send_to_other(view, decided[-1])

    async def _send_to_other(self, view: ItemView, entry: Entry) -> bool:
        is_own = view.item.agent == self._agent
        if is_own == (self._at.agent == self._agent):
            # Items of the desk's own agent stay; so do those of others at an agent that is no longer the desk.
            return False
        to, node = (self._at.agent, self._at.node) if is_own else (view.item.agent, await self._node_of(view.item.agent))
        letter = DeskLetter(to, view.item.id, entry.kind, entry.body, entry.at_ms)
        if node == self._post.node:
            await self._post.hand_over(letter)
        elif node:
            await self._tell((node,), KIND, packed(letter))
        return True

    async def _is_welcome(self, letter: DeskLetter) -> bool:
        if self._at.agent != self._agent:
            # Entries here about its own items come only from the desk.
            view = await self._desk.view(letter.item)
            return letter.kind != OPENED and letter.sender == self._at.node and (view is None or view.item.agent == self._agent)
        if letter.kind == OPENED:
            agent = item_of(letter.entry).agent
            if agent == self._agent:
                return False
            await self._note_node(agent, letter.sender)
            return True
        view = await self._desk.view(letter.item)
        return view is None or await self._node_of(view.item.agent) == letter.sender

    async def _node_of(self, agent: str) -> str:
        if agent not in self._nodes:
            kept = await self._ledger.read(_FROM + agent)
            self._nodes[agent] = kept[-1].body.decode() if kept else ""
        return self._nodes[agent]

    async def _note_node(self, agent: str, node: str) -> None:
        former, stream = await self._node_of(agent), _FROM + agent
        if former == node:
            return
        async with self._sending:
            if former:
                await self._note_late(agent, 0)
            if not await self._ledger.append(stream, len(await self._ledger.read(stream)), [Entry("from", node.encode(), 0)]):
                raise BackendError("ledger", f"another process takes letters for {self._agent}")
            self._nodes[agent] = node
