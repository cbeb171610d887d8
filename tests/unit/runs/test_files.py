"""Texts in files: results by pointers, conversations that are moved, and the agent's memory."""

import json
import re
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hive_mind.judge.judgment import JudgmentAction
from hive_mind.model.content import Message, ToolCall
from hive_mind.runs import effects as e
from hive_mind.runs.fold import folded
from hive_mind.runs.prompt import (
    ADAPT_CHARACTERS_MAX,
    ADAPT_VALUE_CHARACTERS,
    COMPACT_FROM,
    KEPT,
    LINE_CHARACTERS,
    SHOWN_CHARACTERS_MAX,
    adapt_seeded,
    as_text,
    compacted,
    file_of,
    is_due,
    is_plain_name,
    movable,
    number_of,
    part,
    pointers_in,
    shown,
    tier_for,
    tokens_of,
    transcript,
    with_output,
)
from hive_mind.runs.state import without_pointer
from hive_mind.runs.steps import Compacted
from tests.unit.runs.flow import Flow, call, worker


@pytest.mark.parametrize("length", [0, 1, 29_999, 30_000])
def test_a_result_of_up_to_30000_characters_is_shown_whole(length: int) -> None:
    text = "x" * length
    assert shown("look", text, "look_1.txt") == f"{text}\n[Saved to 'look_1.txt']"
    assert shown("look", text, "") == text


def test_a_longer_one_is_shown_as_far_and_says_where_the_rest_is() -> None:
    text = "x" * 30_000 + "y"
    assert shown("look", text, "look_1.txt") == (
        "x" * 30_000 + "\n[Result from look: 30,001 chars — too large for context, saved to 'look_1.txt'. "
        "Use load_data(filename='look_1.txt') to read the full result.]"
    )
    assert shown("look", text, "") == "x" * 30_000 + "\n[Only first 30,000 chars shown]"


@given(st.text(max_size=200), st.booleans(), st.integers(1, 99))
def test_a_result_is_the_same_whatever_file_it_is_in(text: str, is_long: bool, number: int) -> None:
    whole = text + "x" * SHOWN_CHARACTERS_MAX * is_long
    assert without_pointer(shown("look", whole, f"look_{number}.txt")) == whole[:SHOWN_CHARACTERS_MAX]


_PIECES = st.sampled_from(["a", "é", "\n", "\r\n", "\u2028", " ", "line\n", "x" * 1_999, "y" * 2_000, "z" * 4_001, "w" * 31_000])


@given(st.lists(_PIECES, max_size=30).map("".join), st.integers(1, 600))
@example("", 1)
@example("x" * 100_000, 500)
@example("line\n" * 20_000, 500)
def test_every_file_can_be_read_to_its_end(text: str, limit: int) -> None:
    found, offset = "", 0
    for _ in range(1 + len(text)):
        told = part(text, "f.txt", offset, limit)
        more = re.search(r"\n\[Lines [\d,]+ to [\d,]+ of [\d,]+; go on with offset=(\d+)\. Use offset/limit[^\n]*\]\Z", told)
        if more is None:
            found += told if text else ""
            break
        assert more.start() <= SHOWN_CHARACTERS_MAX
        assert int(more[1]) > offset
        found, offset = found + told[: more.start()], int(more[1])
    assert found == text


def test_behind_the_end_nothing_is_there_and_it_says_so() -> None:
    assert part("a\nb\n", "f.txt", 2, 10) == "[f.txt has 2 lines; there is nothing from line 2 on]"
    assert part("", "f.txt", 0, 10) == "[f.txt has 0 lines; there is nothing from line 0 on]"


def test_a_line_that_is_too_long_counts_as_several() -> None:
    assert part("x" * (LINE_CHARACTERS + 1), "f.txt", 1, 1) == "x"


@given(st.text(max_size=150), st.integers(1, 10**6))
@example("_private", 1)
@example("mail/send", 2)
@example("..", 3)
@example("x" * 300, 4)
def test_whatever_a_tool_is_called_its_files_have_plain_names_with_their_numbers(tool: str, number: int) -> None:
    name = file_of(tool, number)
    assert is_plain_name(name)
    assert number_of(name) == number


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "a\\b", "/etc/passwd", ".hidden", "a..b", "x\n", "a\0b", "ü.txt", "x" * 101, "C:x"]
)
def test_a_name_that_might_lead_elsewhere_is_none(name: str) -> None:
    assert not is_plain_name(name)


def test_other_files_have_no_number() -> None:
    assert [number_of(name) for name in ("notes.txt", "conversation_1.md", "look_x.txt", "_1.txt")] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ('{"a":1}', '{\n  "a": 1\n}'),
        ("{no json", "{no json"),
        ("[" * 100_000, "[" * 100_000),
        ("[x] a list of Markdown", "[x] a list of Markdown"),
        ({"a": "é"}, '{\n  "a": "é"\n}'),
        (None, "null"),
        (3, "3"),
    ],
)
def test_what_is_json_is_saved_in_lines_and_anything_else_as_it_is(value: object, text: str) -> None:
    assert as_text(value) == text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda one: st.lists(one) | st.dictionaries(st.text(), one)
    )
)
def test_no_value_is_lost_on_its_way_into_a_file(value: object) -> None:
    if not isinstance(value, str):
        assert json.loads(as_text(value)) == value


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
            found.append(Message("tool", shown("look", draw(_RESULTS), f"look_{files}.txt"), call=one.id, name="look"))
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


