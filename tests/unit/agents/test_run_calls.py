"""What a node may call, and what a call gives: whatever goes wrong is a result, too."""

import asyncio
import math
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from hive_mind.agents.runs.run_files import RunFiles
from hive_mind.agents.runs.run_tools import RunTools
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.model.dialogue import ToolCall
from hive_mind.runs.effects import ToolResult
from hive_mind.runs.pointers import CHARACTERS_MAX
from hive_mind.runs.spec import NodeSpec
from hive_mind.tools.base import Tool, Toolbox, ToolContext
from hive_mind.tools.functions import tool

LOOP = NodeSpec(id="act", tools=["give", "mail/*"], outputs=["x"], writes=["y"])
STEP = NodeSpec(id="step", kind="tool", tool="give", outputs=["x"])


def giving(value: Any, *, name: str = "give", timeout_s: float = 5.0) -> Tool:
    """A tool that gives this, or raises it."""

    @tool(name=name, timeout_s=timeout_s)
    async def give() -> Any:
        """Give it."""
        if isinstance(value, BaseException):
            raise value
        return value

    return give


def called(node: NodeSpec, tools: list[Tool], call: ToolCall, folder: Path | None = None, *, is_sub: bool = False) -> ToolResult:
    memory = folder / "adapt.md" if folder else None
    files = RunFiles(folder / "run" if folder else None, memory, may_remember=not is_sub)
    return asyncio.run(RunTools("r1", "ada", Toolbox(tools), files, is_sub=is_sub).call(node, call, 7))


def gave(value: Any, node: NodeSpec = LOOP, folder: Path | None = None) -> ToolResult:
    return called(node, [giving(value)], ToolCall("c", "give"), folder)


def test_a_result_is_shown_and_kept_in_a_file_of_its_number(tmp_path: Path) -> None:
    result = gave({"a": 1}, folder=tmp_path)
    assert result == ToolResult("{\n  \"a\": 1\n}\n[Saved to 'give_7.txt']", file="give_7.txt")
    assert (tmp_path / "run" / "give_7.txt").read_text() == '{\n  "a": 1\n}'


def test_a_long_result_is_whole_in_its_file_and_without_a_folder_cut(tmp_path: Path) -> None:
    text = "x" * (CHARACTERS_MAX + 1)
    assert "too large for context" in gave(text, folder=tmp_path).text
    assert (tmp_path / "run" / "give_7.txt").read_text() == text
    assert gave(text).text == "x" * CHARACTERS_MAX + "\n[Only first 30,000 chars shown]"


def test_only_a_tool_node_gets_the_value_itself_as_its_step_will_have_it() -> None:
    assert gave((1, date(2026, 11, 24)), STEP).value == [1, "2026-11-24"]
    assert gave((1, 2), LOOP).value is None


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (InvalidInput("give less"), "give less"),
        (BackendUnavailable("mail", "is down"), "is down"),
        (ValueError("five"), "give failed: ValueError: five"),
        (TimeoutError("the socket"), "give failed: TimeoutError: the socket"),
        (ExceptionGroup("both", [ValueError("a")]), "give failed: ExceptionGroup"),
    ],
)
@pytest.mark.parametrize("node", [LOOP, STEP])
def test_whatever_a_tool_raises_is_told_and_is_no_file(raised: Exception, told: str, node: NodeSpec, tmp_path: Path) -> None:
    result = gave(raised, node, tmp_path)
    assert result.is_error
    assert told in result.text
    assert (result.file, result.value) == ("", None)
    assert not (tmp_path / "run").exists()


def test_a_tool_that_does_not_end_is_given_up() -> None:
    @tool(timeout_s=0.01)
    async def give() -> str:
        """Never end."""
        await asyncio.Event().wait()
        return ""

    result = called(LOOP, [give], ToolCall("c", "give"))
    assert (result.is_error, result.text) == (True, "give did not end within 0.01 s")


def test_who_cancels_a_run_cancels_its_call() -> None:
    with pytest.raises(asyncio.CancelledError):
        gave(asyncio.CancelledError())


class Opaque:
    """Nothing that a step could hold."""


CYCLE: list[Any] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    "value", [Opaque(), {"deep": [Opaque()]}, "x" * 600_000, CYCLE], ids=["object", "deep", "large", "cycle"]
)
def test_a_value_that_no_step_can_hold_is_an_error_of_its_tool(value: Any) -> None:
    result = gave(value, STEP)
    assert result.is_error
    assert result.text.startswith("what give gave can't be kept: ")


