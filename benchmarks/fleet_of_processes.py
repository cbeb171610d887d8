"""What a hundred agents from one manifest cost on one machine: until all are ready, how much memory awake and asleep, `status`.

Real processes over a Redis server of the fleet's own, each agent with its database and twenty facts to learn. Memory is that of
all processes of the fleet, shared pages counted once (PSS). Wall time, so it needs a quiet machine.
`python -m benchmarks.fleet_of_processes [--agents 100] [--per-process 50] [--topology flat] [--idle-s 0] [--output json]`.
With `--idle-s` also what a process takes that nobody asks, in the best of three such times.
"""

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

import psutil

from benchmarks.harness import parser_of
from hive_mind.control.controller import HiveController
from hive_mind.control.manifests.reading import read_text
from hive_mind.control.status import FleetStatus

FACTS, SLEEP_AFTER_S, SETTLED_S = 20, 2.0, 30.0
MANIFEST = """
apiVersion: hive-mind/v1
kind: Hive
metadata: {{name: crowd}}
spec:
  topology: {topology}
  agents:
    - {{name: "agent-{{n}}", count: {agents}, sources: [facts.txt], resources: {{sleepAfterS: {sleep_after_s}}}}}
  platform: {{kind: local, agentsPerProcess: {per_process}}}
"""


async def main() -> int:
    parser = parser_of(__doc__, "output", agents=100, per_process=50, idle_s=0)
    parser.add_argument("--topology", default="flat", choices=("flat", "sharded"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crowd-") as folder:
        (Path(folder) / "facts.txt").write_text("".join(f"Valve {n} of the pier was seen on day {n}.\n" for n in range(FACTS)))
        row = await measured(Path(folder), given.agents, given.per_process, given.topology, given.idle_s)
    if given.output == "json":
        print(json.dumps(row))
    else:
        print("\n".join(f"{name:24} {value:10.3f}" for name, value in row.items()))
    return 0


async def measured(home: Path, agents: int, per_process: int, topology: str, idle_s: int) -> dict[str, float]:
    """One fleet, from nothing to nothing."""

    def source(sleep_after_s: float) -> str:
        return MANIFEST.format(topology=topology, agents=agents, per_process=per_process, sleep_after_s=sleep_after_s)

    row: dict[str, float] = {}
    async with HiveController.open(home, "crowd") as controller:
        began_s = time.perf_counter()
        outcome = await controller.apply(read_text(source(0), home, "crowd"), timeout_s=600)
        row["up and ready, s"] = time.perf_counter() - began_s
        assert outcome.is_converged, outcome.problems
        began_s = time.perf_counter()
        status = await controller.status()
        row["status, s"] = time.perf_counter() - began_s
        row["facts"] = status.facts
        row["awake, GB"] = memory_gb(status)
        row |= await idle(status, idle_s) if idle_s else {}
        await controller.apply(read_text(source(SLEEP_AFTER_S), home, "crowd"), timeout_s=600)
        row["asleep, GB"] = memory_gb(await asleep(controller))
        began_s = time.perf_counter()
        await controller.delete(purge=True)
        row["stopped and gone, s"] = time.perf_counter() - began_s
    return row


async def idle(status: FleetStatus, seconds: int) -> dict[str, float]:
    """Of a fleet in which nothing happens: of the process that takes most."""
    processes, shares = [psutil.Process(process.pid) for process in status.processes], []
    # In the first time indexes are made and memory is given back.
    for seconds_of_look in (SETTLED_S, seconds, seconds, seconds):
        await asyncio.sleep(seconds_of_look)
        shares.append(max(process.cpu_percent() for process in processes))
    most_mb = max(process.memory_full_info().pss for process in processes) / 1e6
    return {"idle, % of a core": min(shares[1:]), "idle, MB": most_mb}


async def asleep(controller: HiveController) -> FleetStatus:
    """The status once every agent sleeps."""
    while True:
        status = await controller.status()
        if all(agent.phase == "asleep" for agent in status.agents):
            return status
        await asyncio.sleep(0.5)


def memory_gb(status: FleetStatus) -> float:
    """Of all processes, with what they share counted once."""
    return sum(psutil.Process(process.pid).memory_full_info().pss for process in status.processes) / 1e9


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
