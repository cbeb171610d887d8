"""The executor: one for a run at a time, stopped anywhere without loss, and nothing begins twice.

The executor between models and people: chats, models that can't be had, and conversations that grow too long.
"""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hive_mind.agents.judging.hybrid_judge import RunJudge
from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.performer import RunParts
from hive_mind.agents.runs.run_journal import RunTaken, say_to
from hive_mind.cognition.budget import usd_of
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.judge.judgment import Judgment, JudgmentAction
from hive_mind.ledger import Ledger
from hive_mind.llm.base import Usage
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.model.content import Reply, Turn
from hive_mind.runs.steps import Entered, Step
from hive_mind.tools import ToolContext
from hive_mind.tools.functions import tool
from tests.unit.agents.run_builders import decide_all, driven, kept, parts_over, resumed, said, sets, until
from tests.unit.runs.flow import worker

TALK = {"id": "a", "outputs": ["x"]}
ASK = {"id": "q", "kind": "person", "prompt": "Which?", "outputs": ["word"]}


async def test_a_run_goes_from_its_beginning_to_its_end_tells_what_is_durable_already_and_stays_as_it_ended(
    ledger: Ledger,
) -> None:
    told: list[tuple[Step, int]] = []
    parts = parts_over(ledger, conversation=[sets("x", 1)])
    executor: RunExecutor
    executor = RunExecutor("r", parts, on_step=lambda step: told.append((step, executor.state.seq)))
    await executor.start(worker(TALK), {})
    state = await executor.drive()
    assert (state.outcome, state.buffer, state.tokens) == ("accepted", {"x": 1}, 5)
    assert [seq for _, seq in told] == list(range(1, len(await ledger.read("run/r")) + 1))
    assert any(isinstance(step, Entered) for step, _ in told)
    assert await kept(ledger) == await resumed(parts) == state


async def test_who_waits_for_a_person_goes_on_as_soon_as_somebody_decides(ledger: Ledger) -> None:
    parts = parts_over(ledger)
    executor = RunExecutor("r", parts, is_waiting=True)
    await executor.start(worker(ASK), {})
    task = asyncio.create_task(executor.drive())
    await until(lambda: executor.state.is_waiting)
    assert not task.done()
    await decide_all(parts, edit="notes")
    assert (await task).buffer == {"word": "notes"}


async def test_who_takes_a_run_over_removes_what_was_half_written(tmp_path: Path, ledger: Ledger) -> None:
    parts = parts_over(ledger, conversation=lambda _: sets("x", 1), folder=tmp_path)
    await RunExecutor("r", parts).start(worker({"id": "a", "outputs": ["x"]}), {})
    (tmp_path / "runs" / "r").mkdir(parents=True)
    for name in (".notes.md.1ykdc93t.part", "notes.md"):
        (tmp_path / "runs" / "r" / name).write_text("x")
    await resumed(parts)
    assert [path.name for path in (tmp_path / "runs" / "r").iterdir()] == ["notes.md"]


async def test_when_two_processes_go_on_with_a_run_the_one_that_came_last_has_it(ledger: Ledger) -> None:
    gate = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        await gate.wait()
        return "waited"

    spec = worker({"id": "w", "kind": "tool", "tool": "wait", "outputs": ["x"]})
    first, second = (RunExecutor("r", parts_over(ledger, wait)) for _ in range(2))
    await first.start(spec, {})
    one = asyncio.create_task(first.drive())
    await until(lambda: bool(first.state.places) and first.state.places["p1"].phase == "act")
    await second.resume()
    other = asyncio.create_task(second.drive())
    gate.set()
    with pytest.raises(RunTaken, match="another process goes on with run r"):
        await one
    assert (await other).outcome == "accepted"


