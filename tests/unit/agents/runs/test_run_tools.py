"""What a node may call, that everything that goes wrong is a result, and that no file leads out of the folder of its run."""

import asyncio
import math
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from hive_mind.agents.runs.memory_tools import file_tools
from hive_mind.agents.runs.run_tools import DELEGATE, RunFiles, RunTools, UsedCredentials
from hive_mind.credentials import Secret
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.model.content import ToolCall
from hive_mind.runs.effects import ToolResult
from hive_mind.runs.prompt import ADAPT
from hive_mind.runs.prompt import SHOWN_CHARACTERS_MAX as CHARACTERS_SHOWN
from hive_mind.runs.spec import NodeSpec
from hive_mind.tools import Tool, Toolbox, ToolContext
from hive_mind.tools.functions import tool


@tool
async def big() -> str:
    """Give a lot."""
    return "x" * 40_000


@tool(timeout_s=0.01)
async def slow() -> str:
    """Take long."""
    await asyncio.sleep(60)
    return "late"


def files(folder: Path, *, may_remember: bool = True) -> RunFiles:
    return RunFiles(folder / "runs" / "r", folder / ADAPT, "I am ada.", may_remember=may_remember)


def run_tools(folder: Path, *, is_sub: bool = False, more: Sequence[Tool] = ()) -> RunTools:
    one = files(folder, may_remember=not is_sub)
    return RunTools("r", "ada", Toolbox([big, slow, *file_tools(one), *more]), one, is_sub=is_sub)


def node(**fields: Any) -> NodeSpec:
    return NodeSpec.model_validate({"id": "n", "tools": ["big", "slow", "give", "load_data", "save_data", "edit_data"], **fields})


def call(tools: RunTools, name: str, number: int = 1, at: NodeSpec | None = None, **arguments: Any) -> ToolResult:
    return asyncio.run(tools.call(at or node(outputs=["a"]), ToolCall("c", name, arguments), number))


STEP = NodeSpec(id="step", kind="tool", tool="give", outputs=["a"])


def giving(value: Any, name: str = "give") -> Tool:
    """A tool that gives this, or raises it."""

    @tool(name=name)
    async def give() -> Any:
        """Give it."""
        if isinstance(value, BaseException):
            raise value
        return value

    return give


def gave(value: Any, folder: Path, at: NodeSpec | None = None) -> ToolResult:
    return call(run_tools(folder, more=[giving(value)]), "give", at=at)


def test_a_node_sees_its_tools_and_the_built_in_ones_and_no_others(tmp_path: Path) -> None:
    def offered(tools: RunTools, **fields: Any) -> set[str]:
        return {one.name for one in tools.offered(node(tools=["big"], **fields))}

    assert offered(run_tools(tmp_path)) == {"big", "ask_person"}
    assert offered(run_tools(tmp_path), outputs=["a"], subagents=["s"]) == {"big", "ask_person", "set_output", DELEGATE}
    sub = run_tools(tmp_path, is_sub=True)
    wanted = {"big", "set_output", "report_to_parent", "mark_complete", "wait_for_response"}
    assert offered(sub, outputs=["a"], subagents=["s"]) == wanted
    assert {one.name for one in run_tools(tmp_path).offered(node(outputs=["a"]), is_last=True)} == {"set_output", "ask_person"}
    assert {one.name for one in sub.offered(node(outputs=["a"]), is_last=True)} == wanted - {"big"}


def test_a_tool_that_is_not_allowed_here_is_none(tmp_path: Path) -> None:
    tools = run_tools(tmp_path, more=[giving("b", "mail/send")])
    refused = call(tools, "big", at=node(tools=["slow", "mail/*"], outputs=["a"]))
    assert refused.text == "there is no tool 'big' here; tools: set_output, ask_person, slow, mail/send"
    assert refused.is_error
    assert call(tools, "mail/send", at=node(tools=["mail/*"])).text.startswith("b\n")
    assert call(tools, "report_to_parent", message="x").is_error
    assert call(tools, "set_output", at=STEP, key="a", value=1).is_error


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
@pytest.mark.parametrize("at", [node(), STEP], ids=["loop", "step"])
def test_what_goes_wrong_is_a_result_and_leaves_no_file(raised: Exception, told: str, at: NodeSpec, tmp_path: Path) -> None:
    result = gave(raised, tmp_path, at)
    assert (result.is_error, result.file, result.value) == (True, "", None)
    assert told in result.text
    assert not (tmp_path / "runs").exists()


