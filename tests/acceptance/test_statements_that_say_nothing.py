"""Statements with a key and nothing behind it, as every text about Kubernetes has them, are met at every door of a memory."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from hive_mind.embed.none import NoEmbedder
from hive_mind.runtime.members.fleet import FleetPlan, open_fleet
from hive_mind.runtime.settings import Settings
from tests.acceptance.hive_mind_command import HiveMind
from tests.unit.console.looking import looking

EMPTY = ("emptyDir: {}", "api: {}", "volumes: []", "Gateway: ()", "spec: {}", "是 :", "labels = {}", 'args: ""')
BEFORE = "The cache pod uses an emptyDir volume."
QUESTION = "Which volume does the cache pod use?"


def text_of(statements: tuple[str, ...] = EMPTY) -> str:
    blocks = "\n\n".join(f"```yaml\n{statement}\n```" for statement in statements)
    return f"# Volumes\n\n{blocks}\n\n{BEFORE}\n"


@pytest.mark.parametrize("statement", EMPTY)
def test_a_memory_that_holds_one_is_asked_and_searched(hive_mind: HiveMind, statement: str) -> None:
    assert hive_mind("learn", "-", "--source", "k", stdin=text_of((statement,))).code == 0

    assert BEFORE in hive_mind("ask", QUESTION).out
    assert hive_mind("facts", "search", "volumes emptyDir api Gateway", "--output", "json").code == 0


def test_a_memory_that_holds_some_is_talked_to_and_greets_a_session(hive_mind: HiveMind, tmp_path: Path) -> None:
    hive_mind("learn", "-", "--source", "k", stdin=text_of())

    assert BEFORE in hive_mind("chat", stdin=f"{QUESTION}\n/quit\n").out
    greeting = hive_mind("hook", "session-start", stdin=json.dumps({"cwd": str(tmp_path)}))
    assert (greeting.code, greeting.err) == (0, "")
    assert BEFORE in greeting.out


async def test_a_client_of_mcp_recalls_and_compares(guarded: HiveMind) -> None:
    async with client_of(guarded) as client:
        await client.call_tool("remember", {"text": text_of()})
        recalled = await client.call_tool("recall", {"query": QUESTION})
        compared = await client.call_tool("conflicts", {})

    assert (recalled.is_error, compared.is_error) == (False, False)
    assert recalled.structured_content["facts"][0]["text"] == BEFORE
    assert compared.structured_content["count"] == 0


@asynccontextmanager
async def client_of(command: HiveMind) -> AsyncIterator[Client]:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "hive_mind", "mcp"], env=dict(command.environment), cwd=command.home.parent
    )
    async with Client(server) as client:
        yield client


async def test_the_console_shows_them(tmp_path: Path) -> None:
    async with looking(tmp_path) as browser:
        await browser.worker.call("ada", "learn", text=text_of(), source="k")
        status, page, _ = await browser.get("ask?agent=ada&q=Which+volume+does+the+cache+pod+use%3F")

    assert status == 200
    assert BEFORE in page


@pytest.mark.parametrize("topology", ["single", "flat", "federated", "sharded"])
async def test_an_agent_of_a_fleet_finds_what_another_learned(topology: str, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, store="memory", embed="none")
    plan = FleetPlan(topology, ("ada", "ben", "cat"))  # type: ignore[arg-type]
    async with await open_fleet(settings, plan, NoEmbedder()) as fleet:
        teller, asker = fleet.memory("ada"), fleet.memory("ben")
        for statement in (*EMPTY, BEFORE):
            await teller.store_fact("volumes", statement)
        found = [await teller.search_facts(QUESTION), *([] if topology == "single" else [await asker.search_facts(QUESTION)])]

    assert {hits[0].fact.content for hits in found} == {BEFORE}
