"""A conversation that is moved to files loses no word and no pointer, and is the same when its steps are folded again."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from hive_mind.judge.judgment import JudgmentAction
from hive_mind.model.dialogue import Message, ToolCall
from hive_mind.runs import effects as e
from hive_mind.runs.files import (
    COMPACT_FROM,
    KEPT,
    compacted,
    is_due,
    movable,
    pointers_in,
    shown,
    tier_for,
    tokens_of,
    transcript,
)
from hive_mind.runs.fold import folded
from hive_mind.runs.steps import Compacted
from tests.unit.runs.flow import Flow, call, worker

CONTEXT = 1_000
_WORDS = st.sampled_from(["", "yes", "the gate closes at 3.4 m", "w" * 700, "two\nlines", "[Judge feedback]: more"])
_RESULTS = st.sampled_from(["ok", "r" * 900, "a line\nand one more"])


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Words of users, turns with calls, and their results, each in a file of its own."""
    found, files, ids = list[Message](), 0, 0
    for _ in range(draw(st.integers(0, 14))):
        if draw(st.booleans()):
            found.append(Message("user", draw(_WORDS)))
            continue
        calls = [ToolCall(f"c{ids + n}", "look", {"q": draw(_WORDS)}) for n in range(draw(st.integers(0, 3)))]
        ids += len(calls)
        found.append(Message("assistant", draw(_WORDS), tuple(calls)))
        for one in calls:
            files += 1
            text = shown("look", draw(_RESULTS), f"look_{files}.txt")
            found.append(Message("tool", text, call=one.id, name="look"))
    return found


def squeezed(messages: Sequence[Message], context: int = CONTEXT) -> tuple[tuple[Message, ...], dict[str, str]]:
    """The conversation after all that was due, and the files it went to."""
    now, files = tuple(messages), dict[str, str]()
    while is_due(now, context):
        assert len(files) < 40, "it never ends"
        file, count = f"conversation_{len(files) + 1}.md", movable(now)
        tier = tier_for(now, count, context)
        files[file] = transcript(now[:count])
        now = compacted(now, file, count, tier)
    return now, files


def everything(messages: Sequence[Message]) -> str:
    return "\n".join(message.text for message in messages)


@given(conversations())
def test_no_word_is_lost(messages: list[Message]) -> None:
    now, files = squeezed(messages)
    there = "\n".join((everything(now), *files.values()))
    assert all(message.text in there for message in messages)


@given(conversations())
def test_no_call_is_lost(messages: list[Message]) -> None:
    now, files = squeezed(messages)
    kept = {one.id for message in now for one in message.calls}
    moved = sum(text.count("\n→ look(") for text in files.values())
    lost = [one for message in messages for one in message.calls if one.id not in kept]
    assert moved >= len(lost)


@given(conversations())
def test_every_pointer_and_every_former_conversation_stays_named(messages: list[Message]) -> None:
    now, files = squeezed(messages)
    named = {name for message in now for name in pointers_in(message)}
    assert named >= {name for message in messages for name in pointers_in(message)} | set(files)


@given(conversations())
def test_calls_and_their_results_stay_together(messages: list[Message]) -> None:
    now, _ = squeezed(messages)
    calls = {one.id for message in now for one in message.calls}
    results = {message.call for message in now if message.role == "tool"}
    assert calls == results


@given(conversations())
def test_the_last_messages_stay_as_they_are(messages: list[Message]) -> None:
    now, _ = squeezed(messages)
    last = messages[-KEPT:]
    assert list(now[len(now) - len(last) :]) == last


@given(conversations())
def test_it_comes_to_an_end_and_does_nothing_below_the_budget(messages: list[Message]) -> None:
    now, files = squeezed(messages)
    assert not is_due(now, CONTEXT)
    if tokens_of(messages) <= COMPACT_FROM * CONTEXT:
        assert (list(now), files) == (messages, {})


def test_the_document_s_sentence_stands_for_what_was_moved() -> None:
    long = tuple(Message("user" if n % 2 else "assistant", "word " * 400) for n in range(8))
    after = compacted(long, "conversation_1.md", movable(long), 1)
    assert after[0].text == (
        "[Previous conversation saved to 'conversation_1.md'. Use load_data('conversation_1.md') to review if needed.]"
    )
    assert after[1:] == long[movable(long) :]


def test_where_moving_the_text_is_enough_calls_and_results_stay() -> None:
    talk = [Message("user", "u" * 1_500), Message("assistant", "a" * 1_500, (ToolCall("c", "look", {}),))]
    messages = [*talk, Message("tool", "found", call="c", name="look"), *(Message("user", str(n)) for n in range(KEPT))]
    count = movable(messages)
    assert (count, tier_for(messages, count, CONTEXT)) == (3, 1)
    now = compacted(messages, "conversation_1.md", count, 1)
    assert [message.role for message in now[:3]] == ["user", "assistant", "tool"]
    assert now[1] == Message("assistant", "", (ToolCall("c", "look", {}),))
    assert now[2] == messages[2]
    assert tokens_of(now) <= COMPACT_FROM * CONTEXT


def test_where_it_is_not_enough_they_go_too_and_their_files_are_listed() -> None:
    messages = [Message("assistant", "", tuple(ToolCall(f"c{n}", "look", {"q": "q" * 900}) for n in range(4)))]
    messages += [Message("tool", f"x\n[Saved to 'look_{n}.txt']", call=f"c{n}", name="look") for n in range(4)]
    messages += [Message("user", str(n)) for n in range(KEPT)]
    count = movable(messages)
    assert (count, tier_for(messages, count, CONTEXT)) == (5, 2)
    now = compacted(messages, "conversation_1.md", count, 2)
    assert len(now) == 1 + KEPT
    assert "[Files named in it: look_0.txt, look_1.txt, look_2.txt, look_3.txt]" in now[0].text


def test_what_can_not_be_moved_is_not_due_however_long_it_is() -> None:
    assert not is_due([Message("user", "u" * 100_000)] * KEPT, CONTEXT)


@given(st.lists(st.tuples(_WORDS, st.lists(_RESULTS, max_size=3)), min_size=1, max_size=8), st.integers(0, 3))
def test_folding_the_steps_again_gives_the_conversation_that_was_in_memory(
    turns: list[tuple[str, list[str]]], extra: int
) -> None:
    flow = Flow(worker({"id": "a", "outputs": ["x"], "attempts": 50}, context_tokens=CONTEXT))
    for number, (text, results) in enumerate(turns * (1 + extra)):
        moving = flow.all(e.Compact, "a")
        if moving:
            before = flow.at("a").messages
            flow.give(e.Done(moving[0].id))
            assert flow.at("a").messages == compacted(before, moving[0].file, moving[0].messages, moving[0].tier)
        elif flow.all(e.CallModel, "a"):
            flow.says("a", *(call("look", q=f"{number}.{one}") for one in range(len(results))), text=text)
            flow.gives("a", *(e.ToolResult(one) for one in results))
        if flow.all(e.AskJudge, "a"):
            flow.judge("a", JudgmentAction.RETRY, "more")
        assert folded(flow.entries) == flow.state
    files = [step.file for step in flow.steps if isinstance(step, Compacted)]
    assert files == [f"conversation_{number}.md" for number in range(1, len(files) + 1)]
