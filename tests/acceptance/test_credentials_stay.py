"""After a busy use the value of a credential is in no file, log, argument or environment, and yet it was used."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest

from tests.acceptance.hive_mind_command import Ended, HiveMind
from tests.acceptance.test_judged_fleet import LIMIT, command
from tests.servers.home_guard import processes_of
from tests.servers.openai_compatible import OpenAICompatibleServer, Refusal

pytestmark = pytest.mark.slow
__all__ = ["command"]

# The first as a server may repeat it, where it says which error it was.
MODEL_KEY, TOKEN = "sk0sw0rdfish7", "t0ken/of\nben"
VALUES = {"model-key": MODEL_KEY, "bens-token": TOKEN}
# More than are asked for.
REQUESTS_MAX = 500


def manifest(url: str) -> str:
    """One agent reads by a model with a key, another finds a token among its variables."""
    spec = {
        "topology": "flat",
        "agents": [
            {"name": "ada", "model": "openai:tiny"},
            {"name": "ben", "env": {"BENS_TOKEN": "${credential:bens-token}", "PLAIN": "yes"}},
        ],
        "llm": {"url": url, "key": "${credential:model-key}"},
        "embedding": {"kind": "none"},
    }
    return json.dumps({"apiVersion": "hive-mind/v1", "kind": "Hive", "metadata": {"name": "town"}, "spec": spec})


def spellings() -> set[bytes]:
    plain = {form for value in VALUES.values() for form in (value, json.dumps(value)[1:-1], quote(value), quote(value, safe=""))}
    return {form.encode() for form in plain} | {base64.b64encode(value.encode()) for value in VALUES.values()}


def files_with_a_value(folder: Path) -> list[str]:
    held = ((path, path.read_bytes()) for path in folder.rglob("*") if path.is_file())
    return [f"{path}: {form!r}" for path, body in held for form in spellings() if form in body]


def everything_about(process: psutil.Process) -> Iterator[str]:
    """What others can see of a process and of what it has started."""
    for one in (process, *process.children(recursive=True)):
        yield from one.cmdline()
        yield from one.environ().values()


def processes_with_a_value(home: Path) -> list[str]:
    seen = ((one.pid, text) for one in processes_of(home) for text in everything_about(one))
    return [f"{pid}: {text}" for pid, text in seen if any(form.decode() in text for form in spellings())]


def test_values_are_used_and_stay_nowhere(command: HiveMind, tmp_path: Path) -> None:
    notes, town = tmp_path / "notes.md", tmp_path / "town.yaml"
    notes.write_text("The ferry to Corrin leaves at nine.\n")
    refusals = [Refusal(401, MODEL_KEY, message=f"there is no account for {MODEL_KEY}")] * REQUESTS_MAX
    done: list[Ended] = [command("credentials", "set", name, stdin=value) for name, value in VALUES.items()]
    with OpenAICompatibleServer(refusals) as server:
        town.write_text(manifest(server.base_url))
        done += [command("apply", "-f", town, *LIMIT), command("learn", notes, "--agent", "ben")]
        done += [command("ask", "When does the ferry leave?", "--agent", name) for name in ("ada", "ben")]
        refused = command("learn", notes, "--agent", "ada")
        done += [command(*words) for words in (("status", "-o", "json"), ("plan", "-f", town), ("get", "events"))]
        done += [
            command("describe", "agent", "ada"),
            command("logs", "ada"),
            command("logs", "ben"),
            command("credentials", "rotate"),
        ]

        assert [one.err for one in done if one.code != 0] == []
        assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {MODEL_KEY}"}
        assert len(processes_of(command.home)) >= 2
        assert processes_with_a_value(command.home) == []
        assert files_with_a_value(tmp_path) == []
        done += [command("rollout", "restart", *LIMIT), command("delete", "--yes", *LIMIT)]
    assert "quoted instead of reasoned" in (log := "".join(path.read_text() for path in command.home.rglob("*.log")))
    assert "HTTP 401 (${credential:model-key}): the API key is missing or wrong" in log
    assert "HTTP 401 (${credential:model-key}): the API key is missing or wrong" in refused.out + refused.err
    assert files_with_a_value(tmp_path) == []
    assert [one for one in done for form in spellings() if form.decode() in one.out + one.err] == []
