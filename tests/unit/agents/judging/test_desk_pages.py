"""The desk of a fleet has what any agent asks of people; what is decided there reaches the agent, once, whoever was stopped.

Pages between an agent and its desk that nobody may write, or nobody can read.

An agent or the desk that moved to another node hears and says what was decided meanwhile.
"""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from random import Random

import msgspec
import pytest

from hive_mind.agents.judging.desk_pages import KIND, PEERS, DeskPage, DeskPages, ItemEntry, Peer, peers_of
from hive_mind.errors import BackendUnavailable
from hive_mind.hive.effects import Delete, Put
from hive_mind.hive.replication.reliable_channels import IncomingMessage
from hive_mind.judge.items import DECIDED, OPENED, Decision, Item
from hive_mind.judge.judgment import DeskConfig
from hive_mind.model.entry import Entry
from tests.unit.agents.judging.desk_town import ACCEPT, ESCALATE, Agent, Town, alike, decided, is_open, page, there, until_there
from tests.waiting import until


@pytest.mark.parametrize("node", ["node-ben", "node-ann"])
async def test_what_an_agent_asks_lies_at_the_desk_and_what_is_decided_there_comes_back(
    node: str, town: Town, caplog: pytest.LogCaptureFixture
) -> None:
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
    # What the desk's own agent asks is nobody else's, and nobody is told what it said itself.
    assert not await there(ben, own)
    assert "may not say anything" not in caplog.text


async def test_a_desk_that_takes_nothing_yet_is_asked_until_it_answers(monkeypatch: pytest.MonkeyPatch, town: Town) -> None:
    monkeypatch.setattr("hive_mind.agents.judging.desk_pages._AGAIN_S", 0.01)
    ann, ben = await town.agent("ann"), await town.agent("ben")
    asked = await ben.ask("ferry")
    ben.start()
    await until(lambda: town.told > 0)
    assert not await there(ann, asked)
    ann.start()
    await until(partial(there, ann, asked))
    await until(lambda: not ben.exchange._unheard)
    told = town.told
    await asyncio.sleep(0.1)
    assert town.told == told


async def test_what_does_not_fit_one_message_comes_in_several(town: Town) -> None:
    ann, ben = await town.agent("ann"), await town.agent("ben")
    asked = [await ben.ask(f"ferry {n}", context=(("text", "x" * 15_000),)) for n in range(12)]
    ann.start()
    ben.start()
    await until_there(ann, asked)


@pytest.mark.parametrize("count", [1, 9, 20])
async def test_an_agent_whose_ledger_begins_anew_is_asked_for_all_of_it(count: int, town: Town) -> None:
    ann, ben = await town.started("ann", "ben")
    await ben.ask_at(ann, *(f"ferry {n}" for n in range(9)))
    await ben.stop()
    new = await town.agent("ben")
    asked = [await new.ask(f"tram {n}") for n in range(count)]
    new.start()
    await until_there(ann, asked)
    (later,) = await new.ask_at(ann, "bus")
    assert await ann.decide(later, ACCEPT)
    await until(lambda: new.is_decided(later, ACCEPT))


async def restored(town: Town, agent: Agent, since: Sequence[Entry]) -> Agent:
    """Its ledger is again as it was."""
    await agent.stop()
    new = await town.agent(agent.name)
    for entry in since:
        assert await new.ledger.append(entry.stream, entry.seq, [entry])
    return new


async def test_what_is_asked_and_decided_behind_a_copy_that_was_restored_is_taken_as_well(town: Town) -> None:
    ann, ben = await town.started("ann", "ben")
    (first,) = await ben.ask_at(ann, "ferry")
    copy = (await ben.ledger.newer(0)).entries
    await ben.ask_at(ann, *(f"tram {n}" for n in range(4)))
    ben = await restored(town, ben, copy)
    asked = [await ben.ask(f"bus {n}") for n in range(9)]
    ben.start()
    await until_there(ann, asked)

    copy = (await ann.ledger.newer(0)).entries
    assert await ann.decide(first, ACCEPT)
    await until(lambda: ben.is_decided(first, ACCEPT))
    ann = await restored(town, ann, copy)
    for id in asked:
        assert await ann.decide(id, ESCALATE)
    ann.start()
    for id in asked:
        await until(partial(ben.is_decided, id, ESCALATE))