@pytest.mark.parametrize("idempotent", [True, False])
async def test_a_process_that_is_stopped_leaves_a_run_that_goes_on(idempotent: bool, ledger: Ledger) -> None:
    calls = []
    gate = asyncio.Event()

    @tool(idempotent=idempotent)
    async def pay() -> str:
        """Pay."""
        calls.append("paid")
        await gate.wait()
        return "a receipt"

    spec = worker({"id": "p", "kind": "tool", "tool": "pay", "outputs": ["x"]})
    parts = parts_over(ledger, pay)
    task = asyncio.create_task(driven(parts, spec))
    await until(lambda: bool(calls))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [one.get_name() for one in asyncio.all_tasks() if one is not asyncio.current_task()] == []

    gate.set()
    state = await resumed(parts)
    if not idempotent:
        assert calls == ["paid"]
        (view,) = await decide_all(parts)
        assert view.item.title == "pay may have run: run it again?"
        state = await resumed(parts)
    assert state.outcome == "accepted"
    assert calls == ["paid", "paid"]


async def test_a_node_that_takes_too_long_is_given_up_and_a_run_whose_time_is_over_is_exhausted_while_it_runs(
    ledger: Ledger,
) -> None:
    @tool
    async def wait() -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return ""

    slow, parts = {"id": "w", "kind": "tool", "tool": "wait"}, parts_over(ledger, wait)
    state = await driven(parts, worker(slow | {"timeout_s": 0.01}, TALK, edges=["w a failure"]))
    assert state.failed == (("w", 1, ("it took longer than 0.01 seconds",)),)
    assert (await driven(parts, worker(slow, limits={"seconds": 0.01}), run="s")).outcome == "exhausted"


async def test_calls_of_a_turn_run_side_by_side_and_their_results_come_in_the_order_of_the_calls(ledger: Ledger) -> None:
    gate = asyncio.Event()

    @tool
    async def meet(who: str) -> str:
        """Wait for the other."""
        if who == "first":
            await gate.wait()
        gate.set()
        return f"{who} came"

    turns: list[Turn] = []

    def replied(turn: Turn) -> Any:
        turns.append(turn)
        return said("", ("meet", {"who": "first"}), ("meet", {"who": "second"})) if len(turns) == 1 else sets("x", 1)

    await driven(parts_over(ledger, meet, conversation=replied), worker(TALK | {"tools": ["meet"]}))
    assert [message.text for message in turns[1].messages if message.role == "tool"] == ["first came", "second came"]


@pytest.mark.parametrize("name", ["../../x", "a/b", "", "a.b", "x" * 64])
async def test_a_name_that_leads_out_of_the_folder_of_runs_is_refused(name: str, tmp_path: Path, ledger: Ledger) -> None:
    with pytest.raises(InvalidInput, match="the name of a run is letters"):
        await driven(parts_over(ledger, folder=tmp_path), worker(ASK), run=name)
    assert await ledger.heads("") == []


async def test_a_newer_definition_has_to_have_the_node_at_which_the_run_is(ledger: Ledger) -> None:
    parts = parts_over(ledger)
    await driven(parts, worker(ASK))
    with pytest.raises(InvalidInput, match="no node q, where run r is"):
        await RunExecutor("r", parts).resume(worker("other"))
    await RunExecutor("r", parts).resume(worker(ASK | {"prompt": "Which now?"}, version="2"))
    assert (await kept(ledger)).spec.version == "2"


async def test_a_newer_definition_takes_a_run_over_and_memory_stays(ledger: Ledger) -> None:
    parts = parts_over(ledger, conversation=[sets("x", 1)])
    await driven(parts, worker(TALK, ASK, edges=["a q"]))
    executor = RunExecutor("r", parts)
    await executor.resume(worker(TALK, ASK, {"id": "more", "kind": "person"}, edges=["a q", "q more"], version="2"))
    await decide_all(parts, edit="yes")
    state = await executor.drive()
    assert (state.spec.version, [place.node for place in state.places.values()]) == ("2", ["more"])
    assert dict(state.buffer) == {"x": 1, "word": "yes"}


