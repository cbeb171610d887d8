"""One process as objects: its configuration, and the StatefulSet that runs it once."""

import hashlib
from collections.abc import Iterator
from typing import Any

from hive_mind.control.manifests.reading import Source
from hive_mind.control.platforms import in_containers as image
from hive_mind.control.platforms.in_containers import Contained
from hive_mind.control.platforms.kubernetes.common import HTTP, key_secret, metadata, process_labels, public_keys
from hive_mind.errors import InvalidInput

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
    yield {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata(source, worker.name, labels),
        "spec": _set(source, worker, labels, hashlib.sha256(config.encode()).hexdigest()),
    }


def _set(source: Source, worker: Contained, labels: dict[str, str], digest: str) -> dict[str, Any]:
    platform = source.manifest.spec.platform
    is_kept = platform.storage == "persistent"
    spec: dict[str, Any] = {
        "serviceName": source.manifest.metadata.name,
        "selector": {"matchLabels": labels},
        "template": {
            # A changed configuration is a changed pod, and so is another key.
            "metadata": {
                "labels": labels,
                "annotations": {"hive-mind.io/config": digest} | ({"hive-mind.io/key": worker.key} if worker.key else {}),
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
    return spec


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
    return {
        "name": "worker",
        "image": source.manifest.spec.platform.image,
        "args": ["agent", "--config", f"{image.CONFIG_FOLDER}/{image.CONFIG_FILE}"],
        "env": [*_variables(source, worker)],
        "ports": [{"name": HTTP, "containerPort": image.PORT, "protocol": "TCP"}],
        "startupProbe": _probe("/healthz", _START),
        "livenessProbe": _probe("/healthz", _LIVE),
        "readinessProbe": _probe("/readyz", _READY),
        "resources": _resources(worker),
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


def _resources(worker: Contained) -> dict[str, Any]:
    """As much memory as it may take is kept for it; a processor is shared unless somebody said how much of it."""
    memory = f"{worker.memory_mb}Mi"
    cpu = f"{max(round(worker.cpu * 1000), 1)}m" if worker.cpu else _CPU
    limits = {"cpu": cpu, "memory": memory} if worker.cpu else {"memory": memory}
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": limits}


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
        own = [{"key": image.OWN_KEY_FILE, "path": image.OWN_KEY_FILE}]
        yield {"name": "keys", "configMap": {"name": public_keys(source), "defaultMode": 0o444}}
        yield {"name": "key", "secret": {"secretName": key_secret(worker), "defaultMode": 0o440, "items": own}}
