"""A fleet rendered for Compose: every service may do little, secrets are elsewhere, and who renders again goes on from there.

Credentials of this machine in what is rendered: a secret of the platform has the value there, under a name of its own.
A fleet inside another process is neither taken for one that does not run nor touched from here.
"""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from hive_mind.control.manifests.reading import Source
from hive_mind.control.platforms import compose, containerapps, inprocess, kubernetes
from hive_mind.control.platforms.in_containers import contained
from hive_mind.control.remembering import remembered
from hive_mind.errors import BackendUnavailable, InvalidInput, ManifestError
from hive_mind.runtime.workers.config import SourceConfig, WorkerConfig
from tests.contract.platforms import Ground
from tests.servers.children import Child
from tests.unit.control.cloud import FOLDER, configs_of, fleet, source_of
from tests.unit.deploy.test_compose import checked

PLATFORM = {"kind": "compose"}
SECRETIVE = fleet(
    agents=[
        {
            "name": "ada",
            "prompt": "${file:prompts/ada.md}",
            "sources": ["notes/*.md"],
            "env": {"API": "${env:ADA_API}", "PRICE": "5 $ or more"},
        },
        {"name": "redis", "resources": {"cpu": 0.5, "memoryMb": 512}},
    ],
    llm={"model": "openai:gpt-5-mini", "key": "${env:OPENAI_KEY}"},
    topology="flat",
    bus={},
    platform=PLATFORM,
)
LEARNED = {"ada": (SourceConfig(f"{FOLDER}/notes/a.md", "0" * 64),)}


def rendered(
    manifest: Mapping[str, Any], learned: Mapping[str, tuple[SourceConfig, ...]] | None = None, before: Mapping[str, str] = {}
) -> dict[str, str]:
    source = source_of(manifest)
    return compose.render(source, configs_of(source, learned), before)