async def test_values_of_a_program_are_in_memory_what_they_are_after_a_restart(ledger: Ledger) -> None:
    executor = RunExecutor("r", parts_over(ledger))
    await executor.start(worker(ASK), {"pair": (1, 2), "deep": {"at": (3,)}})
    assert executor.state == await kept(ledger)
    with pytest.raises(InvalidInput, match="a run keeps plain values"):
        await RunExecutor("s", parts_over(ledger)).start(worker(ASK), {"path": object()})


def delegating(ledger: Ledger, *replies: Any, **fields: Any) -> tuple[RunParts, Any]:
    look = {"id": "look", "outputs": ["found"]}
    spec = worker({"id": "lead", "subagents": ["look"], "outputs": ["x"], **fields}, subagents=[look])
    return parts_over(ledger, conversation=list(replies)), spec


async def test_a_sub_agent_that_nobody_declared_is_an_error_result(ledger: Ledger) -> None:
    parts, spec = delegating(ledger, said("", ("delegate_to_sub_agent", {"name": "fly", "task": "t"})), sets("x", 1))
    assert (await driven(parts, spec)).outcome == "accepted"
    assert [head.stream for head in await ledger.heads("run/")] == ["run/r"]


async def test_a_task_that_is_given_again_after_a_person_wanted_it_done_again_is_a_run_of_its_own(ledger: Ledger) -> None:
    give = said("", ("delegate_to_sub_agent", {"name": "look", "task": "t"}))
    parts, spec = delegating(
        ledger, give, sets("found", 1), sets("x", 1), give, sets("found", 2), sets("x", 2), requires_approval=True
    )
    await driven(parts, spec)
    await decide_all(parts, JudgmentAction.RETRY)
    await resumed(parts)
    await decide_all(parts)
    state = await resumed(parts)
    assert (state.outcome, state.buffer) == ("accepted", {"x": 2})
    assert len(await ledger.heads("run/r.")) == 2


async def test_a_turn_costs_what_its_tokens_cost_and_a_sub_agents_are_its_parents(ledger: Ledger) -> None:
    task = said("", ("delegate_to_sub_agent", {"name": "look", "task": "t"}))
    parts, spec = delegating(ledger)
    model = ScriptedModel(name="openai:gpt-5-mini", conversation=[task, sets("found", 1), sets("x", 2)])
    state = await driven(replace(parts, model=model), spec)
    one = usd_of("openai:gpt-5-mini", Usage(3, 2, 1))
    assert one
    assert (state.outcome, state.usd) == ("accepted", pytest.approx(3 * one))


async def test_a_provider_that_does_not_count_does_not_make_a_run_endless(ledger: Ledger) -> None:
    spec = worker(TALK | {"attempts": 50}, limits={"tokens": 2_000})
    state = await driven(parts_over(ledger, conversation=lambda _: Reply("It is a long story. " * 50)), spec)
    assert state.outcome == "exhausted"
    assert "of 2,000 tokens are used" in state.reason


async def test_dollars_are_a_limit_only_where_a_price_is_known(ledger: Ledger) -> None:
    spec = worker(TALK, limits={"usd": 1})
    parts = parts_over(ledger, conversation=[sets("x", 1)])
    with pytest.raises(InvalidInput, match=r"limits\.usd: no price is known for scripted; limit tokens instead"):
        await RunExecutor("r", parts).start(spec, {})
    await RunExecutor("r", replace(parts, model=None)).start(spec, {})
    with pytest.raises(InvalidInput, match="no price is known"):
        await RunExecutor("r", parts).resume()


