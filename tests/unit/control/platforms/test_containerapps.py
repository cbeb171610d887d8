import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hive_mind.bus.eventhubs.inbox import partition_of
from hive_mind.bus.servicebus.account import subscription_of
from hive_mind.control.manifests.reading import read_manifest
from hive_mind.control.manifests.sources import SourceReader
from hive_mind.control.platforms import containerapps
from hive_mind.errors import ManifestError
from hive_mind.runtime.workers.config import SourceConfig, WorkerConfig
from tests.unit.control.cloud import IMAGE, configs_of, fleet, source_of
from tests.unit.deploy.bicep import AZURE, parameters

AZURE_BUS = {
    "url": "servicebus://works-bus.servicebus.windows.net/hive-events",
    "searches": "eventhubs://works-hubs.servicebus.windows.net/searches",
}
SECRETIVE = fleet(
    "containerapps",
    agents=[
        {"name": "ada", "prompt": "${file:prompts/ada.md}", "env": {"API": "${env:ADA_API}", "LANG": "C"}},
        {"name": "ben", "resources": {"cpu": 0.6, "memoryMb": 512}},
    ],
    bus=AZURE_BUS,
    llm={"model": "openai:gpt-5-mini", "key": "${env:OPENAI_KEY}"},
)


def on_azure(**spec: Any) -> dict[str, Any]:
    return fleet("containerapps", **{"bus": AZURE_BUS, **spec})


def files_of(manifest: Mapping[str, Any], before: Mapping[str, str]) -> dict[str, str]:
    source = source_of(manifest)
    return containerapps.render(source, configs_of(source), before)