def services(files: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(files["compose.yaml"])["services"]
    return found


def config(files: Mapping[str, str], name: str) -> WorkerConfig:
    return msgspec.json.decode(files[f"{name}.json"], type=WorkerConfig)


@pytest.mark.parametrize("manifest", [SECRETIVE, fleet("compose"), fleet("compose", topology="single", bus={})])
def test_what_is_rendered_is_valid_by_the_published_schema(manifest: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text(rendered(manifest)["compose.yaml"])
    done = checked(tmp_path / "compose.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_secrets_are_named_and_what_an_agent_learns_is_mounted_to_be_read() -> None:
    files = rendered(SECRETIVE, LEARNED)
    ada = services(files)["ada"]

    assert ada["environment"]["API"] == "${ADA_API:?}"
    assert ada["environment"]["OPENAI_KEY"] == "${OPENAI_KEY:?}"
    assert ada["environment"]["PRICE"] == "5 $$ or more"
    assert f"{FOLDER}:/sources:ro" in ada["volumes"]
    (mounted,) = (one for one in ada["secrets"] if one != "redis_password")
    assert mounted["target"] in config(files, "ada").agents[0].prompt
    assert yaml.safe_load(files["compose.yaml"])["secrets"][mounted["source"]] == {"file": f"{FOLDER}/prompts/ada.md"}
    head = [line for line in files["compose.yaml"].splitlines() if line.startswith("#")]
    assert all(any(name in line for line in head) for name in ("ADA_API", "OPENAI_KEY", "HIVE_MIND_WORKER_TOKEN"))


def test_processes_without_a_bus_get_a_redis_of_their_own_which_an_agent_may_be_called_after() -> None:
    files = rendered(SECRETIVE, LEARNED)
    assert sorted(services(files)) == ["ada", "network", "redis", "works-redis"]
    assert config(files, "works-redis").bus == compose.OWN_BUS
    assert services(files)["works-redis"]["depends_on"] == {"redis": {"condition": "service_healthy"}}
    assert (services(files)["works-redis"]["cpus"], services(files)["works-redis"]["mem_limit"]) == (0.5, "704m")


@pytest.mark.parametrize(
    "manifest", [fleet("compose"), fleet("compose", topology="flat", bus={}, agents=[{"name": "ada"}], platform=PLATFORM)]
)
def test_a_bus_that_is_named_or_not_needed_is_not_started(manifest: dict[str, Any]) -> None:
    assert "redis" not in services(rendered(manifest))


def test_who_renders_again_goes_on_and_ports_stay() -> None:
    first = rendered(fleet("compose", agents=[{"name": name} for name in ("ada", "ben", "cyd")]))
    ports = {name: config(first, name).seen.port for name in ("ada", "ben", "cyd")}

    later = fleet("compose", agents=[{"name": name} for name in ("abe", "ben", "cyd")])
    again = rendered(later, before=first)

    assert {name: config(again, name).seen.port for name in ("ben", "cyd")} == {name: ports[name] for name in ("ben", "cyd")}
    assert config(again, "abe").seen.port == ports["ada"]
    assert remembered(compose.configs_in(first)).nodes == ("ada", "ben", "cyd")
    assert rendered(later, before=again) == again


def test_a_folder_that_has_another_compose_file_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"has a compose\.yaml that was not rendered here"):
        compose.configs_in({"compose.yaml": "services: {web: {image: nginx}}"})


def test_a_bus_on_a_loopback_that_no_container_has_is_refused() -> None:
    with pytest.raises(ManifestError, match="leave the bus out, and they get a Redis of their own"):
        source_of(fleet("compose", bus={"url": "redis://127.0.0.1:6379"}))


AGENTS = [{"name": "ada", "env": {"API": "${credential:ada-api}", "LANG": "C"}}, {"name": "ben"}]
LLM = {"model": "openai:gpt-5-mini", "key": "${credential:model-key}"}


def source(kind: str) -> Source:
    return source_of(fleet(kind, agents=AGENTS, llm=LLM))


def test_each_becomes_a_secret_of_the_process_that_uses_it() -> None:
    given = source("kubernetes")
    ada, ben = contained(given, configs_of(given), name_chars_max=52)

    assert ada.config.models.llm_key == "${env:HIVE_MIND_CREDENTIAL_MODEL_KEY}"
    assert ada.secret["HIVE_MIND_CREDENTIAL_MODEL_KEY"] == "HIVE_MIND_CREDENTIAL_MODEL_KEY"
    assert ada.secret["API"] == "HIVE_MIND_CREDENTIAL_ADA_API"
    assert "API" not in ben.secret


def test_what_only_looks_like_one_stays() -> None:
    given = source_of(fleet(agents=[{"name": "ada", "prompt": "write $${credential:x} for ${credential:y}"}]))
    (ada,) = contained(given, configs_of(given), name_chars_max=52)
    assert ada.config.agents[0].prompt == "write $${credential:x} for ${env:HIVE_MIND_CREDENTIAL_Y}"


RENDER = {"kubernetes": kubernetes.render, "compose": compose.render, "containerapps": containerapps.render}


@pytest.mark.parametrize("kind", RENDER)
def test_no_rendered_file_refers_to_what_a_container_does_not_have(kind: str) -> None:
    given = source_of(fleet(kind, agents=AGENTS, llm=LLM, bus="servicebus://works-bus.servicebus.windows.net/hive-events"))
    files = RENDER[kind](given, configs_of(given), {})
    assert not any("${credential:" in text for text in files.values())
    assert any(re.search("credential[_-]model[_-]key", text, re.IGNORECASE) for text in files.values())


_HOLDER = """\
import fcntl, os, sys
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX)
os.write(lock, b"%d" % os.getpid())
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that runs the worker `ada` in itself."""
    run = tmp_path / "fleets" / "town" / "run"
    run.mkdir(parents=True)
    with Child([sys.executable, "-c", _HOLDER, str(run / "ada.lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield holder
        holder.kill()


async def test_what_runs_inside_another_process_is_seen_and_left_alone(tmp_path: Path, other: "subprocess.Popen[bytes]") -> None:
    ground = Ground(tmp_path, "inprocess")
    platform = await inprocess.open(ground.folder, tmp_path)
    found = (await platform.observe())["ada"]
    assert (found.pid, found.is_alive, found.status) == (other.pid, True, None)
    assert "end that one first" in found.error
    with pytest.raises(BackendUnavailable, match=f"inside process {other.pid}"):
        await platform.start(ground.config("ada"))
    with pytest.raises(BackendUnavailable, match=f"inside process {other.pid}"):
        await platform.stop("ada", 1.0)

    other.kill()
    other.wait()
    assert await platform.observe() == {}
    await platform.start(ground.config("ada"))
    await platform.close()
