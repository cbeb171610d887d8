"""How long every request to an agent takes over real processes while another one is dead, stopped (SIGSTOP) or slow.

    python -m benchmarks.requests_under_faults [--agents 4] [--facts 400] [--rounds 3]

A fleet of processes over a Redis of its own. Each request is put to one of them: when all live, just after another member was
stopped or killed, once that is believed dead, and while one runs for a tenth of the time only. Wall time, which people wait for.
"""

import asyncio
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.harness import parser_of
from hive_mind.api.requests import REQUESTS
from hive_mind.errors import HiveError
from hive_mind.runtime.asking import called
from hive_mind.runtime.workers import Contact

_MANIFEST = """\
apiVersion: hive-mind/v1
kind: Hive
metadata: {name: town}
spec:
  topology: {kind: sharded, replicas: 3}
  embedding: {kind: none}
  agents:
    - {name: "a{n}", count: COUNT}
"""
# A second longer than a member is silent before it is believed dead.
_BELIEVED_DEAD_AFTER_S = 4.5
_SLICE_S = 0.05


def fields_of(name: str, own: str, other: str, number: int) -> Mapping[str, Any]:
    """Of one request; those that are refused are answered, too."""
    text = " ".join(f"Tank {number}{one} holds {one} litres." for one in range(50))
    needed: dict[str, dict[str, Any]] = {
        "aggregate": {"kind": "latest", "concept": "pump"},
        "ask": {"question": "Which pump is red?"},
        "correct": {"fact_id": own, "content": f"The valve of pump {number} is shut now."},
        "decide": {"title": "none", "kind": "approve", "source": "ana"},
        "evidence": {"fact_id": other},
        "hook": {"title": "none"},
        "learn": {"text": text, "source": "log"},
        "named": {"fact_id": other[:8]},
        "note": {"source": "log"},
        "quarantine": {"fact_id": other, "good": True},
        "rate": {"to": "a2", "good": True},
        "reconsider": {"fact_id": own},
        "replace": {"source": "none", "episodes": []},
        "retract": {"fact_id": own},
        "rule": {"rule": {}},
        "search": {"query": "red pump"},
        "store": {"content": f"Boiler {number} is new."},
        "tell": {"to": "a2"},
        "trust": {"to": "a2"},
        "why": {"fact_id": other},
        "why_not": {"question": "Which pump is red?", "text": other[:8]},
        "withdraw": {"source": "none"},
    }
    erasures = {"erasures": ["subject/2/" + 32 * "3"]}
    others: dict[str, dict[str, Any]] = {
        "erase": erasures,
        "erased": erasures,
        "would_erase": erasures,
        "drop": {"letters": []},
        "replay": {"letters": []},
    }
    runs: dict[str, dict[str, Any]] = {one: {"run": "none"} for one in ("run_cancelled", "run_resumed", "run_shown", "run_told")}
    return {**needed, **others, **runs, "learn_files": {"paths": []}}.get(name, {})


class Fleet:
    """Its processes, and how they are reached."""

    def __init__(self, home: Path, agents: int) -> None:
        self.home, self.names = home, [f"a{number}" for number in range(1, agents + 1)]

    def command(self, *words: str) -> None:
        environment = {**os.environ, "HIVE_MIND_HOME": str(self.home), "HIVE_MIND_EMBED": "none"}
        subprocess.run([sys.executable, "-m", "hive_mind", *words], env=environment, check=True, capture_output=True, timeout=300)

    def contact(self, name: str) -> Contact:
        return msgspec.json.decode((self.home / "fleets/town/run" / f"{name}.json").read_bytes(), type=Contact)

    async def call(self, name: str, what: str, fields: Mapping[str, Any]) -> tuple[Any, float]:
        """The reply, None for a refusal; and the milliseconds it took."""
        began = time.perf_counter()
        try:
            reply = await called(self.contact(name), name, what, fields)
        except HiveError:
            reply = None
        return reply, 1000 * (time.perf_counter() - began)

    @contextmanager
    def stopped(self, name: str) -> Iterator[None]:
        pid = self.contact(name).pid
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)


async def measured(fleet: Fleet, other: str, rounds: int) -> dict[str, dict[str, float]]:
    """By condition and request: milliseconds."""
    here, away = fleet.names[0], fleet.names[-1]
    table: dict[str, dict[str, float]] = {}
    number = 0

    async def one(name: str) -> float:
        nonlocal number
        number += 1
        own, _ = await fleet.call(here, "store", {"content": f"The valve of pump {number} is open.", "concept": "valve"})
        _, ms = await fleet.call(here, name, fields_of(name, own["fact_id"], other, number))
        return ms

    async def all_of(times: int) -> dict[str, float]:
        return {name: statistics.median([await one(name) for _ in range(times)]) for name in REQUESTS}

    table["healthy"] = await all_of(rounds)
    table["hung, at once"] = {}
    for name in REQUESTS:
        with fleet.stopped(away):
            table["hung, at once"][name] = await one(name)
        # Its beats are heard again, and what was asked of it is forgotten.
        await asyncio.sleep(1.5)
    with fleet.stopped(away):
        await asyncio.sleep(_BELIEVED_DEAD_AFTER_S)
        table["hung, believed dead"] = await all_of(rounds)
    await asyncio.sleep(_BELIEVED_DEAD_AFTER_S)
    slowing = asyncio.ensure_future(_slowed(fleet.contact(away).pid))
    table["slow"] = await all_of(rounds)
    slowing.cancel()
    await asyncio.wait([slowing])
    os.kill(fleet.contact(away).pid, signal.SIGKILL)
    table["dead, at once"] = await all_of(1)
    await asyncio.sleep(_BELIEVED_DEAD_AFTER_S)
    table["dead, believed"] = await all_of(rounds)
    return table


async def _slowed(pid: int) -> None:
    try:
        while True:
            os.kill(pid, signal.SIGSTOP)
            await asyncio.sleep(9 * _SLICE_S)
            os.kill(pid, signal.SIGCONT)
            await asyncio.sleep(_SLICE_S)
    finally:
        os.kill(pid, signal.SIGCONT)


async def main(agents: int, facts: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fleet, manifest = Fleet(Path(folder) / "home", agents), Path(folder) / "town.yaml"
        manifest.write_text(_MANIFEST.replace("COUNT", str(agents)))
        fleet.command("apply", "-f", str(manifest))
        try:
            text = " ".join(f"Pump {number} is red." for number in range(facts))
            learned, _ = await fleet.call(fleet.names[1], "learn", {"text": text, "source": "book"})
            await asyncio.sleep(5)
            table = await measured(fleet, learned["facts"][0], rounds)
        finally:
            fleet.command("delete", "town", "--yes", "--purge")
    print(f"| request, ms | {' | '.join(table)} |\n|{'---|' * (len(table) + 1)}")
    for name in table["healthy"]:
        print(f"| {name} | {' | '.join(f'{column[name]:.0f}' for column in table.values())} |")


if __name__ == "__main__":
    asyncio.run(main(**vars(parser_of(__doc__, agents=4, facts=400, rounds=3).parse_args())))
