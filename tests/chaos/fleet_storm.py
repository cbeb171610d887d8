"""A fleet that is changed all the time, while whoever changes it and what it changes are killed: nothing acknowledged is lost.

Every round draws another manifest (how many agents, which topology, how many to a process), begins to apply it with the command,
and kills that command or some of the fleet's processes at a random moment, often both. Then the command is run again, to its end.
`python -m tests.chaos.fleet_storm --kills 50 --seed 7` runs one; the same seed draws the same rounds, if not the same moments.
"""

import argparse
import asyncio
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from hive_mind.control.controller import HiveController
from hive_mind.errors import HiveError
from hive_mind.ledger import Ledger
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_ledger
from tests.servers.children import Child

FLEET = "storm"
_APPLY_S = 150
_TOPOLOGIES = ("flat", "sharded", "{kind: sharded, replicas: 2}", "{kind: federated, groups: [{name: north}, {name: south}]}")


@dataclass
class Report:
    """What a storm was like."""

    seed: int
    kills: Counter[str] = field(default_factory=Counter)
    facts: dict[str, str] = field(default_factory=dict)
    """Contents by id, acknowledged."""
    violations: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        kills = ", ".join(f"{self.kills[what]} {what}" for what in sorted(self.kills))
        return f"seed {self.seed}: killed {kills}; {len(self.facts)} facts acknowledged, {len(self.violations)} violations"


