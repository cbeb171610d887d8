"""`hive-mind mcp` and `serve` as clients use them: processes of their own, over standard input and output."""

import asyncio
import fcntl
import json
import os
import random
import re
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE
from typing import IO, Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from hive_mind.cli.running import NO_READER
from hive_mind.mcp.server import INSTRUCTIONS
from hive_mind.runtime.workers.strangers import STRANGERS_MAX
from tests.acceptance.hive_mind_command import HiveMind
from tests.sampled import thorough
from tests.servers.forked import Forked, run
from tests.servers.home_guard import processes_of
from tests.servers.ports import free_port
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

ROOT = str(Path(__file__).parents[2])
HOWTO = (Path(ROOT) / "docs" / "howto" / "mcp.md").read_text("utf-8")
PATIENCE_S = 60.0
TOKEN = secrets.token_urlsafe()
SHOWN = {"Authorization": f"Bearer {TOKEN}"}
# (clients, facts each, kills of the process that has the memory open)
SIZES = [(3, 15, 1), thorough(20, 200, 10)]


@pytest.fixture
def command(guarded: HiveMind) -> HiveMind:
    return guarded


@asynccontextmanager
async def client_of(command: HiveMind, *options: str) -> Any:
    environment = os.environ | command.environment | {"PYTHONPATH": ROOT}
    arguments = ["-m", "hive_mind", "mcp", *options]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=environment, cwd=command.home.parent)
    async with Client(server) as client:
        yield client


async def told(client: Client, tool: str, **arguments: object) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


