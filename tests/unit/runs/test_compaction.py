"""Whatever was said is in the conversation or in a file, every pointer survives, and folding gives what was in memory."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.model.dialogue import Message, ToolCall
from hive_mind.runs import effects as e
from hive_mind.runs.compaction import COMPACT_FROM, compacted, is_due, movable, pointers_in, tier_for, tokens_of, told
from hive_mind.runs.fold import folded
from hive_mind.runs.steps import entry_of
from tests.unit.runs.playing import Play, loop, worker

LIMIT = 1_000


@st.composite
def conversations(draw: Any) -> tuple[Message, ...]:
    """Turns with calls and results, some with pointers, and what people say in between."""
    messages: list[Message] = []
    for number in range(draw(st.integers(0, 12))):
        text = draw(st.text(alphabet="abc é\n[]", max_size=200)) * draw(st.sampled_from([1, 1, 8]))
        if draw(st.booleans()):
            messages.append(Message("user", text or "?"))
            continue
        calls = tuple(ToolCall(f"{number}.{n}", "search", {"q": text[:20]}) for n in range(draw(st.integers(0, 2))))
        messages.append(Message("assistant", text, calls))
        messages += [
            Message("tool", f"{text}\n[Saved to 'search_{number}{n}.txt']", call=one.id, name="search")
            for n, one in enumerate(calls)
        ]
    return tuple(messages)


def compact(messages: tuple[Message, ...]) -> tuple[tuple[Message, ...], dict[str, str]]:
    """As often as it is due; the conversation and the files."""
    files: dict[str, str] = {}
    while is_due(messages, LIMIT):
        count = movable(messages)
        file = f"conversation_{len(files) + 1}.md"
        files[file] = told(messages[:count])
        messages = compacted(messages, file, count, tier_for(messages, count, LIMIT))
    return messages, files


@given(conversations())
@settings(max_examples=300)
def test_no_text_and_no_pointer_is_ever_lost(before: tuple[Message, ...]) -> None:
    after, files = compact(before)
    whole = "\n".join([*files.values(), *(message.text for message in after)])
    assert all(message.text in whole for message in before)
    pointers = {name for message in after for name in pointers_in(message)}
    assert {name for message in before for name in pointers_in(message)} <= pointers
    assert set(files) <= pointers


@given(conversations())
@settings(max_examples=300)
def test_a_call_and_its_result_stay_together(before: tuple[Message, ...]) -> None:
    after, _ = compact(before)
    called = [call.id for message in after for call in message.calls]
    assert [message.call for message in after if message.role == "tool"] == called


@given(conversations())
def test_it_comes_to_an_end_and_does_nothing_below_the_budget(before: tuple[Message, ...]) -> None:
    after, files = compact(before)
    assert not is_due(after, LIMIT)
    if tokens_of(before) <= COMPACT_FROM * LIMIT:
        assert (after, files) == (before, {})


def test_the_document_s_sentence_stands_for_what_was_moved() -> None:
    long = tuple(Message("user" if n % 2 else "assistant", "word " * 400) for n in range(8))
    after = compacted(long, "conversation_1.md", movable(long), 1)
    assert after[0].text == (
        "[Previous conversation saved to 'conversation_1.md'. Use load_data('conversation_1.md') to review if needed.]"
    )
    assert after[1:] == long[movable(long) :]


def test_folding_the_steps_gives_the_conversation_that_was_in_memory() -> None:
    play = Play(worker(loop("a", tools=["search"]), contextTokens=LIMIT))
    for number in range(12):
        play.says("thinking " * 60, search={"q": str(number)})
        play.gives(f"result {number} " * 40)
        while found := [one for one in play.wanted if isinstance(one, e.Compact)]:
            play.happens(e.Done(found[0].id))
    assert play.state.conversations > 1
    again = folded([entry_of(step, 1_000) for step in play.steps])
    assert again.places["p1"].messages == play.state.places["p1"].messages
    assert again == play.state
