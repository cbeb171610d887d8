"""An agent's memory with a hive behind it: shared once, found by all, held back, and taken back everywhere."""

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.model.fact import KEPT_HOME, Sharing
from hive_mind.model.query import Query
from tests.builders import found, said
from tests.unit.memory.hives import BLUE, OPEN, RED, SharedHome, SmallHive, two


async def test_what_one_agent_learns_another_recalls_and_what_it_takes_back_nobody_sees_any_more():
    ada_home, bo_home = two(hive := SmallHive())

    async with ada_home.memory() as ada, bo_home.memory() as bo:
        kept = await ada.store_fact("pump", RED, 0.9, source="ines", said_at="2023-05")

        (hit,) = await bo.search_facts("what colour has the pump?")
        assert (hit.fact.id, hit.fact.content, hit.fact.sources) == (kept.id, RED, ("ines",))
        assert (hit.fact.concept, hit.fact.confidence, hit.fact.said_at) == ("pump", 0.9, "2023-05")
        assert await bo.get_all_facts() == await bo.search_by_concept("PUMP") == [hit.fact] == [await bo.get_fact(kept.id)]
        assert await bo.local_get_all_facts() == await bo.local_search_facts("pump") == []
        assert (kept.sharing, kept.offered, hit.fact.sharing) == (Sharing.SHARED, ("ines",), Sharing.SHARED)

        await ada.retract_fact(kept.id)
        assert await found(bo, "pump") == await bo.get_all_facts() == []
        assert await bo.get_fact(kept.id) is None
        assert hive.contents == set()


async def test_what_two_agents_learned_is_one_fact_and_stays_while_one_of_them_vouches_for_it():
    ada_home, bo_home = two(SmallHive())

    async with ada_home.memory() as ada, bo_home.memory() as bo:
        await ada.store_fact("pump", RED, source="ines")
        kept = await bo.store_fact("pump", RED, source="otto")
        (hit,) = await ada.search_facts("pump")
        assert hit.components.confirmations == pytest.approx(0.2)
        assert len(await ada.get_all_facts()) == 1

        await bo.retract_fact(kept.id)
        assert await found(bo, Query("pump", with_superseded=True)) == await bo.get_all_facts() == []
        assert await found(ada, "pump") == [RED]


async def test_what_only_another_agent_said_is_refused_as_that_and_not_as_unknown():
    ada_home, bo_home = two(SmallHive())

    async with ada_home.memory() as ada, bo_home.memory() as bo:
        kept = await ada.store_fact("pump", RED)

        with pytest.raises(InvalidInput, match="is another agent's: only its author, or a moderator"):
            await bo.retract_fact(kept.id)
        with pytest.raises(InvalidInput, match="is another agent's"):
            await bo.supersede(kept.id, said(BLUE), "otto")
        with pytest.raises(InvalidInput, match="there is no fact"):
            await bo.retract_fact("0" * 32)
        assert await found(bo, "pump") == [RED]


async def test_a_moderator_takes_back_what_others_said_and_what_they_say_after_it_did():
    ada_home, mo_home = two(hive := SmallHive())
    hive.moderators = {mo_home.agent}

    async with ada_home.memory() as ada, mo_home.memory() as mo:
        kept = await ada.store_fact("pump", RED)
        gone = await mo.retract_fact(kept.id)
        assert (gone.id, gone.content, gone.is_retracted) == (kept.id, RED, True)
        assert await found(mo, "pump") == [] == await mo.get_all_facts()
        assert hive.contents == set()

        own = await mo.store_fact("pump", BLUE)
        await ada.store_fact("pump", BLUE, source="otto")
        await mo.retract_fact(own.id)
        assert hive.contents == {BLUE}
        assert (await mo.retract_fact(own.id)).sharing is Sharing.RETRACTED
        assert hive.contents == set()


async def test_a_superseded_fact_leaves_the_hive_and_comes_back_when_the_newer_one_is_taken_back():
    home = SharedHome()

    async with home.memory() as memory:
        old = await memory.store_fact("pump", RED)
        new = await memory.supersede(old.id, said(BLUE), "otto")
        assert home.hive.contents == {BLUE}
        assert "retract:superseded" in home.hive.calls
        assert set(await found(memory, Query("pump", with_superseded=True))) == {RED, BLUE}

        await memory.retract_fact(new.id)
        assert home.hive.contents == {RED}
        assert (await memory.get_fact(old.id)).sharing is Sharing.SHARED


async def test_each_source_of_a_fact_is_told_to_the_hive_once():
    home = SharedHome()

    async with home.memory() as memory:
        for source in ("ines", "otto", "ines", "otto"):
            fact = await memory.store_fact("pump", RED, source=source)

        assert home.hive.roots(RED) == {"ines", "otto"} == set(fact.offered)
        assert home.hive.calls.count("promote") == 2


async def test_what_the_gate_holds_back_is_found_at_home_only_and_says_why():
    ada_home, bo_home = two(hive := SmallHive())

    async with ada_home.memory() as ada, bo_home.memory() as bo:
        kept = await ada.store_fact("mail", "The e-mail of Ines is ines@example.org")
        assert kept.held_back == "its text holds an e-mail address"
        assert await found(ada, "e-mail of Ines") == [kept.content]
        assert await ada.search_by_concept("mail") == [kept]
        assert await found(bo, "e-mail of Ines") == []
    async with ada_home.memory() as ada:
        assert (await ada.get_fact(kept.id)).held_back == kept.held_back
        assert "promote" not in hive.calls


async def test_more_evidence_opens_the_gate():
    home = SharedHome()

    async with home.memory() as memory:
        doubtful = await memory.store_fact("pump", RED, 0.1, source="ines")
        assert "below" in doubtful.held_back

        sure = await memory.store_fact("pump", RED, 0.9, source="otto")
        assert (sure.held_back, sure.sharing) == ("", Sharing.SHARED)
        assert home.hive.roots(RED) == {"ines", "otto"}


async def test_what_is_stored_for_the_agent_alone_never_leaves_until_it_is_stored_for_all():
    home = SharedHome(gate=OPEN)

    async with home.memory() as memory:
        kept = await memory.local_store_fact("pump", RED)
        await memory.store_fact("door", "The door is blue.")
        await memory.settle()
        assert kept.held_back == KEPT_HOME
    async with home.memory() as memory:
        assert await found(memory, "pump", 1) == [RED]
        assert home.hive.contents == {"The door is blue."}

        await memory.store_fact("pump", RED)
        assert RED in home.hive.contents
