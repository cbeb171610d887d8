"""An agent or the desk that moved to another node hears and says what was decided meanwhile."""

from functools import partial

from hive_mind.runtime.workers.config import DeskConfig
from tests.unit.runtime.judging.desk_town import ACCEPT, ESCALATE, Agent, Town, there
from tests.waiting import until


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