def test_a_call_that_is_too_slow_or_malformed_is_told_why(tmp_path: Path) -> None:
    assert call(run_tools(tmp_path), "slow").text == "slow did not end within 0.01 s"
    assert "colour: Extra inputs are not permitted" in call(run_tools(tmp_path), "big", colour="red").text
    with pytest.raises(asyncio.CancelledError):
        gave(asyncio.CancelledError(), tmp_path)


def test_a_result_is_a_file_that_holds_all_of_it_under_the_number_of_its_call(tmp_path: Path) -> None:
    assert gave({"a": 1}, tmp_path) == ToolResult("{\n  \"a\": 1\n}\n[Saved to 'give_1.txt']", file="give_1.txt")
    result = call(run_tools(tmp_path), "big", 7)
    assert result.file == "big_7.txt"
    assert (tmp_path / "runs" / "r" / "big_7.txt").read_text() == "x" * 40_000
    assert "too large for context, saved to 'big_7.txt'" in result.text


def test_a_disk_that_fails_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where the folder should be")
    with pytest.raises(OSError, match="runs"):
        gave("x", tmp_path)


def test_a_tool_is_told_of_which_call_it_is(tmp_path: Path) -> None:
    @tool
    async def give(context: ToolContext) -> str:
        """Tell."""
        return f"{context.run} {context.node} {context.call} {context.agent}"

    assert call(run_tools(tmp_path, more=[give]), "give").text.startswith("r n r.c ada\n")


def test_only_outputs_of_the_node_may_be_set_and_none_reaches_the_agents_memory_before_it_is_accepted(tmp_path: Path) -> None:
    tools = run_tools(tmp_path)
    given = call(tools, "set_output", key="a", value={"n": 1})
    assert (given.is_error, dict(given.outputs)) == (False, {"a": {"n": 1}})
    assert not (tmp_path / ADAPT).exists()
    may = node(outputs=["a"], writes=["c"])
    assert call(tools, "set_output", at=may, key="c", value=None).outputs == {"c": None}
    wrong: list[dict[str, Any]] = [{"key": "b", "value": 1}, {"key": "a"}, {"key": ["a"], "value": 1}, {}]
    refused = [call(tools, "set_output", at=may, **given) for given in wrong]
    assert [(one.is_error, one.outputs) for one in refused] == [(True, {})] * 4
    assert refused[0].text == "n may not set 'b'; it may set: a, c"
    assert {one.text for one in refused[1:]} == {"set_output needs a key and a value"}
    assert not (tmp_path / ADAPT).exists()


def test_a_sub_agent_reads_the_agents_memory_and_writes_nothing_there(tmp_path: Path) -> None:
    files(tmp_path).adapt()
    before = (tmp_path / ADAPT).read_text()
    sub = run_tools(tmp_path, is_sub=True)
    assert not call(sub, "set_output", key="a", value=1).is_error
    assert call(sub, "save_data", filename=ADAPT, text="mine").is_error
    assert call(sub, "edit_data", filename=ADAPT, old="ada", new="eve").is_error
    assert "I am ada." in call(sub, "load_data", filename=ADAPT).text
    assert (tmp_path / ADAPT).read_text() == before


def test_reports_go_on_at_once_and_mark_complete_ends_it(tmp_path: Path) -> None:
    sub = run_tools(tmp_path, is_sub=True)
    assert call(sub, "report_to_parent", message="half", data={"n": 1}).report == ("half", {"n": 1})
    assert call(sub, "report_to_parent", message="half", data="no object").report == ("half", {})
    assert call(sub, "mark_complete").completes


