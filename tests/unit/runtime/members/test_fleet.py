"""A fleet of one process is asked by names, and says which there are."""

from pathlib import Path

import pytest

from hive_mind.embed.none import NoEmbedder
from hive_mind.errors import InvalidInput
from hive_mind.runtime.members import fleet as fleet_module
from hive_mind.runtime.members.fleet import FleetPlan, open_fleet
from hive_mind.runtime.settings import Settings
from tests.builders import BagOfWords


@pytest.mark.parametrize(("topology", "nodes"), [("sharded", "ada, ben"), ("flat", "hive"), ("single", "none")])
async def test_a_name_that_nobody_has_is_told_with_those_that_there_are(topology: str, nodes: str, tmp_path: Path):
    plan = FleetPlan(topology, ("ada", "ben"))
    async with await open_fleet(Settings(home=tmp_path, store="memory", embed="none"), plan, NoEmbedder()) as fleet:
        with pytest.raises(InvalidInput, match="there is no agent 'eve' in this fleet; there are ada, ben"):
            fleet.memory("eve")
        with pytest.raises(InvalidInput, match=f"there is no node 'eve' in this fleet; there are {nodes}"):
            await fleet.stop("eve")


async def test_a_fleet_given_no_embedder_has_its_own_and_closes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = BagOfWords()

    async def opened(_: Settings) -> BagOfWords:
        return embedder

    monkeypatch.setattr(fleet_module, "open_embedder", opened)
    async with await open_fleet(Settings(home=tmp_path, store="memory"), FleetPlan("flat", ("ada",))) as fleet:
        await fleet.memory("ada").store_fact("gateway", "The gateway listens on port 8443.")
        assert not embedder.times_closed

    assert (embedder.passages, embedder.times_closed) == (["The gateway listens on port 8443."], 1)


@pytest.mark.parametrize("agents", [(), ("ada", "ben", "ada")])
async def test_a_fleet_of_nobody_or_of_two_with_one_name_is_refused(agents: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="at least one agent, and each name once"):
        await open_fleet(Settings(home=tmp_path, store="memory", embed="none"), FleetPlan("flat", agents), NoEmbedder())

    assert not any(tmp_path.iterdir())
