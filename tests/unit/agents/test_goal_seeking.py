"""One loop for whatever comes in: told, asked, or to be done; alone and in a hive.

Where inputs come from: a list, a file, an open stream, or a queue that somebody fills.
An agent with one loop: what is told is learned, what is asked is answered, and a task becomes a run.
Learning and answering as runs: the same work as the plain calls do, kept step by step, judged by a goal, resumed by name.
"""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hive_mind.agents.agent import Learned
from hive_mind.agents.goal_seeking import GoalSeekingAgent, Task, as_task, lines_of, listed
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.errors import InvalidInput
from hive_mind.goals.goal import Goal, SuccessCriterion
from hive_mind.llm.scripted import Conversation
from hive_mind.model.content import Content
from hive_mind.model.gathered import Answer, Question
from hive_mind.runs.spec import WorkerSpec
from hive_mind.runs.state import RunState
from hive_mind.runtime.members.fleet import FleetPlan, open_fleet
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.workers.runs import open_goal_seeking
from tests.builders import Home
from tests.loops import opened
from tests.unit.agents.run_builders import decide_all, parts_over, said, sets
from tests.unit.runs.flow import worker
from tests.waiting import until

ASK = WorkerSpec.model_validate(
    {
        "id": "ask",
        "inputs": ["question"],
        "entry": "ask",
        "nodes": [
            {
                "id": "ask",
                "kind": "tool",
                "tool": "ask",
                "args": {"question": "$question"},
                "inputs": ["question"],
                "outputs": ["a"],
            }
        ],
    }
)

GATE = "Sluice gate 2 closes at a water level of 3.2 m."
PERSON = worker({"id": "q", "kind": "person", "outputs": ["word"]}, inputs=["about"])


def settings(folder: Path) -> Settings:
    return Settings(home=folder, embed="none")


async def test_each_input_goes_once_through_the_loop(tmp_path: Path) -> None:
    async with open_goal_seeking(settings(tmp_path), "ada") as agent:
        seen: list[str] = []
        steps = {name: getattr(agent, name) for name in ("observe", "orient", "decide", "act")}
        for name, step in steps.items():
            setattr(agent, name, _noted(name, step, seen))
        done: list[Any] = [
            await agent.process(one)
            for one in (
                "The ferry leaves at nine.",
                Content("The ferry is red.", "log"),
                "When does the ferry leave?",
                Question("Which colour has the ferry?"),
                Task(ASK, {"question": "When does the ferry leave?"}),
            )
        ]
        assert [type(one) for one in done] == [Learned, Learned, Answer, Answer, RunState]
        assert done[0].facts[0].sources == ("user",)
        assert "nine" in done[2].text
        assert (done[4].outcome, done[4].buffer["a"]["is_known"]) == ("accepted", True)
        assert seen == ["observe", "orient", "decide", "act"] * 5


def _noted(name: str, step: Any, seen: list[str]) -> Any:
    async def noted(given: Any) -> Any:
        seen.append(name)
        return await step(given)

    return noted


async def test_a_list_and_a_file_are_sources_alike(tmp_path: Path) -> None:
    file = tmp_path / "said.txt"
    file.write_text("The ferry leaves at nine.\n\n  \nWhen does the ferry leave?\n", "utf-8")

    async def kinds(agent: GoalSeekingAgent, source: Any) -> list[type]:
        return [type(done) async for _, done in agent.serve(source)]

    async with open_goal_seeking(settings(tmp_path / "home"), "ada") as agent:
        wanted = [Learned, Answer]
        assert await kinds(agent, listed(["The ferry leaves at nine.", "When does the ferry leave?"])) == wanted
        with file.open(encoding="utf-8") as stream:
            assert await kinds(agent, lines_of(stream)) == wanted


async def test_an_agent_of_a_hive_learns_and_answers_alike(tmp_path: Path) -> None:
    async with await open_fleet(settings(tmp_path), FleetPlan("flat", ("ada", "ben"))) as fleet:
        ada, ben = (GoalSeekingAgent(name, fleet.memory(name), ExtractiveReader()) for name in ("ada", "ben"))
        await ada.process("The ferry leaves at nine.")
        await fleet.settled()
        answer = await ben.process("When does the ferry leave?")
        assert isinstance(answer, Answer)
        assert "nine" in answer.text


async def test_a_question_of_another_agent_begins_no_run_here(tmp_path: Path) -> None:
    """What a peer asks is searched for, and nothing else happens for it."""
    async with await open_fleet(settings(tmp_path), FleetPlan("sharded", ("ada", "ben", "cleo"))) as fleet:
        agents = {name: GoalSeekingAgent(name, fleet.memory(name), ExtractiveReader()) for name in ("ada", "ben", "cleo")}
        passes: list[str] = []
        for name in ("ben", "cleo"):
            agents[name].observe = _noted(name, agents[name].observe, passes)  # type: ignore[method-assign]
        await agents["ada"].process("The ferry leaves at nine.")
        await fleet.settled()
        assert isinstance(await agents["ada"].process("When does the ferry leave?"), Answer)
        assert passes == []