async def test_a_page_is_taken_that_goes_on_where_the_last_ended_and_one_of_an_earlier_version_which_gives_no_marks(
    town: Town,
) -> None:
    ann, ben = await town.started("ann", "ben")
    await ben.ask("ferry")
    await until(lambda: "ben" in ann.exchange._peers and ann.exchange._peers["ben"].mark)
    have = ann.exchange._peers["ben"].have

    def say(id: str, since: int, mark: str = "") -> None:
        item = Item(id=id, kind="fact", agent="ben", subject="", title="", opened_ms=1)
        entry = ItemEntry(id, OPENED, msgspec.json.encode(item), 7, have + 1)
        told = DeskPage("ann", "ben", 0, since=since, upto=have + 1, entries=(entry,), since_mark=mark)
        town.bring("node-ann", IncomingMessage(id, "node-ben", KIND, msgspec.msgpack.encode(told)))

    say("f001", have - 1)
    say("f002", have + 1)
    say("f003", have, "mark of another entry")
    say("f004", have)
    await until(lambda: there(ann, "f004"))
    assert [await there(ann, id) for id in ("f001", "f002", "f003")] == [False] * 3


async def test_what_an_agent_took_back_is_taken_back_at_the_desk_though_the_entry_before_is_gone(town: Town) -> None:
    ann, ben = await town.started("ann", "ben")
    asked, _ = await ben.ask_at(ann, "ferry", "tram")
    await until(lambda: ben.exchange._sent)
    await ben.stop()
    heads = [head for head in await ben.ledger.heads("") if head.stream != f"item/{asked}"]
    assert await ben.ledger.drop(heads, "pruned", [Entry("pruned", b"", 1)])
    await ben.desk.withdraw([asked], "nobody waits")
    ben.start()
    await until(lambda: ann.is_decided(asked, ESCALATE))


async def test_letters_that_an_earlier_version_kept_are_removed_with_the_next_message() -> None:
    kept = [Put("app.post", b"1", b"letter"), Put("app.told", b"1", b"note")]
    pages = DeskPages("node-ann", lambda _: [], bool, lambda: kept)
    message = IncomingMessage("1", "node-ben", "hive-mind.item", b"letter")
    assert pages.write(message) == [Delete("app.post", b"1")]
    assert pages.write(message) == []


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
                    town.kill(stopped.node)
                    # Who shares the node has to begin anew, too.
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
            assert [entry.kind for entry in await agent.ledger.read(f"item/{id}")].count(OPENED) == 1


async def test_a_desk_that_is_full_takes_the_rest_when_there_is_room(monkeypatch: pytest.MonkeyPatch, town: Town) -> None:
    monkeypatch.setattr("hive_mind.agents.judging.desk_pages._AGAIN_S", 0.01)
    monkeypatch.setattr("hive_mind.agents.desk.OPEN_MAX", 2)
    ann, ben = await town.started("ann", "ben")
    asked = await ben.ask_at(ann, "fact 0", "fact 1")
    assert await ann.decide(asked[0], ESCALATE)
    await until(lambda: ben.is_decided(asked[0], ESCALATE))
    # Thought over while the agent is away, so that it has room and the desk has none.
    await ben.stop()
    assert await ann.desk.reopen(asked[0], "olga")
    late = await ben.ask("late")
    ben.start()
    await until(lambda: is_open(ben, asked[0]))
    told = town.told
    await until(lambda: town.told > told + 4)
    assert not await there(ann, late)

    assert await ann.decide(asked[1], ACCEPT)
    await until(lambda: there(ann, late))
    await until(lambda: ben.is_decided(asked[1], ACCEPT))


