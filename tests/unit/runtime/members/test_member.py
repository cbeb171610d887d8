"""One process as a member: what it founds, when it is ready, what it serves, and how it comes and goes.

Members over one bus, memories and journals in files: what is erased leaves the files of all, also of who was away.
"""

import asyncio
import re
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from hive_mind.api import requests as api
from hive_mind.errors import BackendTimeout, InvalidInput
from hive_mind.hive.effects import Now
from hive_mind.hive.membership import Membership, MembershipSettings
from hive_mind.hive.policy.admission import erased_key
from hive_mind.hive.policy.node_policy import PolicySettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology import Flat
from hive_mind.hive.topology.spec import SPECS
from hive_mind.model.erasure import erasure_of
from hive_mind.model.messages import Receipt
from hive_mind.runtime.calls import AgentCalls
from hive_mind.runtime.members import MemberPlan
from hive_mind.runtime.members.host import _gather_s
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.node import system_clock
from tests.unit.runtime.members.town import Town, plan
from tests.waiting import until


@pytest.mark.parametrize(
    ("members", "groups"),
    [
        (("a", "b", "c"), {"group-0": ("a", "b"), "group-1": ("c",)}),
        (("north:a", "south:b", "north:c"), {"north": ("a", "c"), "south": ("b",)}),
    ],
)
def test_a_federated_hive_has_the_groups_that_are_named_or_pairs(members: tuple[str, ...], groups: dict[str, Any]) -> None:
    assert plan("a", *members, topology="federated").founding().groups == groups  # type: ignore[union-attr]


def test_all_founders_arrange_the_same() -> None:
    for topology in SPECS:
        made = [plan(name, "a", "b", "c", "d", topology=topology, replicas=2).founding() for name in "abcd"]
        assert made == [made[0]] * 4
        assert made[0].nodes == ("a", "b", "c", "d")  # type: ignore[union-attr]


@pytest.mark.parametrize("fields", [{"members": ("b", "c")}, {"members": ("a", "a")}, {"members": ()}])
def test_a_founder_is_among_the_founders_and_each_is_there_once(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="--members"):
        MemberPlan("a", "memory", **fields).founding()
    with pytest.raises(InvalidInput, match=f"known: {', '.join(SPECS)}"):
        MemberPlan("a", "memory", members=("a",), topology="ring").founding()
    assert MemberPlan("a", "memory", is_joining=True).founding() is None


async def test_one_that_hears_nothing_of_the_others_says_so_and_works(town: Town) -> None:
    ann = await town.begin(plan("ann", "ann", "bob"))
    said: list[str] = []
    assert await ann.until_ready(0.3, said.append) == ("bob",)
    assert said == ["waiting for bob"]
    kept = await ann.memory.store_fact("pump", "The pump is red.")
    assert await ann.memory.get_fact(kept.id) == kept


async def test_one_is_dead_whose_process_ended_and_not_one_that_runs_or_is_still_to_start(town: Town) -> None:
    names = ("ann", "bob", "cleo")
    ann, bob = [await town.begin(plan(name, *names)) for name in names[:2]]
    await ann.until_ready(0.5, lambda _: None)
    town.open.remove(bob)
    await bob.close()

    await until(lambda: ann.dead(lambda _: False) == ("bob",))
    assert ann.dead(lambda _: True) == ()
    assert set(ann.silent()) == {"bob", "cleo"}


async def test_a_joiner_that_nobody_takes_in_is_told(town: Town) -> None:
    eve = await town.begin(plan("eve", is_joining=True))
    with pytest.raises(BackendTimeout, match=r"nobody took eve in within 0\.3 s"):
        await eve.until_ready(0.3, lambda _: None)


async def test_a_joiner_is_taken_in_and_one_that_leaves_is_a_member_no_more(town: Town) -> None:
    ann, bob = [await town.begin(plan(name, "ann", "bob", topology="sharded", replicas=2)) for name in ("ann", "bob")]
    await ann.until_ready(10, lambda _: None)
    await ann.memory.store_fact("pump", "The pump is red.")
    eve = await town.begin(plan("eve", is_joining=True))
    assert await eve.until_ready(10, lambda _: None) == ()
    assert eve.is_in

    assert await bob.leave(20)
    await until(lambda: "bob" not in ann.member.node.topology.nodes)
    assert "eve" in ann.member.node.topology.nodes
    assert len(await until(lambda: eve.memory.search_facts("pump"))) == 1


