"""Learning and answering as runs: the same work as the plain calls do, kept step by step, judged by a goal, resumed by name."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hive_mind.agents.goal_seeking import GoalSeekingAgent, as_task
from hive_mind.errors import InvalidInput
from hive_mind.goals.goal import Goal, SuccessCriterion
from hive_mind.model.content import Content
from hive_mind.model.gathered import Question
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.workers.runs import open_goal_seeking
from tests.unit.agents.run_builders import decide_all

HANDBOOK = Content("The ferry leaves at nine.\nThe ferry is red.", "handbook.md", "2024-05-01", title="Handbook", is_whole=True)
ASKED = Question("When does the ferry leave?", asked_at="2024-06-01")


@asynccontextmanager
async def with_agents(folder: Path) -> AsyncIterator[tuple[GoalSeekingAgent, GoalSeekingAgent]]:
    settings = Settings(home=folder, embed="none")
    async with open_goal_seeking(settings, "plain") as plain, open_goal_seeking(settings, "runs") as runs:
        yield plain, runs


async def test_a_run_learns_and_answers_what_the_plain_calls_do(tmp_path: Path) -> None:
    async with with_agents(tmp_path) as (plain, runs):
        learned = await plain.learn_from_content(HANDBOOK)
        kept = (await runs.pursue(HANDBOOK)).buffer["learned"]
        assert [one["id"] for one in kept["facts"]] == [fact.id for fact in learned.facts]
        assert kept["added"] == learned.added == 2
        (theirs,) = await runs.memory.search_facts("When does the ferry leave?", 1)
        (ours,) = await plain.memory.search_facts("When does the ferry leave?", 1)
        assert (
            (theirs.fact.said_at, theirs.fact.sources)
            == (ours.fact.said_at, ours.fact.sources)
            == ("2024-05-01", ("handbook.md",))
        )

        answer = await plain.answer_question(ASKED)
        state = await runs.pursue(ASKED)
        assert state.outcome == "accepted"
        given = state.buffer["answer"]
        assert (given["answer"], given["is_known"]) == (answer.text, True)
        assert [one["id"] for one in given["facts"]] == [hit.fact.id for hit in answer.sources]


async def test_the_whole_of_a_source_replaces_what_it_said_before_in_a_run_too(tmp_path: Path) -> None:
    async with with_agents(tmp_path) as (_, runs):
        await runs.pursue(HANDBOOK)
        state = await runs.pursue(Content("The ferry leaves at ten.", "handbook.md", is_whole=True))
        assert state.buffer["learned"]["former"] == 2
        assert "ten" in (await runs.answer_question(ASKED)).text


async def test_what_is_not_known_waits_for_a_person_whose_word_is_learned(tmp_path: Path) -> None:
    async with with_agents(tmp_path) as (_, runs):
        assert (await runs.pursue(ASKED, name="ferry")).is_waiting
        await decide_all(runs.parts, edit="The ferry leaves at nine.")
        assert (await runs.resume("ferry")).outcome == "accepted"
        assert "nine" in (await runs.answer_question(ASKED)).text


async def test_a_goal_judges_an_answer_and_one_that_misses_it_goes_to_a_person(tmp_path: Path) -> None:
    async with with_agents(tmp_path) as (_, runs):
        await runs.pursue(HANDBOOK)
        assert (await runs.pursue(ASKED, saying("nine"))).outcome == "accepted"
        assert (await runs.pursue(ASKED, saying("Jonas"))).is_waiting


def saying(word: str) -> Goal:
    return Goal(
        id="says",
        success_criteria=[SuccessCriterion(id="says", metric="condition", target=f"{word!r} in output.answer['answer']")],
    )


@pytest.mark.parametrize("text", ["", "  \n"])
def test_nothing_is_no_task(text: str) -> None:
    with pytest.raises(InvalidInput, match="empty input"):
        as_task(text)
