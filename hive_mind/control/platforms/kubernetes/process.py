"""The common parts of a fleet's processes: an identity without rights, names, allowed callers, how many may be away.

How objects of a fleet are called and labelled in a cluster.

One process as objects: its configuration, and the StatefulSet that runs it once.
"""

import hashlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from hive_mind.bus.address import scheme_of
from hive_mind.control.manifests.reading import Source
from hive_mind.control.platforms import in_containers as image
from hive_mind.control.platforms.in_containers import Contained, located
from hive_mind.errors import InvalidInput, Problem
from hive_mind.regex import regex
from hive_mind.runtime.workers.config import WorkerConfig

_HTTPS = 443
_WEB_PORTS = {"http": 80, "https": _HTTPS}
# Clouds give the machine's credentials to any client of this address.
_MACHINE = "169.254.169.254/32"

# A pod is called after its StatefulSet with "-0", its revision with a hash of ten characters: together 63.
NAME_CHARS_MAX = 52
HTTP = "http"
_PREFIX = "hive-mind.io"
CLIENT = f"{_PREFIX}/client"
"""A pod labelled with this and the name of a fleet may call its workers."""
_PROCESS = f"{_PREFIX}/process"
_KEY = regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def common_objects(source: Source, workers: tuple[Contained, ...]) -> Iterator[dict[str, Any]]:
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
        url_port = parts.port
    except ValueError as error:
        raise InvalidInput("a URL of the manifest can't be read; look at its port") from error
    bus = scheme_of(parts.scheme)
    first, *other_ports = bus.ports if bus and bus.ports else (_WEB_PORTS.get(parts.scheme),)
    if port := url_port or first:
        yield port
    yield from other_ports


def fleet_labels(source: Source) -> dict[str, str]:
    return {"app.kubernetes.io/name": "hive-mind", "app.kubernetes.io/instance": source.manifest.metadata.name}


def process_labels(source: Source, worker: Contained) -> dict[str, str]:
    return {**fleet_labels(source), _PROCESS: worker.name}


def metadata(source: Source, name: str, selecting: dict[str, str] | None = None) -> dict[str, object]:
    labels = {
        **(selecting or fleet_labels(source)),
        "app.kubernetes.io/component": "worker",
        "app.kubernetes.io/part-of": source.manifest.metadata.name,
        "app.kubernetes.io/managed-by": "hive-mind",
    }
    metadata: dict[str, object] = {"name": name, "namespace": source.manifest.spec.platform.namespace, "labels": labels}
    if labels_of_fleet := source.manifest.metadata.labels:
        # Annotations, whose values may be any text.
        metadata["annotations"] = {f"{_PREFIX}/{key}": value for key, value in sorted(labels_of_fleet.items())}
    return metadata


def key_secret(worker: Contained) -> str:
    return f"{worker.name}-key"


def public_keys(source: Source) -> str:
    return f"{source.manifest.metadata.name}-keys"


def name_problems(source: Source) -> Iterator[Problem]:
    """Labels of the manifest that no annotation can be called after."""
    for key in source.manifest.metadata.labels:
        if not _KEY.fullmatch(key):
            remedy = "becomes an annotation: use at most 63 letters, digits, dots, dashes and underscores"
            yield located(source, ("metadata", "labels", key), remedy)


# The limit of etcd for one object, less the rest of the object.
_CONFIG_BYTES_MAX = 1_000_000
# Long enough to wake a thousand facts on a small machine: 60 × 5 s.
_START = {"periodSeconds": 5, "failureThreshold": 60}
_LIVE = {"periodSeconds": 10, "failureThreshold": 6, "timeoutSeconds": 5}
_READY = {"periodSeconds": 5, "failureThreshold": 2, "timeoutSeconds": 5}
# After it was told to stop, a worker still closes databases.
_GRACE_S = 10
_CPU = "100m"


def process_objects(source: Source, worker: Contained) -> Iterator[dict[str, Any]]:
    """Raises `InvalidInput` for a configuration that no object can hold."""
    config = worker.config.packed().decode() + "\n"
    if len(config) > _CONFIG_BYTES_MAX:
        raise InvalidInput(
            f"the configuration of {worker.config.process} has {len(config):,} bytes, more than a ConfigMap holds: "
            "name fewer sources, or spread them over more processes"
        )
    labels = process_labels(source, worker)
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(source, worker.name, labels),
        "data": {image.CONFIG_FILE: config},
    }
    platform = source.manifest.spec.platform
    is_kept = platform.storage == "persistent"
    spec: dict[str, Any] = {
        "serviceName": source.manifest.metadata.name,
        "selector": {"matchLabels": labels},
        "template": {
            # A changed configuration is a changed pod, and so is another key.
            "metadata": {
                "labels": labels,
                "annotations": {"hive-mind.io/config": hashlib.sha256(config.encode()).hexdigest()}
                | ({"hive-mind.io/key": worker.key} if worker.key else {}),
            },
            "spec": _pod(source, worker),
        },
    }
    if not platform.autoscaling:
        spec = {"replicas": 1, **spec}
    if is_kept:
        # Memory goes when a person says so.
        spec["persistentVolumeClaimRetentionPolicy"] = {"whenDeleted": "Retain", "whenScaled": "Retain"}
        spec["volumeClaimTemplates"] = [_claim(platform.storage_gb, labels)]
    yield {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata(source, worker.name, labels),
        "spec": spec,
    }


