"""The broker speaks AMQP and not only what one vendor's clients make of it: a client of another make, npm rhea, drives it."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from hive_mind.devbroker import KEY, KEY_NAME, BrokerThread

CLIENT = Path(__file__).parents[2] / "servers" / "rhea_client.js"
LIMIT_S = 60


@pytest.fixture(scope="module")
def rhea(tmp_path_factory) -> Path:
    """Where the library is installed; skips where there is no node, no npm or no registry."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    folder = tmp_path_factory.mktemp("rhea")
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder), "rhea@3"]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=LIMIT_S, cwd=folder)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"npm can't install rhea here: {error}")
    return folder / "node_modules" / "rhea"


@pytest.mark.slow
def test_a_client_of_another_make_sends_receives_settles_asks_and_is_refused(rhea):
    with BrokerThread() as broker:
        broker.add_hub("hub", 4)
        broker.add_queue("jobs")
        command = ["node", str(CLIENT), str(rhea), str(broker.port), KEY_NAME, KEY]
        ended = subprocess.run(command, capture_output=True, timeout=LIMIT_S, text=True, check=False)
        stats = broker.stats()

    assert ended.stderr == ""
    seen = json.loads(ended.stdout)
    assert seen.pop("refused")[0] == "connection_error"
    assert seen == {
        "sent": ["accepted"] * 5,
        "all": ["a", "b", "c", "d", 200_000],
        "later": ["c", "d"],
        "queued": ["accepted"] * 3,
        "worked": ["job 1", "job 2", "job 2", "job 3"],
        "missing": ["amqp:not-found"],
        "answer": ["question", 200, ["0", "1", "2", "3"]],
        "closed": True,
    }
    assert stats.get("internal errors", 0) == 0
    assert [name for name in stats if name.startswith("closed")] == []