def is_open(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def resident_of(command: HiveMind) -> int:
    """The process that has the memory open; 0 while there is none."""
    with suppress(OSError, ValueError):
        for file in (command.home / "fleets" / "resident" / "run").glob("*.json"):
            return int(json.loads(file.read_bytes())["pid"])
    return 0


def test_what_a_client_tells_the_next_one_and_the_commands_know(command: HiveMind) -> None:
    async def conversation() -> None:
        async with client_of(command) as client:
            kept = await told(client, "remember", text="The gateway listens on port 8443.", source="runbook")
            fact = kept["ids"][0]
            changed = await told(client, "correct", id=fact, text="The gateway listens on port 9443.", reason="it moved")
            await told(client, "remember", text="The gateway listens on port 7000.", source="ben")
        async with client_of(command) as client:
            found = await told(client, "recall", query="Which port does the gateway use?")
            why = await told(client, "why", id=changed["id"])
            pairs = (await told(client, "conflicts"))["pairs"]
            status = await told(client, "status")
            refused = await client.call_tool("why", {"id": "nothing"})
        assert {one["text"] for one in found["facts"]} == {f"The gateway listens on port {port}." for port in (9443, 7000)}
        assert all("disputed" in one["note"] for one in found["facts"])
        assert (why["replaces"], why["sources"]) == ([fact], ["correction: it moved"])
        assert [{side["text"][-5:-1] for side in pair} for pair in pairs] == [{"9443", "7000"}]
        assert (status["agent"], status["fleet"], status["facts"], status["problems"]) == ("default", "resident", 2, [])
        assert refused.is_error

    asyncio.run(conversation())
    asked = command("ask", "Which port does the gateway use?")
    assert (asked.code, "9443" in asked.out) == (0, True), asked.err
    assert "using agent default of fleet resident" in asked.err


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_server_ends_without_a_traceback_whose_client_was_killed_or_reads_and_writes_no_more(
    command: HiveMind, is_killed: bool
) -> None:
    with greeted(command) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        if is_killed:
            with suppress(BrokenPipeError):
                process.stdin.write(line_of(method="notifications/initialized") + line_of(id=2, method="tools/list"))
                process.stdin.close()
        told = process.stderr.read().decode().splitlines()
        assert (process.wait(PATIENCE_S), len(told)) == (NO_READER, 2), told


@contextmanager
def greeted(command: HiveMind) -> Iterator["subprocess.Popen[bytes]"]:
    """A server with a client that has said hello; it is the test's to end it."""
    environment = os.environ | command.environment | {"PYTHONPATH": ROOT}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    with Forked([sys.executable, "-m", "hive_mind", "mcp"], env=environment, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(line_of(id=1, method="initialize", params=hello))
        process.stdin.flush()
        assert b"hive-mind" in process.stdout.readline()
        yield process
        process.kill()


# What is no message is answered where lines are read, all else by the library of the protocol.
@pytest.mark.parametrize(
    "line", [b"", b"no message\n", b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'], ids=["no line", "bad", "good"]
)
def test_a_server_ends_that_is_told_to_while_its_client_is_there_and_may_read_no_answer(command: HiveMind, line: bytes) -> None:
    with greeted(command) as process:
        assert process.stdin
        process.stdin.write(line * 1000)
        process.stdin.flush()
        wait_until(lambda: not line or unread_bytes(process.stdout) > 30_000)
        process.terminate()
        assert process.wait(PATIENCE_S) == 128 + signal.SIGTERM


def unread_bytes(pipe: IO[bytes] | None) -> int:
    assert pipe
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def line_of(**message: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def test_a_client_hears_how_far_a_long_text_is_and_reads_the_history_of_a_fact(command: HiveMind) -> None:
    heard: list[tuple[float, float | None]] = []

    async def progress(done: float, total: float | None, _: str | None) -> None:
        heard.append((done, total))

    async def conversation() -> Any:
        async with client_of(command) as client:
            text = " ".join(f"Valve {number} stands in hall {number}." for number in range(600))
            learned = await client.call_tool("remember", {"text": text, "source": "plan"}, progress_callback=progress)
            assert not learned.is_error, learned.content
            fact = learned.structured_content["ids"][7]
            newer = await told(client, "correct", id=fact, text="Valve 7 stands in hall 9.", reason="moved")
            history = json.loads((await client.read_resource(f"hive://facts/{fact}/history")).contents[0].text)
            agent = json.loads((await client.read_resource("hive://agents/default")).contents[0].text)
            return [one["id"] for one in history] == [fact, newer["id"]], agent["phase"]

    assert asyncio.run(conversation()) == (True, "ready")
    assert heard == [(256, 600), (512, 600), (600, 600)]


def test_a_call_that_is_cancelled_on_its_way_is_carried_out_whole_as_the_server_says(command: HiveMind) -> None:
    lines = [f"Valve {number} stands in hall {number % 7}." for number in range(600)]
    told = {"name": "remember", "arguments": {"text": "\n".join(lines)}, "_meta": {"progressToken": 7}}
    with greeted(command) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(line_of(method="notifications/initialized") + line_of(id=2, method="tools/call", params=told))
        process.stdin.flush()
        assert b"notifications/progress" in process.stdout.readline()
        process.stdin.write(line_of(method="notifications/cancelled", params={"requestId": 2}))
        process.stdin.flush()
        wait_until(lambda: command("stats", "--output", "json").json["facts"] == len(lines))

    assert "ends the wait and takes nothing back" in INSTRUCTIONS


@pytest.mark.parametrize("mode", ["auto", thorough("legacy")])
def test_over_http_only_clients_with_the_token_are_heard(command: HiveMind, mode: str) -> None:
    port = free_port()
    command = command.with_environment(HIVE_MIND_MCP_TOKEN=TOKEN)
    url = f"http://127.0.0.1:{port}/mcp"

    async def recalled() -> Any:
        http = httpx2.AsyncClient(headers=SHOWN)
        async with http, Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            await told(client, "remember", text="The ferry leaves at nine.", source="table")
            return (await told(client, "recall", query="When does the ferry leave?"))["answer"]

    with command.start("mcp", "--http", port, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert any(url.encode() in line for line in process.stderr)
        wait_until(lambda: is_open(port))
        half_open = [socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) for _ in range(2 * STRANGERS_MAX)]
        assert half_open[0].recv(1) == b""
        assert "The ferry leaves at nine." in asyncio.run(recalled())
        for connection in half_open:
            connection.close()
        assert httpx2.post(url, headers={"Authorization": "Bearer other"}).status_code == 401
        assert httpx2.post(url).status_code == 401
        assert httpx2.post(url, headers=SHOWN | {"Host": "evil.example"}, json={}).status_code == 421
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (0, 130)


@pytest.mark.parametrize("stdin", ["closed", "nothing", "a pipe at its end"])
def test_without_a_client_no_process_is_started(command: HiveMind, stdin: str) -> None:
    words = {"closed": "exec {} <&-", "nothing": "exec {} </dev/null", "a pipe at its end": ": | (sleep 0.5; exec {})"}
    shell = words[stdin].format(shlex.join([sys.executable, "-m", "hive_mind", "mcp"]))
    environment = os.environ | {"HIVE_MIND_HOME": str(command.home)}
    ended = subprocess.run(["sh", "-c", shell], env=environment, capture_output=True, text=True, timeout=60)

    assert (ended.returncode, "hive-mind mcp install" in ended.stderr, ended.stdout) == (2, True, "")
    assert not command.home.exists()


def test_a_port_that_is_taken_is_an_error_that_says_what_to_do(command: HiveMind) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = command("mcp", "--http", taken.getsockname()[1])

    assert ended.code == 1
    assert re.search(r"can't listen on 127\.0\.0\.1:\d+: .*; give another --http PORT", ended.err)
    assert "token" not in ended.err


@pytest.mark.parametrize(("clients", "facts", "kills"), SIZES)
def test_clients_at_once_lose_nothing_while_the_process_behind_them_is_killed(
    command: HiveMind, clients: int, facts: int, kills: int
) -> None:
    async def writing(number: int) -> None:
        async with client_of(command) as client:
            for one in range(facts):
                await told(client, "remember", text=f"Valve {number}-{one} stands in hall {one}.", source=f"client {number}")

    async def story() -> int:
        writers = asyncio.gather(*map(writing, range(clients)))
        killed = 0
        while not writers.done() and killed < kills:
            await asyncio.sleep(random.uniform(0.5, 2.0))
            if pid := resident_of(command):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
        await writers
        return killed

    assert asyncio.run(story()) >= 1
    listed = command("serve", "-o", "json")
    assert listed.code == 0, listed.err
    assert listed.json["facts"] == clients * facts
    assert command("serve", "--stop").code == 0
    held = command("facts", "list", "-n", 1000, "-o", "json")
    assert held.code == 0, held.err


def test_the_program_of_the_how_to_prints_what_stands_below_it(command: HiveMind) -> None:
    program, told = re.findall(r"```(?:python)?\n(.*?)```", HOWTO, flags=re.DOTALL)
    command = replace(command, home=command.home.parent / "memory")
    environment = os.environ | command.environment | {"PYTHONPATH": ROOT}
    ended = run([sys.executable, "-c", program], 300, cwd=command.home.parent, env=environment, text=True)
    assert (ended.stdout, ended.returncode) == (told, 0), ended.stderr


def test_serve_starts_a_process_once_and_stops_it(command: HiveMind) -> None:
    stopped = command("serve", "--stop")
    assert (stopped.code, stopped.out) == (0, f"nothing runs in {command.home}: nothing to stop\n")
    assert not command.home.exists()

    assert command("serve").code == 0
    pid = resident_of(command)
    again = command("serve", "--agent", "default")
    assert (again.code, resident_of(command)) == (0, pid)
    assert "agent default of fleet resident is ready" in again.out
    served = command("serve", "-o", "json").json
    shown = {"Authorization": f"Bearer {json.loads(Path(served['token_in']).read_bytes())['token']}"}
    assert httpx2.post(f"{served['url']}/stats", headers=shown, json={}).json()["ok"]["facts"] == 0

    assert command("serve", "--stop").code == 0
    wait_until(lambda: not processes_of(command.home))
    # What is wanted is so already: nothing to be alarmed about.
    again = command("serve", "--stop")
    assert (again.code, again.out) == (0, f"nothing runs in {command.home}: nothing to stop\n")
    assert command("serve", "--stop", "-o", "json").json == {"stopped": False}
    # The database is free again, and a plain command opens it.
    assert "stopped" not in command("ask", "Who?").err


def test_who_is_stopped_while_a_process_starts_says_how_to_end_that(command: HiveMind) -> None:
    config = command.home / "fleets" / "resident" / "config" / "resident.json"
    with command.start("serve", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr
        wait_until(config.exists)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
        assert b"hive-mind serve --stop ends it" in process.stderr.read()

    assert command("serve", "--stop").code == 0
    wait_until(lambda: not processes_of(command.home))


def test_a_clients_configuration_is_shown_and_written_others_in_it_stay_and_what_is_none_is_refused(
    hive_mind: HiveMind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / ".mcp.json"
    file.write_text('{"mcpServers": {"other": {"command": "other"}}}')

    refused = hive_mind("mcp", "install", "claude", stdin="n\n")
    unchanged = file.read_text()
    written = hive_mind.with_environment(HIVE_MIND_LLM_KEY="sk-secret")("mcp", "install", "claude", "--agent", "ines", "--yes")

    assert (refused.code, unchanged) == (0, '{"mcpServers": {"other": {"command": "other"}}}')
    assert written.code == 0, written.err
    servers = json.loads(file.read_text())["mcpServers"]
    assert servers["other"] == {"command": "other"}
    assert servers["hive-mind"]["args"][-4:] == ["--home", str(hive_mind.home), "--agent", "ines"]
    assert servers["hive-mind"]["env"] == {"HIVE_MIND_EMBED": "none"}
    assert json.dumps(servers["hive-mind"]["args"], indent=2).splitlines()[1].strip() in written.out

    for text in ("{", "[1]", '{"servers": 3}', "\x00"):
        (other := tmp_path / ".vscode" / "mcp.json").parent.mkdir(exist_ok=True)
        other.write_text(text)
        ended = hive_mind("mcp", "install", "vscode", "--yes")
        assert (ended.code, other.read_text()) == (2, text)
        assert re.search("mend it, or remove (it|the file)", ended.err)
