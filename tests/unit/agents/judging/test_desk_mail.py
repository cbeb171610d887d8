"""The desk of a fleet has what any agent asks of people; what is decided there reaches the agent, once, whoever was stopped.

Letters between an agent and its desk that nobody may write, or nobody can read.

An agent or the desk that moved to another node hears and says what was decided meanwhile.
"""

import asyncio
import logging
from functools import partial
from random import Random

import pytest

from hive_mind.agents.judging.post import KIND, DeskLetter, Post, packed
from hive_mind.errors import BackendUnavailable
from hive_mind.hive.replication.reliable_channels import IncomingMessage
from hive_mind.judge.items import DECIDED, OPEN_MAX, OPENED, Decision, Item
from hive_mind.judge.judge_settings import DeskConfig
from tests.unit.agents.judging.desk_town import ACCEPT, ESCALATE, Agent, Town, alike, decided, is_open, letter, there
from tests.waiting import until


@pytest.mark.parametrize("node", ["node-ben", "node-ann"])
async def test_what_an_agent_asks_lies_at_the_desk_and_what_is_decided_there_comes_back(node: str, town: Town) -> None:
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


async def test_letters_wait_in_the_journal_until_the_desk_is_there_and_are_removed_when_they_arrived(town: Town) -> None:
    ann, ben = await town.agent("ann"), await town.agent("ben")
    ben.start()
    asked = [await ben.ask(f"ferry {n}") for n in range(5)]
    await until(lambda: len(town.journals.get("node-ann", {})) == len(asked))
    await town.kill("node-ann")
    ann.start()
    for id in asked:
        await until(partial(there, ann, id))
    await ben.ask("one more")
    await until(lambda: len(town.journals["node-ann"]) == 1)


@pytest.mark.parametrize("seed", range(8))
async def test_whoever_stops_in_between_both_know_each_item_once_and_the_same_decision_counts(seed: int, town: Town) -> None:
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


async def test_a_desk_that_is_full_takes_the_rest_when_there_is_room(town: Town) -> None:
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


async def test_an_agent_that_is_not_there_keeps_nobody_waiting_and_hears_all_when_it_comes(
    monkeypatch: pytest.MonkeyPatch, town: Town
) -> None:
    monkeypatch.setattr("hive_mind.agents.judging.desk_mail._AGAIN_S", 0.01)
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


async def test_what_is_asked_before_the_desk_of_the_same_node_is_there_lies_on_it_when_it_is(
    monkeypatch: pytest.MonkeyPatch, town: Town
) -> None:
    monkeypatch.setattr("hive_mind.agents.judging.desk_mail._AGAIN_S", 0.01)
    ann, ben = await town.agent("ann"), await town.agent("ben", "node-ann")
    ben.start()
    asked = [await ben.ask(f"ferry {n}") for n in range(3)]
    await until(lambda: bool(ben.desk_mail._late))
    ann.start()
    for id in asked:
        await until(partial(there, ann, id))
    await until(lambda: not ben.desk_mail._late)
    assert ben.work is not None
    assert not ben.work.done()


async def test_what_others_may_not_say_changes_nothing(caplog: pytest.LogCaptureFixture, town: Town) -> None:
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
            town.bring(node, IncomingMessage("m", "node-mallory", KIND, packed(one)))
        await until(lambda: caplog.text.count("may not say anything") == len(hostile))

    for agent, id in ((ann, asked), (ben, asked), (ann, own)):
        assert await is_open(agent, id)
    assert not await there(ann, "f00d")
    assert not await there(ben, "f00d")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1" * 100,
        packed(DeskLetter("ann", "f00d", "opened", b"{}", 1)),
        packed(DeskLetter("ann", "f00d", "burnt", b"{}", 1)),
        packed(DeskLetter("ann", "f00d", "decided", b'{"item": "other", "action": "accept", "by": "mallory"}', 1)),
    ],
)
def test_what_is_no_letter_is_refused_before_it_is_kept(data: bytes) -> None:
    post = Post("node-ann", lambda _: [])
    with pytest.raises(Exception, match="letter that can't be read"):
        post.write(IncomingMessage("m", "node-mallory", KIND, data))


def test_what_is_told_otherwise_goes_where_it_went() -> None:
    heard: list[IncomingMessage] = []
    told = IncomingMessage("1", "ann", "greeting", b"hello")
    assert Post("ben", lambda one: heard.append(one) or []).write(told) == []
    assert heard == [told]


async def test_on_one_node_a_desk_that_is_not_there_takes_nothing() -> None:
    with pytest.raises(BackendUnavailable, match="the desk of ann: it takes nothing now"):
        await Post("node", lambda _: []).hand_over(DeskLetter("ann", "f00d", OPENED, b"", 1))


async def test_another_desk_is_told_what_waits_and_nothing_else(town: Town) -> None:
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


async def test_an_agent_that_moved_hears_what_was_decided_meanwhile(town: Town) -> None:
    ann, ben = await town.agent("ann"), await town.agent("ben")
    ann.start()
    ben.start()
    asked = await ben.ask("ferry")
    await until(lambda: there(ann, asked))
    await ben.stop()
    await ann.decide(asked, ACCEPT)
    await until(lambda: bool(town.journals.get("node-ben")))
    # Its former node is gone with all it was told.
    town.journals.clear()
    await town.kill("node-ben")
    ben.node = "node-new"
    ben.start()
    await until(lambda: ben.is_decided(asked, ACCEPT))


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


async def test_an_agent_that_moved_and_came_back_hears_what_is_decided(town: Town) -> None:
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


async def test_an_agent_that_moved_with_nothing_open_hears_that_somebody_thought_again_meanwhile(town: Town) -> None:
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


async def test_a_desk_that_moved_says_again_what_was_decided_anew_before(town: Town) -> None:
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