async def test_an_agent_that_is_not_there_is_known_to_be_silent_keeps_nobody_waiting_and_hears_all_when_it_comes(
    monkeypatch: pytest.MonkeyPatch, town: Town
) -> None:
    monkeypatch.setattr("hive_mind.agents.judging.desk_pages._AGAIN_S", 0.01)
    monkeypatch.setattr("hive_mind.agents.judging.desk_pages._SILENT_S", 0.02)
    ann, ben, cyd = [await town.agent(name, node) for name, node in (("ann", ""), ("ben", "node-ann"), ("cyd", ""))]
    for agent in (ann, ben, cyd):
        agent.start()
    (of_ben,), (of_cyd,) = await ben.ask_at(ann, "ferry"), await cyd.ask_at(ann, "tram")
    for agent in (ann, ben):
        await agent.stop()
    town.kill("node-ann")

    ann.start()

    async def silent() -> set[str]:
        return {name for name, peer in (await peers_of(ann.ledger)).items() if peer.silent_since_ms}

    await until(silent)
    assert await silent() == {"ben"}
    assert await ann.decide(of_ben, ACCEPT)
    assert await ann.desk.reopen(of_ben, "olga")
    assert await ann.decide(of_cyd, ACCEPT)
    await until(lambda: cyd.is_decided(of_cyd, ACCEPT))
    await ann.stop()
    ann.start()
    assert await ann.decide(of_ben, ESCALATE)
    ben.start()
    await until(lambda: ben.is_decided(of_ben, ESCALATE))
    assert await silent() == set()
    assert ann.work is not None
    assert not ann.work.done()


async def test_what_is_asked_before_the_desk_of_the_same_node_is_there_lies_on_it_when_it_is(
    monkeypatch: pytest.MonkeyPatch, town: Town
) -> None:
    monkeypatch.setattr("hive_mind.agents.judging.desk_pages._AGAIN_S", 0.01)
    ann, ben = await town.agent("ann"), await town.agent("ben", "node-ann")
    ben.start()
    asked = [await ben.ask(f"ferry {n}") for n in range(3)]
    await until(lambda: bool(ben.exchange._unheard))
    ann.start()
    await until_there(ann, asked)
    await until(lambda: not ben.exchange._unheard)
    assert ben.work is not None
    assert not ben.work.done()


async def test_what_others_may_not_say_changes_nothing(caplog: pytest.LogCaptureFixture, town: Town) -> None:
    ann, ben = await town.started("ann", "ben")
    asked, own = await ben.ask("ferry"), await ann.ask("tram")
    await until(lambda: there(ann, asked))
    yes, yes_to_own = [Decision(item=id, action=ACCEPT, by="mallory") for id in (asked, own)]
    of_ben, of_ann = [Item(id="f00d", kind="fact", agent=agent, subject="", title="", opened_ms=1) for agent in ("ben", "ann")]
    hostile = [
        # Only the desk decides what an agent asked, and only an agent's node says what it asked.
        ("node-ben", "node-mallory", page("ben", "ann", asked, DECIDED, yes, asks=True)),
        ("node-ben", "node-ann", page("ben", "mallory", asked, DECIDED, yes)),
        ("node-ben", "node-ann", page("ben", "ann", "f00d", OPENED, of_ben)),
        ("node-ann", "node-mallory", page("ann", "ben", asked, DECIDED, yes)),
        ("node-ann", "node-mallory", page("ann", "ann", own, DECIDED, yes_to_own, asks=True)),
        ("node-ann", "node-ben", page("ann", "ben", own, DECIDED, yes_to_own)),
        ("node-ann", "node-ben", page("ann", "ben", "f00d", OPENED, of_ann)),
    ]
    with caplog.at_level(logging.WARNING):
        for node, sender, data in hostile:
            town.bring(node, IncomingMessage("m", sender, KIND, data))
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
        page("ann", "ben", "f00d", "opened", Decision(item="f00d", action=ACCEPT, by="mallory")),
        page("ann", "ben", "f00d", "burnt", Decision(item="f00d", action=ACCEPT, by="mallory")),
        page("ann", "ben", "f00d", "decided", Decision(item="other", action=ACCEPT, by="mallory")),
    ],
)
def test_what_is_no_page_is_refused_before_anybody_takes_it(data: bytes) -> None:
    pages = DeskPages("node-ann", lambda _: [], bool)
    with pytest.raises(Exception, match="page that can't be read"):
        pages.write(IncomingMessage("m", "node-mallory", KIND, data))


