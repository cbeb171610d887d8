"""The desk of a fleet has what any agent asks of people; what is decided there reaches the agent, once, whoever was stopped."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from random import Random

import msgspec
import pytest

from hive_mind import backends
from hive_mind.agents.desk import LedgerDesk
from hive_mind.errors import BackendUnavailable
from hive_mind.hive.effects import Put
from hive_mind.hive.replication.reliable_channels import Told
from hive_mind.judge.items import DECIDED, OPEN_MAX, OPENED, Decision, Item, ItemView
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.ledger.base import Ledger
from hive_mind.model.ids import item_id
from hive_mind.runtime.judging.desk_post import DeskPost
from hive_mind.runtime.judging.post import KIND, TABLE, Letter, Post, packed
from hive_mind.runtime.workers.config import DeskConfig

ACCEPT, ESCALATE = JudgmentAction.ACCEPT, JudgmentAction.ESCALATE
PATIENCE_S = 20
AT_ANN = DeskConfig("ann", "node-ann")
Scenario = Callable[["Town"], Awaitable[None]]


class Agent:
    """An agent's ledger and desk, and the post of its node, which can stop and start with what its journal kept."""

    def __init__(self, town: "Town", name: str, node: str, ledger: Ledger) -> None:
        self.town, self.name, self.node, self.ledger = town, name, node, ledger
        self.desk = LedgerDesk(ledger)
        self.work: asyncio.Task[None] | None = None

    def start(self, at: DeskConfig = AT_ANN) -> None:
        post = self.town.post_of(self.node)
        self.desk_post = DeskPost(self.name, at, self.ledger, self.desk, post, self.town.tells(self.node))
        self.work = asyncio.create_task(self.desk_post.run())

    async def stop(self) -> None:
        if self.work:
            self.work.cancel()
            await asyncio.wait([self.work])

    async def ask(self, subject: str) -> str:
        id = item_id("fact", subject, self.name)
        item = Item(id=id, kind="fact", agent=self.name, subject=subject, title=subject, opened_ms=1, group="prices")
        assert await self.desk.ask(item)
        return id

    async def decide(self, id: str, action: JudgmentAction, by: str = "olga") -> bool:
        return await self.desk.decide(Decision(item=id, action=action, by=by))

    async def view(self, id: str) -> ItemView | None:
        return await self.desk.view(id)

    async def is_decided(self, id: str, action: JudgmentAction) -> bool:
        found = await self.view(id)
        return found is not None and found.decision is not None and found.decision.action is action


class Town:
    """Agents on nodes. What is told arrives at once and is kept in the receiver's journal, here a table in memory."""

    def __init__(self) -> None:
        self.journals: dict[str, dict[bytes, Put]] = {}
        self.posts: dict[str, Post] = {}
        self.running: dict[str, asyncio.Task[None]] = {}
        self.agents: dict[str, Agent] = {}
        self.other: list[Told] = []
        self.told = 0

    async def agent(self, name: str, node: str = "") -> Agent:
        ledger = await backends.load("ledger", "memory").open()
        found = self.agents[name] = Agent(self, name, node or f"node-{name}", ledger)
        return found

    def post_of(self, node: str) -> Post:
        if node not in self.posts:
            journal = self.journals.setdefault(node, {})
            self.posts[node] = Post(node, lambda told: self.other.append(told) or [], lambda: list(journal.values()))
            self.running[node] = asyncio.create_task(self.posts[node].run())
        return self.posts[node]

    def tells(self, me: str) -> Callable[[Sequence[str], str, bytes], Awaitable[None]]:
        async def tell(to: Sequence[str], kind: str, data: bytes) -> None:
            for node in to:
                self.bring(node, Told(f"told-{self.told}", me, kind, data))

        return tell

    def bring(self, node: str, told: Told) -> None:
        self.told += 1
        journal = self.journals.setdefault(node, {})
        for record in self.post_of(node).write(told):
            assert record.table == TABLE
            if isinstance(record, Put):
                journal[record.key] = record
            else:
                del journal[record.key]

    async def kill(self, node: str) -> None:
        """What is in RAM is gone, and what its journal has is read again when somebody needs the node."""
        self.posts.pop(node, None)
        if task := self.running.pop(node, None):
            task.cancel()
            await asyncio.wait([task])

    async def close(self) -> None:
        for agent in self.agents.values():
            await agent.stop()
        for node in list(self.running):
            await self.kill(node)


@asynccontextmanager
async def opened():
    town = Town()
    try:
        yield town
    finally:
        await town.close()


