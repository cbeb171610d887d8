"""An agent with one loop: what is told is learned, what is asked is answered, and a task becomes a run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from hive_mind.agents.goal_seeking import GoalSeekingAgent, Task, listed
from hive_mind.agents.learning import Learned
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.errors import InvalidInput
from hive_mind.model.answer import Answer, Question
from hive_mind.model.content import Content
from hive_mind.runs.state import RunState
from tests.builders import Home
from tests.loops import opened
from tests.unit.agents.run_builders import decide_all, parts_over
from tests.unit.runs.flow import worker

GATE = "Sluice gate 2 closes at a water level of 3.2 m."
ASK = worker({"id": "q", "kind": "person", "outputs": ["word"]}, inputs=["about"])


@asynccontextmanager
async def with_agent(*, has_runs: bool = True) -> AsyncIterator[GoalSeekingAgent]:
    async with Home().memory() as memory, opened("ledger", "memory") as ledger:
        runs = parts_over(ledger) if has_runs else None
        yield GoalSeekingAgent("ada", memory, ExtractiveReader(), runs=runs)


async def test_a_text_is_learned_a_question_is_answered_and_a_task_is_run() -> None:
    async with with_agent() as agent:
        learned = await agent.process(GATE)
        answer = await agent.process("At what water level does sluice gate 2 close?")
        state = await agent.process(Task(ASK, {"about": "gates"}))
        assert isinstance(learned, Learned)
        assert learned.facts[0].sources == ("user",)
        assert isinstance(answer, Answer)
        assert "3.2 m" in answer.text
        assert isinstance(state, RunState)
        assert state.is_waiting


@pytest.mark.parametrize(
    ("text", "kind"),
    [("Is it open?", Question), ("  開いていますか？ ", Question), ("It is open.", Content), ("Why? It is.", Content)],
)
async def test_what_ends_with_a_question_mark_is_a_question(text: str, kind: type) -> None:
    async with with_agent() as agent:
        observed = await agent.observe(text)
        assert type(observed.value) is kind
        assert observed.value.text == text.strip()


@pytest.mark.parametrize("text", ["", " \n\t"])
async def test_nothing_is_refused(text: str) -> None:
    async with with_agent() as agent:
        with pytest.raises(InvalidInput, match="there is nothing in it"):
            await agent.process(text)


async def test_deciding_changes_nothing() -> None:
    async with with_agent() as agent:
        await agent.learn_from_content(GATE)
        before = await agent.memory.get_statistics()
        for given, action in (
            (Content("The gate is painted red.", "otto"), "learn"),
            (Question("When does gate 2 close?"), "answer"),
            (Task(ASK, {"about": "sluice gate", "count": 3}), "run"),
        ):
            decided = await agent.decide(await agent.orient(await agent.observe(given)))
            assert decided.action == action
        assert await agent.memory.get_statistics() == before
        assert await agent.parts.ledger.heads("") == []


async def test_each_thing_that_a_source_gives_is_done_in_turn() -> None:
    async with with_agent() as agent:
        source = listed([GATE, "At what water level does sluice gate 2 close?"])
        done = [(given, type(what)) async for given, what in agent.serve(source)]
        assert [kind for _, kind in done] == [Learned, Answer]
        assert done[0][0] == GATE


async def test_a_run_is_resumed_by_its_name_when_somebody_decided() -> None:
    async with with_agent() as agent:
        await agent.run(ASK, {"about": "gates"}, name="gates")
        assert (await agent.resume("gates")).is_waiting
        (view,) = await agent.desk.open()
        await decide_all(agent.parts, edit="notes")
        state = await agent.resume("gates")
        assert view.item.subject.startswith("gates/")
        assert (state.outcome, state.buffer["word"]) == ("accepted", "notes")
        with pytest.raises(InvalidInput, match="needs about"):
            await agent.run(ASK)


async def test_an_agent_without_runs_says_so_and_does_the_rest() -> None:
    async with with_agent(has_runs=False) as agent:
        assert isinstance(await agent.process(GATE), Learned)
        with pytest.raises(InvalidInput, match="agent 'ada' was opened without runs"):
            await agent.process(Task(ASK, {"about": "x"}))