def rendered(manifest: Mapping[str, Any], before: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Parameters by name."""
    (text,) = files_of(manifest, before or {}).values()
    document = json.loads(text)
    assert document["contentVersion"] == "1.0.0.0"
    return {name: given["value"] for name, given in document["parameters"].items()}


def config_of(process: Mapping[str, Any]) -> WorkerConfig:
    return msgspec.json.decode(process["config"], type=WorkerConfig)


def refused(manifest: Mapping[str, Any], before: Mapping[str, str] | None = None) -> list[str]:
    with pytest.raises(ManifestError) as caught:
        files_of(manifest, before or {})
    assert all(problem.line > 0 for problem in caught.value.problems)
    return [f"{problem.path}: {problem.message}" for problem in caught.value.problems]


def test_the_bicep_has_every_parameter_that_is_rendered_and_gets_all_it_needs():
    declared = parameters(AZURE / "main.bicep")
    given = rendered(on_azure())

    assert set(given) <= set(declared)
    assert {name for name, one in declared.items() if not one.has_default} <= set(given)
    types = {"string": str, "int": int, "bool": bool, "object": dict, "Process[]": list}
    assert all(isinstance(value, types[declared[name].kind]) for name, value in given.items())


def test_each_process_is_an_app_with_a_name_that_azure_takes():
    apps = [one["app"] for one in rendered(on_azure(agents=[{"name": "a" * 50}, {"name": "agent-{n}", "count": 2}]))["processes"]]
    assert {"works-agent-1", "works-agent-2"} < set(apps)
    assert all(re.fullmatch(r"[a-z][a-z0-9-]{0,30}[a-z0-9]", name) and "--" not in name for name in apps)


def test_a_fleet_whose_environment_would_have_too_long_a_name_is_refused():
    longest = int(re.findall(r"@maxLength\((\d+)\)\nparam fleet ", (AZURE / "main.bicep").read_text("utf-8"))[0])
    assert longest + len("-environment") == 60
    assert rendered({**on_azure(), "metadata": {"name": "f" * longest}})["fleet"] == "f" * longest
    assert refused({**on_azure(), "metadata": {"name": "f" * (longest + 1)}})[0].startswith("metadata.name: ")


def test_namespaces_and_entities_are_those_of_the_bus_urls():
    given = rendered(on_azure())
    assert (given["serviceBusNamespace"], given["topic"]) == ("works-bus", "hive-events")
    assert (given["eventHubsNamespace"], given["eventHub"]) == ("works-hubs", "searches")
    assert rendered(on_azure(bus="rediss://redis.example.com:6380"))["serviceBusNamespace"] == ""


def test_every_node_has_the_subscription_that_the_bus_reads():
    processes = rendered(on_azure())["processes"]
    for one in processes:
        config = config_of(one)
        assert one["subscriptions"] == [subscription_of(config.hive.id, node.name) for node in config.nodes]
    assert len({name for one in processes for name in one["subscriptions"]}) == 3


def test_every_owner_of_a_shard_has_a_partition_and_every_app_a_consumer_group():
    given = rendered(on_azure(agents=[{"name": "agent-{n}", "count": 12}]))

    nodes = [node.name for one in given["processes"] for node in config_of(one).nodes]
    assert given["partitions"] == 12
    assert sorted(partition_of(name, given["partitions"]) for name in nodes) == [*range(12)]
    for one in given["processes"]:
        (group,) = one["consumerGroups"]
        assert config_of(one).bus.searches == f"{AZURE_BUS['searches']}?group={group}"
    assert len({one["consumerGroups"][0] for one in given["processes"]}) == 12
    assert given["eventHubsSku"] == "Standard"


def test_more_than_twenty_consumer_groups_need_the_next_tier_and_more_than_a_hundred_are_refused():
    assert rendered(on_azure(agents=[{"name": "agent-{n}", "count": 21}]))["eventHubsSku"] == "Premium"
    assert "agentsPerProcess" in refused(on_azure(agents=[{"name": "agent-{n}", "count": 101}]))[0]


def test_a_hub_that_is_there_keeps_its_partitions_for_azure_refuses_another_number_and_another_hub_has_those_of_now():
    four = files_of(on_azure(agents=[{"name": "agent-{n}", "count": 4}]), {})
    assert files_of(on_azure(agents=[{"name": "agent-{n}", "count": 4}]), {}) == four
    one, five = (on_azure(agents=[{"name": "agent-{n}", "count": count}]) for count in (1, 5))
    assert [rendered(later, four)["partitions"] for later in (one, five)] == [4, 4]
    elsewhere = {**AZURE_BUS, "searches": "eventhubs://works-hubs-two.servicebus.windows.net/searches"}
    assert rendered(on_azure(agents=[{"name": "agent-{n}", "count": 5}], bus=elsewhere), four)["partitions"] == 5


def test_a_hub_that_is_there_keeps_its_tier():
    few = files_of(on_azure(agents=[{"name": "agent-{n}", "count": 20}]), {})
    many = files_of(on_azure(agents=[{"name": "agent-{n}", "count": 21}]), {})

    assert rendered(on_azure(), many)["eventHubsSku"] == "Premium"
    (problem,) = refused(on_azure(agents=[{"name": "agent-{n}", "count": 21}]), few)
    assert "agentsPerProcess" in problem
    assert "another namespace" in problem


def test_secrets_are_names_in_the_vault_and_no_values(monkeypatch):
    for name in ("OPENAI_KEY", "ADA_API"):
        monkeypatch.setenv(name, f"hunter2-{name}")
    given = rendered(SECRETIVE)
    ada, ben = given["processes"]

    assert "hunter2" not in json.dumps(given)
    assert {one["variable"]: one["secret"] for one in ada["secrets"]} == {
        "API": "ADA-API",
        "HIVE_MIND_WORKER_TOKEN": "WORKER-TOKEN",
        "OPENAI_KEY": "OPENAI-KEY",
    }
    assert {"name": "LANG", "value": "C"} in ada["variables"]
    assert "ADA" not in json.dumps(ben["secrets"])
    (file,) = ada["files"]
    assert config_of(ada).agents[0].prompt == f"${{file:/etc/hive-mind-files/{file['file']}}}"
    assert re.fullmatch(r"file-[0-9a-zA-Z-]+", file["secret"])
    assert ben["files"] == []


LLM = {"model": "openai:gpt-5-mini", "key": "${env:my_key}"}


@pytest.mark.parametrize(
    ("name", "told"),
    [("MY_KEY", "one secret in a key vault"), ("WORKER_CONFIG", "WORKER_CONFIG"), ("_", "_")],
)
def test_a_secret_that_a_vault_takes_for_another_or_whose_name_an_app_can_not_have_is_refused(name: str, told: str):
    agents = [{"name": "ada", "env": {"API": f"${{env:{name}}}"}}, {"name": "ben"}]
    (problem,) = refused(on_azure(agents=agents, llm=LLM))
    assert told in problem


def test_the_name_of_a_file_is_as_long_as_a_vault_takes():
    agents = [{"name": name, "prompt": f"${{file:{name}/{'p' * 200}.md}}"} for name in ("ada", "ben")]
    names = {one["files"][0]["secret"] for one in rendered(on_azure(agents=agents))["processes"]}
    assert len(names) == 2
    assert all(re.fullmatch(r"[0-9a-zA-Z-]{1,127}", name) for name in names)


def test_sizes_are_those_that_azure_sells():
    ada, ben = rendered(SECRETIVE)["processes"]

    for one in (ada, ben):
        assert float(one["cpu"]) % 0.25 == 0
        assert float(one["memory"].removesuffix("Gi")) == 2 * float(one["cpu"])
    assert float(ben["cpu"]) >= 0.6
    assert "spec.agents" in refused(on_azure(agents=[{"name": "a", "resources": {"memoryMb": 9000}}, {"name": "b"}]))[0]


def test_what_azure_can_not_be_told_is_refused_with_its_place():
    key = on_azure(bus={**AZURE_BUS, "credential": "${env:KEY}"})
    elsewhere = on_azure(bus={"url": "servicebus://bus.example.com/hive-events"})
    hidden = on_azure(bus={"url": "${env:BUS_URL}"})

    assert refused(key)[0].startswith("spec.bus.credential: ")
    assert "is not in Azure" in refused(elsewhere)[0]
    assert refused(hidden)[0].startswith("spec.bus.url: ")


@pytest.mark.parametrize("kind", ["servicebus", "eventhubs"])
def test_a_second_bus_of_one_kind_is_refused_for_only_one_would_be_made(kind: str):
    bus = {name: f"{kind}://works.servicebus.windows.net/{name}" for name in ("url", "searches")}
    (problem,) = refused(on_azure(bus=bus))
    assert problem.startswith("spec.bus.searches: ")
    assert rendered(on_azure(bus={**bus, "searches": bus["url"]}))


def test_sources_are_looked_for_in_the_image():
    source = source_of(on_azure(agents=[{"name": "ada", "sources": ["notes"]}, {"name": "ben"}]))
    learned = {"ada": (SourceConfig(str(source.folder / "notes/pump.md"), "0" * 64),)}
    document = json.loads(containerapps.render(source, configs_of(source, learned))["parameters.json"])
    assert config_of(document["parameters"]["processes"]["value"][0]).agents[0].sources[0].path == "/sources/notes/pump.md"


def test_the_example_for_azure_renders():
    source = read_manifest(Path(__file__).parents[4] / "manifests" / "azure.yaml")
    wanted = {agent.name: tuple(agent.sources) for agent in source.manifest.spec.agents}
    learned = SourceReader().read(wanted, source.folder)
    document = json.loads(containerapps.render(source, configs_of(source, learned))["parameters.json"])

    values = {name: given["value"] for name, given in document["parameters"].items()}
    assert len(values["processes"]) == len(wanted)
    assert all(one["subscriptions"] and one["consumerGroups"] for one in values["processes"])
    for one in values["processes"]:
        assert all(learning.path.startswith("/sources/texts/") for learning in config_of(one).agents[0].sources)


def test_storage_and_labels_are_what_the_manifest_says():
    platform = {"kind": "containerapps", "image": IMAGE, "storage": "ephemeral", "storageGb": 7, "stopTimeoutS": 33.5}
    given = rendered(on_azure(platform=platform) | {"metadata": {"name": "works", "labels": {"owner": "harbour-office"}}})
    assert (given["image"], given["storage"], given["storageGb"], given["stopTimeoutS"]) == (IMAGE, "ephemeral", 7, 34)
    assert given["labels"] == {"owner": "harbour-office"}
