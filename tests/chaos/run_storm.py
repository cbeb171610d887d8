"""Runs of a fleet over Redis, while everybody in it is killed: each ends as if nothing had happened, and pays once.

Keepers read notes, learn them and pay at a till at the same time, ask a person, and report. Every round begins some runs and
kills keepers, the queen, the watcher or the broker at random moments; then `apply` brings the fleet back, and its new processes
go on with the runs. A run that was left alone is what the others are compared with: outcome, outputs, files, and what people
were asked. One more agent stalls all the time, and is to be one ticket, whoever is killed.
`python -m tests.chaos.run_storm --kills 200 --seed 7` runs one; the same seed draws the same rounds, if not the same moments.
"""

import asyncio
import json
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hive_mind.agents.desk import LedgerDesk
from hive_mind.control.controller import HiveController
from hive_mind.control.processes.private_redis import RedisFiles
from hive_mind.control.state import FleetFolder
from hive_mind.errors import HiveError
from hive_mind.judge.items import Decision, ItemView
from hive_mind.judge.judgment import JudgmentAction
from tests.chaos.fleet_storm import FLEET, FleetStorm, ledger_of, main
from tests.chaos.fleet_storm import Report as FleetReport
from tests.servers.openai_compatible import Behaviour, OpenAICompatibleServer, Received, Silence

KEEPERS = ("keeper-1", "keeper-2")
VICTIMS = (*KEEPERS, *KEEPERS, *KEEPERS, "queen", "watcher", "broker")
STALLED = "staller/stall"
_RUNS_A_ROUND = 2
_KILLS_WITHIN_S = 2.0
_PATIENCE_S = 120.0
_POLL_S = 0.1
# Longer than a fleet takes to come back, on a machine that has time.
_STALL_MIN = 0.25
_HEX = re.compile(r"\b[0-9a-f]{8,64}\b")


def _tool(id: str, tool: str, output: str, **args: str) -> dict[str, Any]:
    inputs = [value[1:] for value in args.values()]
    return {"id": id, "kind": "tool", "tool": tool, "args": args, "inputs": inputs, "outputs": [output]}


WORKER = {
    "apiVersion": "hive-mind/v1",
    "kind": "Worker",
    "spec": {
        "id": "storm",
        "inputs": ["notes", "what"],
        "entry": "read",
        "nodes": [
            _tool("read", "list_notes", "files", folder="$notes"),
            _tool("learn", "learn_notes", "learned", notes="$files"),
            _tool("compare", "compare", "conflicts", learned="$learned"),
            _tool("pay", "mcp:till/pay", "paid", what="$what"),
            {"id": "ask", "kind": "person", "prompt": "Is it right?", "join": "all", "inputs": ["paid"], "outputs": ["word"]},
            _tool("report", "write_report", "report", learned="$learned", conflicts="$conflicts"),
        ],
        "edges": [
            {"source": "read", "target": "learn"},
            {"source": "read", "target": "pay"},
            {"source": "learn", "target": "compare"},
            {"source": "compare", "target": "ask"},
            {"source": "pay", "target": "ask"},
            {"source": "ask", "target": "report"},
        ],
    },
}
STALLER = {
    "apiVersion": "hive-mind/v1",
    "kind": "Worker",
    "spec": {"id": "seek", "entry": "seek", "nodes": [{"id": "seek", "prompt": "Seek.", "outputs": ["found"]}]},
}


class SilentModel(OpenAICompatibleServer):
    """Never answers."""

    def next_behaviour(self, received: Received) -> Behaviour:
        super().next_behaviour(received)
        return Silence()


@dataclass
class Report(FleetReport):
    """`words`: how often a person said that a run may pay again."""

    runs: int = 0
    words: Counter[str] = field(default_factory=Counter)
    interrupted: int = 0

    def __str__(self) -> str:
        return f"{super().__str__()}; {self.runs} runs, {self.interrupted} payments that a person was asked about"