async def test_a_bus_that_carries_nothing_is_told(town: Town) -> None:
    ann = await town.begin(plan("ann", "ann"))
    ann.runner._intake.take = lambda *_: None  # type: ignore[method-assign]
    with pytest.raises(BackendTimeout, match="what ann sends to itself does not come back"):
        await ann.runner.ping(Receipt(""), timeout_s=0.1)
    assert not ann.runner._intake.expected


async def test_what_was_told_is_kept_and_one_that_comes_back_goes_on_with_it(town: Town) -> None:
    ann = await town.begin(plan("ann", "ann", "bob"), store="sqlite")
    assert await ann.runner.tell(["*"], "note", b"hello") == ("bob",)
    bob = await town.begin(plan("bob", "ann", "bob"), store="sqlite")
    await until(lambda: bool(bob.message_log.entries()))
    await bob.close()

    again = await town.begin(plan("bob", "ann", "bob"), store="sqlite")
    assert [(one.sender, one.text, one.times) for one in again.message_log.entries()] == [("ann", "hello", 1)]
    await until(lambda: not ann.member.app_messages.unconfirmed)


async def test_a_hit_says_who_said_it_who_holds_it_and_how_far_it_is_trusted(town: Town) -> None:
    member = await town.begin(plan("ann", "ann"))
    calls = AgentCalls(member.agent, member, is_kept=False)

    stored = await calls.do(api.Store(content="The pump is red.", concept="pump", labels=("hall 3",), said_at="2023-05"))
    assert stored["sharing"] == "shared"
    told_of_it = {
        "fact_id": stored["fact_id"],
        "content": "The pump is red.",
        "labels": ["hall 3"],
        "sources": ["user"],
        "from": ["ann"],
        "trust": 1.0,
        "held_by": "ann",
        "disputed": "",
        "former": "",
        "rivals": [],
    }
    found = msgspec.to_builtins(await calls.do(api.Search(query="which colour has the pump?")))
    assert {name: found["hits"][0][name] for name in told_of_it} == told_of_it
    assert found["completeness"] == 1.0


@pytest.mark.parametrize(
    ("what", "fields", "text"),
    [
        ("retract", {"fact_id": "0" * 32}, "no fact"),
        ("store", {"content": " "}, "a fact needs words"),
        ("store", {"content": "The pump is red.", "said_at": "yesterday"}, "`said_at` is a day or a time such as"),
        ("learn", {"text": "The pump is red.", "said_at": "yesterday"}, "`said_at` is a day or a time such as"),
        ("tell", {"to": "ann"}, "send to another node"),
        ("tell", {"to": "nobody"}, "there is no member 'nobody': send to one of ann, or to everybody"),
    ],
)
async def test_nonsense_is_refused_and_the_next_one_answered(what: str, fields: dict[str, Any], text: str, town: Town) -> None:
    member = await town.begin(plan("ann", "ann"))
    calls = AgentCalls(member.agent, member, is_kept=False)
    with pytest.raises(InvalidInput, match=re.escape(text)):
        await calls.answer(what, **fields)
    assert await calls.do(api.Told()) == []


async def test_experience_moves_trust_everywhere_and_a_moderator_has_the_last_word(town: Town) -> None:
    nodes = HiveSettings(standing=PolicySettings(moderators=("ann",)))
    both = [await town.begin(plan(name, "ann", "ben", nodes=nodes)) for name in ("ann", "ben")]
    ann, ben = (AgentCalls(member.agent, member, is_kept=False) for member in both)

    assert await ben.do(api.Trust(to="cleo")) == {"agent": "cleo", "trust": 1.0}
    assert (await ben.do(api.Rate(to="cleo", good=False)))["trust"] == 1.0, "no moderator knows ben yet"
    await ann.do(api.Rate(to="ben", good=True))
    await until(lambda: both[1].member.node.policy.at(system_clock()).trust("ben") > 1.0)
    once = (await ben.do(api.Rate(to="cleo", good=False)))["trust"]
    assert 1.0 > once > (await ben.do(api.Rate(to="cleo", good=False)))["trust"]
    with pytest.raises(InvalidInput, match="and 'ben' is not one"):
        await ben.do(api.Trust(to="cleo", trust=2.0))
    with pytest.raises(InvalidInput, match="rate needs the field 'good'"):
        await ben.answer("rate", to="cleo")
    with pytest.raises(InvalidInput, match="of one agent by another"):
        await ben.do(api.Rate(to="ben", good=True))

    assert (await ann.do(api.Trust(to="cleo", trust=1.5)))["trust"] == 1.5
    await until(lambda: both[1].member.node.policy.at(system_clock()).trust("cleo") == 1.5)


