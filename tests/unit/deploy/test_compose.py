import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from hive_mind.cli.fleet.apply import render_into
from hive_mind.control.manifests.reading import read_manifest
from hive_mind.control.platforms import in_containers
from hive_mind.runtime.workers.config import read_config

FOLDER = Path(__file__).parents[3] / "deploy" / "compose"
FILE = FOLDER / "compose.yaml"
COMPOSE: dict[str, Any] = yaml.safe_load(FILE.read_text("utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
AGENTS = sorted(set(SERVICES) - {"network", "redis"})


def checked(file: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_the_schema_would_tell_a_wrong_key(tmp_path):
    wrong = tmp_path / "compose.yaml"
    wrong.write_text("services: {redis: {imagine: redis}}\n", "utf-8")
    assert checked(wrong).returncode != 0


async def test_the_files_are_those_of_the_manifest(tmp_path):
    await render_into(read_manifest(FOLDER / "hive.yaml"), tmp_path, tmp_path / "home")
    files = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir() if path.is_file()}
    assert sorted(files) == ["ada.json", "ben.json", "cleo.json", "compose.yaml"]
    for name, text in files.items():
        again = "hive-mind apply -f deploy/compose/hive.yaml --render deploy/compose writes them again"
        assert (FOLDER / name).read_text("utf-8") == text, again


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_runs_its_own_configuration_on_its_own_disk(name):
    service = SERVICES[name]
    config = read_config(FILE.parent / COMPOSE["configs"][name]["file"])

    assert service["configs"] == [{"source": name, "target": f"{in_containers.CONFIG_FOLDER}/{in_containers.CONFIG_FILE}"}]
    assert service["volumes"] == [f"{name}:{in_containers.HOME}"]
    assert (config.process, config.home, config.run) == (name, in_containers.HOME, in_containers.RUN)
    assert f"127.0.0.1:{config.seen.port}/readyz" in service["healthcheck"]["test"][-1]
    assert f"127.0.0.1:{config.seen.port}:{config.seen.port}" in SERVICES["network"]["ports"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_can_change_nothing_but_its_own_disk(name):
    service = SERVICES[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", service["user"])
    assert {"restart", "mem_limit", "pids_limit", "stop_grace_period"} <= set(service)
    assert "healthcheck" in service or name == "network"


def test_nothing_is_published_beyond_this_machine():
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert "6379" not in " ".join(ports)


def test_redis_keeps_what_it_acknowledged_and_asks_for_a_password_that_is_in_no_file_here():
    command = SERVICES["redis"]["command"][-1]

    assert "--appendonly yes" in command
    assert "--appendfsync everysec" in command
    assert "requirepass $$(cat /run/secrets/redis_password)" in command
    assert "redis:/data" in SERVICES["redis"]["volumes"]
    assert COMPOSE["secrets"] == {"redis_password": {"file": "secrets/redis_password"}}
    assert re.search(r"redis:\d+\.\d+\.\d+", SERVICES["redis"]["image"])


def test_redis_says_that_its_memory_is_full_before_the_container_is_killed_for_it():
    limit = re.search(r"--maxmemory (\d+)mb --maxmemory-policy noeviction", SERVICES["redis"]["command"][-1])
    assert limit is not None
    assert 2 * int(limit[1]) < int(SERVICES["redis"]["mem_limit"].removesuffix("m"))


def test_nobody_loses_the_network_because_somebody_crashed():
    assert {SERVICES[name]["network_mode"] for name in set(SERVICES) - {"network"}} == {"service:network"}
    assert SERVICES["network"]["command"] == ["sleep", "infinity"]


@pytest.mark.parametrize("name", AGENTS)
def test_secrets_of_agents_are_references(name):
    config = read_config(FILE.parent / COMPOSE["configs"][name]["file"])
    assert config.bus.credential == "${file:/run/secrets/redis_password}"
    assert "redis_password" in SERVICES[name]["secrets"]
    token = SERVICES[name]["environment"][in_containers.TOKEN_VARIABLE]
    assert token.startswith("${HIVE_MIND_WORKER_TOKEN:?"), "compose says so where it is missing"


def test_agents_reach_redis_on_a_loopback_they_share_and_wait_for_it():
    for name in AGENTS:
        assert SERVICES[name]["network_mode"] == SERVICES["redis"]["network_mode"]
        assert SERVICES[name]["depends_on"]["redis"]["condition"] == "service_healthy"
        assert read_config(FOLDER / f"{name}.json").bus.url == "redis://127.0.0.1:6379"
    assert "--bind 127.0.0.1 " in SERVICES["redis"]["command"][-1]