def test_what_is_told_otherwise_goes_where_it_went() -> None:
    heard: list[IncomingMessage] = []
    told = IncomingMessage("1", "ann", "greeting", b"hello")
    assert DeskPages("ben", lambda one: heard.append(one) or [], bool).write(told) == []
    assert heard == [told]


def test_on_one_node_a_desk_that_is_not_there_takes_nothing() -> None:
    with pytest.raises(BackendUnavailable, match="the desk of ann: it takes nothing now"):
        DeskPages("node", lambda _: [], bool).hand_over(DeskPage("ann", "ben", 0))


async def test_another_desk_is_told_what_waits_and_nothing_else(town: Town) -> None:
    (ann, ben), cyd = await town.started("ann", "ben"), await town.agent("cyd")
    done, open_ = await ben.ask_at(ann, "done", "open")
    await ann.decide(done, ACCEPT)
    await until(lambda: ben.is_decided(done, ACCEPT))
    await ben.stop()

    ben.start(at_cyd := DeskConfig("cyd", "node-cyd"))
    cyd.start(at_cyd)
    await until(lambda: there(cyd, open_))
    await cyd.decide(open_, ACCEPT)
    await until(lambda: ben.is_decided(open_, ACCEPT))
    assert not await there(cyd, done)


async def is_known_at(town: Town, agent: Agent, node: str) -> bool:
    """Whether the desk writes to it there."""
    kept = await town.agents["ann"].ledger.read(f"{PEERS}{agent.name}")
    return bool(kept) and msgspec.json.decode(kept[-1].body, type=Peer).node == node


async def moved(town: Town, agent: Agent, node: str) -> None:
    """Its former node is gone with all it was told."""
    await agent.stop()
    town.kill(agent.node)
    agent.node = node


async def test_an_agent_that_moved_and_came_back_hears_what_is_decided(town: Town) -> None:
    ann, ben = await town.started("ann", "ben")
    (asked,) = await ben.ask_at(ann, "ferry")
    for node in ("node-other", "node-ben"):
        await moved(town, ben, node)
        ben.start()
        await until(partial(is_known_at, town, ben, node))
    assert await ann.decide(asked, ACCEPT)
    await until(lambda: ben.is_decided(asked, ACCEPT))


async def test_an_agent_that_moved_with_nothing_open_hears_that_somebody_thought_again_meanwhile(town: Town) -> None:
    ann, ben = await town.started("ann", "ben")
    asked, other = await ben.ask_at(ann, "ferry", "tram")
    for id in (asked, other):
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
    ann, ben = await town.started("ann", "ben")
    (asked,) = await ben.ask_at(ann, "ferry")
    assert await ann.decide(asked, ACCEPT)
    await until(lambda: ben.is_decided(asked, ACCEPT))
    await moved(town, ann, "node-other")
    assert await ann.desk.reopen(asked, "olga")
    assert await ann.decide(asked, ESCALATE)
    await ben.stop()
    for agent in (ann, ben):
        agent.start(DeskConfig("ann", "node-other"))
    await until(lambda: ben.is_decided(asked, ESCALATE))
