"""What a request may have is the same at every door: the command alone and with a resident process, HTTP, MCP."""

import json
from collections.abc import Iterator
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any

import httpx2
import pytest

from tests.acceptance.hive_mind_command import HiveMind
from tests.acceptance.test_mcp_lines import greeted, line_of
from tests.servers.home_guard import HomeGuard

pytestmark = pytest.mark.slow

QUESTION = "When does the ferry leave?"


class Http:
    """The process that has the memory open."""

    def __init__(self, served: dict[str, Any]) -> None:
        self._url = served["url"]
        self._shown = {"Authorization": f"Bearer {json.loads(Path(served['token_in']).read_bytes())['token']}"}

    def __call__(self, request: str, **fields: object) -> httpx2.Response:
        return httpx2.post(f"{self._url}/{request}", headers=self._shown, json=fields, timeout=60)


@pytest.fixture(scope="module")
def command(module_workers: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveMind]:
    """With a process that has its memory open, of one fact."""
    del module_workers
    guard = HomeGuard(folder := tmp_path_factory.mktemp("bounds"))
    command = HiveMind(folder / "home")
    assert command("learn", "-", "--source", "table", stdin="The ferry leaves at nine.").code == 0
    yield command
    guard.release()


# Without that process, over HTTP and over MCP `unit/runtime/test_bounds` shows it of each number of each request.
def test_a_limit_is_taken_or_refused_alike_where_a_process_has_the_memory_open(command: HiveMind) -> None:
    assert command("serve").code == 0
    for limit, is_taken in ((1000, True), (0, False), (5000, False)):
        assert run_anew(command, "ask", QUESTION, f"--limit={limit}") == is_taken, limit
        assert (command("ask", QUESTION, f"--limit={limit}").code == 0) == is_taken, limit
        assert (command("facts", "search", "ferry", f"--limit={limit}").code == 0) == is_taken, limit


def run_anew(command: HiveMind, *arguments: object) -> bool:
    """Whether it is done as a process, which asks the resident one before it has loaded the command line."""
    with command.start(*arguments, stdin=DEVNULL, stdout=PIPE, stderr=PIPE) as process:
        try:
            process.communicate(timeout=60)
        finally:
            process.kill()
    return process.returncode == 0


def test_what_is_too_large_is_refused_with_its_limit_and_what_a_person_sees_of_an_id_is_one_at_every_door(
    command: HiveMind,
) -> None:
    (fact,) = (one["fact_id"] for one in command("facts", "search", "ferry", "-o", "json").json)
    http = Http(command("serve", "-o", "json").json)
    with greeted(command) as server:
        called = {"name": "remember", "arguments": {"text": "The ferry leaves at nine. " * 80_000}}
        (answer,) = server.answers_to(line_of(id=0, method="tools/call", params=called), count=1)
        told = answer["result"]["content"][0]["text"]
        assert (answer["result"]["isError"], "at most 1,048,576 bytes" in told, "in parts" in told) == (True, True, True), told
        for given in (fact, fact[:8], fact[:6].upper(), f" {fact} "):
            assert command("facts", "show", given).code == 0
            assert http("why", fact_id=given).json()["ok"]["fact_id"] == fact
            params = {"name": "why", "arguments": {"id": given}}
            (answer,) = server.answers_to(line_of(id=1, method="tools/call", params=params), count=1)
            assert answer["result"]["structuredContent"]["id"] == fact
        for what in (f"hive://facts/{fact[:8]}", f"hive://facts/{fact[:8]}/history"):
            (answer,) = server.answers_to(line_of(id=2, method="resources/read", params={"uri": what}), count=1)
            assert fact in answer["result"]["contents"][0]["text"]
        for unknown in (fact[:5], "nothing", "0" * 8):
            assert command("facts", "show", unknown).code == 2
            assert http("why", fact_id=unknown).status_code == 400
    assert http("retract", fact_id=fact[:8]).json()["ok"]["fact_id"] == fact
