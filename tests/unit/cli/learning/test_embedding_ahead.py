"""The files of a folder are embedded together, and each is kept on its own."""

import asyncio
from collections.abc import Sequence

import pytest

from hive_mind.agents.agent import LearningAgent
from hive_mind.cli.learning.pieces import Piece, Tally, learn_all
from hive_mind.cli.running import Stopped
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.embed import Matrix
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.query import Query
from hive_mind.runtime.texts import Document, Unreadable
from tests.builders import BagOfWords, Home
from tests.unit.cli.learning.learner import learner_over

FILES = 50
# One of them is larger than all that is read ahead.
LARGE = "\n\n".join(f"Box {number} holds {number} lamps." for number in range(400))


class Counting(BagOfWords):
    """Counts how often it is called, and by how many texts."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[int] = []

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        self.calls.append(len(texts))
        return await super().embed_passages(texts)


def pieces(count: int = FILES) -> list[Piece]:
    texts = [f"The weir {number} opens at {number} on Monday. Its keeper is Ada{number}." for number in range(count - 2)]
    documents = [*map(Document, (*texts, LARGE)), Unreadable("looks binary")]
    return [Piece(f"{n}.md", f"{n}.md", "", lambda _, document=document: document, True) for n, document in enumerate(documents)]


async def learned(memory: CognitiveMemory, *, ahead: bool, tally: Tally | None = None) -> Tally:
    tally = tally or Tally()
    learner = learner_over(LearningAgent("ada", memory, ExtractiveReader(), reads_freely=ahead))
    await learn_all(learner, pieces(), tally, lambda *_: None)
    return tally


async def scores(memory: CognitiveMemory) -> list[tuple[str, float | None]]:
    hits = await memory.search_facts(Query("Who is the keeper of weir 7?", 20, "vector"))
    return [(hit.fact.content, hit.components.semantic) for hit in hits]


async def test_a_folder_of_many_files_takes_few_calls_of_the_model_and_gives_the_same_vectors_once() -> None:
    together, apart = Counting(), Counting()
    memory, other_memory = Home().memory(together), Home().memory(apart)
    tallies = [await learned(memory, ahead=True), await learned(other_memory, ahead=False)]

    assert len(apart.calls) >= FILES - 1
    assert len(together.calls) <= 2 + sum(together.calls) // 256
    assert max(together.calls) <= 256
    assert tallies[0].learned == tallies[1].learned
    assert [skipped["file"] for skipped in tallies[0].skipped] == [f"{FILES - 1}.md"]
    assert await scores(memory) == await scores(other_memory)
    assert (await memory.get_statistics()).without_vector == 0
    calls = len(together.calls)
    assert (await learned(memory, ahead=True)).added == 0
    assert len(together.calls) == calls


async def test_without_a_model_nothing_is_read_ahead() -> None:
    assert not await learner_over(LearningAgent("ada", Home().memory(), ExtractiveReader())).embed_ahead([], print)


async def test_a_model_that_fails_ahead_is_asked_again_and_the_files_are_kept() -> None:
    class Failing(Counting):
        async def embed_passages(self, texts: Sequence[str]) -> Matrix:
            if not self.calls:
                self.calls.append(0)
                raise RuntimeError("out of memory on device 0")
            return await super().embed_passages(texts)

    memory = Home().memory(Failing())
    assert len((await learned(memory, ahead=True)).learned) == FILES - 1
    assert (await memory.get_statistics()).without_vector == 0


async def test_a_stop_in_the_middle_loses_no_file_that_was_kept() -> None:
    class Stopping(Home):
        def __init__(self) -> None:
            super().__init__()
            self.writes, self._write = 0, self._kept.write
            self._kept.write = self._written  # type: ignore[method-assign]

        async def _written(self, changes: Sequence[object]) -> None:
            self.writes += 1
            if self.writes == 20:
                raise asyncio.CancelledError
            await self._write(changes)  # type: ignore[arg-type]

    memory, tally = Stopping().memory(Counting()), Tally()
    with pytest.raises(Stopped, match="nothing lost"):
        await learned(memory, ahead=True, tally=tally)
    assert len(await memory.get_all_facts()) >= tally.added > 0

    await learned(memory, ahead=True)
    statistics = await memory.get_statistics()
    assert (statistics.facts, statistics.without_vector) == (2 * (FILES - 2) + 400, 0)
