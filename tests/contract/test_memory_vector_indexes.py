"""A whole memory over every vector index: the same facts, found the same, through every change of state."""

import pytest

from hive_mind import backends
from hive_mind.errors import BackendNotInstalled
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.query import Query
from tests.builders import BagOfWords, Home, said


@pytest.mark.parametrize("name", backends.known("ann"))
async def test_a_memory_keeps_supersedes_retracts_sleeps_and_finds_over_any_index(name: str):
    try:
        new_arm = backends.load("ann", name).open
    except BackendNotInstalled as error:
        pytest.skip(str(error))

    async def nearest(memory: CognitiveMemory, text: str, **options: bool) -> list[str]:
        return [hit.fact.content for hit in await memory.search_facts(Query(text, 2, "vector", **options))]

    home = Home()
    async with home.memory(BagOfWords(), new_arm=new_arm) as memory:
        await memory.store_facts([said(f"Boat {n} is in harbour {n}.") for n in range(20)], "ines")
        old = await memory.store_fact("lamp", "The lamp burns green.")
        new = await memory.supersede(old.id, said("The lamp burns white."), "otto")

        assert (await nearest(memory, "the lamp burns green"))[0] == "The lamp burns white."
        # What is past stands behind what took its place, however near it is.
        both = await nearest(memory, "the lamp burns green", with_superseded=True)
        assert both == ["The lamp burns white.", "The lamp burns green."]
        await memory.retract_fact(new.id)
        await memory.sleep()
        assert (await nearest(memory, "the lamp burns white"))[0] == "The lamp burns green."
        assert (await memory.get_statistics()).without_vector == 0
