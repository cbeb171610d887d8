"""An agent's memory with a hive behind it: shared once, found by all, held back, and taken back everywhere."""

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.model.fact import Sharing
from tests.builders import found, said
from tests.unit.memory.hives import BLUE, RED, SharedHome, SmallHive, two


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
        assert "below" in (await memory.store_fact("pump", RED, 0.1, source="ines")).held_back

        sure = await memory.store_fact("pump", RED, 0.9, source="otto")
        assert (sure.held_back, sure.sharing) == ("", Sharing.SHARED)
        assert home.hive.roots(RED) == {"ines", "otto"}