def play(scenario: Scenario) -> None:
    async def whole() -> None:
        async with asyncio.timeout(60), opened() as town:
            await scenario(town)

    asyncio.run(whole())


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await holds():  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.002)


@pytest.mark.parametrize("node", ["node-ben", "node-ann"])
def test_what_an_agent_asks_lies_at_the_desk_and_what_is_decided_there_comes_back(node: str) -> None:
    async def scenario(town: Town) -> None:
        ann, ben = await town.agent("ann"), await town.agent("ben", node)
        ann.start()
        ben.start()
        asked, own = await ben.ask("ferry"), await ann.ask("tram")
        await until(lambda: there(ann, asked))

        assert await ann.decide(asked, ACCEPT)
        await until(lambda: ben.is_decided(asked, ACCEPT))
        assert await ann.desk.reopen(asked, "olga")
        await until(lambda: is_open(ben, asked))
        assert await ann.decide(asked, ESCALATE)
        await until(lambda: ben.is_decided(asked, ESCALATE))
        # What the desk's own agent asks is nobody else's.
        assert not await there(ben, own)

    play(scenario)


def test_letters_wait_in_the_journal_until_the_desk_is_there_and_are_removed_when_they_arrived() -> None:
    async def scenario(town: Town) -> None:
        ann, ben = await town.agent("ann"), await town.agent("ben")
        ben.start()
        asked = [await ben.ask(f"ferry {n}") for n in range(5)]
        await until(lambda: holds(lambda: len(town.journals.get("node-ann", {})) == len(asked)))
        await town.kill("node-ann")
        ann.start()
        for id in asked:
            await until(partial(there, ann, id))
        await ben.ask("one more")
        await until(lambda: holds(lambda: len(town.journals["node-ann"]) == 1))

    play(scenario)


@pytest.mark.parametrize("seed", range(8))
def test_whoever_stops_in_between_both_know_each_item_once_and_the_same_decision_counts(seed: int) -> None:
    async def scenario(town: Town) -> None:
        print("seed", seed)
        rng = Random(seed)
        ann, ben, cyd = [await town.agent(name, node) for name, node in (("ann", ""), ("ben", ""), ("cyd", "node-ann"))]
        everybody = (ann, ben, cyd)
        for agent in everybody:
            agent.start()
        asked: dict[str, Agent] = {}
        for step in range(120):
            match rng.randrange(5):
                case 0 | 1:
                    asker = rng.choice((ben, cyd))
                    asked[await asker.ask(f"fact {step}")] = asker
                case 2 if waiting := await ann.desk.open():
                    await ann.decide(rng.choice(waiting).item.id, rng.choice((ACCEPT, ESCALATE)), f"person {step}")
                case 3 if done := [id for id in asked if await decided(ann, id)]:
                    await ann.desk.reopen(rng.choice(done), f"person {step}")
                case _:
                    stopped = rng.choice(everybody)
                    await stopped.stop()
                    if rng.random() < 0.5:
                        await town.kill(stopped.node)
                        # Who shares the node has to be brought its letters again.
                        for other in everybody:
                            if other.node == stopped.node and other is not stopped:
                                await other.stop()
                                other.start()
                    stopped.start()
            await asyncio.sleep(rng.choice((0, 0, 0.003)))
        for agent in everybody:
            await agent.stop()
            agent.start()
        for id, asker in asked.items():
            await until(partial(alike, ann, asker, id))
            for agent in (ann, asker):
                kinds = [entry.kind for entry in await agent.ledger.read(f"item/{id}")]
                assert kinds.count(OPENED) == 1

    play(scenario)


def test_a_desk_that_is_full_takes_the_rest_when_there_is_room() -> None:
    async def scenario(town: Town) -> None:
        ann, ben = await town.agent("ann"), await town.agent("ben")
        ann.start()
        ben.start()
        asked = [await ben.ask(f"fact {n}") for n in range(OPEN_MAX)]
        await until(lambda: there(ann, asked[-1]))
        # Decided at the agent, so that it has room before the desk knows of it.
        await ben.decide(asked[0], ESCALATE)
        late = await ben.ask("late")
        await until(lambda: there(ann, late))
        await until(lambda: ann.is_decided(asked[0], ESCALATE))

    play(scenario)


