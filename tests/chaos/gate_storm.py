"""A fleet whose facts are judged, while everybody in it is killed: nothing bad is ever seen, nothing good is lost.

Agents store facts, of which one in five must not leave its author, each in one of five ways; a process decides what people are
asked; and other agents are looked at all the time. Every round kills some of them all, and then puts the fleet in order.
`python -m tests.chaos.gate_storm --rounds 100 --agents 10 --facts 1000 --seed 7` runs one.
"""

import argparse
import asyncio
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from hive_mind.agents.desk import LedgerDesk
from hive_mind.control.controller import HiveController
from hive_mind.errors import HiveError
from hive_mind.judge.items import OPENED, PREFIX, Decision
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.ledger.base import Ledger
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_ledger
from tests.chaos.fleet_storm import FLEET, FleetStorm
from tests.chaos.fleet_storm import Report as FleetReport

DESK = "reader-1"
_EFFECT_WITHIN_S = 2.0
_LOOK_AGAIN_S = 0.1
_POLL_S = 0.02
_MANIFEST = f"""
apiVersion: hive-mind/v1
kind: Hive
metadata: {{name: {FLEET}}}
spec:
  topology: flat
  agents: [{{name: 'reader-{{n}}', count: %d}}]
  judge: {{facts: rules}}
  rules:
    - {{id: money, condition: "'euros' in result.text", action: escalate, description: a person checks prices}}
    - {{id: rumours, condition: "'rumour' in result.text", action: retry, description: no rumours}}
"""
# A text, how sure its agent is of it, and whether others may see it. "invented" is what the person knows to be wrong.
GOOD = (("Berth {} lies at the north quay of the harbour.", 0.9), ("A night at berth {} costs 20 euros in summer.", 0.9))
BAD = (
    ("The password of berth {} is hunter{}-Xy9Kq.", 0.9),
    ("The keeper of berth {} is reached at keeper{}@example.com.", 0.9),
    ("Berth {} may have been painted, or it may not.", 0.1),
    ("There is a rumour that berth {} will be sold.", 0.9),
    ("A night at berth {} costs 3 euros, which is invented.", 0.9),
)
_GOOD_SHARE = 0.8
_ASKED_GOOD_SHARE = 0.25


@dataclass
class Report(FleetReport):
    """`effects_s`: how long a decision took until it was seen elsewhere, with all in order."""

    author: dict[str, str] = field(default_factory=dict)
    """By content, of all that was ever handed to an agent."""
    asked: set[str] = field(default_factory=set)
    """Ids of acknowledged facts that a person is asked about."""
    effects_s: list[float] = field(default_factory=list)
    looks: int = 0
    rounds: int = 0

    def __str__(self) -> str:
        slowest = max(self.effects_s, default=0.0)
        return (
            f"{super().__str__()}; {self.rounds} rounds, {len(self.author)} facts, {len(self.asked)} asked about,"
            f" {self.looks} looks; a decision was seen elsewhere within {slowest:.2f} s"
        )