async def test_a_chat_answers_each_word_and_ends_when_its_outputs_are_set(ledger: Ledger) -> None:
    def replied(turn: Turn) -> Any:
        words = [message.text for message in turn.messages if message.role == "user"]
        return sets("x", words[-1]) if "Porto" in words[-1] else said(f"You said {words[-1]}. Where?")

    spec = worker(TALK | {"client_facing": True})
    parts = parts_over(ledger, conversation=replied)
    executor = RunExecutor("r", parts)
    await executor.start(spec, {})
    assert (await executor.drive()).places["p1"].phase == "wait"
    await say_to(ledger, "r", "I sail")
    state = await executor.drive()
    assert state.places["p1"].messages[-1].text == "You said I sail. Where?"
    assert (await executor.drive()).seq == state.seq

    await say_to(ledger, "r", "to Porto")
    assert (await resumed(parts)).buffer == {"x": "to Porto"}


async def test_a_word_that_comes_while_a_chat_still_thinks_is_heard_in_its_turn(ledger: Ledger) -> None:
    heard: list[str] = []
    gate = asyncio.Event()

    @tool
    async def look() -> str:
        """Look."""
        await gate.wait()
        return "seen"

    def replied(turn: Turn) -> Any:
        heard[:] = [message.text for message in turn.messages if message.role == "user"]
        if len(turn.messages) == 1:
            return said("", ("look", {}))
        return sets("x", heard[-1]) if "Porto" in heard else said("Where?")

    executor = RunExecutor("r", parts_over(ledger, look, conversation=replied))
    await executor.start(worker(TALK | {"client_facing": True, "tools": ["look"]}), {})
    task = asyncio.create_task(executor.drive())
    await until(lambda: bool(executor.state.places) and executor.state.places["p1"].phase == "act")
    await say_to(ledger, "r", "Porto")
    await asyncio.sleep(0)
    gate.set()
    assert (await task).buffer == {"x": "Porto"}


async def test_words_that_were_said_before_a_kill_are_heard_once_each_in_their_order(ledger: Ledger) -> None:
    def replied(turn: Turn) -> Any:
        words = [message.text for message in turn.messages if message.role == "user"]
        return sets("x", words[-3:]) if words[-1] == "three" else said("And?")

    parts = parts_over(ledger, conversation=replied)
    await RunExecutor("r", parts).start(worker(TALK | {"client_facing": True}), {})
    for word in ("one", "two", "three"):
        # Nobody drives it: it is as if whoever did was killed the moment the word was there.
        await say_to(ledger, "r", word)
    assert (await resumed(parts)).buffer == {"x": ["one", "two", "three"]}


async def test_a_word_that_nobody_waits_for_does_not_keep_a_run_from_coming_back(ledger: Ledger) -> None:
    executor = RunExecutor("r", parts_over(ledger))
    await executor.start(worker(ASK, TALK | {"id": "later", "client_facing": True}), {})
    await say_to(ledger, "r", "hello")
    assert (await executor.drive()).is_waiting


async def test_a_model_that_can_not_be_had_is_a_persons_business_and_is_asked_again_after_a_word(ledger: Ledger) -> None:
    for conversation, why in (
        ([BackendUnavailable("m", "is down"), sets("x", 1)], "is down"),
        (None, "there is no language model"),
    ):
        parts = parts_over(ledger, conversation=conversation)
        assert (await driven(parts, worker(TALK), run="with" if conversation else "without")).is_waiting
        (view,) = await decide_all(parts, JudgmentAction.RETRY)
        assert why in view.item.title
    assert (await resumed(parts_over(ledger, conversation=[sets("x", 1)]), "with")).buffer == {"x": 1}


async def test_a_conversation_that_grows_too_long_is_moved_to_a_file_and_goes_on(tmp_path: Path, ledger: Ledger) -> None:
    turns: list[Turn] = []

    def replied(turn: Turn) -> Any:
        turns.append(turn)
        return said(f"{len(turns)} " + "word " * 300) if len(turns) < 6 else sets("x", 1)

    spec = worker(TALK | {"attempts": 9}, context_tokens=1_000)
    state = await driven(parts_over(ledger, conversation=replied, folder=tmp_path), spec)
    moved = (tmp_path / "runs" / "r" / "conversation_1.md").read_text()
    assert state.outcome == "accepted"
    assert "1 word" in moved
    assert "conversation_1.md" in turns[-1].instructions
    assert "1 word" not in str(turns[-1].messages)


