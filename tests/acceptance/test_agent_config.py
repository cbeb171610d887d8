"""`hive-mind agent --config` as a process: it comes up, answers, is alone under its name, ends when told to, loses nothing."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import msgspec
import psutil
import pytest

from hive_mind.errors import InvalidInput
from hive_mind.runtime.workers import Contact, WorkerStatus
from hive_mind.runtime.workers.config import (
    AgentConfig,
    HiveConfig,
    ModelsConfig,
    NodeConfig,
    SourceConfig,
    WorkerConfig,
    read_config,
)
from tests.servers.forked import Forked

PATIENCE_S = 90


class Town:
    """A fleet's folder with one worker in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "fleets" / "town"
        self.file = self.folder / "config" / "town.json"
        self.contact_file = self.folder / "run" / "town.json"
        self.log = self.folder / "logs" / "town.log"
        self.started: list[subprocess.Popen[bytes]] = []
        notes = folder / "notes.txt"
        notes.write_text("The ferry to Corrin leaves at nine.\n")
        source = SourceConfig(str(notes), sha256(notes.read_bytes()).hexdigest())
        self.config = WorkerConfig(
            fleet="town",
            process="town",
            home=str(folder),
            run=str(self.folder / "run"),
            hive=HiveConfig("town", "flat", {"": ("town",)}),
            nodes=(NodeConfig("town", ("ada", "ben")),),
            agents=(AgentConfig("ada", sources=(source,)), AgentConfig("ben")),
            models=ModelsConfig(ann="exact"),
        )

    def write(self, **fields: Any) -> None:
        self.config = msgspec.structs.replace(self.config, **fields)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(self.config.packed())

    def start(self, **environment: str) -> subprocess.Popen[bytes]:
        root = str(Path(__file__).parents[2])
        command = [sys.executable, "-m", "hive_mind", "agent", "--config", str(self.file)]
        everything = os.environ | {"PYTHONPATH": root} | environment
        process = Forked(command, env=everything, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.started.append(process)
        return process

    def ready(self, process: subprocess.Popen[bytes]) -> WorkerStatus:
        """Its status once all of it is of use."""
        until_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < until_s:
            assert process.poll() is None, process.communicate()[1]
            # Until it has its lock there may be the contact of a predecessor who was killed.
            is_there = self.contact_file.exists() and self.contact().pid == process.pid
            if is_there and (status := self.status()).is_ready:
                return status
            time.sleep(0.05)
        raise AssertionError(self.log.read_text())

    def contact(self) -> Contact:
        return msgspec.json.decode(self.contact_file.read_bytes(), type=Contact)

    def status(self) -> WorkerStatus:
        return msgspec.json.decode(self.get("/v1/status"), type=WorkerStatus)

    def get(self, path: str, body: object = None) -> bytes:
        contact = self.contact()
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {contact.token}"}
        asked = urllib.request.Request(f"http://127.0.0.1:{contact.port}{path}", data, headers)
        with urllib.request.urlopen(asked, timeout=PATIENCE_S) as reply:  # noqa: S310 - ours
            found: bytes = reply.read()
            return found

    def call(self, agent: str, **request: object) -> Any:
        return json.loads(self.get(f"/v1/agents/{agent}", request))["ok"]


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    made = Town(tmp_path)
    made.write()
    yield made
    for process in made.started:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stderr:
            process.stderr.close()


def test_it_comes_up_answers_is_alone_under_its_name_and_ends_when_it_is_told_to(town: Town) -> None:
    process = town.start()
    status = town.ready(process)

    assert (status.pid, status.process) == (process.pid, "town")
    assert status.config == sha256(town.file.read_bytes()).hexdigest()
    contact = town.contact()
    assert abs(contact.started - psutil.Process(process.pid).create_time()) < 1
    assert stat.S_IMODE(town.contact_file.stat().st_mode) == 0o600
    assert json.loads(town.get("/readyz")) == {"ready": True, "reasons": []}
    with pytest.raises(HTTPError, match="401") as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{contact.port}/v1/status", timeout=PATIENCE_S)
    refused.value.close()
    # What one agent learned the other one answers.
    assert "nine" in town.call("ben", do="ask", question="When does the ferry to Corrin leave?")["answer"]

    second = town.start()
    _, err = second.communicate(timeout=PATIENCE_S)
    assert (second.returncode, err.decode().strip()) == (3, f"error: town runs already (process {process.pid})")
    assert town.status().is_ready
    assert town.contact().pid == process.pid

    process.send_signal(signal.SIGTERM)

    assert process.wait(PATIENCE_S) == 0
    assert not town.contact_file.exists()
    assert "town: ready, 2 agents" in town.log.read_text()
    assert contact.token not in town.log.read_text()


def test_killed_and_started_again_it_knows_what_it_knew_and_logs_as_its_configuration_says(town: Town) -> None:
    town.write(env={"HIVE_MIND_WORKER_TOKEN": "${env:GIVEN}"}, seen=replace(town.config.seen, log="json"))
    first = town.start(GIVEN="a-token-of-ours")
    town.ready(first)
    assert "town: ready, 2 agents" in [json.loads(line)["message"] for line in town.log.read_text().splitlines()]
    assert town.contact().token == "a-token-of-ours"  # noqa: S105 - for this test alone
    town.call("ben", do="store", content="The museum opens at ten.", concept="museum")
    first.kill()
    first.wait()
    assert town.contact_file.exists()

    status = town.ready(town.start(GIVEN="a-token-of-ours"))

    assert status.pid != first.pid
    assert [agent.facts for agent in status.agents] == [1, 1]
    assert status.nodes[0].facts == 2
    assert "ten" in town.call("ada", do="ask", question="When does the museum open?")["answer"]


def test_a_signal_while_it_starts_ends_it_too(town: Town) -> None:
    process = town.start()
    until_s = time.monotonic() + PATIENCE_S
    while not town.contact_file.exists() and time.monotonic() < until_s:
        time.sleep(0.01)

    process.terminate()

    assert process.wait(PATIENCE_S) == 0
    assert not town.contact_file.exists()


@pytest.mark.parametrize(
    ("fields", "environment", "told", "lines", "is_logged"),
    [
        ({"models": ModelsConfig(llm_key="${env:NOT_SET_ANYWHERE}")}, {}, "NOT_SET_ANYWHERE", 1, True),
        (None, {}, "is not a worker's configuration", 1, False),
        # Off this machine it needs a token, and logs there, too.
        ({}, {"HIVE_MIND_HTTP_HOST": "0.0.0.0"}, "HIVE_MIND_WORKER_TOKEN", 2, False),  # noqa: S104 - what is refused
    ],
    ids=["unset variable", "no configuration", "no token"],
)
def test_a_configuration_that_can_not_be_ends_with_2_and_says_why(
    town: Town, fields: dict[str, Any] | None, environment: dict[str, str], told: str, lines: int, is_logged: bool
) -> None:
    if fields is None:
        for body in (b"", b"{}", b"\xff\x00", b'{"fleet": 1}'):
            town.file.write_bytes(body)
            with pytest.raises(InvalidInput, match=told):
                read_config(town.file)
    else:
        town.write(**fields)
    process = town.start(**environment)
    _, err = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, err.decode().count("\n"), told in err.decode()) == (2, lines, True), err
    assert (town.log.exists() and told in town.log.read_text()) == is_logged
    assert not town.contact_file.exists()