class GateStorm(FleetStorm):
    """Rounds over one fleet in a folder of its own."""

    _report: Report

    def __init__(self, home: Path, chance: random.Random, report: Report, agents: int, facts_a_round: int) -> None:
        super().__init__(home, chance, report)
        self._agents = [f"reader-{number}" for number in range(1, agents + 1)]
        self._facts_a_round = facts_a_round
        self._person: subprocess.Popen[bytes] | None = None

    async def rounds(self, rounds: int) -> None:
        """The fleet is gone afterwards, with everything of it."""
        try:
            await self._calm()
            while self._report.rounds < rounds and not self._report.violations:
                self._report.rounds += 1
                await self._round()
        finally:
            await self._end()

    async def _round(self) -> None:
        self._person = self._person_begun()
        watching = asyncio.create_task(self._watch())
        writing = asyncio.create_task(self._write())
        try:
            for _ in range(self._chance.choice((1, 2, 3))):
                await asyncio.sleep(self._chance.uniform(0.05, 1.5))
                self._kill_somebody()
            await writing
            await self._calm()
        finally:
            for task in (watching, writing):
                task.cancel()
            await asyncio.wait([watching, writing])
            self._person_leaves()
        print(f"  {self._report}", flush=True)

    def _draw(self) -> None:
        self._manifest.write_text(_MANIFEST % len(self._agents), "utf-8")

    def _person_begun(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen([sys.executable, "-m", "tests.chaos.gate_person", str(self._home), DESK])

    def _kill_somebody(self) -> None:
        if self._chance.random() < 0.25:
            self._person_leaves()
            self._person = self._person_begun()
            self._report.kills["person"] += 1
        elif workers := self._workers():
            with suppress(ProcessLookupError):
                os.kill(self._chance.choice(workers), signal.SIGKILL)
                self._report.kills["process"] += 1

    # ── what agents store ────────────────────────────────────────────────────────────────────────────────────────────

    async def _write(self) -> None:
        async with HiveController.open(self._home, FLEET) as controller:
            for _ in range(self._facts_a_round):
                text, confidence, is_asked = self._fact()
                agent = self._chance.choice(self._agents)
                self._report.author[text] = agent
                with suppress(HiveError, OSError):
                    fields = {"content": text, "source": f"log of {agent}", "confidence": confidence}
                    reply = await controller.call(agent, "store", timeout_s=5, **fields)
                    if not _is_bad(text):
                        self._report.facts[reply["fact_id"]] = text
                    if is_asked:
                        self._report.asked.add(reply["fact_id"])
                await asyncio.sleep(self._chance.uniform(0, 0.05))

    def _fact(self) -> tuple[str, float, bool]:
        number = len(self._report.author)
        if self._chance.random() < _GOOD_SHARE:
            is_asked = self._chance.random() < _ASKED_GOOD_SHARE
            text, confidence = GOOD[is_asked]
        else:
            text, confidence = BAD[number % len(BAD)]
            is_asked = "euros" in text
        return text.format(number, number), confidence, is_asked

    # ── what others see ──────────────────────────────────────────────────────────────────────────────────────────────

    async def _watch(self) -> None:
        """Nobody ever sees what is bad but its author."""
        async with HiveController.open(self._home, FLEET) as controller:
            while True:
                with suppress(HiveError, OSError):
                    await self._look_at(controller, self._chance.choice(self._agents))
                await asyncio.sleep(_LOOK_AGAIN_S)

    async def _look_at(self, controller: HiveController, agent: str) -> set[str]:
        listed = await controller.call(agent, "facts", limit=0, timeout_s=10)
        self._report.looks += 1
        seen = {fact["content"] for fact in listed["facts"]}
        leaked = [text for text in seen if _is_bad(text) and self._report.author.get(text) != agent]
        self._expect(not leaked, f"{agent} sees {leaked[:3]}")
        return seen

    async def _look(self, controller: HiveController) -> None:
        """All that is good is seen by everybody, each item was asked once, and a decision takes effect in good time."""
        await super()._look(controller)
        for agent in self._agents:
            await self._look_at(controller, agent)
            async with _ledger(self._home, agent) as ledger:
                await self._check_items(agent, ledger)
        if not self._report.violations:
            self._person_leaves()
            self._report.effects_s.append(await self._effect(controller))

    async def _check_items(self, agent: str, ledger: Ledger) -> None:
        desk, subjects = LedgerDesk(ledger), Counter[str]()
        for id in await desk.ids():
            entries = await ledger.read(PREFIX + id)
            self._expect(sum(one.kind == OPENED for one in entries) == 1, f"at {agent} item {id} was opened more than once")
            if view := await desk.view(id):
                subjects[view.item.subject] += 1
        several = [subject for subject, times in subjects.items() if times > 1]
        self._expect(not several, f"at {agent} there are several items about {several[:3]}")
        lost = self._report.asked - set(subjects) if agent == DESK else set()
        self._expect(not lost, f"nobody was ever asked about {sorted(lost)[:3]}")

    async def _effect(self, controller: HiveController) -> float:
        """From a decision, with all in order, until another agent sees the fact."""
        text = f"A night at berth {len(self._report.author)} costs 20 euros in summer."
        author, other = self._chance.sample(self._agents, 2)
        self._report.author[text] = author
        reply = await controller.call(author, "store", content=text, source=f"log of {author}", confidence=0.9)
        self._report.facts[reply["fact_id"]] = text
        self._report.asked.add(reply["fact_id"])
        async with _ledger(self._home, DESK) as ledger:
            desk = LedgerDesk(ledger)
            while not (waiting := [view.item for view in await desk.open() if view.item.subject == reply["fact_id"]]):  # noqa: ASYNC110
                await asyncio.sleep(_POLL_S)
            began_s = time.monotonic()
            await desk.decide(Decision(item=waiting[0].id, action=JudgmentAction.ACCEPT, by="olga"))
        while text not in await self._look_at(controller, other):  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(_POLL_S)
        took_s = time.monotonic() - began_s
        self._expect(took_s <= _EFFECT_WITHIN_S, f"a decision took {took_s:.2f} s until {other} saw what {author} said")
        return took_s

    def _person_leaves(self) -> None:
        if self._person is not None:
            self._person.kill()
            self._person.wait()


def _is_bad(text: str) -> bool:
    return not any(text.endswith(good.partition("{}")[2]) for good, _ in GOOD)


@asynccontextmanager
async def _ledger(home: Path, agent: str) -> AsyncIterator[Ledger]:
    ledger = await open_ledger(Settings(home=home), agent, is_shared=True)
    try:
        yield ledger
    finally:
        await ledger.close()


async def storm(seed: int, rounds: int, agents: int, facts: int) -> Report:
    """One storm, in a folder that is gone afterwards."""
    report = Report(seed)
    with tempfile.TemporaryDirectory(prefix="gate-") as folder:
        await GateStorm(Path(folder), random.Random(seed), report, agents, -(-facts // rounds)).rounds(rounds)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--agents", type=int, default=10)
    parser.add_argument("--facts", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    report = asyncio.run(storm(given.seed, given.rounds, given.agents, given.facts))
    print(report)
    for violation in report.violations:
        print(f"VIOLATION {violation}")
    return bool(report.violations)


if __name__ == "__main__":
    sys.exit(main())
