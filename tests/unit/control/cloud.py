"""Fleets to render: a manifest with every kind of reference, and what is desired of it inside a container."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hive_mind.control.manifests.reading import Source, read_text
from hive_mind.control.planning.desired import desired
from hive_mind.control.platforms.in_containers import HOME, RUN
from hive_mind.control.state import FleetState
from hive_mind.runtime.workers.config import SourceConfig, WorkerConfig

FOLDER = Path("/srv/fleet")
IMAGE = "registry.example.com/hive-mind:1.2.3"


def fleet(kind: str = "kubernetes", **spec: Any) -> dict[str, Any]:
    """A manifest of three agents that share a sharded hive, as plain values."""
    return {
        "apiVersion": "hive-mind/v1",
        "kind": "Hive",
        "metadata": {"name": "works"},
        "spec": {
            "topology": {"kind": "sharded", "replicas": 2},
            "agents": [{"name": "agent-{n}", "count": 3}],
            "bus": {"url": "rediss://redis.example.com:6380", "credential": "${env:REDIS_PASSWORD}"},
            "platform": {"kind": kind, "image": IMAGE},
            **spec,
        },
    }


def source_of(manifest: Mapping[str, Any]) -> Source:
    # JSON is YAML, and written a hundred times as fast.
    return read_text(json.dumps(manifest, indent=1), FOLDER, "fleet.yaml")


def configs_of(source: Source, learned: Mapping[str, tuple[SourceConfig, ...]] | None = None) -> Mapping[str, WorkerConfig]:
    return desired(source.manifest, str(source.folder), HOME, FleetState(), learned or {}, run=RUN).processes
