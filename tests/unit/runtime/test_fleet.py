"""A fleet of one process is asked by names, and says which there are."""

from pathlib import Path

import pytest

from hive_mind.embed.none import NoEmbedder
from hive_mind.errors import InvalidInput
from hive_mind.runtime.fleet import FleetPlan, open_fleet
from hive_mind.runtime.settings import Settings
from tests.builders import run


@pytest.mark.parametrize(("topology", "nodes"), [("sharded", "ada, ben"), ("flat", "hive"), ("single", "none")])
def test_a_name_that_nobody_has_is_told_with_those_that_there_are(topology: str, nodes: str, tmp_path: Path):
    async def whole() -> None:
        plan = FleetPlan(topology, ("ada", "ben"))
        async with await open_fleet(plan, Settings(home=tmp_path, store="memory", embed="none"), NoEmbedder()) as fleet:
            with pytest.raises(InvalidInput, match="there is no agent 'eve' in this fleet; there are ada, ben"):
                fleet.memory("eve")
            with pytest.raises(InvalidInput, match=f"there is no node 'eve' in this fleet; there are {nodes}"):
                await fleet.stop("eve")

    run(whole())