def _claim(gigabytes: int, labels: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "home", "labels": labels},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": f"{gigabytes}Gi"}}},
    }


def _pod(source: Source, worker: Contained) -> dict[str, Any]:
    fleet = source.manifest.metadata.name
    return {
        "serviceAccountName": fleet,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": int(source.manifest.spec.platform.stop_timeout_s) + _GRACE_S,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": image.USER,
            "runAsGroup": image.USER,
            "fsGroup": image.USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app.kubernetes.io/instance": fleet}},
            }
        ],
        "containers": [_container(source, worker)],
        "volumes": [*_volumes(source, worker)],
    }


def _container(source: Source, worker: Contained) -> dict[str, Any]:
    mounts = [
        {"name": "home", "mountPath": image.HOME},
        {"name": "run", "mountPath": image.RUN},
        {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - a volume of the pod's own
        {"name": "config", "mountPath": image.CONFIG_FOLDER, "readOnly": True},
    ]
    if worker.files:
        mounts.append({"name": "files", "mountPath": image.FILES, "readOnly": True})
    if worker.key:
        mounts.append({"name": "keys", "mountPath": image.PUBLIC_KEYS, "readOnly": True})
        mounts.append({"name": "key", "mountPath": image.OWN_KEY_FOLDER, "readOnly": True})
    # As much memory as it may take is kept for it; a processor is shared unless somebody said how much of it.
    memory = f"{worker.memory_mb}Mi"
    cpu = f"{max(round(worker.cpu * 1000), 1)}m" if worker.cpu else _CPU
    limits = {"cpu": cpu, "memory": memory} if worker.cpu else {"memory": memory}
    return {
        "name": "worker",
        "image": source.manifest.spec.platform.image,
        "args": ["agent", "--config", f"{image.CONFIG_FOLDER}/{image.CONFIG_FILE}"],
        "env": [*_variables(source, worker)],
        "ports": [{"name": HTTP, "containerPort": image.PORT, "protocol": "TCP"}],
        "startupProbe": _probe("/healthz", _START),
        "livenessProbe": _probe("/healthz", _LIVE),
        "readinessProbe": _probe("/readyz", _READY),
        "resources": {"requests": {"cpu": cpu, "memory": memory}, "limits": limits},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "privileged": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }


def _variables(source: Source, worker: Contained) -> Iterator[dict[str, Any]]:
    for name, value in sorted(worker.plain.items()):
        # Kubernetes replaces $(NAME).
        yield {"name": name, "value": value.replace("$(", "$$(")}
    for name, key in worker.secret.items():
        yield {"name": name, "valueFrom": {"secretKeyRef": {"name": f"{source.manifest.metadata.name}-secrets", "key": key}}}


def _probe(path: str, pace: dict[str, int]) -> dict[str, Any]:
    return {"httpGet": {"path": path, "port": HTTP}, **pace}


def _volumes(source: Source, worker: Contained) -> Iterator[dict[str, Any]]:
    platform = source.manifest.spec.platform
    if platform.storage == "ephemeral":
        yield {"name": "home", "emptyDir": {"sizeLimit": f"{platform.storage_gb}Gi"}}
    yield {"name": "run", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}}
    yield {"name": "tmp", "emptyDir": {"sizeLimit": "256Mi"}}
    yield {"name": "config", "configMap": {"name": worker.name, "defaultMode": 0o444}}
    if worker.files:
        items = [{"key": key, "path": key} for key in worker.files]
        # Of the pod's group, so readable by the worker and nobody else.
        yield {
            "name": "files",
            "secret": {"secretName": f"{source.manifest.metadata.name}-files", "defaultMode": 0o440, "items": items},
        }
    if worker.key:
        key_items = [{"key": image.OWN_KEY_FILE, "path": image.OWN_KEY_FILE}]
        yield {"name": "keys", "configMap": {"name": public_keys(source), "defaultMode": 0o444}}
        yield {"name": "key", "secret": {"secretName": key_secret(worker), "defaultMode": 0o440, "items": key_items}}