def test_without_a_folder_nothing_is_kept_and_that_is_said(tmp_path: Path) -> None:
    one = RunFiles(None)
    assert (one.adapt(), one.data_files(), one.conversations(), one.keep_result("t", 1, "x")) == ("", [], [], "")
    one.remember_outputs({"x": 1})
    cut = call(RunTools("r", "ada", Toolbox([big]), one), "big")
    assert cut.text == "x" * CHARACTERS_SHOWN + "\n[Only first 30,000 chars shown]"
    with pytest.raises(InvalidInput, match="keeps no files"):
        one.write("a.txt", "x")
    with pytest.raises(InvalidInput, match="keeps no files"):
        one.read("a.txt")
    assert list(tmp_path.iterdir()) == []


def test_a_tool_has_a_credential_by_name_and_its_value_is_kept_nowhere(tmp_path: Path) -> None:
    value = "sw0rdfish-ÄÖ 7"

    @tool
    async def tickets(context: ToolContext, fail: bool = False) -> dict[str, Any]:
        """Look at tickets."""
        token = context.credential("tickets").reveal()
        if fail:
            raise RuntimeError(f"401 for {token}")
        return {"sent": token, "inner": [f"Bearer {token}"], "known": token == value}

    used = UsedCredentials(lambda name: Secret(name, value) if name == "tickets" else None)
    one = files(tmp_path)
    tools = RunTools("r", "ada", Toolbox([tickets]), one, credentials=used)
    at = node(kind="tool", tool="tickets", tools=[])
    told, failed = call(tools, "tickets", 1, at), call(tools, "tickets", 2, at, fail=True)
    assert told.value["known"] is True
    assert told.value["sent"] == "${credential:tickets}"
    kept = [path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file()]
    assert kept
    for text in (told.text, failed.text, str(told.value), *kept):
        assert value not in text
    assert "401 for ${credential:tickets}" in failed.text

    unset = call(RunTools("r", "ada", Toolbox([tickets]), one), "tickets", 3, at)
    assert (unset.is_error, "hive-mind credentials set tickets" in unset.text) == (True, True)


CYCLE: list[Any] = []
CYCLE.append(CYCLE)


class Opaque:
    """Nothing that a step could hold."""


def test_only_a_tool_node_gets_the_value_itself_as_its_step_will_have_it(tmp_path: Path) -> None:
    odd = {"when": Path("x"), "many": (1, date(2026, 11, 24))}
    assert gave(odd, tmp_path, STEP).value == {"when": "x", "many": [1, "2026-11-24"]}
    assert gave(odd, tmp_path).value is None


@pytest.mark.parametrize(
    ("value", "at"),
    [
        (Opaque(), STEP),
        ({"deep": [Opaque()]}, STEP),
        ("x" * 600_000, STEP),
        (CYCLE, STEP),
        (CYCLE, node()),
        ({(1, 2): 3}, node()),
    ],
    ids=["object", "deep", "large", "cycle", "cycle shown", "keys"],
)
def test_a_value_that_can_not_be_kept_is_an_error_of_its_tool(value: Any, at: NodeSpec, tmp_path: Path) -> None:
    result = gave(value, tmp_path, at)
    assert (result.is_error, result.file) == (True, "")
    assert result.text.startswith("what give gave can't be kept: ")


def test_a_result_that_is_too_large_for_a_file_is_an_error_of_its_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hive_mind.agents.runs.run_tools._FILE_BYTES_MAX", 10)
    assert gave("x" * 11, tmp_path).text == "what give gave can't be kept: give_1.txt would have 11 bytes: at most 10"


def test_what_can_only_be_shown_is_shown_in_a_conversation(tmp_path: Path) -> None:
    assert "Opaque object" in gave([Opaque()], tmp_path).text
    assert gave("half \ud800", tmp_path).text.startswith("half ?\n")
    assert gave(math.nan, tmp_path).text.startswith("NaN\n")
    assert gave("x" * 600_000, tmp_path).file == "give_1.txt"