async def test_where_no_files_are_kept_a_conversation_that_is_too_long_is_a_persons_business(ledger: Ledger) -> None:
    parts = parts_over(ledger, conversation=lambda _: said("word " * 300))
    assert (await driven(parts, worker(TALK | {"attempts": 9}, context_tokens=1_000))).is_waiting
    (view,) = await parts.desk.open()
    assert "no files are kept to move it to" in view.item.title


async def test_a_model_that_chooses_no_edge_is_a_persons_business(ledger: Ledger) -> None:
    edges = [{"source": "a", "target": one, "on": "model"} for one in "bc"]
    parts = parts_over(ledger, conversation=[sets("x", 1), said("Let me think.")])
    assert "did not choose one of b, c" in (await driven(parts, worker(TALK, "b", "c", edges=edges))).places["p1"].why

    parts = parts_over(ledger, conversation=[sets("x", 1), said("", ("choose", {"target": "c"})), said("done")])
    assert (await driven(parts, worker(TALK, "b", "c", edges=edges), run="s")).path == ("a", "c")


class Strict:
    """A judge who accepts only seven."""

    async def evaluate(self, turn: Any) -> Judgment:
        del turn
        return Judgment(action=JudgmentAction.RETRY, reasoning="not seven", feedback="make it seven")


async def test_a_node_is_judged_by_the_judge_it_names(ledger: Ledger) -> None:
    spec = worker(TALK | {"judge": "strict", "attempts": 2, "success_criteria": [{"id": "good"}]})
    parts = parts_over(ledger, conversation=[sets("x", 1), sets("x", 2)], judge=RunJudge(functions={"strict": Strict()}))
    assert (await driven(parts, spec)).places["p1"].errors == ("make it seven", "make it seven")

    with pytest.raises(InvalidInput, match="judged by 'strict', which is not there"):
        await driven(parts_over(ledger, conversation=[sets("x", 1)]), spec, run="s")


@pytest.mark.parametrize("is_idempotent", [True, False])
async def test_a_tool_that_asks_a_person_is_called_with_the_answers_and_works_once(is_idempotent: bool, ledger: Ledger) -> None:
    done: list[str] = []

    @tool(idempotent=is_idempotent)
    async def order(context: ToolContext) -> str:
        """Order something."""
        what = await context.ask_person("What?")
        done.append(f"{await context.ask_person('How many?')} {what}")
        return done[-1]

    parts = parts_over(ledger, order)
    spec = worker({"id": "order", "kind": "tool", "tool": "order", "outputs": ["ordered"]})
    state = await driven(parts, spec)
    for title, answer in (("What?", "ropes"), ("How many?", "three")):
        assert state.is_waiting
        (view,) = await decide_all(parts, edit=answer)
        assert (view.item.title, dict(view.item.context)["call"]) == (title, "order")
        state = await resumed(parts)
    assert (state.buffer, done) == ({"ordered": "three ropes"}, ["three ropes"])
    assert [item for item in await parts.desk.ids() if "may have run" in str(await parts.desk.view(item))] == []


async def test_a_person_who_declines_what_a_tool_asks_is_an_error_of_that_tool(ledger: Ledger) -> None:
    @tool
    async def order(context: ToolContext) -> str:
        """Order something."""
        return str(await context.ask_person("What?"))

    parts = parts_over(ledger, order)
    await driven(parts, worker({"id": "order", "kind": "tool", "tool": "order", "outputs": ["ordered"], "attempts": 1}))
    await decide_all(parts, JudgmentAction.ESCALATE)
    assert "a person declined" in str((await resumed(parts)).places)