class FleetStorm:
    """Rounds over one fleet in a folder of its own."""

    def __init__(self, home: Path, chance: random.Random, report: Report) -> None:
        self._home, self._chance, self._report = home, chance, report
        self._manifest = home / "fleet.yaml"
        self._bystander = Child([sys.executable, "-c", "import time; time.sleep(3600)"])

    async def run(self, kills: int) -> None:
        """Until so many were killed. The fleet is gone afterwards, with everything of it."""
        try:
            await self._calm()
            while sum(self._report.kills.values()) < kills and not self._report.violations:
                await self._round()
        finally:
            await self._end()

    async def _round(self) -> None:
        self._draw()
        applying = self._command("apply", "-f", str(self._manifest), "--timeout", "90")
        writing = asyncio.create_task(self._write())
        try:
            for _ in range(self._chance.choice((1, 1, 2, 3))):
                await asyncio.sleep(self._chance.uniform(0.1, 5.0))
                self._kill(applying)
        finally:
            with suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(applying.wait, _APPLY_S)
            applying.kill()
            applying.communicate()
            writing.cancel()
            await asyncio.wait([writing])
        await self._calm()
        print(f"  {self._report}", flush=True)

    def _draw(self) -> None:
        count, topology = self._chance.randint(2, 5), self._chance.choice(_TOPOLOGIES)
        lines = (
            "apiVersion: hive-mind/v1",
            "kind: Hive",
            f"metadata: {{name: {FLEET}}}",
            "spec:",
            f"  topology: {topology}",
            "  agents:",
            f"    - {{name: 'reader-{{n}}', count: {count}}}",
            f"  platform: {{kind: local, agentsPerProcess: {self._chance.choice((1, 1, 2))}}}",
            f"  promotion: {{confidenceMin: {self._chance.choice((0.2, 0.3))}}}",
        )
        self._manifest.write_text("\n".join(lines) + "\n", "utf-8")

    def _kill(self, applying: "subprocess.Popen[str]") -> None:
        ours = self._workers()
        targets = [("command", applying.pid)] if applying.poll() is None else []
        targets += [("process", pid) for pid in ours]
        if targets:
            # The command as often as all the others together.
            what, pid = targets[0] if self._chance.random() < 0.5 else self._chance.choice(targets)
            self._kill_process(what, pid)

    def _kill_process(self, what: str, pid: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self._report.kills[what] += 1

    async def _write(self) -> None:
        """Agents learn all the while; what they say yes to must stay."""
        number = 0
        async with HiveController.open(self._home, FLEET) as controller:
            while True:
                number += 1
                text = f"Valve {len(self._report.facts)}-{number} of hall {self._chance.randint(1, 9)} was seen in storm."
                with suppress(HiveError, OSError):
                    reply = await controller.call("", "store", content=text, source=f"log {number}", timeout_s=5)
                    self._report.facts[reply["fact_id"]] = text
                await asyncio.sleep(0.2)

    async def _calm(self) -> None:
        """Apply without disturbance, and look at everything."""
        if not self._manifest.exists():
            self._draw()
        done = await self._finished("apply", "-f", str(self._manifest), "--timeout", "120")
        self._expect(done.returncode == 0, f"apply ended with {done.returncode}: {done.stdout[-500:]} {done.stderr[-1500:]}")
        planned = await self._finished("plan", "-f", str(self._manifest), "-o", "json")
        self._expect(json.loads(planned.stdout or "{}").get("actions") == [], f"the plan is not empty: {planned.stdout}")
        async with HiveController.open(self._home, FLEET) as controller:
            status = await controller.status()
            known = {process.pid for process in status.processes}
            self._expect(set(self._workers()) == known, f"processes {self._workers()} run, {sorted(known)} are known")
            await self._look(controller)
        self._expect(self._bystander.poll() is None, "a process was killed that is not the fleet's")

    async def _look(self, controller: HiveController) -> None:
        """Every agent finds every fact."""
        missing: dict[str, str] = {}
        for _ in range(60):
            held = await self._held(controller)
            missing = {id: text for id, text in self._report.facts.items() if any(id not in some for some in held)}
            if not missing:
                return
            await asyncio.sleep(0.5)
        self._expect(False, f"{len(missing)} acknowledged facts are not found: {sorted(missing.values())[:3]}")

    async def _held(self, controller: HiveController) -> list[set[str]]:
        found: list[set[str]] = []
        for agent in (await controller.status()).agents:
            listed: dict[str, Any] = await controller.call(agent.name, "facts", limit=0)
            found.append({fact["fact_id"] for fact in listed["facts"]})
        return found

    def _expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self._report.violations.append(otherwise)

    def _workers(self) -> list[int]:
        """Processes of this fleet, wherever they came from."""
        found = []
        for process in psutil.process_iter(["pid", "cmdline", "status"]):
            words = process.info["cmdline"] or []
            if "--config" in words and any(str(self._home) in word for word in words) and process.info["status"] != "zombie":
                found.append(process.info["pid"])
        return sorted(found)

    def _command(self, *words: str) -> "subprocess.Popen[str]":
        arguments = [sys.executable, "-m", "hive_mind", *words, "--home", str(self._home)]
        return Child(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    async def _finished(self, *words: str) -> "subprocess.CompletedProcess[str]":
        command = self._command(*words)
        out, err = await asyncio.to_thread(command.communicate)
        return subprocess.CompletedProcess(words, command.returncode, out, err)

    async def _end(self) -> None:
        self._bystander.kill()
        self._bystander.wait()
        await self._finished("delete", FLEET, "--purge", "--yes")
        left = self._workers()
        self._expect(not left, f"after delete there are {left}")
        for pid in left:
            os.kill(pid, signal.SIGKILL)


@asynccontextmanager
async def ledger_of(home: Path, agent: str) -> AsyncIterator[Ledger]:
    """An agent's, beside the process that has it."""
    ledger = await open_ledger(Settings(home=home), agent, is_shared=True)
    try:
        yield ledger
    finally:
        await ledger.close()


async def storm(seed: int, kills: int) -> Report:
    """One storm, in a folder that is gone afterwards."""
    report = Report(seed)
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        await FleetStorm(Path(folder), random.Random(seed), report).run(kills)
    return report


def main(storm: Callable[..., Coroutine[Any, Any, Report]], about: str | None, **counts: int) -> int:
    """A storm with a seed and these numbers as its options; 1 where something was violated."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, count in ({"seed": secrets.randbits(32)} | counts).items():
        parser.add_argument(f"--{name}", type=int, default=count)
    options = vars(parser.parse_args())
    print(f"seed {options['seed']}", flush=True)
    report = asyncio.run(storm(**options))
    print(report)
    for violation in report.violations:
        print(f"VIOLATION {violation}")
    return bool(report.violations)


if __name__ == "__main__":
    sys.exit(main(storm, __doc__, kills=50))
