"""Which vector a fact gets."""

from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.query import Query
from tests.builders import BagOfWords, remembering, said

FIRST, AGAIN = "The boiler leaks.", "The cellar is dry."


async def _scores(memory: CognitiveMemory) -> list[float | None]:
    hits = await memory.search_facts(Query(FIRST, 5, "vector"))
    return [hit.components.semantic for hit in hits]


def test_the_same_words_twice_in_one_batch_mean_what_they_meant_the_first_time() -> None:
    apart: list[float | None] = []
    together: list[float | None] = []
    words = [said("Shut it down.", before=FIRST), said("Shut it down.", before=AGAIN)]

    async def one_by_one(memory: CognitiveMemory) -> None:
        for word in words:
            await memory.store_facts([word], source="talk")
        apart.extend(await _scores(memory))

    async def in_one_batch(memory: CognitiveMemory) -> None:
        await memory.store_facts(words, source="talk")
        together.extend(await _scores(memory))

    remembering(one_by_one, embedder=BagOfWords())
    remembering(in_one_batch, embedder=BagOfWords())

    assert len(apart) == 1
    assert together == apart