async def test_a_stream_gives_each_line_that_says_something_and_stays_open(tmp_path: Path) -> None:
    path, text = tmp_path / "inputs.txt", io.StringIO("one\ntwo\n")
    path.write_bytes(b"one\r\n\n   \n  two \xff\nthree")
    with path.open(encoding="utf-8", errors="replace") as stream:
        assert [line async for line in lines_of(stream)] == ["one", "two \ufffd", "three"]
    assert [line async for line in lines_of(text)] == ["one", "two"]
    assert not text.closed


@asynccontextmanager
async def with_agent(*, has_runs: bool = True, conversation: Conversation | None = None) -> AsyncIterator[GoalSeekingAgent]:
    async with Home().memory() as memory, opened("ledger", "memory") as ledger:
        runs = parts_over(ledger, conversation=conversation) if has_runs else None
        yield GoalSeekingAgent("ada", memory, ExtractiveReader(), runs=runs)


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
async def test_nothing_is_refused_and_is_no_task(text: str) -> None:
    async with with_agent() as agent:
        with pytest.raises(InvalidInput, match="empty input"):
            await agent.process(text)
    with pytest.raises(InvalidInput, match="empty input"):
        as_task(text)


async def test_deciding_changes_nothing() -> None:
    async with with_agent() as agent:
        await agent.learn_from_content(GATE)
        before = await agent.memory.get_statistics()
        for given, action in (
            (Content("The gate is painted red.", "otto"), "learn"),
            (Question("When does gate 2 close?"), "answer"),
            (Task(PERSON, {"about": "sluice gate", "count": 3}), "run"),
        ):
            assert (await agent.decide(await agent.orient(await agent.observe(given)))).action == action
        assert await agent.memory.get_statistics() == before
        assert await agent.parts.ledger.heads("") == []


async def test_a_run_is_resumed_by_its_name_when_somebody_decided() -> None:
    async with with_agent() as agent:
        await agent.run(PERSON, {"about": "gates"}, name="gates")
        assert (await agent.resume("gates")).is_waiting
        (view,) = await agent.desk.open()
        await decide_all(agent.parts, edit="notes")
        state = await agent.resume("gates")
        assert view.item.subject.startswith("gates/")
        assert (state.outcome, state.buffer["word"]) == ("accepted", "notes")
        with pytest.raises(InvalidInput, match="needs about"):
            await agent.run(PERSON)


TALK = worker({"id": "talk", "clientFacing": True, "outputs": ["heard"]})


@pytest.mark.parametrize("is_driven", [False, True], ids=["parked", "driven meanwhile"])
async def test_a_program_talks_with_a_run_and_reads_its_reply(is_driven: bool) -> None:
    script = [said("Where to?"), said("And when?"), sets("heard", "both")]
    async with with_agent(conversation=script) as agent:
        driving = asyncio.create_task(agent.run(TALK, name="talk", is_waiting=is_driven))
        if is_driven:
            await until(lambda: "talk" in agent._driving and agent._driving["talk"].state.listening)
        else:
            assert (await driving).listening == {"talk": "Where to?"}
        state = await agent.say("talk", "to Corrin", key="k1")
        if is_driven:
            await until(lambda: agent._driving["talk"].state.listening == {"talk": "And when?"})
        else:
            assert state.listening == {"talk": "And when?"}
        await agent.say("talk", "to Corrin", key="k1")
        state = await agent.say("talk", "at nine")
        ended = await driving if is_driven else state
        assert (ended.outcome, ended.buffer) == ("accepted", {"heard": "both"})
        with pytest.raises(InvalidInput, match="has ended"):
            await agent.say("talk", "hello?")


async def test_an_agent_without_runs_says_so_and_does_the_rest() -> None:
    async with with_agent(has_runs=False) as agent:
        assert isinstance(await agent.process(GATE), Learned)
        with pytest.raises(InvalidInput, match="agent 'ada' was opened without runs"):
            await agent.process(Task(PERSON, {"about": "x"}))


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


async def test_a_goal_judges_an_answer_and_the_whole_of_a_source_replaces_what_it_said_before_in_a_run_too(
    tmp_path: Path,
) -> None:
    async with with_agents(tmp_path) as (_, runs):
        await runs.pursue(HANDBOOK)
        assert (await runs.pursue(ASKED, saying("nine"))).outcome == "accepted"
        # One that misses it goes to a person.
        assert (await runs.pursue(ASKED, saying("Jonas"))).is_waiting
        state = await runs.pursue(Content("The ferry leaves at ten.", "handbook.md", is_whole=True))
        assert state.buffer["learned"]["former"] == 2
        assert "ten" in (await runs.answer_question(ASKED)).text


async def test_what_is_not_known_waits_for_a_person_whose_word_is_learned(tmp_path: Path) -> None:
    async with with_agents(tmp_path) as (_, runs):
        assert (await runs.pursue(ASKED, name="ferry")).is_waiting
        await decide_all(runs.parts, edit="The ferry leaves at nine.")
        assert (await runs.resume("ferry")).outcome == "accepted"
        assert "nine" in (await runs.answer_question(ASKED)).text


def saying(word: str) -> Goal:
    return Goal(
        id="says",
        success_criteria=[SuccessCriterion(id="says", metric="condition", target=f"{word!r} in output.answer['answer']")],
    )
