"""What docs/howto/broker.md shows runs as it stands: its configuration, its commands, its programs."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.forked import Forked, run

pytest.importorskip("azure.servicebus")
pytest.importorskip("azure.eventhub")

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "broker.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
PROMISED = [
    ["done: three lamps", "attempt 1", "attempt 2", "dead: not an order MaxDeliveryCountExceeded"],
    ["partition 2: who knows the gateway?"],
    ["2 copies"],
]
CHECKS = re.findall(r"^    hive-mind (bus check .*)$", PAGE, re.MULTILINE)
BROKERS = re.findall(r"^    hive-mind (broker .*)$", PAGE, re.MULTILINE)

pytestmark = pytest.mark.slow


def hive_mind(line, port=0):
    """A command of the page, with the port of this run."""
    words = [word.strip('"') for word in line.replace(":5672", f":{port}").split()]
    return [sys.executable, "-m", "hive_mind", *words]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("howto")
    [configuration] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    (folder / "Config.json").write_text(configuration, encoding="utf-8")
    return folder


def started(line, folder):
    process = Forked([*hive_mind(line), "--port", "0", "--output", "json"], cwd=folder, text=True, stdout=subprocess.PIPE)
    return process, json.loads(process.stdout.readline() or "{}")


def ended(process):
    process.terminate()
    process.communicate(timeout=20)
    return process.returncode


@pytest.fixture(scope="module")
def broker(folder) -> Iterator[dict]:
    process, said = started("broker --config Config.json", folder)
    yield said
    ended(process)


@pytest.mark.parametrize("line", BROKERS)
def test_a_broker_starts_as_the_page_says_and_ends_well(line, folder):
    process, said = started(line, folder)
    assert ended(process) == 0
    assert said["durable"] is False


@pytest.mark.parametrize(("program", "promised"), list(zip(PROGRAMS, PROMISED, strict=True)))
def test_a_program_prints_what_it_promises(program, promised, broker, tmp_path):
    environment = {**os.environ, "SERVICEBUS_CONNECTION_STRING": broker["connection_string"]}
    ended = run([sys.executable, "-c", program], 60, env=environment, cwd=tmp_path, text=True)
    assert ended.returncode == 0, ended.stderr
    for line in promised:
        assert line in ended.stdout


@pytest.mark.parametrize("line", CHECKS)
def test_a_hive_reaches_it(line, broker, folder):
    ended = run(hive_mind(line, broker["port"]), 60, cwd=folder, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "It works." in ended.stdout + ended.stderr
