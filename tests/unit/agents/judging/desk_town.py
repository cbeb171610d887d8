"""Agents on nodes that ask a desk: each can stop and start with what its ledger kept."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import msgspec

from hive_mind import backends
from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.desk_pages import DeskExchange, DeskPage, DeskPages, ItemEntry
from hive_mind.hive.replication.reliable_channels import IncomingMessage
from hive_mind.judge.items import Context, Decision, Item, ItemView
from hive_mind.judge.judgment import DeskConfig, JudgmentAction
from hive_mind.ledger import Ledger
from hive_mind.model.ids import item_id
from tests.waiting import until

ACCEPT, ESCALATE = JudgmentAction.ACCEPT, JudgmentAction.ESCALATE
AT_ANN = DeskConfig("ann", "node-ann")


class Agent:
    """An agent's ledger and desk, and the pages of its node."""

    def __init__(self, town: "Town", name: str, node: str, ledger: Ledger) -> None:
        self.town, self.name, self.node, self.ledger = town, name, node, ledger
        self.desk = LedgerDesk(ledger)
        self.work: asyncio.Task[None] | None = None

    def start(self, at: DeskConfig = AT_ANN) -> None:
        pages = self.town.pages_of(self.node)
        self.exchange = DeskExchange(self.name, at, self.ledger, self.desk, pages, self.town.tells(self.node))
        self.work = asyncio.create_task(self.exchange.run())

    async def stop(self) -> None:
        if self.work:
            self.work.cancel()
            await asyncio.wait([self.work])

    async def ask(self, subject: str, context: Context = ()) -> str:
        id = item_id("fact", subject, self.name)
        item = Item(
            id=id, kind="fact", agent=self.name, subject=subject, title=subject, opened_ms=1, group="prices", context=context
        )
        assert await self.desk.ask(item)
        return id

    async def ask_at(self, desk: "Agent", *subjects: str) -> list[str]:
        """What it asks lies at that agent's desk."""
        ids = [await self.ask(subject) for subject in subjects]
        await until_there(desk, ids)
        return ids

    async def decide(self, id: str, action: JudgmentAction, by: str = "olga") -> bool:
        return await self.desk.decide(Decision(item=id, action=action, by=by))

    async def view(self, id: str) -> ItemView | None:
        return await self.desk.view(id)

    async def is_decided(self, id: str, action: JudgmentAction) -> bool:
        found = await self.view(id)
        return found is not None and found.decision is not None and found.decision.action is action


class Town:
    """Agents on nodes. What is told arrives at once, and is lost where nobody takes it."""

    def __init__(self) -> None:
        self.pages: dict[str, DeskPages] = {}
        self.agents: dict[str, Agent] = {}
        self.other: list[IncomingMessage] = []
        self.told = 0

    async def agent(self, name: str, node: str = "") -> Agent:
        ledger = await backends.load("ledger", "memory").open()
        found = self.agents[name] = Agent(self, name, node or f"node-{name}", ledger)
        return found

    async def started(self, *names: str) -> list[Agent]:
        """Agents at work, each on a node of its own."""
        agents = [await self.agent(name) for name in names]
        for agent in agents:
            agent.start()
        return agents

    def pages_of(self, node: str) -> DeskPages:
        if node not in self.pages:
            self.pages[node] = DeskPages(node, lambda told: self.other.append(told) or [], self.is_there)
        return self.pages[node]

    def is_there(self, node: str) -> bool:
        return node in {agent.node for agent in self.agents.values()}

    def tells(self, me: str) -> Callable[[Sequence[str], str, bytes], Awaitable[None]]:
        async def tell(to: Sequence[str], kind: str, data: bytes) -> None:
            for node in to:
                self.bring(node, IncomingMessage(f"told-{self.told}", me, kind, data))

        return tell

    def bring(self, node: str, told: IncomingMessage) -> None:
        self.told += 1
        assert self.pages_of(node).write(told) == []

    def kill(self, node: str) -> None:
        """What is in RAM is gone."""
        self.pages.pop(node, None)

    async def close(self) -> None:
        for agent in self.agents.values():
            await agent.stop()


@asynccontextmanager
async def opened():
    town = Town()
    try:
        yield town
    finally:
        await town.close()


def page(to: str, agent: str, id: str, kind: str, value: Item | Decision, *, asks: bool = False) -> bytes:
    entry = ItemEntry(id, kind, msgspec.json.encode(value), 7, 1)
    return msgspec.msgpack.encode(DeskPage(to, agent, 0, asks, since=0, upto=1, entries=(entry,)))


async def there(agent: Agent, id: str) -> bool:
    return await agent.view(id) is not None


async def until_there(agent: Agent, ids: Sequence[str]) -> None:
    for id in ids:
        await until(partial(there, agent, id))


async def is_open(agent: Agent, id: str) -> bool:
    found = await agent.view(id)
    return found is not None and found.is_open


async def decided(agent: Agent, id: str) -> bool:
    found = await agent.view(id)
    return found is not None and not found.is_open


async def alike(one: Agent, other: Agent, id: str) -> bool:
    left, right = await one.view(id), await other.view(id)
    return left is not None and right is not None and left.decision == right.decision
