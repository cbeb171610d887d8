"""A fleet rendered for Compose: every service may do little, secrets are elsewhere, and who renders again goes on from there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from hive_mind.control.platforms import compose
from hive_mind.control.remembering import remembered
from hive_mind.errors import InvalidInput, ManifestError
from hive_mind.runtime.workers.config import SourceConfig, WorkerConfig
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
