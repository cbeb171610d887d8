"""How objects of a fleet are called and labelled in a cluster."""

from collections.abc import Iterator

from hive_mind.control.manifests.reading import Source
from hive_mind.control.platforms.in_containers import Contained, located
from hive_mind.errors import Problem
from hive_mind.regex import regex

# A pod is called after its StatefulSet with "-0", its revision with a hash of ten characters: together 63.
PROCESS_CHARS_MAX = 52
HTTP = "http"
_PREFIX = "hive-mind.io"
CLIENT = f"{_PREFIX}/client"
"""A pod labelled with this and the name of a fleet may call its workers."""
_PROCESS = f"{_PREFIX}/process"
_KEY = regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def fleet_labels(source: Source) -> dict[str, str]:
    """What selects all pods of a fleet."""
    return {"app.kubernetes.io/name": "hive-mind", "app.kubernetes.io/instance": source.manifest.metadata.name}


def process_labels(source: Source, worker: Contained) -> dict[str, str]:
    """What selects the pod of one process."""
    return {**fleet_labels(source), _PROCESS: worker.name}


def metadata(source: Source, name: str, selecting: dict[str, str] | None = None) -> dict[str, object]:
    """Name, namespace and labels of an object."""
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