@given(conversations())
def test_compacting_loses_nothing_and_comes_to_an_end(messages: list[Message]) -> None:
    now, files = squeezed(messages)

    there = "\n".join(("\n".join(message.text for message in now), *files.values()))
    assert all(message.text in there for message in messages), "no word is lost"
    kept = {one.id for message in now for one in message.calls}
    moved = sum(text.count("\n→ look(") for text in files.values())
    assert moved >= len([one for message in messages for one in message.calls if one.id not in kept]), "no call is lost"
    named = {name for message in now for name in pointers_in(message)}
    assert named >= {name for message in messages for name in pointers_in(message)} | set(files), "every file stays named"
    assert kept == {message.call for message in now if message.role == "tool"}, "calls and their results stay together"
    last = messages[-KEPT:]
    assert list(now[len(now) - len(last) :]) == last
    assert not is_due(now, CONTEXT)
    if tokens_of(messages) <= COMPACT_FROM * CONTEXT:
        assert (list(now), files) == (messages, {}), "below the budget nothing is done"


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
def test_folding_the_steps_again_gives_the_conversation_that_was_in_memory(turns: list[tuple[str, list[str]]], extra: int):
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


_LINES = st.sampled_from(
    [
        *("", "## Identity", "## Rules", "## Outputs", "## Notes", "# Title", "- be brief", "- mind: the gap"),
        *("  text", "## Outputs of ours"),
    ]
) | st.text(st.characters(blacklist_characters="\n\r", blacklist_categories=["Cs"]), max_size=20).filter(
    lambda line: not line.startswith("- key")
)
_TEXTS = st.lists(_LINES, max_size=12).map("\n".join)
_VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=30) | st.lists(st.text(max_size=5), max_size=3)


@given(_TEXTS, _VALUES)
def test_what_a_person_wrote_is_never_touched(text: str, value: object) -> None:
    theirs = [line for line in with_output(text, "key1", value).split("\n") if not line.startswith("- key1: ")]
    # A heading is added where there was none, and ends of lines and sections where they were missing.
    begun = [line for line in text.split("\n") if line]
    assert [line for line in theirs if line] in (begun, [*begun, "## Outputs"])


@given(_TEXTS, _VALUES, _VALUES)
def test_an_output_has_one_line_which_is_replaced_in_its_place(text: str, first: object, second: object) -> None:
    between = with_output(with_output(text, "key1", first), "key2", 0)
    lines, before = with_output(between, "key1", second).split("\n"), between.split("\n")
    assert sum(line.startswith("- key1: ") for line in lines) == 1
    assert [number for number, line in enumerate(lines) if line.startswith("- key1: ")] == [
        number for number, line in enumerate(before) if line.startswith("- key1: ")
    ]
    assert len(lines) == len(before)


@given(_TEXTS, _VALUES)
def test_the_same_output_again_changes_nothing(text: str, value: object) -> None:
    once = with_output(text, "key1", value)
    assert with_output(once, "key1", value) == once


def test_outputs_stand_in_their_section_and_nowhere_else() -> None:
    text = "## Rules\n- key: mine\n\n## Outputs\n- old: 1\n\n## Notes\n- key: mine, too\n"
    assert with_output(text, "key", 2) == (
        "## Rules\n- key: mine\n\n## Outputs\n- old: 1\n- key: 2\n\n## Notes\n- key: mine, too\n"
    )


def test_a_value_is_one_line_of_json_and_cut() -> None:
    assert '- key: "two\\nlines"' in with_output("", "key", "two\nlines")
    (line,) = [one for one in with_output("", "key", "x" * 1_000).split("\n") if one.startswith("- key")]
    assert len(line) == len("- key: ") + ADAPT_VALUE_CHARACTERS
    assert line.endswith("…")


def test_a_line_that_would_make_it_too_long_is_left_out() -> None:
    text = "x" * (ADAPT_CHARACTERS_MAX - 30)
    assert with_output(text, "key", "y" * 100) == text
    assert with_output(text[:-200], "key", "y" * 100) != text[:-200]


def test_a_new_memory_says_who_the_agent_is_and_has_room_for_rules_and_outputs() -> None:
    text = adapt_seeded("I keep gates. ")
    assert text == "## Identity\nI keep gates.\n\n## Rules\n\n## Outputs\n"
    assert with_output(text, "key", 1).endswith("## Outputs\n- key: 1\n")
    assert "An agent of hive-mind." in adapt_seeded("")