async def test_what_a_moderator_took_back_is_not_taken_back_again_by_the_same_request(town: Town) -> None:
    nodes = HiveSettings(standing=PolicySettings(moderators=("ann",)))
    both = [await town.begin(plan(name, "ann", "ben", nodes=nodes)) for name in ("ann", "ben")]
    ann, ben = (AgentCalls(member.agent, member, is_kept=False) for member in both)
    fact_id = (await ben.do(api.Store(content="The pump is red.")))["fact_id"]
    retract = api.Retract(fact_id=fact_id, text="wrong", key="k1")
    gone = {"fact_id": fact_id, "sharing": "retracted"}

    assert await ann.do(retract) == gone
    # One that was killed has forgotten whom it answered.
    ann = AgentCalls(both[0].agent, both[0], is_kept=False)
    assert await ann.do(retract) == gone
    await ben.do(api.Retract(fact_id=fact_id))
    await ben.do(api.Store(content="The pump is red.", source="otto"))
    async with asyncio.timeout(60):
        while not (await ann.do(api.Facts()))["facts"]:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)
    ann = AgentCalls(both[0].agent, both[0], is_kept=False)
    assert await ann.do(retract) == gone
    assert [one["fact_id"] for one in (await ann.do(api.Facts()))["facts"]] == [fact_id]


def test_the_page_on_agents_names_every_request() -> None:
    page = (Path(__file__).parents[4] / "docs" / "howto" / "agents.md").read_text("utf-8")
    rows = re.findall(r"^\| (`[^|]+`) \|[^|]*\|[^|]*\|$", page, re.MULTILINE)
    named = set(re.findall(r"`(\w+)`", " ".join(rows)))
    assert named == {name.removeprefix("_do_") for name in dir(AgentCalls) if name.startswith("_do_")}


SUBJECT = erasure_of("subject", "Ada Lovelace")


def member(name: str) -> MemberPlan:
    return plan(name, "ann", "ben", "cleo", nodes=HiveSettings(standing=PolicySettings(moderators=("ann",))))


def has_confirmed(seen_by: RunningMember, name: str) -> bool:
    return bool(seen_by.member.node.registry.get(erased_key(name, SUBJECT)))


async def test_nobody_confirms_while_its_node_still_has_some_of_it(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = await town.begin(member("ann"))
    calls, partitions = AgentCalls(ann.agent, ann, is_kept=True), ann.member.node.partitions
    # As one that does not know the time yet.
    monkeypatch.setattr(partitions, "erased", lambda: {"f" * 32})
    await calls.do(api.Erase(erasures=(SUBJECT.key,)))
    await ann.erase()
    assert not has_confirmed(ann, "ann")

    monkeypatch.setattr(partitions, "erased", set)
    await ann.erase()
    assert has_confirmed(ann, "ann")


@pytest.mark.parametrize(
    ("beat_ms", "suspect_after_ms", "gather_s"), [(1000, 3500, 0.5), (100, 350, 0.05), (1000, 2000, 0.0), (0, 3500, 0.0)]
)
def test_beats_are_read_together_as_far_as_that_makes_nobody_a_suspect(
    beat_ms: int, suspect_after_ms: int, gather_s: float
) -> None:
    settings = MembershipSettings(beat_ms=beat_ms, suspect_after_ms=suspect_after_ms)
    membership = Membership("ada", b"boot", Flat(("ada", "bob")), settings, Random(1))
    membership.start([], Now(0, 0))

    assert _gather_s(membership) == gather_s
    membership.presume_silent(["bob"], Now(0, 0))
    assert _gather_s(membership) == 0.0, "the return of one that is silent is heard at once"
