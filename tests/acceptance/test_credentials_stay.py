"""After a busy use the value of a credential is in no file, log, argument or environment, and yet it was used."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest

from tests.acceptance.hive_mind_command import Ended, HiveMind
from tests.acceptance.test_judged_fleet import LIMIT, command, until
from tests.servers.home_guard import processes_of
from tests.servers.openai_compatible import OpenAICompatibleServer, Refusal

pytestmark = pytest.mark.slow
__all__ = ["command"]

MODEL_KEY, TOKEN = "sk-sw0rd/fish+7", "t0ken of\nben"
VALUES = {"model-key": MODEL_KEY, "bens-token": TOKEN}
# More than are asked for.
REQUESTS_MAX = 500


def manifest(url: str) -> str:
    """One agent reads by a model with a key, another finds a token among its variables."""
    spec = {
        "topology": "flat",
        "agents": [
            {"name": "ada", "model": "openai:tiny", "sources": ["notes.md"]},
            {"name": "ben", "env": {"BENS_TOKEN": "${credential:bens-token}", "PLAIN": "yes"}},
        ],
        "llm": {"url": url, "key": "${credential:model-key}"},
        "embedding": "none",
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
    (tmp_path / "notes.md").write_text("The ferry to Corrin leaves at nine.\n")
    refusals = [Refusal(401, "invalid_api_key", message=f"there is no account for {MODEL_KEY}")] * REQUESTS_MAX
    said: list[Ended] = [command("credentials", "set", name, stdin=value) for name, value in VALUES.items()]
    with OpenAICompatibleServer(refusals) as server:
        (tmp_path / "town.yaml").write_text(manifest(server.base_url))

        said.append(command("apply", "-f", tmp_path / "town.yaml", *LIMIT, "--no-wait"))
        assert server.wait_for_requests(1, 60.0)
        told = until(
            lambda: "no account" in (out := command("describe", "agent", "ada").out + command("logs", "ada").out) and out
        )
        said.append(command("learn", tmp_path / "notes.md", "--agent", "ben"))
        said += [command("ask", "When does the ferry leave?", "--agent", name) for name in ("ada", "ben")]
        said += [command("learn", tmp_path / "notes.md", "--agent", "ada"), command("status", "-o", "json")]
        said += [command("plan", "-f", tmp_path / "town.yaml"), command("get", "events"), command("credentials", "rotate")]
        said += [command("logs", name) for name in ("ada", "ben")]

        assert server.requests[0].headers["authorization"] == f"Bearer {MODEL_KEY}"
        assert "there is no account for ${credential:model-key}" in told
        assert len(processes_of(command.home)) >= 2
        assert processes_with_a_value(command.home) == []
        assert files_with_a_value(tmp_path) == []
        said.append(command("rollout", "restart", "--timeout", "60"))
        said.append(command("delete", "--yes"))
    assert files_with_a_value(tmp_path) == []
    assert [one for one in said for form in spellings() if form.decode() in one.out + one.err] == []
