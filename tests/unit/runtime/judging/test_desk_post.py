"""The desk of a fleet has what any agent asks of people; what is decided there reaches the agent, once, whoever was stopped."""

import asyncio
from functools import partial
from random import Random

import pytest

from hive_mind.judge.items import OPEN_MAX, OPENED
from tests.unit.runtime.judging.desk_town import ACCEPT, ESCALATE, Agent, Town, alike, decided, is_open, there
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
    monkeypatch.setattr("hive_mind.runtime.judging.desk_post._AGAIN_S", 0.01)
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
    monkeypatch.setattr("hive_mind.runtime.judging.desk_post._AGAIN_S", 0.01)
    ann, ben = await town.agent("ann"), await town.agent("ben", "node-ann")
    ben.start()
    asked = [await ben.ask(f"ferry {n}") for n in range(3)]
    await until(lambda: bool(ben.desk_post.is_late))
    ann.start()
    for id in asked:
        await until(partial(there, ann, id))
    await until(lambda: not ben.desk_post.is_late)
    assert ben.work is not None
    assert not ben.work.done()
