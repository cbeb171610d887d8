"""Runs of the command in a process of its own, with a model whose replies are written down here."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.acceptance.hive_mind_command import Ended, HiveMind
from tests.servers.openai_compatible import Called, OpenAICompatibleServer, Reply

ENDS_WITHIN_S = 60.0


def sets(**outputs: Any) -> Reply:
    """A turn that sets these outputs."""
    return says(*(("set_output", {"key": key, "value": value}) for key, value in outputs.items()))


def says(*calls: tuple[str, Mapping[str, Any]], text: str = "") -> Reply:
    """A turn with these calls."""
    return Reply(text, tuple(Called(name, json.dumps(given), f"c{at}") for at, (name, given) in enumerate(calls)))


def with_model(hive_mind: HiveMind, server: OpenAICompatibleServer) -> HiveMind:
    """The command with the server as its model."""
    return hive_mind.with_environment(HIVE_MIND_LLM="openai:tiny", HIVE_MIND_LLM_URL=server.base_url, HIVE_MIND_LLM_KEY="k")


def process(hive_mind: HiveMind, *arguments: object) -> Ended:
    """The command in a process of its own."""
    child = hive_mind.start(*arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = child.communicate(timeout=ENDS_WITHIN_S)
    return Ended(child.returncode, out.decode(), err.decode())


def worker_file(folder: Path, id: str, **spec: Any) -> Path:
    """A file of kind Worker."""
    file = folder / f"{id}.yaml"
    file.write_text(json.dumps({"apiVersion": "hive-mind/v1", "kind": "Worker", "spec": {"id": id, **spec}}), "utf-8")
    return file


def prompts(server: OpenAICompatibleServer, since: int = 0) -> list[str]:
    """All that the model was sent, a text for each turn."""
    return [json.dumps(one.body, ensure_ascii=False) for one in server.requests[since:]]
