"""A fleet as Kubernetes objects: rendered from the manifest, applied by kubectl, never kept by hand.

One StatefulSet per process. A process is a place with a name, a disk and one writer: so each can be changed, restarted or taken
away by itself, and Kubernetes ends a pod before it starts the next of that name. Replicas of one StatefulSet would have to leave
from the end, and a change of one configuration would restart all. Secrets are named here and never contained.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import yaml

from hive_mind.control.manifests.reading import Source
from hive_mind.control.platforms.in_containers import CONFIG_FILE, NO_KEYS, OWN_KEY_FILE, Contained, Keys, contained, secret_files
from hive_mind.control.platforms.kubernetes.process import (
    NAME_CHARS_MAX,
    common_objects,
    key_secret,
    metadata,
    name_problems,
    process_labels,
    process_objects,
    public_keys,
)
from hive_mind.errors import InvalidInput, ManifestError
from hive_mind.model.decoding import json_decoder
from hive_mind.runtime.workers.config import WorkerConfig

# Change them with a patch of kustomize: nobody's hours are everybody's.
_HOURS = {"timezone": "Etc/UTC", "start": "0 6 * * 1-5", "end": "0 20 * * 1-5", "desiredReplicas": "1"}


def scaler(source: Source, worker: Contained) -> dict[str, Any]:
    """Optional: lets a process sleep at night, with KEDA (keda.sh).

    An agent runs once, so a process can be there or not, and never twice. The bus can't say when: members that are awake keep
    talking, and would wake those asleep. So all go and come by the clock; what waits on the bus is read in the morning.
    """
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": metadata(source, worker.name, process_labels(source, worker)),
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": worker.name},
            "minReplicaCount": 0,
            "maxReplicaCount": 1,
            "pollingInterval": 30,
            "cooldownPeriod": 60,
            "triggers": [{"type": "cron", "metadata": dict(_HOURS)}],
        },
    }


def render(
    source: Source,
    configs: Mapping[str, WorkerConfig],
    before: Mapping[str, str] = MappingProxyType({}),
    keys: Keys = NO_KEYS,
) -> dict[str, str]:
    """Files by name; the same for the same manifest, whatever was before. Raises `ManifestError` for what no cluster takes."""
    del before
    if problems := [*name_problems(source)]:
        raise ManifestError(problems, source.name)
    workers = contained(source, configs, NAME_CHARS_MAX, keys)
    files = {"fleet.yaml": [*common_objects(source, workers)]}
    for worker in workers:
        files[f"process-{worker.name}.yaml"] = [*process_objects(source, worker)]
    if source.manifest.spec.platform.autoscaling:
        files["scaling.yaml"] = [scaler(source, worker) for worker in workers]
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": source.manifest.spec.platform.namespace,
        "resources": sorted(files),
        **_generated(source, workers, keys),
    }
    texts_by_file = {name: _written(objects) for name, objects in files.items()}
    return {**texts_by_file, "kustomization.yaml": _heading(source, workers) + _written([kustomization])}


def configs_in(files: Mapping[str, str]) -> dict[str, WorkerConfig]:
    """The configurations in files of an earlier `render`, by process. Raises `InvalidInput` for any other files."""
    try:
        kustomization = yaml.safe_load(files.get("kustomization.yaml", "")) or {"resources": []}
        objects = [manifest_object for name in kustomization["resources"] for manifest_object in yaml.safe_load_all(files[name])]
        texts = [manifest_object["data"][CONFIG_FILE] for manifest_object in objects if manifest_object["kind"] == "ConfigMap"]
        configs = [json_decoder(WorkerConfig)(text) for text in texts]
    except (yaml.YAMLError, msgspec.DecodeError, KeyError, TypeError) as error:
        raise InvalidInput("the folder has a kustomization.yaml that was not rendered here: take an empty folder") from error
    return {config.process: config for config in configs}


def _generated(source: Source, workers: tuple[Contained, ...], keys: Keys) -> dict[str, Any]:
    """Generators for the files with keys: a ConfigMap for all, and a Secret for each process whose key is made here."""
    secrets = [
        {"name": key_secret(worker), "files": [f"{OWN_KEY_FILE}={worker.key_file}"]}
        for worker in workers
        if worker.key_file in secret_files(workers, keys)
    ]
    if not keys.public:
        return {}
    return {
        # Without a hash in their names: what is revoked is seen by pods that run on.
        "generatorOptions": {"disableNameSuffixHash": True},
        "configMapGenerator": [{"name": public_keys(source), "files": [f"keys/{name}" for name in keys.public]}],
        **({"secretGenerator": secrets} if secrets else {}),
    }


def _heading(source: Source, workers: tuple[Contained, ...]) -> str:
    """The prerequisites, as comments: names of secrets, and of the files that one of them has."""
    fleet, namespace = source.manifest.metadata.name, source.manifest.spec.platform.namespace
    names = sorted({key for worker in workers for key in worker.secret.values()})
    files = {key: path for worker in workers for key, path in worker.files.items()}
    lines = [f"Fleet {fleet}. Before `kubectl apply -k .`, make its secrets:"]
    lines += [
        f"  kubectl -n {namespace} create secret generic {fleet}-secrets " + " ".join(f"--from-file={key}" for key in names)
    ]
    if files:
        sources = " ".join(f"--from-file={key}={path}" for key, path in sorted(files.items()))
        lines += [f"  kubectl -n {namespace} create secret generic {fleet}-files {sources}"]
    keyed_workers = [worker for worker in workers if worker.key and source.manifest.spec.platform.keys == "given"]
    lines += [
        f"  kubectl -n {namespace} create secret generic {key_secret(manifest_object)} --from-file={OWN_KEY_FILE}"
        for manifest_object in keyed_workers
    ]
    lines += ["where each --from-file names a file with the value, without a newline at its end."]
    if any(agent.sources for worker in workers for agent in worker.config.agents):
        lines += ["Its agents learn from /sources: put the folder of the manifest there, in an image on top of ours."]
    return "".join(f"# {line}\n" for line in lines)


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as they are read, and no references from one object to another."""

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def _written(objects: list[dict[str, Any]]) -> str:
    return yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False, explicit_start=True, allow_unicode=True, width=130)
