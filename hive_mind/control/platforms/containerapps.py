"""A fleet on Azure Container Apps: parameters for `deploy/azure/main.bicep`, an app per process.

The Bicep knows how each thing is made, this file which there are: names of subscriptions, consumer groups, variables and secrets
come from the code that uses them, so they agree. Secrets are names in a key vault and never values.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, cast

import msgspec

from hive_mind import backends
from hive_mind.bus.address import BusAddress, address_of
from hive_mind.control.manifests.reading import Source
from hive_mind.control.platforms.in_containers import NO_KEYS, Contained, Keys, contained, label, located
from hive_mind.errors import InvalidInput, ManifestError, Problem
from hive_mind.model.decoding import json_decoder
from hive_mind.runtime.secrets import references_in
from hive_mind.runtime.workers.config import BusConfig, WorkerConfig

NAME_CHARS_MAX = 32
# An environment of Azure's has 60, and is called after the fleet with "-environment".
_FLEET_CHARS_MAX = 48
_GROUP_CHARS_MAX = 50
_VAULT_CHARS_MAX = 127
CONFIG_NAME = "worker-config"
"""The name in `app.bicep` of the secret by which a configuration gets into its container."""
_TOPIC, _HUB = "hive", "hive"
# Consumption plans sell a quarter of a core with half a gigabyte, up to sixteen times.
_STEP_CPU, _STEP_MB, _STEPS_MAX = 0.25, 512, 16
# Consumer groups of a hub, by tier; each app has one.
_STANDARD_MAX, _PREMIUM_MAX = 20, 100
_STANDARD = "Standard"
_CLOUD = ".servicebus.windows.net"
_FILE = "parameters.json"
_STRANGE = f"the folder has a {_FILE} that was not rendered here: take an empty folder"
_SCHEMA = "https://schema.management.azure.com/schemas/2019-04-01/deploymentParameters.json#"


def render(
    source: Source,
    configs: Mapping[str, WorkerConfig],
    before: Mapping[str, str] = MappingProxyType({}),
    keys: Keys = NO_KEYS,
) -> dict[str, str]:
    """One file of parameters; the same for the same manifest. `before` are the files of an earlier one, if there was any.

    Raises `ManifestError` for what can't be on Container Apps, `InvalidInput` for any other files.
    """
    workers = contained(source, configs, NAME_CHARS_MAX, keys)
    buses = _buses(source)
    hub = _hub(buses.get("eventhubs"), workers, _parameters(before))
    if problems := [*_problems_of(source, workers, buses, hub)]:
        raise ManifestError(problems, source.name)
    values = {
        **_fleet(source),
        **_topic(buses.get("servicebus")),
        **hub,
        "processes": [asdict(_app(worker)) for worker in workers],
    }
    values |= {"keys": [{"file": name, "text": text} for name, text in keys.public.items()]} if keys.public else {}
    document = {
        "$schema": _SCHEMA,
        "contentVersion": "1.0.0.0",
        "parameters": {name: {"value": value} for name, value in values.items()},
    }
    return {_FILE: json.dumps(document, indent=2, ensure_ascii=False) + "\n"}


def configs_in(files: Mapping[str, str]) -> dict[str, WorkerConfig]:
    """The configurations in files of an earlier `render`, by process. Raises `InvalidInput` for any other files."""
    if _FILE not in files:
        return {}
    try:
        configs = [json_decoder(WorkerConfig)(process["config"]) for process in _parameters(files)["processes"]]
    except (msgspec.DecodeError, KeyError, TypeError) as error:
        raise InvalidInput(_STRANGE) from error
    return {config.process: config for config in configs}


@dataclass(frozen=True, slots=True)
class _App:
    """The type `Process` of `deploy/azure/types.bicep`; the names are those there."""

    app: str
    config: str
    variables: list[dict[str, str]]
    secrets: list[dict[str, str]]
    files: list[dict[str, str]]
    key: str
    cpu: str
    memory: str
    subscriptions: list[str]
    consumerGroups: list[str]  # noqa: N815 - as it is written in Bicep


def _parameters(files: Mapping[str, str]) -> dict[str, Any]:
    if _FILE not in files:
        return {}
    try:
        return {name: given.get("value") for name, given in json.loads(files[_FILE])["parameters"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(_STRANGE) from error


def _app(worker: Contained) -> _App:
    steps = _steps(worker)
    bus = worker.config.bus
    for group in _groups(worker.config):
        bus = replace(bus, url=_in_group(bus.url, group), searches=_in_group(bus.searches, group))
    config = msgspec.structs.replace(worker.config, bus=bus)
    return _App(
        app=worker.name,
        config=config.packed().decode() + "\n",
        variables=[{"name": name, "value": value} for name, value in sorted(worker.plain.items())],
        secrets=[{"variable": name, "secret": _vault_name(key)} for name, key in worker.secret.items()],
        files=[{"file": key, "secret": _vault_name(f"file-{key}")} for key in worker.files],
        key=_vault_name(worker.key),
        cpu=f"{steps * _STEP_CPU:g}",
        memory=f"{steps * _STEP_MB / 1024:g}Gi",
        subscriptions=[*_subscriptions(worker.config)],
        consumerGroups=[*_groups(worker.config)],
    )


def _fleet(source: Source) -> dict[str, Any]:
    platform = source.manifest.spec.platform
    return {
        "fleet": source.manifest.metadata.name,
        "labels": dict(sorted(source.manifest.metadata.labels.items())),
        "image": platform.image,
        "storage": platform.storage,
        "storageGb": platform.storage_gb,
        "stopTimeoutS": math.ceil(platform.stop_timeout_s),
    }


def _topic(topic: BusAddress | None) -> dict[str, str]:
    """Namespace and topic to make, "" for none."""
    if topic is None:
        return {"serviceBusNamespace": "", "topic": ""}
    return {"serviceBusNamespace": topic.host.removesuffix(_CLOUD), "topic": topic.path or _TOPIC}


def _hub(hub: BusAddress | None, workers: tuple[Contained, ...], former: Mapping[str, Any]) -> dict[str, Any]:
    """Namespace and hub to make, "" for none. One partition per owner: names that end in a number are dealt out evenly.

    Azure changes neither tier nor partitions of a hub that is there, and members that run would look for names on others.
    """
    place = {
        "eventHubsNamespace": hub.host.removesuffix(_CLOUD) if hub else "",
        "eventHub": hub.path or _HUB if hub else "",
    }
    nodes = sum(len(worker.config.nodes) for worker in workers)
    shape = {"eventHubsSku": _STANDARD if len(workers) <= _STANDARD_MAX else "Premium", "partitions": max(nodes, 1)}
    if hub and all(former.get(name) == value for name, value in place.items()):
        shape = {name: former.get(name, value) for name, value in shape.items()}
    return place | shape


def _buses(source: Source) -> dict[str, BusAddress]:
    """By back end. A URL inside a secret is unknown here, and a problem, as is a second URL of the same back end."""
    bus = source.manifest.spec.bus
    addresses = [address_of(url) for url in (bus.searches, bus.url) if url and not references_in(url)]
    return {address.backend: address for address in addresses}


def _problems_of(
    source: Source, workers: tuple[Contained, ...], buses: Mapping[str, BusAddress], hub: Mapping[str, Any]
) -> Iterator[Problem]:
    if len(source.manifest.metadata.name) > _FLEET_CHARS_MAX:
        yield located(source, ("metadata", "name"), f"can have {_FLEET_CHARS_MAX} characters on Container Apps; shorten it")
    bus = source.manifest.spec.bus
    given = (
        ("url", "credential", bus.url, bus.credential),
        ("searches", "searchesCredential", bus.searches, bus.searches_credential),
    )
    for field, key_field, url, credential in given:
        if references_in(url):
            yield located(source, ("spec", "bus", field), "has to be written here: what of it is to be made depends on it")
        elif url.startswith(("servicebus", "eventhubs")) and credential:
            reason = "is a key, and keys are switched off here: apps sign in as themselves; leave it out"
            yield located(source, ("spec", "bus", key_field), reason)
    if _is_second(bus.searches, buses):
        reason = "is a second bus of its kind, and one of a kind is made here: leave it out, or take the other kind"
        yield located(source, ("spec", "bus", "searches"), reason)
    for backend in ("servicebus", "eventhubs"):
        if backend in buses and not buses[backend].host.endswith(_CLOUD):
            yield located(source, ("spec", "bus"), f"{buses[backend].host} is not in Azure: write NAMESPACE{_CLOUD}")
    groups_max = _STANDARD_MAX if hub["eventHubsSku"] == _STANDARD else _PREMIUM_MAX
    if "eventhubs" in buses and len(workers) > groups_max:
        much = f"{len(workers)} processes need a consumer group each, and a hub has {groups_max}: raise agentsPerProcess"
        remedy = ", or name another namespace, for the tier of one that is there can't be changed"
        yield located(source, ("spec", "platform", "agentsPerProcess"), much + (remedy if groups_max < _PREMIUM_MAX else ""))
    for worker in workers:
        if _steps(worker) > _STEPS_MAX:
            much = f"{worker.config.process} needs {worker.cpu:g} cores and {worker.memory_mb} MB, more than 4 cores and 8 GB"
            yield located(source, ("spec", "agents"), f"{much}: lower `resources`, or agentsPerProcess")
    yield from _name_problems(source, workers)


def _is_second(searches: str, buses: Mapping[str, BusAddress]) -> bool:
    if not searches.startswith(("servicebus", "eventhubs")) or references_in(searches):
        return False
    address = address_of(searches)
    return (address.host, address.path) != (buses[address.backend].host, buses[address.backend].path)


def _name_problems(source: Source, workers: tuple[Contained, ...]) -> Iterator[Problem]:
    """A key vault takes A and a for the same."""
    by_name: dict[str, set[str]] = {}
    key_names = [worker.key for worker in workers if worker.key]
    for key in (*key_names, *(key for worker in workers for key in worker.secret.values())):
        by_name.setdefault(_vault_name(key).lower(), set()).add(key)
    for name, keys in by_name.items():
        if len(keys) > 1:
            yield located(source, ("spec",), f"{' and '.join(sorted(keys))} are one secret in a key vault; rename one of them")
        elif name in ("", CONFIG_NAME):
            yield located(source, ("spec",), f"{min(keys)} can't be the name of a secret on Container Apps; rename it")


def _steps(worker: Contained) -> int:
    return max(math.ceil(worker.cpu / _STEP_CPU), math.ceil(worker.memory_mb / _STEP_MB), 1)


def _vault_name(key: str) -> str:
    """Letters, digits and dashes, none of these at an end. The beginning of their names tells files apart."""
    return "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in key).strip("-")[:_VAULT_CHARS_MAX].rstrip("-")


def _subscriptions(config: WorkerConfig) -> Iterator[str]:
    if "servicebus" in _backends(config.bus):
        subscription_of = backends.load("bus", "servicebus").subscription_of
        yield from (cast(str, subscription_of(config.hive.id, node.name)) for node in config.nodes)


def _groups(config: WorkerConfig) -> Iterator[str]:
    """A consumer group per app: five readers of a partition are all that a group takes."""
    if "eventhubs" in _backends(config.bus):
        yield label(config.process, _GROUP_CHARS_MAX)


def _in_group(url: str, group: str) -> str:
    if not url.startswith("eventhubs:"):
        return url
    plain, _, options = url.partition("?")
    options_kept = [option for option in options.split("&") if option and not option.startswith("group=")]
    return f"{plain}?{'&'.join([*options_kept, f'group={group}'])}"


def _backends(bus: BusConfig) -> set[str]:
    return {url.partition(":")[0] for url in (bus.url, bus.searches) if url}
