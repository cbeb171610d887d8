"""A file that was edited and is learned again: what it says no longer is former, what it says now comes first."""

import random
from pathlib import Path

import pytest

from hive_mind.agents.agent import LearningAgent
from hive_mind.agents.learning import Learned, LearningSettings
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.errors import BackendError, InvalidInput
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.content import Content
from hive_mind.model.fact import Fact, Relation
from hive_mind.model.ids import fact_id
from hive_mind.model.query import Query
from hive_mind.store.memory import MemoryStore
from tests.builders import Home, found, lines_of, said

Section = tuple[str, list[str]]
NAMES = "Gateway Billing Search Mail Cache Queue Storage Login Reports Alerts Backup Exports".split()
FILE = "/srv/runbook.md"


def manual() -> list[Section]:
    """Twelve sections of five statements, no two of which are the same."""
    return [
        (
            name,
            [
                f"The {name} service accepts {600 + number} requests per minute.",
                f"Its {name} data is kept in the northern hall for {number + 2} weeks.",
                f"Team {name} answers the telephone on working days.",
                f"Logs of {name} are written to volume {number + 20}.",
                f"Every release of {name} is announced {number + 3} days ahead.",
            ],
        )
        for number, name in enumerate(NAMES)
    ]


def written(sections: list[Section]) -> str:
    return "\n\n".join(f"## {name}\n\n" + " ".join(lines) for name, lines in sections)


async def learn(
    memory: CognitiveMemory, text: str, source: str = FILE, *, batch_facts: int = 256, is_whole: bool = True
) -> Learned:
    agent = LearningAgent("ada", memory, ExtractiveReader(), LearningSettings(batch_facts=batch_facts))
    return await agent.learn_from_content(Content(text, source, is_whole=is_whole))


async def current(memory: CognitiveMemory) -> set[str]:
    return {fact.content for fact in await memory.get_all_facts()}


async def kept(memory: CognitiveMemory, content: str) -> Fact:
    fact = await memory.get_fact(fact_id(content))
    assert fact is not None
    return fact


@pytest.mark.parametrize("back_end", ["memory", "sqlite"])
async def test_after_an_edit_all_that_the_file_says_is_current_and_all_else_is_former_wherever_it_stood(
    back_end: str, tmp_path: Path
):
    before, after = manual(), manual()
    chance = random.Random(14)
    chance.shuffle(after)
    changed, removed, added = {}, [], []
    for number, (name, lines) in enumerate(after):
        old = lines[0]
        lines[0] = changed[old] = old.replace("requests", "calls").replace(" 6", " 9")
        if number % 4 == 0:
            old, lines[3] = lines[3], f"Nothing is written down about {name} any more."
            changed[old] = lines[3]
        if number % 2:
            removed.append(lines.pop(2))
        lines.append(f"A second {name} machine stands by in Bergen.")
        added.append(f"A second {name} machine stands by in Bergen.")
    async with Home(back_end, tmp_path / "memory.sqlite").memory() as memory:
        await learn(memory, written(before))
        learned = await learn(memory, written(after))

        assert await current(memory) == {line for _, lines in after for line in lines}
        assert learned.former == len(changed) + len(removed)
        assert learned.added == len(changed) + len(added)
        for old, new in changed.items():
            assert (await kept(memory, old)).superseded_by == fact_id(new), (old, new)
            assert fact_id(old) in await memory.related(fact_id(new), Relation.SUPERSEDES)
        for old in removed:
            assert (await kept(memory, old)).superseded_by == learned.episode.id


async def test_an_edited_number_is_answered_with_the_new_one_and_the_former_comes_after_it(memory: CognitiveMemory):
    old, new = "The gateway accepts 600 requests per minute.", "The gateway accepts 900 requests per minute."
    await learn(memory, f"# Gateway\n\n{old} It stands in hall 3.")
    await learn(memory, f"# Gateway\n\n{new} It stands in hall 3.")

    assert (await found(memory, "How many requests does the gateway accept?"))[0] == new
    assert old not in await found(memory, "600 requests")
    both = await found(memory, Query("600 requests per minute", with_superseded=True))
    assert both[:2] == [new, old]


async def test_learning_the_same_again_changes_nothing(memory: CognitiveMemory):
    await learn(memory, written(manual()))
    edited = [(name, lines[1:]) for name, lines in manual()]
    await learn(memory, written(edited))
    before = await lines_of(memory)

    again = await learn(memory, written(edited))

    assert (again.added, again.confirmed, again.former) == (0, 0, 0)
    assert await lines_of(memory) == before