class RunStorm(FleetStorm):
    """Rounds over one fleet in a folder of its own."""

    _report: Report

    def __init__(self, home: Path, chance: random.Random, report: Report, model_url: str) -> None:
        super().__init__(home, chance, report)
        self._till, self._url = home / "till.txt", model_url
        self._wanted: Any = None
        self._agent_of: dict[str, str] = {}

    async def run(self, kills: int) -> None:
        """Until so many were killed. The fleet is gone afterwards, with everything of it."""
        person: asyncio.Task[None] | None = None
        try:
            self._draw()
            await self._apply()
            async with HiveController.open(self._home, FLEET) as controller:
                person = asyncio.create_task(self._decide())
                await self._begin(controller, "staller", "stall", {})
                self._wanted = (await self._ended(controller, [await self._begun(controller, KEEPERS[0])]))[0]
                while sum(self._report.kills.values()) < kills and not self._report.violations:
                    await self._storm_round(controller)
                await self._check_tickets()
            if person.done():
                person.result()
        finally:
            if person is not None:
                person.cancel()
                await asyncio.wait([person])
            await self._end()

    async def _storm_round(self, controller: HiveController) -> None:
        runs = [asyncio.create_task(self._begun(controller, agent)) for agent in KEEPERS for _ in range(_RUNS_A_ROUND)]
        for _ in range(self._chance.choice((1, 2, 3))):
            await asyncio.sleep(self._chance.uniform(0, _KILLS_WITHIN_S))
            self._kill_one(self._chance.choice(VICTIMS))
        await self._apply()
        names = list(await asyncio.gather(*runs))
        for name, found in zip(names, await self._ended(controller, names), strict=True):
            self._check(name, found)
        print(f"  {self._report}", flush=True)

    def _draw(self) -> None:
        for name, worker in (("storm", WORKER), ("seek", STALLER)):
            (self._home / f"{name}.yaml").write_text(json.dumps(worker), "utf-8")
        till = {"name": "till", "command": [sys.executable, str(Path(__file__).with_name("till.py")), str(self._till)]}
        staller = {"name": "staller", "worker": "seek.yaml", "model": "openai:m"}
        spec = {
            "topology": "flat",
            "agents": [{"name": "queen"}, {"name": "watcher"}, staller, *({"name": k, "worker": "storm.yaml"} for k in KEEPERS)],
            "queen": {"agent": "queen"},
            "health": {"agent": "watcher", "everyS": 1, "stallMin": _STALL_MIN},
            "llm": {"url": self._url, "key": "${env:STORM_KEY}"},
            "mcp": [till],
        }
        body = {"apiVersion": "hive-mind/v1", "kind": "Hive", "metadata": {"name": FLEET}, "spec": spec}
        self._manifest.write_text(json.dumps(body), "utf-8")

    async def _apply(self) -> None:
        done = await self._finished("apply", "-f", str(self._manifest), "--timeout", "120")
        self._expect(done.returncode == 0, f"apply ended with {done.returncode}: {done.stdout[-500:]} {done.stderr[-1500:]}")

    def _kill_one(self, what: str) -> None:
        folder = FleetFolder(self._home, FLEET)
        if what == "broker":
            server = RedisFiles(folder.path / "redis").running()
            pid = server.pid if server else 0
        else:
            file = folder.path / "run" / f"{what}.json"
            pid = int(json.loads(file.read_bytes())["pid"]) if file.exists() else 0
        if pid:
            self._kill_process(what, pid)

    async def _begun(self, controller: HiveController, agent: str) -> str:
        """Acknowledged, whatever was killed meanwhile."""
        number = 1000 + self._report.runs
        self._report.runs += 1
        name = f"run-{number}"
        self._agent_of[name] = agent
        notes = self._home / "notes" / name
        notes.mkdir(parents=True)
        for note in ("day", "night"):
            (notes / f"{note}.md").write_text(f"Pump {number} of hall {note} has a pressure of {number} bar.\n", "utf-8")
        await self._begin(controller, agent, name, {"notes": str(notes), "what": name})
        return name

    async def _begin(self, controller: HiveController, agent: str, name: str, inputs: dict[str, Any]) -> None:
        give_up = time.monotonic() + _PATIENCE_S
        while True:
            try:
                await controller.call(agent, "run", worker={}, inputs=inputs, run=name, stream="", timeout_s=10)
                return
            except HiveError as error:
                if "already" in str(error):
                    return
                if time.monotonic() > give_up:
                    self._expect(False, f"{name} can't begin: {error}")
                    return
            await asyncio.sleep(_POLL_S)

    async def _ended(self, controller: HiveController, names: list[str]) -> list[Any]:
        """What each came to, as plain values without its name and number."""
        return [await self._came_to(controller, name) for name in names]

    async def _came_to(self, controller: HiveController, name: str) -> Any:
        agent, give_up, document = self._agent_of[name], time.monotonic() + _PATIENCE_S, dict[str, Any]()
        while document.get("status") in (None, "unfinished", "parked", "paused") and time.monotonic() < give_up:
            await asyncio.sleep(_POLL_S)
            with suppress(HiveError, OSError):
                document = await controller.call(agent, "run_shown", run=name, timeout_s=10)
        if document.get("status") != "accepted":
            self._expect(False, f"{name} did not end as it should: {document}")
        views = await self._items_of(agent, name)
        was_asked = any(view.item.kind == "tool" for view in views)
        self._report.interrupted += was_asked
        folder = self._home / "agents" / agent / "runs" / name
        # What a person says in the place of a call is no result of it, and makes no file.
        files = {one.name: one.read_text("utf-8") for one in folder.iterdir() if not (was_asked and "pay" in one.name)}
        asked = sorted(view.item.subject for view in views if view.item.kind != "tool")
        found = {"outcome": document.get("status"), "outputs": document.get("outputs"), "files": files, "asked": asked}
        plain = json.dumps(found, sort_keys=True).replace(str(self._home), "HOME").replace(name, "RUN")
        return json.loads(_HEX.sub("ID", plain.replace(name.removeprefix("run-"), "N")))

    async def _items_of(self, agent: str, run: str) -> list[ItemView]:
        async with ledger_of(self._home, agent) as ledger:
            desk = LedgerDesk(ledger)
            views = [await desk.view(id) for id in await desk.ids()]
        return [view for view in views if view and view.item.subject.startswith(f"{run}/")]

    def _check(self, name: str, found: Any) -> None:
        for key, wanted in self._wanted.items():
            was = dict(found[key]) if key == "files" else found[key]
            if key == "files":
                was = {file: text for file, text in was.items() if "pay" not in file}
                wanted = {file: text for file, text in wanted.items() if "pay" not in file}
            self._expect(was == wanted, f"{key} of {name}: {was}, and of one that was left alone: {wanted}")
        paid = self._till.read_text("utf-8").splitlines().count(name)
        self._expect(
            1 <= paid <= 1 + self._report.words[name], f"{name} paid {paid} times, a person said so {self._report.words}"
        )

    async def _decide(self) -> None:
        """At the queen's desk, for ever."""
        async with ledger_of(self._home, "queen") as ledger:
            desk = LedgerDesk(ledger)
            while True:
                for view in await desk.open():
                    if view.item.kind != "ticket":
                        await desk.decide(self._decision(view))
                await asyncio.sleep(_POLL_S)

    def _decision(self, view: ItemView) -> Decision:
        """What is paid is not paid again: its receipt is, as the till gives it, what the call came to."""
        id, told = view.item.id, str(view.item.context)
        if view.item.kind != "tool":
            answer = "yes" if view.item.agent in KEEPERS else "leave" if STALLED.partition("/")[0] in told else "resume"
            return Decision(item=id, action=JudgmentAction.ACCEPT, by="olga", edit=answer)
        run = view.item.subject.partition("/")[0]
        if self._till.exists() and run in self._till.read_text("utf-8").splitlines():
            return Decision(item=id, action=JudgmentAction.ACCEPT, by="olga", edit={"result": f"paid for {run}"})
        self._report.words[run] += 1
        return Decision(item=id, action=JudgmentAction.ACCEPT, by="olga")

    async def _check_tickets(self) -> None:
        give_up = time.monotonic() + _PATIENCE_S
        found = await self._tickets()
        while found[STALLED] != 1 and time.monotonic() < give_up:
            await asyncio.sleep(_POLL_S)
            found = await self._tickets()
        self._expect(found[STALLED] == 1, f"a stall is one ticket, not {found[STALLED]}")
        async with ledger_of(self._home, "watcher") as ledger:
            for subject, count in found.items():
                # Whoever was killed, or has no time on a busy machine, may be silent, speak again and be silent once more.
                silences = [one for one in await ledger.read(f"watch/silent/{subject}") if one.kind == "silent"]
                is_right = "/" in subject or count <= len(silences)
                self._expect(is_right, f"{count} tickets about {subject}, which was silent {len(silences)} times")

    async def _tickets(self) -> Counter[str]:
        async with ledger_of(self._home, "queen") as ledger:
            desk = LedgerDesk(ledger)
            views = [await desk.view(id) for id in await desk.ids()]
        return Counter(view.item.subject for view in views if view and view.item.kind == "ticket")


async def storm(seed: int, kills: int) -> Report:
    """One storm, in a folder that is gone afterwards."""
    report = Report(seed)
    os.environ.setdefault("STORM_KEY", "none")
    with tempfile.TemporaryDirectory(prefix="runs-") as folder, SilentModel() as model:
        await RunStorm(Path(folder), random.Random(seed), report, model.base_url).run(kills)
    return report


if __name__ == "__main__":
    sys.exit(main(storm, __doc__, kills=200))