def test_a_result_that_is_too_large_for_a_file_is_an_error_of_its_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hive_mind.agents.runs.run_files._FILE_BYTES_MAX", 10)
    assert gave("x" * 11, folder=tmp_path).text == "what give gave can't be kept: give_7.txt would have 11 bytes: at most 10"


@pytest.mark.parametrize("value", [{(1, 2): 3}, CYCLE], ids=["keys", "cycle"])
def test_what_is_no_json_is_an_error_also_in_a_conversation(value: Any) -> None:
    assert gave(value).is_error


def test_what_can_only_be_shown_is_shown_in_a_conversation() -> None:
    assert "Opaque object" in gave([Opaque()]).text
    assert gave("half \ud800").text == "half ?"
    assert gave(math.nan).text == "NaN"


def test_a_node_calls_what_it_names_and_nothing_else() -> None:
    box = [giving("a"), giving("b", name="mail/send"), giving("c", name="pay")]
    assert called(LOOP, box, ToolCall("c", "mail/send")).text == "b"
    refused = called(LOOP, box, ToolCall("c", "pay"))
    assert refused.is_error
    assert refused.text == "there is no tool 'pay' here; tools: set_output, ask_person, give, mail/send"
    assert called(STEP, box, ToolCall("c", "set_output", {"key": "x", "value": 1})).is_error


def test_a_tool_is_told_of_which_call_it_is() -> None:
    @tool
    async def give(context: ToolContext) -> str:
        """Tell."""
        return f"{context.run} {context.node} {context.call} {context.agent}"

    assert called(LOOP, [give], ToolCall("p1.1.0.0", "give")).text == "r1 act r1.p1.1.0.0 ada"


def test_arguments_that_do_not_fit_are_an_error_that_says_why() -> None:
    result = called(LOOP, [giving(1)], ToolCall("c", "give", {"colour": "red"}))
    assert result.is_error
    assert "colour: Extra inputs are not permitted" in result.text


def test_an_output_is_set_and_remembered(tmp_path: Path) -> None:
    result = called(LOOP, [], ToolCall("c", "set_output", {"key": "y", "value": None}), tmp_path)
    assert result == ToolResult("y is set", outputs={"y": None})
    assert "- y: null" in (tmp_path / "adapt.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"key": "z", "value": 1}, "act may not set 'z'; it may set: x, y"),
        ({"key": "x"}, "needs a key and a value"),
        ({"key": ["x"], "value": 1}, "needs a key and a value"),
        ({}, "needs a key and a value"),
    ],
)
def test_what_a_node_may_not_set_changes_nothing(arguments: dict[str, Any], told: str, tmp_path: Path) -> None:
    result = called(LOOP, [], ToolCall("c", "set_output", arguments), tmp_path)
    assert (result.is_error, result.outputs) == (True, {})
    assert told in result.text
    assert not (tmp_path / "adapt.md").exists()


def offered(node: NodeSpec, *, is_sub: bool = False, is_last: bool = False) -> list[str]:
    tools = RunTools("r1", "ada", Toolbox([giving(1)]), RunFiles(None), is_sub=is_sub)
    return [one.name for one in tools.offered(node, is_last=is_last)]


def test_a_model_is_offered_what_its_node_may_call() -> None:
    assert offered(LOOP) == ["set_output", "ask_person", "give"]
    assert offered(NodeSpec(id="a")) == ["ask_person"]
    assert offered(NodeSpec(id="a", subagents=["s"], writes=["y"])) == ["set_output", "ask_person", "delegate_to_sub_agent"]


def test_a_sub_agent_reports_to_its_parent_and_delegates_nothing() -> None:
    sub = NodeSpec(id="s", subagents=["t"], outputs=["x"], tools=["give"])
    names = ["set_output", "report_to_parent", "mark_complete", "wait_for_response"]
    assert offered(sub, is_sub=True) == [*names, "give"]
    assert offered(sub, is_sub=True, is_last=True) == names
    told = called(sub, [], ToolCall("c", "report_to_parent", {"message": "half way", "data": [1]}), is_sub=True)
    assert told.report == ("half way", {})
    assert called(sub, [], ToolCall("c", "mark_complete"), is_sub=True).completes


def test_a_sub_agent_sets_outputs_that_the_agent_does_not_remember(tmp_path: Path) -> None:
    result = called(LOOP, [], ToolCall("c", "set_output", {"key": "x", "value": 1}), tmp_path, is_sub=True)
    assert result.outputs == {"x": 1}
    assert not (tmp_path / "adapt.md").exists()


def test_a_disk_that_fails_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file where the folder should be")
    with pytest.raises(OSError, match="run"):
        gave("x", folder=tmp_path)
