"""The common parts of a fleet's processes: an identity without rights, names, allowed callers, how many may be away.

How objects of a fleet are called and labelled in a cluster.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from hive_mind.bus.schemes import scheme_of
from hive_mind.control.manifests.reading import Source
from hive_mind.control.platforms.in_containers import Contained, located
from hive_mind.errors import InvalidInput, Problem
from hive_mind.regex import regex
from hive_mind.runtime.workers.config import WorkerConfig

_HTTPS = 443
_WEB_PORTS = {"http": 80, "https": _HTTPS}
# Clouds give the machine's credentials to any client of this address.
_MACHINE = "169.254.169.254/32"

# A pod is called after its StatefulSet with "-0", its revision with a hash of ten characters: together 63.
PROCESS_CHARS_MAX = 52
HTTP = "http"
_PREFIX = "hive-mind.io"
CLIENT = f"{_PREFIX}/client"
"""A pod labelled with this and the name of a fleet may call its workers."""
_PROCESS = f"{_PREFIX}/process"
_KEY = regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def common_objects(source: Source, workers: tuple[Contained, ...]) -> Iterator[dict[str, Any]]:
    """In the order in which they are needed."""
    fleet = source.manifest.metadata.name
    yield {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(source, fleet),
        "automountServiceAccountToken": False,
    }
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(source, fleet),
        "spec": {
            "clusterIP": "None",
            "selector": fleet_labels(source),
            "ports": [{"name": HTTP, "port": workers[0].config.seen.port, "targetPort": HTTP, "protocol": "TCP"}],
        },
    }
    yield {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(source, fleet),
        "spec": {
            "podSelector": {"matchLabels": fleet_labels(source)},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [_callers(fleet)],
            "egress": [_names(), _world(workers)],
        },
    }
    yield {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(source, fleet),
        # One at a time: what a node keeps has to be asked for elsewhere while it is away.
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": fleet_labels(source)}},
    }


def _callers(fleet: str) -> dict[str, Any]:
    """Probes come from the machine itself and need no rule; agents talk over the bus alone."""
    return {"from": [{"podSelector": {"matchLabels": {CLIENT: fleet}}}], "ports": [{"protocol": "TCP", "port": HTTP}]}


def _names() -> dict[str, Any]:
    return {"ports": [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]}


def _world(workers: tuple[Contained, ...]) -> dict[str, Any]:
    """Ports, for a policy knows no names of hosts. All of them where only a secret says which."""
    anywhere = [{"ipBlock": {"cidr": "0.0.0.0/0", "except": [_MACHINE]}}, {"ipBlock": {"cidr": "::/0"}}]
    ports = {port for worker in workers for port in _ports(worker.config)}
    if None in ports:
        return {"to": anywhere}
    return {"to": anywhere, "ports": [{"protocol": "TCP", "port": port} for port in sorted(filter(None, ports))]}


def _ports(config: WorkerConfig) -> Iterator[int | None]:
    models = config.models
    for url in (config.bus.url, config.bus.searches, models.embed_url, models.llm_url, config.seen.trace):
        if url:
            yield from _port(url)
    has_agent_models = any(agent.model for agent in config.agents)
    if models.llm or has_agent_models or models.embed in ("openai", "sentence_transformers"):
        yield _HTTPS


def _port(url: str) -> Iterator[int | None]:
    if "${" in url:
        yield None
        return
    try:
        parts = urlsplit(url)
        given = parts.port
    except ValueError as error:
        raise InvalidInput("a URL of the manifest can't be read; look at its port") from error
    bus = scheme_of(parts.scheme)
    first, *others = bus.ports if bus and bus.ports else (_WEB_PORTS.get(parts.scheme),)
    if port := given or first:
        yield port
    yield from others


def fleet_labels(source: Source) -> dict[str, str]:
    """The labels that select all pods of a fleet."""
    return {"app.kubernetes.io/name": "hive-mind", "app.kubernetes.io/instance": source.manifest.metadata.name}


def process_labels(source: Source, worker: Contained) -> dict[str, str]:
    """The labels that select the pod of one process."""
    return {**fleet_labels(source), _PROCESS: worker.name}


def metadata(source: Source, name: str, selecting: dict[str, str] | None = None) -> dict[str, object]:
    labels = {
        **(selecting or fleet_labels(source)),
        "app.kubernetes.io/component": "worker",
        "app.kubernetes.io/part-of": source.manifest.metadata.name,
        "app.kubernetes.io/managed-by": "hive-mind",
    }
    found: dict[str, object] = {"name": name, "namespace": source.manifest.spec.platform.namespace, "labels": labels}
    if said := source.manifest.metadata.labels:
        # Annotations, whose values may be any text.
        found["annotations"] = {f"{_PREFIX}/{key}": value for key, value in sorted(said.items())}
    return found


def key_secret(worker: Contained) -> str:
    """The Secret with the key of one process, whatever key that is."""
    return f"{worker.name}-key"


def public_keys(source: Source) -> str:
    """The ConfigMap with what all processes may know of keys."""
    return f"{source.manifest.metadata.name}-keys"


def name_problems(source: Source) -> Iterator[Problem]:
    """Labels of the manifest that no annotation can be called after."""
    for key in source.manifest.metadata.labels:
        if not _KEY.fullmatch(key):
            wanted = "becomes an annotation: use at most 63 letters, digits, dots, dashes and underscores"
            yield located(source, ("metadata", "labels", key), wanted)
