"""What an agent runs: its worker with the limits of the manifest, and what begins its runs."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from hive_mind.control.manifests.manifest import Trigger
from hive_mind.runtime.workers.config import TriggerConfig


def worker_with(text: str, limits: Mapping[str, float]) -> dict[str, Any]:
    """The worker of a text of JSON, {} for none; `limits` take the place of its own, one by one."""
    if not text.startswith("{"):
        return {}
    worker: dict[str, Any] = json.loads(text)
    return worker | ({"limits": {**worker.get("limits", {}), **limits}} if limits else {})


def triggers(given: Iterable[Trigger], seen_from_here: Callable[[str], str]) -> Iterator[TriggerConfig]:
    """As a process is configured with them."""
    for one in given:
        yield TriggerConfig(one.every_s or 0.0, one.cron, one.hook or "", one.events, seen_from_here(one.token), dict(one.inputs))
