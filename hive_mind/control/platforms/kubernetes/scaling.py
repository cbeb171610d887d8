"""Optional: let a fleet sleep at night, with KEDA (keda.sh).

An agent runs once, so a process can be there or not, and never twice. The bus can't say when: members that are awake keep
talking, and would wake those asleep. So all of them go and come by the clock; what waits on the bus is read in the morning.
"""

from typing import Any

from hive_mind.control.manifests.reading import Source
from hive_mind.control.platforms.in_containers import Contained
from hive_mind.control.platforms.kubernetes.names import metadata, process_labels

# Change them with a patch of kustomize: nobody's hours are everybody's.
_HOURS = {"timezone": "Etc/UTC", "start": "0 6 * * 1-5", "end": "0 20 * * 1-5", "desiredReplicas": "1"}


def scaler(source: Source, worker: Contained) -> dict[str, Any]:
    """The scaler of one process: nobody or one."""
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
