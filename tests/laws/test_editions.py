"""Whatever files say one after the other, an agent holds what they say now, each statement as that of the files that say it."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from hive_mind.agents.agent import LearningAgent, LearningSettings
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.content import Content
from tests.builders import Home, lines_of, run

# Some differ in a number alone, so that one may take the place of another.
PUMPS = tuple(f"Pump {name} runs at {bar} bar." for name in ("north", "south", "east") for bar in (20, 40))
TEXT = st.lists(st.sampled_from((*PUMPS, "The wall is green.")), min_size=1, max_size=5, unique=True).map(tuple)
STEPS = st.lists(st.tuples(st.sampled_from(("/a.md", "/b.md", "/c.md")), TEXT, st.booleans()), min_size=1, max_size=8)


@given(STEPS)
def test_a_memory_holds_what_each_file_says_now_whatever_they_said_before(steps: Sequence[tuple[str, tuple[str, ...], bool]]):
    async def scenario() -> None:
        async with Home().memory() as memory:
            agent = LearningAgent("ada", memory, ExtractiveReader(), LearningSettings(batch_facts=2))
            now: dict[str, tuple[str, ...]] = {}
            for file, lines, has_headings in steps:
                now[file] = lines
                content = Content(written(lines, has_headings=has_headings), file, is_whole=True)
                await agent.learn_from_content(content)
                assert await held(memory) == voices(now)
                before = await lines_of(memory)
                await agent.learn_from_content(content)
                assert await lines_of(memory) == before

    run(scenario())


def written(lines: Sequence[str], *, has_headings: bool) -> str:
    return "\n\n".join(f"# {line.split()[1]}\n\n{line}" if has_headings else line for line in lines)


def voices(texts: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    """Who says what."""
    said = {line for lines in texts.values() for line in lines}
    return {line: {file for file, lines in texts.items() if line in lines} for line in said}


async def held(memory: CognitiveMemory) -> dict[str, set[str]]:
    return {fact.content: set(fact.sources) for fact in await memory.get_all_facts()}
