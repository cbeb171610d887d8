"""Fields that are about processes: real ones of this machine, seen from outside."""

import json
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import msgspec
import psutil

from hive_mind.runtime.workers import Contact
from tests.contract.field_fleets import Fleet, Sight, Story
from tests.contract.field_probes import fixed


async def pids(fleet: Fleet) -> list[int]:
    return [one.pid for one in (await fleet.controller.observe()).values()]


async def processes(fleet: Fleet) -> int:
    return len({*await pids(fleet)} - {os.getpid()})


async def mode(fleet: Fleet) -> set[str]:
    """A variable as every process was started with."""
    return {psutil.Process(pid).environ()["MODE"] for pid in await pids(fleet)}


async def is_json(fleet: Fleet) -> set[bool]:
    """Whether the last thing that every process logged is JSON."""
    said = [(fleet.controller.folder.logs / f"{name}.log").read_text() for name in await fleet.controller.observe()]
    return {text.splitlines()[-1].startswith("{") and bool(json.loads(text.splitlines()[-1])) for text in said}


async def metrics(fleet: Fleet) -> set[int]:
    """What the processes answer to Prometheus."""
    found = [fleet.controller.folder.run / f"{name}.json" for name in await fleet.controller.observe()]
    return {status_of(msgspec.json.decode(path.read_bytes(), type=Contact).port) for path in found}


def status_of(port: int) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


async def is_traced(fleet: Fleet) -> bool:
    """Whether a question is printed as spans."""
    names = [*await fleet.controller.observe()]

    def printed() -> bool:
        texts = [_text(fleet.controller.folder.logs / f"{name}.out") for name in names]
        return any("search_memory" in text for text in texts)

    await fleet.call("search", query="who keeps the lighthouse")
    return await fleet.until(printed) if fleet.step else printed()


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


async def is_within(fleet: Fleet) -> str:
    """Whether processes take no more memory than they may."""
    conditions = (await fleet.controller.status()).conditions
    return next((one.status for one in conditions if one.type == "WithinLimits"), "not told")


def agents(mode: str) -> list[dict[str, Any]]:
    # Spans are sent at once, not after five seconds.
    env = {"MODE": mode, "OTEL_BSP_SCHEDULE_DELAY": "50"}
    return [{"name": name, "env": env} for name in ["ada", "bob"]]


def lone(memory_mb: int) -> list[dict[str, Any]]:
    """An agent that may take so much. No process of Python with all its libraries is content with 64 MB."""
    return [{"name": "ada", "resources": {"memoryMb": memory_mb}}]


LOCAL = Story(
    "local",
    # Agents that share nothing need no bus.
    fixed(topology="single", agents=agents("slow"), observability={"log": "text"}),
    fixed(
        topology="single",
        agents=agents("quick"),
        observability={"log": "json", "metrics": False, "trace": "console"},
        platform={"kind": "local", "agentsPerProcess": 2},
    ),
    {
        "spec.agents.env": Sight(mode, {"slow"}, {"quick"}),
        "spec.observability.log": Sight(is_json, {False}, {True}),
        "spec.observability.metrics": Sight(metrics, {200}, {404}),
        "spec.observability.trace": Sight(is_traced, False, True),
        "spec.platform.agentsPerProcess": Sight(processes, 2, 1),
    },
    platform="local",
)
PLACE = Story(
    "place",
    fixed(topology="single", agents=lone(8_000), platform="local"),
    fixed(topology="single", agents=lone(64), platform="inprocess"),
    {"spec.platform.kind": Sight(processes, 1, 0), "spec.agents.resources.memoryMb": Sight(is_within, "True", "False")},
)

STORIES = (LOCAL, PLACE)
