"""Tools of a real MCP server in a process of its own: called by name, and never twice without a word."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.performer import RunParts
from hive_mind.agents.runs.run_journal import document_of
from hive_mind.errors import BackendRejected, BackendUnavailable
from hive_mind.judge.items import Decision
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.ledger import memory
from hive_mind.runs.spec import WorkerSpec
from hive_mind.tools import McpServer, Toolbox, ToolContext, mcp
from hive_mind.tools.mcp import McpTools
from hive_mind.tools.mcp import open as open_mcp
from tests.servers.forked_async import installed


@pytest.fixture(autouse=True)
def servers() -> Iterator[None]:
    """Each is a copy of a process that has loaded the protocol's library."""
    with installed():
        yield


def server_in(folder: Path, **fields: Any) -> McpServer:
    command = (sys.executable, "-m", "tests.servers.mcp_server", str(folder))
    return McpServer("tickets", command, env={"PYTHONPATH": str(Path(__file__).parents[3])}, **fields)


def played(server: McpServer, work: Callable[[McpTools, Toolbox], Awaitable[None]]) -> None:
    async def story() -> None:
        opened = await open_mcp(server)
        try:
            await work(opened, Toolbox(opened.tools))
        finally:
            await opened.close()
            await opened.close()

    asyncio.run(story())


async def call(box: Toolbox, name: str, **arguments: Any) -> Any:
    found = box.get(f"mcp:tickets/{name}")
    assert found is not None
    return await asyncio.wait_for(found.call(ToolContext(), arguments), 30)


def test_tools_are_called_after_their_server_and_give_plain_data(tmp_path: Path) -> None:
    async def work(_: McpTools, box: Toolbox) -> None:
        assert {f"mcp:tickets/{name}" for name in ("get_ticket", "crash")} < {one.name for one in box.chosen(["mcp:tickets/*"])}
        assert (await call(box, "get_ticket", number=7))["about"] == "sluice gate 2"
        assert "opened: grease" in str(await call(box, "open_ticket", about="grease"))
        assert (tmp_path / "opened").read_text() == "grease\n"

    played(server_in(tmp_path), work)


def test_a_tool_may_be_called_twice_only_if_somebody_says_so(tmp_path: Path) -> None:
    async def work(opened: McpTools, _: Toolbox) -> None:
        may = {one.name.split("/")[1]: one.traits.is_idempotent for one in opened.tools}
        assert may.pop("get_ticket")
        assert not any(may.values())

    played(server_in(tmp_path, idempotent=["get_*"]), work)


def test_a_server_sees_the_variables_it_is_given_and_no_secrets_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVE_MIND_LLM_KEY", "hush")

    async def work(_: McpTools, box: Toolbox) -> None:
        seen = str(await call(box, "environment"))
        assert "PYTHONPATH" in seen
        assert "HIVE_MIND_LLM_KEY" not in seen

    played(server_in(tmp_path), work)


def test_what_a_tool_refuses_is_told_and_a_server_that_ends_is_unavailable(tmp_path: Path) -> None:
    async def work(_: McpTools, box: Toolbox) -> None:
        with pytest.raises(BackendRejected):
            await call(box, "open_ticket", about="")
        with pytest.raises((BackendUnavailable, BackendRejected)):
            await call(box, "crash")

    played(server_in(tmp_path), work)


@pytest.mark.parametrize("command", [("there-is-no-such-program",), (sys.executable, "-c", "print('no protocol')")])
def test_a_server_that_is_none_is_told(command: tuple[str, ...]) -> None:
    with pytest.raises(BackendUnavailable, match="mcp:t"):
        asyncio.run(open_mcp(McpServer("t", command)))


def test_a_server_that_says_nothing_is_named_while_it_is_waited_for_and_given_up(monkeypatch, caplog) -> None:
    monkeypatch.setattr(mcp, "_UNEXPLAINED_S", 0.1)
    monkeypatch.setattr(mcp, "_BEGIN_S", 0.3)
    with caplog.at_level("INFO"), pytest.raises(BackendUnavailable, match="it said nothing within"):
        asyncio.run(open_mcp(McpServer("quiet", (sys.executable, "-c", "import time; time.sleep(100)"))))
    assert "waiting for MCP server quiet, which says nothing yet; for at most 0.3 s" in caplog.messages


CLOSER = WorkerSpec.model_validate(
    {
        "id": "closer",
        "entry": "close",
        "nodes": [
            {"id": "close", "kind": "tool", "tool": "mcp:tickets/close_ticket", "args": {"number": 7}, "outputs": ["done"]}
        ],
    }
)


@pytest.mark.parametrize(
    ("action", "answer", "done"),
    [("accept", "yes", "closed: True"), ("accept", "no", "closed: False"), ("escalate", None, "not closed: decline")],
)
def test_a_run_waits_for_whom_a_server_wants_something_of(action: str, answer: str | None, done: str, tmp_path: Path) -> None:
    async def work(_: McpTools, box: Toolbox) -> None:
        parts = RunParts("ada", await memory.open(), lambda *_: box)
        executor = RunExecutor("r", parts)
        await executor.start(CLOSER, {})
        state = await asyncio.wait_for(executor.drive(), 30)
        document = await document_of("r", state, parts.desk)
        (item,) = document["waiting"]
        assert (document["status"], item["title"]) == ("parked", "Close ticket 7?")
        assert item["asks"] == "close → mcp:tickets/close_ticket"
        assert not (tmp_path / "closed").exists()
        await parts.desk.decide(Decision(item=item["id"], action=JudgmentAction(action), by="ines", edit=answer))
        again = RunExecutor("r", parts)
        await again.resume()
        state = await asyncio.wait_for(again.drive(), 30)
        # Nobody is asked whether it may have run: it waited.
        assert done in str(state.buffer["done"])
        assert len(await parts.desk.ids()) == 1
        assert (tmp_path / "closed").exists() == (answer is not None)

    played(server_in(tmp_path), work)
