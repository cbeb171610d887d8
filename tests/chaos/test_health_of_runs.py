"""A fleet of 20 with a queen over Redis: each trouble gives one ticket, and whoever looks after runs may be killed."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.acceptance.conftest import hive_mind
from tests.acceptance.hive_mind_command import HiveMind
from tests.servers.home_guard import HomeGuard
from tests.servers.openai_compatible import Behaviour, OpenAICompatibleServer, RawBody, Received, Silence
from tests.servers.redis_server import redis_program
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.thorough]
__all__ = ["hive_mind"]

AGENTS = 20
LOOK_S = 1.0
LIMIT = ("--timeout", 300)
WORKER = {
    "apiVersion": "hive-mind/v1",
    "kind": "Worker",
    "spec": {
        "id": "seek",
        "inputs": ["task"],
        "entry": "seek",
        "nodes": [{"id": "seek", "prompt": "Seek.", "tools": ["recall"], "inputs": ["task"], "outputs": ["found"]}],
    },
}
T = TypeVar("T")


class Model(OpenAICompatibleServer):
    """Says nothing to whoever stalls for the first time, and lets whoever circles seek for ever."""

    def __init__(self) -> None:
        super().__init__()
        self._stalled = 0

    def next_behaviour(self, received: Received) -> Behaviour:
        """By what the prompt says."""
        super().next_behaviour(received)
        told = json.dumps(received.body)
        if "task: stall" in told:
            self._stalled += 1
            return Silence() if self._stalled == 1 else called("set_output", {"key": "found", "value": "at last"})
        time.sleep(0.1)
        return called("recall", {"query": f"query {len(self.requests)}"})


def called(tool: str, arguments: dict[str, Any]) -> RawBody:
    """A reply with one call."""
    call = {"id": "c", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return RawBody(json.dumps(body).encode())


@pytest.fixture
def command(hive_mind: HiveMind) -> Iterator[HiveMind]:
    """In a home of which no process is left afterwards."""
    redis_program()
    guard = HomeGuard(hive_mind.home)
    yield hive_mind
    guard.release()


def manifest_of(folder: Path, url: str) -> Path:
    (folder / "seek.yaml").write_text(json.dumps(WORKER), "utf-8")
    model = {"model": "openai:m", "worker": "seek.yaml"}
    workers = [{"name": "staller", **model}, {"name": "circler", **model}, {"name": "mortal", "worker": "incident-review"}]
    rest = [{"name": f"a{number}"} for number in range(AGENTS - len(workers) - 2)]
    spec = {
        "topology": "flat",
        "agents": [{"name": "queen"}, {"name": "watcher"}, *workers, *rest],
        "queen": {"agent": "queen"},
        "health": {"agent": "watcher", "everyS": LOOK_S, "stallMin": 0.1},
        "llm": {"url": url, "key": "${env:LLM_KEY}"},
    }
    body = {"apiVersion": "hive-mind/v1", "kind": "Hive", "metadata": {"name": "town"}, "spec": spec}
    file = folder / "town.yaml"
    file.write_text(json.dumps(body), "utf-8")
    return file


def tickets(command: HiveMind) -> dict[str, Any]:
    """Those that were ever written, by what they are about."""
    listed = command("inbox", "list", "--all", "-n", "100", "-o", "json").json
    found = [view for view in listed if view["item"]["kind"] == "ticket"]
    assert len({view["item"]["id"] for view in found}) == len(found)
    return {view["item"]["subject"]: view for view in found}


def question_about(command: HiveMind, subject: str) -> str:
    """What the queen asks about it."""
    listed = command("inbox", "list", "--all", "-n", "100", "-o", "json").json
    asked = [one["item"] for one in listed if one["item"]["kind"] == "question" and subject in str(one["item"]["context"])]
    return str(asked[0]["id"]) if asked else ""


def pid_of(command: HiveMind, process: str) -> int:
    return int(json.loads((command.home / "fleets" / "town" / "run" / f"{process}.json").read_bytes())["pid"])


def status_of(command: HiveMind, agent: str, run: str) -> str:
    shown = command("runs", "show", run, "--agent", agent, "-o", "json")
    return str(shown.json["status"]) if shown.code == 0 else "there is none yet"


def begin(command: HiveMind, agent: str, task: str) -> None:
    """Nobody looks on."""
    line = ("run", "--agent", agent, "--name", task, "--input", f"task=task: {task}")
    with command.start(*line, stdout=-3, stderr=-3) as process:
        wait_until(lambda: command("runs", "list", "--agent", agent, "-o", "json").json)
        process.send_signal(signal.SIGINT)


def test_each_trouble_gives_one_ticket_and_the_queen_brings_a_run_on(
    command: HiveMind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_KEY", "none")
    with Model() as model:
        command = command.with_environment(LLM_KEY="none")
        ended = command("apply", "-f", manifest_of(tmp_path, model.base_url), *LIMIT)
        assert ended.code == 0, ended.err
        begin(command, "staller", "stall")
        begin(command, "circler", "circle")
        wait_until(lambda: {"staller/stall", "circler/circle"} <= set(tickets(command)))

        os.kill(pid_of(command, "mortal"), signal.SIGKILL)
        wait_until(lambda: "mortal" in tickets(command), lambda: tickets(command))
        # Whoever looks after runs may be killed, too.
        for name in ("watcher", "queen"):
            os.kill(pid_of(command, name), signal.SIGKILL)
        # On a busy machine it has come to the end of its turns by now, and waits for a person.
        assert status_of(command, "circler", "circle") in ("unfinished", "paused", "parked")
        assert command("apply", "-f", tmp_path / "town.yaml", *LIMIT).code == 0

        item = wait_until(lambda: question_about(command, "staller"))
        assert command("inbox", "answer", item, "restart", "--as", "olga").code == 0
        wait_until(lambda: status_of(command, "staller", "stall-again") == "accepted")
        assert status_of(command, "staller", "stall") == "cancelled"
        wait_until(lambda: tickets(command)["staller/stall"]["decision"])

        time.sleep(5 * LOOK_S)
        found = {key: dict(view["item"]["context"])["cause"] for key, view in tickets(command).items()}
        # Killed on a busy machine, watcher and queen were away for long enough to be told, too.
        ours = {key: cause for key, cause in found.items() if key.partition("/")[0] not in ("watcher", "queen")}
        assert sorted(ours.values()) == ["dead", "retries", "stall"], found
        assert {cause for key, cause in found.items() if key not in ours} <= {"dead"}, found
        assert command("delete", "--purge", "--yes").code == 0
