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


async def test_each_source_of_a_fact_is_told_to_the_hive_once():
    home = SharedHome()

    async with home.memory() as memory:
        for source in ("ines", "otto", "ines", "otto"):
            fact = await memory.store_fact("pump", RED, source=source)

        assert home.hive.roots(RED) == {"ines", "otto"} == set(fact.offered)
        assert home.hive.calls.count("promote") == 2


async def test_more_evidence_opens_the_gate():
    home = SharedHome()

    async with home.memory() as memory:
        assert "below" in (await memory.store_fact("pump", RED, 0.1, source="ines")).held_back

        sure = await memory.store_fact("pump", RED, 0.9, source="otto")
        assert (sure.held_back, sure.sharing) == ("", Sharing.SHARED)
        assert home.hive.roots(RED) == {"ines", "otto"}