def test_an_agent_that_is_not_there_keeps_nobody_waiting_and_hears_all_when_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hive_mind.runtime.judging.desk_post._AGAIN_S", 0.01)

    async def scenario(town: Town) -> None:
        ann, ben, cyd = [await town.agent(name, node) for name, node in (("ann", ""), ("ben", "node-ann"), ("cyd", ""))]
        for agent in (ann, ben, cyd):
            agent.start()
        of_ben, of_cyd = await ben.ask("ferry"), await cyd.ask("tram")
        for id in (of_ben, of_cyd):
            await until(partial(there, ann, id))
        for agent in (ann, ben):
            await agent.stop()
        await town.kill("node-ann")

        ann.start()
        assert await ann.decide(of_ben, ACCEPT)
        assert await ann.desk.reopen(of_ben, "olga")
        assert await ann.decide(of_cyd, ACCEPT)
        await until(lambda: cyd.is_decided(of_cyd, ACCEPT))
        await ann.stop()
        ann.start()
        assert await ann.decide(of_ben, ESCALATE)
        ben.start()
        await until(lambda: ben.is_decided(of_ben, ESCALATE))
        assert ann.work is not None
        assert not ann.work.done()

    play(scenario)


def test_what_is_asked_before_the_desk_of_the_same_node_is_there_lies_on_it_when_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hive_mind.runtime.judging.desk_post._AGAIN_S", 0.01)

    async def scenario(town: Town) -> None:
        ann, ben = await town.agent("ann"), await town.agent("ben", "node-ann")
        ben.start()
        asked = [await ben.ask(f"ferry {n}") for n in range(3)]
        await until(lambda: holds(lambda: bool(ben.desk_post.is_late)))
        ann.start()
        for id in asked:
            await until(partial(there, ann, id))
        await until(lambda: holds(lambda: not ben.desk_post.is_late))
        assert ben.work is not None
        assert not ben.work.done()

    play(scenario)


def test_another_desk_is_told_what_waits_and_nothing_else() -> None:
    async def scenario(town: Town) -> None:
        ann, ben, cyd = [await town.agent(name) for name in ("ann", "ben", "cyd")]
        ann.start()
        ben.start()
        done, open_ = await ben.ask("done"), await ben.ask("open")
        await until(lambda: there(ann, open_))
        await ann.decide(done, ACCEPT)
        await until(lambda: ben.is_decided(done, ACCEPT))
        await ben.stop()

        ben.start(at_cyd := DeskConfig("cyd", "node-cyd"))
        cyd.start(at_cyd)
        await until(lambda: there(cyd, open_))
        await cyd.decide(open_, ACCEPT)
        await until(lambda: ben.is_decided(open_, ACCEPT))
        assert not await there(cyd, done)

    play(scenario)


def test_an_agent_that_moved_hears_what_was_decided_meanwhile() -> None:
    async def scenario(town: Town) -> None:
        ann, ben = await town.agent("ann"), await town.agent("ben")
        ann.start()
        ben.start()
        asked = await ben.ask("ferry")
        await until(lambda: there(ann, asked))
        await ben.stop()
        await ann.decide(asked, ACCEPT)
        await until(lambda: holds(lambda: bool(town.journals.get("node-ben"))))
        # Its former node is gone with all it was told.
        town.journals.clear()
        await town.kill("node-ben")
        ben.node = "node-new"
        ben.start()
        await until(lambda: ben.is_decided(asked, ACCEPT))

    play(scenario)


async def is_known_at(town: Town, agent: Agent, node: str) -> bool:
    """Whether the desk writes to it there."""
    kept = await town.agents["ann"].ledger.read(f"post/from/{agent.name}")
    return bool(kept) and kept[-1].body == node.encode()


async def moved(town: Town, agent: Agent, node: str) -> None:
    """Its former node is gone with all it was told."""
    await agent.stop()
    await town.kill(agent.node)
    town.journals.pop(agent.node, None)
    agent.node = node


def test_an_agent_that_moved_and_came_back_hears_what_is_decided() -> None:
    async def scenario(town: Town) -> None:
        ann, ben = await town.agent("ann"), await town.agent("ben")
        ann.start()
        ben.start()
        asked = await ben.ask("ferry")
        await until(lambda: there(ann, asked))
        for node in ("node-other", "node-ben"):
            await moved(town, ben, node)
            ben.start()
            await until(partial(is_known_at, town, ben, node))
        assert await ann.decide(asked, ACCEPT)
        await until(lambda: ben.is_decided(asked, ACCEPT))

    play(scenario)


def test_an_agent_that_moved_with_nothing_open_hears_that_somebody_thought_again_meanwhile() -> None:
    async def scenario(town: Town) -> None:
        ann, ben = await town.agent("ann"), await town.agent("ben")
        ann.start()
        ben.start()
        asked, other = await ben.ask("ferry"), await ben.ask("tram")
        for id in (asked, other):
            await until(partial(there, ann, id))
            assert await ann.decide(id, ACCEPT)
            await until(partial(ben.is_decided, id, ACCEPT))
        await moved(town, ben, "node-other")
        assert await ann.desk.reopen(asked, "olga")
        assert await ann.decide(asked, ESCALATE)
        ben.start()
        await until(lambda: ben.is_decided(asked, ESCALATE))
        assert await ann.desk.reopen(other, "olga")
        assert await ann.decide(other, ESCALATE)
        await until(lambda: ben.is_decided(other, ESCALATE))

    play(scenario)


