"""Tools of a real MCP server in a process of its own: called by name, and never twice without a word."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from hive_mind.errors import BackendRejected, BackendUnavailable
from hive_mind.tools.base import McpServer, Toolbox, ToolContext
from hive_mind.tools.mcp import McpTools
from hive_mind.tools.mcp import open as open_mcp

ROOT = Path(__file__).parents[3]


def server_in(folder: Path, **fields: Any) -> McpServer:
    command = (sys.executable, "-m", "tests.servers.mcp_server", str(folder))
    return McpServer("tickets", command, env={"PYTHONPATH": str(ROOT)}, **fields)


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
