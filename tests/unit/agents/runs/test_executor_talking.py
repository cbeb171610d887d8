"""The executor between models and people: chats, models that can't be had, and conversations that grow too long."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.run_journal import say_to
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.judge.judgment import Judgment, JudgmentAction
from hive_mind.ledger.base import Ledger
from hive_mind.model.dialogue import Turn
from hive_mind.tools.functions import tool
from tests.unit.agents.run_builders import decide_all, driven, parts_over, resumed, said, sets, until
from tests.unit.runs.flow import worker

TALK = {"id": "a", "outputs": ["x"]}
ASK = {"id": "q", "kind": "person", "prompt": "Which?", "outputs": ["word"]}


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
    executor.listen()
    state = await executor.drive()
    assert state.places["p1"].messages[-1].text == "You said I sail. Where?"
    executor.listen()
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
    executor.listen()
    await asyncio.sleep(0)
    gate.set()
    assert (await task).buffer == {"x": "Porto"}


async def test_words_that_were_said_before_a_kill_are_heard_once_each_in_their_order(ledger: Ledger) -> None:
    def replied(turn: Turn) -> Any:
        words = [message.text for message in turn.messages if message.role == "user"]
        return sets("x", words[-3:]) if words[-1] == "three" else said("And?")

    parts = parts_over(ledger, conversation=replied)
    executor = RunExecutor("r", parts)
    await executor.start(worker(TALK | {"client_facing": True}), {})
    for word in ("one", "two", "three"):
        # Nobody drives it: it is as if whoever did was killed the moment the word was there.
        await say_to(ledger, "r", word)
    assert (await resumed(parts)).buffer == {"x": ["one", "two", "three"]}


async def test_a_word_that_nobody_waits_for_does_not_keep_a_run_from_coming_back(ledger: Ledger) -> None:
    executor = RunExecutor("r", parts_over(ledger))
    await executor.start(worker(ASK), {})
    await say_to(ledger, "r", "hello")
    assert (await executor.drive()).is_waiting


async def test_a_model_that_can_not_be_had_is_a_persons_business_and_is_asked_again_after_a_word(ledger: Ledger) -> None:
    parts = parts_over(ledger, conversation=[BackendUnavailable("m", "is down"), sets("x", 1)])
    state = await driven(parts, worker(TALK))
    assert state.is_waiting
    (view,) = await decide_all(parts, JudgmentAction.RETRY)
    assert "is down" in view.item.title
    assert (await resumed(parts)).buffer == {"x": 1}


async def test_without_a_model_a_loop_is_a_persons_business(ledger: Ledger) -> None:
    parts = parts_over(ledger)
    await driven(parts, worker(TALK))
    (view,) = await parts.desk.open()
    assert "there is no language model" in view.item.title


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
    state = await driven(parts, worker(TALK | {"attempts": 9}, context_tokens=1_000))
    assert state.is_waiting
    (view,) = await parts.desk.open()
    assert "no files are kept to move it to" in view.item.title


async def test_a_model_that_chooses_no_edge_is_a_persons_business(ledger: Ledger) -> None:
    edges = [{"source": "a", "target": one, "on": "model"} for one in "bc"]
    parts = parts_over(ledger, conversation=[sets("x", 1), said("Let me think.")])
    state = await driven(parts, worker(TALK, "b", "c", edges=edges))
    assert "did not choose one of b, c" in state.places["p1"].why

    parts = parts_over(ledger, conversation=[sets("x", 1), said("", ("choose", {"target": "c"})), said("done")])
    assert (await driven(parts, worker(TALK, "b", "c", edges=edges), run="s")).path == ("a", "c")


class Strict:
    """A judge who accepts only seven."""

    async def evaluate(self, turn: Any) -> Judgment:
        del turn
        return Judgment(action=JudgmentAction.RETRY, reasoning="not seven", feedback="make it seven")


async def test_a_node_is_judged_by_the_judge_it_names(ledger: Ledger) -> None:
    spec = worker(TALK | {"judge": "strict", "attempts": 2, "success_criteria": [{"id": "good"}]})
    parts = parts_over(ledger, conversation=[sets("x", 1), sets("x", 2)], judges={"strict": Strict()})
    state = await driven(parts, spec)
    assert state.places["p1"].errors == ("make it seven", "make it seven")

    with pytest.raises(InvalidInput, match="judged by 'strict', which is not there"):
        await driven(parts_over(ledger, conversation=[sets("x", 1)]), spec, run="s")