def test_a_desk_that_moved_says_again_what_was_decided_anew_before() -> None:
    async def scenario(town: Town) -> None:
        ann, ben = await town.agent("ann"), await town.agent("ben")
        ann.start()
        ben.start()
        asked = await ben.ask("ferry")
        await until(lambda: there(ann, asked))
        assert await ann.decide(asked, ACCEPT)
        await until(lambda: ben.is_decided(asked, ACCEPT))
        await moved(town, ann, "node-other")
        assert await ann.desk.reopen(asked, "olga")
        assert await ann.decide(asked, ESCALATE)
        await ben.stop()
        for agent in (ann, ben):
            agent.start(DeskConfig("ann", "node-other"))
        await until(lambda: ben.is_decided(asked, ESCALATE))

    play(scenario)


def test_what_others_may_not_say_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(town: Town) -> None:
        ann, ben = await town.agent("ann"), await town.agent("ben")
        ann.start()
        ben.start()
        asked, own = await ben.ask("ferry"), await ann.ask("tram")
        await until(lambda: there(ann, asked))
        yes = Decision(item=asked, action=ACCEPT, by="mallory")
        hostile = [
            # Only the desk decides what an agent asked, and only an agent's node what it asked.
            ("node-ben", letter("ben", asked, DECIDED, yes)),
            ("node-ann", letter("ann", asked, DECIDED, yes)),
            ("node-ann", letter("ann", own, DECIDED, Decision(item=own, action=ACCEPT, by="mallory"))),
            (
                "node-ben",
                letter("ben", "f00d", OPENED, Item(id="f00d", kind="fact", agent="ben", subject="", title="", opened_ms=1)),
            ),
            (
                "node-ann",
                letter("ann", "f00d", OPENED, Item(id="f00d", kind="fact", agent="ann", subject="", title="", opened_ms=1)),
            ),
        ]
        with caplog.at_level(logging.WARNING):
            for node, one in hostile:
                town.bring(node, Told("m", "node-mallory", KIND, packed(one)))
            await until(lambda: holds(lambda: caplog.text.count("may not say anything") == len(hostile)))

        for agent, id in ((ann, asked), (ben, asked), (ann, own)):
            assert await is_open(agent, id)
        assert not await there(ann, "f00d")
        assert not await there(ben, "f00d")

    play(scenario)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1" * 100,
        packed(Letter("ann", "f00d", "opened", b"{}", 1)),
        packed(Letter("ann", "f00d", "burnt", b"{}", 1)),
        packed(Letter("ann", "f00d", "decided", b'{"item": "other", "action": "accept", "by": "mallory"}', 1)),
    ],
)
def test_what_is_no_letter_is_refused_before_it_is_kept(data: bytes) -> None:
    post = Post("node-ann", lambda _: [])
    with pytest.raises(Exception, match="letter that can't be read"):
        post.write(Told("m", "node-mallory", KIND, data))


def test_what_is_told_otherwise_goes_where_it_went() -> None:
    heard: list[Told] = []
    told = Told("1", "ann", "greeting", b"hello")
    assert Post("ben", lambda one: heard.append(one) or []).write(told) == []
    assert heard == [told]


def test_on_one_node_a_desk_that_is_not_there_takes_nothing() -> None:
    async def scenario() -> None:
        with pytest.raises(BackendUnavailable, match="the desk of ann: it takes nothing now"):
            await Post("node", lambda _: []).hand_over(Letter("ann", "f00d", OPENED, b"", 1))

    asyncio.run(scenario())


def letter(to: str, id: str, kind: str, value: Item | Decision) -> Letter:
    return Letter(to, id, kind, msgspec.json.encode(value), 7)


async def there(agent: Agent, id: str) -> bool:
    return await agent.view(id) is not None


async def is_open(agent: Agent, id: str) -> bool:
    found = await agent.view(id)
    return found is not None and found.is_open


async def decided(agent: Agent, id: str) -> bool:
    found = await agent.view(id)
    return found is not None and not found.is_open


async def holds(check: Callable[[], bool]) -> bool:
    return check()


async def alike(one: Agent, other: Agent, id: str) -> bool:
    left, right = await one.view(id), await other.view(id)
    return left is not None and right is not None and left.decision == right.decision
