"""After a busy use the value of a credential is in no file, log, argument or environment, and yet it was used.

The only exception is the environment of the one server of tools that needs it. That one says it, too, as does the model.
"""

import base64
import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest

from tests.acceptance.hive_mind_command import Ended, HiveMind
from tests.acceptance.test_judged_fleet import LIMIT
from tests.servers.home_guard import processes_of
from tests.servers.openai_compatible import OpenAICompatibleServer, Refusal

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def workers() -> None:
    """Each is started anew: a copy shows the environment of what it was copied from."""


# The first as a server may repeat it, where it says which error it was.
MODEL_KEY, TOKEN, TICKETS = "sk0sw0rdfish7", "t0ken/of\nben", "t1ckets&more"
VALUES = {"model-key": MODEL_KEY, "bens-token": TOKEN, "tickets": TICKETS}
# More than are asked for.
REQUESTS_MAX = 500


def worker(id: str, *nodes: dict[str, object]) -> str:
    """A worker whose nodes are passed one after the other."""
    names = [str(node["id"]) for node in nodes]
    edges = [{"source": source, "target": target} for source, target in pairwise(names)]
    spec = {"id": id, "entry": names[0], "nodes": nodes, "edges": edges}
    return json.dumps({"apiVersion": "hive-mind/v1", "kind": "Worker", "spec": spec})


WORKERS = {
    "talk": worker("talk", {"id": "talk", "prompt": "Say it.", "outputs": ["said"], "attempts": 1}),
    "sign": worker(
        "sign",
        {"id": "sign", "kind": "tool", "tool": "mcp:tickets/sign_in", "outputs": ["as"]},
        {"id": "fail", "kind": "tool", "tool": "mcp:tickets/sign_out", "outputs": ["gone"], "attempts": 1},
    ),
    "look": worker("look", {"id": "look", "kind": "tool", "tool": "mcp:plain/environment", "outputs": ["seen"]}),
}
RUN_BY = {"ada": "talk", "ben": "sign", "cleo": "look"}


def manifest(url: str) -> str:
    """One agent has a model with a key, one a token among its variables and tools that need another, one tools that need none."""
    served = [sys.executable, str(Path(__file__).parents[1] / "servers" / "mcp_server.py")]
    spec = {
        "topology": "flat",
        "agents": [
            {"name": "ada", "model": "openai:tiny", "worker": "talk.yaml"},
            {"name": "ben", "worker": "sign.yaml", "env": {"BENS_TOKEN": "${credential:bens-token}", "PLAIN_MODE": "yes"}},
            {"name": "cleo", "worker": "look.yaml"},
        ],
        "llm": {"url": url, "key": "${credential:model-key}"},
        "mcp": [
            {"name": "tickets", "command": [*served, "tickets"], "env": {"TICKETS": "${credential:tickets}"}},
            {"name": "plain", "command": [*served, "plain"]},
        ],
        "embedding": {"kind": "none"},
    }
    return json.dumps({"apiVersion": "hive-mind/v1", "kind": "Hive", "metadata": {"name": "town"}, "spec": spec})


def spellings() -> set[bytes]:
    plain = {form for value in VALUES.values() for form in (value, json.dumps(value)[1:-1], quote(value), quote(value, safe=""))}
    return {form.encode() for form in plain} | {base64.b64encode(value.encode()) for value in VALUES.values()}


def files_with_a_value(folder: Path) -> list[str]:
    held = ((path, path.read_bytes()) for path in folder.rglob("*") if path.is_file())
    return [f"{path}: {form!r}" for path, body in held for form in spellings() if form in body]


def everything_about(process: psutil.Process) -> Iterator[tuple[str, str]]:
    """What others can see of a process and of what it has started."""
    for one in (process, *process.children(recursive=True)):
        yield from ((one.cmdline()[-1], text) for text in (*one.cmdline(), *one.environ().values()))


def processes_with_a_value(home: Path) -> list[str]:
    """The last word of the command line of each, with what has it."""
    return sorted(
        f"{which}: {text}"
        for one in processes_of(home)
        for which, text in everything_about(one)
        if any(form.decode() in text for form in spellings())
    )


def test_values_are_used_and_stay_nowhere(command: HiveMind, tmp_path: Path) -> None:
    notes, town = tmp_path / "notes.md", tmp_path / "town.yaml"
    notes.write_text("The ferry to Corrin leaves at nine.\n")
    refusals = [Refusal(401, MODEL_KEY, message=f"there is no account for {MODEL_KEY}")] * REQUESTS_MAX
    done: list[Ended] = [command("credentials", "set", name, stdin=value) for name, value in VALUES.items()]
    with OpenAICompatibleServer(refusals) as server:
        town.write_text(manifest(server.base_url))
        for name, text in WORKERS.items():
            (tmp_path / f"{name}.yaml").write_text(text)
        done += [command("apply", "-f", town, *LIMIT), command("learn", notes, "--agent", "ben")]
        done += [command("ask", "When does the ferry leave?", "--agent", name) for name in ("ada", "ben")]
        refused = command("learn", notes, "--agent", "ada")
        # Those that a person has to look at end with 1.
        begun = [command("run", "--agent", name, "--name", run, "-o", "json") for name, run in RUN_BY.items()]
        done += [command("runs", *words) for name, run in RUN_BY.items() for words in (("why", run, "--agent", name),)]
        done += [command(*words) for words in (("status", "-o", "json"), ("plan", "-f", town), ("get", "events"))]
        done += [
            command("describe", "agent", "ada"),
            command("logs", "ada"),
            command("logs", "ben"),
            command("credentials", "rotate"),
        ]

        assert [one.code for one in begun] == [1, 1, 0]
        assert [one.err for one in done if one.code != 0] == []
        assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {MODEL_KEY}"}
        assert len(processes_of(command.home)) >= 2
        assert processes_with_a_value(command.home) == [f"tickets: {TICKETS}"]
        assert files_with_a_value(tmp_path) == []
        done += [command("rollout", "restart", "ben", *LIMIT), command("delete", "--yes", *LIMIT)]
    done += [command("facts", "export", tmp_path / f"{name}.jsonl", "--agent", name) for name in RUN_BY]
    done += [command("inbox", "list", "--agent", name, "-o", "json") for name in RUN_BY]
    assert [one.err for one in done if one.code != 0] == []
    journals = {name: (command.home / "agents" / name / "ledger.sqlite").read_bytes() for name in RUN_BY}
    assert b"HTTP 401 (${credential:model-key})" in journals["ada"]
    assert b"signed in with ${credential:tickets}" in journals["ben"]
    assert "quoted instead of reasoned" in (log := "".join(path.read_text() for path in command.home.rglob("*.log")))
    assert "HTTP 401 (${credential:model-key}): the API key is missing or wrong" in log
    assert "mcp:tickets: " in log
    assert "${credential:tickets}" in log
    assert "HTTP 401 (${credential:model-key}): the API key is missing or wrong" in refused.out + refused.err
    assert files_with_a_value(tmp_path) == []
    assert [one for one in (*done, *begun) for form in spellings() if form.decode() in one.out + one.err] == []