async def test_an_edit_that_is_undone_brings_the_former_back(memory: CognitiveMemory):
    first = "The gateway accepts 600 requests per minute."
    second = "The gateway accepts 900 requests per minute."
    for text in (first, second, first, f"{second} The wall is green.", f"{first} {second}"):
        await learn(memory, text)
        assert await current(memory) == {line + "." for line in text.removesuffix(".").split(". ")}


async def test_what_another_source_says_too_stays_as_that_ones_and_what_was_stored_by_hand_stays(memory: CognitiveMemory):
    shared, own = "The gateway accepts 600 requests per minute.", "The wall is green."
    await learn(memory, f"{shared} {own}")
    await learn(memory, shared, "/srv/copy.md")
    await memory.store_fact("", "The door is blue.", source=FILE)

    learned = await learn(memory, "The lamp is yellow.")

    assert await current(memory) == {shared, "The door is blue.", "The lamp is yellow."}
    assert (await kept(memory, shared)).sources == ("/srv/copy.md",)
    assert learned.former == 2


async def test_what_an_edit_replaced_is_said_again_by_a_copy_that_was_not_edited_and_is_that_ones(memory: CognitiveMemory):
    old, new = "The gateway accepts 600 requests per minute.", "The gateway accepts 900 requests per minute."
    for text, source in ((old, FILE), (new, FILE), (old, "/srv/copy.md"), (new, FILE), (old, "/srv/copy.md")):
        await learn(memory, text, source)

    assert {content: (await kept(memory, content)).sources for content in await current(memory)} == {
        new: (FILE,),
        old: ("/srv/copy.md",),
    }
    await learn(memory, new, "/srv/copy.md")
    assert await current(memory) == {new}


async def test_what_a_person_replaced_stays_replaced_when_the_file_is_edited_elsewhere(memory: CognitiveMemory):
    wrong, right = "The gateway accepts 600 requests per minute.", "The gateway accepts 700 requests per minute."
    await learn(memory, f"{wrong} The wall is green.")
    await memory.supersede(fact_id(wrong), said(right), "otto")

    for text in (f"{wrong} The wall is green.", f"{wrong} The wall is red."):
        await learn(memory, text)
        assert right in await current(memory)
        assert wrong not in await current(memory)


async def test_a_source_that_is_no_whole_adds_to_what_it_said(memory: CognitiveMemory):
    await learn(memory, "The wall is green.", "ines", is_whole=False)
    assert (await learn(memory, "The door is blue.", "ines", is_whole=False)).former == 0
    assert await current(memory) == {"The wall is green.", "The door is blue."}
    with pytest.raises(InvalidInput, match="name the episodes"):
        await memory.supersede_former("ines", [])


async def test_what_is_former_is_so_in_another_memory_that_takes_it_over_and_comes_back_there_too():
    first, second = "The gateway accepts 600 requests per minute. The wall is green.", "The wall is green."

    async with Home().memory() as memory, Home().memory() as other:
        for text in (first, second):
            await learn(memory, text)
        await other.import_lines(await lines_of(memory))

        assert await current(other) == await current(memory) == {second}
        await learn(other, first)
        assert len(await current(other)) == 2


class _StopsWriting(MemoryStore):
    """Fails for good after so many writes, as a process that is killed."""

    left = 1_000_000

    async def write(self, changes):
        self.left -= 1
        if self.left < 0:
            raise BackendError("disk", "gone")
        await super().write(changes)


@pytest.mark.parametrize("writes", range(9))
async def test_whoever_is_killed_while_learning_an_edited_file_has_all_of_the_former_until_all_of_the_new_is_kept(writes: int):
    before = manual()[:4]
    after = [(name, [line.replace("requests", "calls") for line in lines]) for name, lines in before]
    old, new = ({line for _, lines in text for line in lines} for text in (before, after))

    home, store = Home(), _StopsWriting()
    home._kept = store
    async with home.memory() as memory:
        await learn(memory, written(before))
        # An episode, five batches of four, and the end of the former.
        store.left = writes
        stopped = 0
        try:
            await learn(memory, written(after), batch_facts=4)
        except BackendError:
            stopped = 1
    assert stopped == (writes < 7)
    async with home.memory() as memory:
        held = await current(memory)
        assert old <= held if stopped else held == new
        store.left = 1_000_000
        await learn(memory, written(after), batch_facts=4)
        assert await current(memory) == new
