"""A fleet whose facts are judged, while everybody in it is killed: nothing bad is ever seen, nothing good is lost.

Agents store facts, of which one in five must not leave its author, each in one of six ways; rules and a model judge them, and a
process decides what people are asked; other agents are looked at all the time. Every round draws another manifest, applies it
and kills some of all there are: agents, the one with the desk most of all, the person, the broker, the command that applies. Then
it puts the fleet in order.
`python -m tests.chaos.gate_storm --rounds 100 --agents 10 --facts 1000 --seed 7` runs one.
"""

import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from hive_mind.agents.desk import LedgerDesk
from hive_mind.control.controller import HiveController
from hive_mind.control.processes.private_redis import RedisFiles
from hive_mind.control.state import FleetFolder
from hive_mind.errors import HiveError
from hive_mind.judge.items import OPENED, PREFIX, Decision, ItemView
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.ledger import Ledger
from tests.chaos.fleet_storm import FLEET, FleetStorm, ledger_of, main
from tests.chaos.fleet_storm import Report as FleetReport
from tests.chaos.gate_model import GateModel
from tests.servers.children import Child

DESK = "reader-1"
VICTIMS = ("process", "process", "process", "desk", "desk", "person", "person", "broker", "command")
TOPOLOGIES = ("flat", "{kind: sharded, replicas: 2}", "{kind: federated, groups: [{name: north}, {name: south}]}")
# The same, said otherwise: all that was shared is judged anew.
RUMOURS = ("'rumour' in result.text", "'rumour' in result.text.lower()")
_EFFECT_WITHIN_S = 2.0
_PATIENCE_S = 30.0
_LOOK_AGAIN_S = 0.1
_POLL_S = 0.02
_MANIFEST = f"""
apiVersion: hive-mind/v1
kind: Hive
metadata: {{name: {FLEET}}}
spec:
  topology: %s
  agents: [{{name: 'reader-{{n}}', count: %d}}]
  platform: {{kind: local, agentsPerProcess: %d}}
  llm: {{model: 'openai:storm', url: '%s', tokenBudget: 1000000000}}
  judge: {{facts: model, callsPerMinute: 60, audit: 0.05}}
  rules:
    - {{id: money, condition: "'euros' in result.text", action: escalate, description: a person checks prices}}
    - {{id: rumours, condition: "%s", action: retry, description: no rumours}}
"""
# A text, how sure its agent is of it, and whether others may see it. "invented" is what the person knows to be wrong.
GOOD = (("Berth {} lies at the north quay of the harbour.", 0.9), ("A night at berth {} costs 20 euros in summer.", 0.9))
BAD = (
    ("The password of berth {} is hunter{}-Xy9Kq.", 0.9),
    ("The keeper of berth {} is reached at keeper{}@example.com.", 0.9),
    ("Berth {} may have been painted, or it may not.", 0.1),
    ("There is a rumour that berth {} will be sold.", 0.9),
    ("The quay at berth {} is made of green cheese.", 0.9),
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
    kept: dict[str, str] = field(default_factory=dict)
    """Contents by id, acknowledged, of what must stay with its author."""
    effects_s: list[float] = field(default_factory=list)
    looks: int = 0
    rounds: int = 0
    asked_model: int = 0

    def __str__(self) -> str:
        slowest = max(self.effects_s, default=0.0)
        return (
            f"{super().__str__()}; {self.rounds} rounds, {len(self.author)} facts, {sum(map(_is_bad, self.author))} of them bad,"
            f" {len(self.asked)} asked about,"
            f" {self.asked_model} times a model, {self.looks} looks; a decision was seen elsewhere within {slowest:.2f} s"
        )


class GateStorm(FleetStorm):
    """Rounds over one fleet in a folder of its own."""

    _report: Report

    def __init__(self, home: Path, chance: random.Random, report: Report, model: GateModel, agents: int, facts: int) -> None:
        super().__init__(home, chance, report)
        self._model, self._facts_a_round = model, facts
        self._agents = [f"reader-{number}" for number in range(1, agents + 1)]
        self._person: subprocess.Popen[bytes] | None = None
        self._approved: set[str] = set()

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
        self._draw()
        watching = asyncio.create_task(self._watch())
        writing = asyncio.create_task(self._write())
        applying = self._command("apply", "-f", str(self._manifest), "--timeout", "90")
        try:
            for _ in range(self._chance.choice((1, 2, 3))):
                await asyncio.sleep(self._chance.uniform(0.05, 1.5))
                self._kill_somebody(applying)
            await asyncio.gather(writing, asyncio.to_thread(applying.communicate))
            await self._calm()
            if watching.done():
                # It ends only with an error, and without it nothing is seen.
                watching.result()
        finally:
            applying.kill()
            for task in (watching, writing):
                task.cancel()
            await asyncio.wait([watching, writing])
            self._person_leaves()
        self._report.asked_model = len(self._model.requests)
        print(f"  {self._report}", flush=True)

    def _draw(self) -> None:
        topology, together, rumours = (self._chance.choice(some) for some in (TOPOLOGIES, (1, 2, 5), RUMOURS))
        self._manifest.write_text(_MANIFEST % (topology, len(self._agents), together, self._model.base_url, rumours), "utf-8")

    def _person_begun(self) -> "subprocess.Popen[bytes]":
        return Child([sys.executable, "-m", "tests.chaos.gate_person", str(self._home), DESK])

    def _kill_somebody(self, applying: "subprocess.Popen[str]") -> None:
        what = self._chance.choice(VICTIMS)
        if what == "person":
            self._person_leaves()
            self._person = self._person_begun()
            self._report.kills[what] += 1
        elif pid := self._pid_of(what, applying):
            self._kill_process(what, pid)

    def _pid_of(self, what: str, applying: "subprocess.Popen[str]") -> int:
        """0 where there is none now."""
        if what == "command":
            return applying.pid if applying.poll() is None else 0
        folder = FleetFolder(self._home, FLEET)
        if what == "broker":
            server = RedisFiles(folder.path / "redis").running()
            return server.pid if server else 0
        workers = self._workers()
        if what == "desk":
            hosts = folder.state().allocation
            name = next((one for one, nodes in hosts.items() if any(DESK in agents for agents in nodes.values())), "")
            workers = [pid for pid in workers if any(Path(word).stem == name for word in _words_of(pid))]
        return self._chance.choice(workers) if workers else 0

    async def _write(self) -> None:
        async with HiveController.open(self._home, FLEET) as controller:
            for _ in range(self._facts_a_round):
                text, confidence, is_asked = self._fact()
                agent = self._chance.choice(self._agents)
                self._report.author[text] = agent
                with suppress(HiveError, OSError):
                    fields = {"content": text, "source": f"log of {agent}", "confidence": confidence}
                    reply = await controller.call(agent, "store", timeout_s=5, **fields)
                    (self._report.kept if _is_bad(text) else self._report.facts)[reply["fact_id"]] = text
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

    async def _watch(self) -> None:
        """Nobody ever sees what is bad but its author."""
        async with HiveController.open(self._home, FLEET) as controller:
            while True:
                with suppress(HiveError, OSError):
                    await self._look_at(controller, self._chance.choice(self._agents))
                await asyncio.sleep(_LOOK_AGAIN_S)

    async def _look_at(self, controller: HiveController, agent: str) -> set[str]:
        """What an agent finds: all of it listed, and one thing that it must not find searched for."""
        listed = await controller.call(agent, "facts", limit=0, timeout_s=10)
        seen = {fact["fact_id"]: fact["content"] for fact in listed["facts"]}
        if wanted := [text for text, author in self._report.author.items() if _is_bad(text) and author != agent]:
            found = await controller.call(agent, "search", query=self._chance.choice(wanted), timeout_s=10)
            seen |= {hit["fact_id"]: hit["content"] for hit in found["hits"]}
        self._report.looks += 1
        await self._check_seen(agent, {id: text for id, text in seen.items() if self._report.author.get(text) != agent})
        return set(seen.values())

    async def _check_seen(self, agent: str, others: Mapping[str, str]) -> None:
        """Of others it sees nothing bad, and nothing that a person is asked about and did not approve."""
        leaked = [text for text in others.values() if _is_bad(text)]
        self._expect(not leaked, f"{agent} sees {leaked[:3]}")
        asked = {id: text for id, text in others.items() if "euros" in text and id not in self._approved}
        if asked:
            async with ledger_of(self._home, DESK) as ledger:
                views = [await LedgerDesk(ledger).view(id) for id in await LedgerDesk(ledger).ids()]
            self._approved |= {view.item.subject for view in views if view and _was_approved(view)}
        early = [text for id, text in asked.items() if id not in self._approved]
        self._expect(not early, f"{agent} sees before anybody approved it: {early[:3]}")

    async def _look(self, controller: HiveController) -> None:
        """All that is good is seen by everybody, each item was asked once, and a decision takes effect in good time."""
        await super()._look(controller)
        for agent in self._agents:
            await self._look_at(controller, agent)
            async with ledger_of(self._home, agent) as ledger:
                await self._check_items(agent, ledger)
        await self._check_kept(controller)
        if not self._report.violations:
            self._person_leaves()
            for action in (JudgmentAction.ACCEPT, JudgmentAction.ESCALATE):
                self._report.effects_s.append(await self._effect(controller, action))

    async def _check_kept(self, controller: HiveController) -> None:
        """What must not leave its author is there, with the reason."""
        own: dict[str, str] = {}
        for agent in self._agents:
            listed = await controller.call(agent, "facts", limit=0, local=True)
            own |= {fact["fact_id"]: fact["held_back"] for fact in listed["facts"]}
        wrong = [text for id, text in self._report.kept.items() if not own.get(id)]
        self._expect(not wrong, f"their authors have lost these, or do not know why they stay: {wrong[:3]}")

    async def _check_items(self, agent: str, ledger: Ledger) -> None:
        desk, subjects = LedgerDesk(ledger), Counter[tuple[str, str]]()
        for id in await desk.ids():
            entries = await ledger.read(PREFIX + id)
            self._expect(sum(one.kind == OPENED for one in entries) == 1, f"at {agent} item {id} was opened more than once")
            if view := await desk.view(id):
                subjects[view.item.kind, view.item.subject] += 1
        several = [subject for subject, times in subjects.items() if times > 1]
        self._expect(not several, f"at {agent} there are several items about {several[:3]}")
        lost = self._report.asked - {subject for _, subject in subjects} if agent == DESK else set()
        self._expect(not lost, f"nobody was ever asked about {sorted(lost)[:3]}")

    async def _effect(self, controller: HiveController, action: JudgmentAction) -> float:
        """From a decision, with all in order, until another agent sees the fact, or its author knows why nobody does."""
        is_good = action is JudgmentAction.ACCEPT
        text = (GOOD if is_good else BAD)[-1][0].format(len(self._report.author))
        author, other = self._chance.sample(self._agents, 2)
        self._report.author[text] = author
        reply = await controller.call(author, "store", content=text, source=f"log of {author}", confidence=0.9)
        (self._report.facts if is_good else self._report.kept)[reply["fact_id"]] = text
        self._report.asked.add(reply["fact_id"])
        began_s = await self._decided(reply["fact_id"], action)
        while not await self._is_effective(controller, text, author, other):
            if time.monotonic() > began_s + _PATIENCE_S:
                break
            await asyncio.sleep(_POLL_S)
        took_s = time.monotonic() - began_s
        self._expect(took_s <= _EFFECT_WITHIN_S, f"to {action} what {author} said took {took_s:.2f} s until {other} saw it")
        return took_s

    async def _decided(self, subject: str, action: JudgmentAction) -> float:
        """When."""
        give_up_s = time.monotonic() + _PATIENCE_S
        async with ledger_of(self._home, DESK) as ledger:
            desk = LedgerDesk(ledger)
            while not (waiting := [view.item for view in await desk.open() if view.item.subject == subject]):
                if time.monotonic() > give_up_s:
                    self._expect(False, f"within {_PATIENCE_S:g} s nobody is asked about {subject}")
                    return time.monotonic()
                await asyncio.sleep(_POLL_S)
            began_s = time.monotonic()
            await desk.decide(Decision(item=waiting[0].id, action=action, by="olga"))
        return began_s

    async def _is_effective(self, controller: HiveController, text: str, author: str, other: str) -> bool:
        if not _is_bad(text):
            return text in await self._look_at(controller, other)
        listed = await controller.call(author, "facts", limit=0, local=True)
        return any(fact["content"] == text and fact["held_back"] == "olga said no" for fact in listed["facts"])

    def _person_leaves(self) -> None:
        if self._person is not None:
            self._person.kill()
            self._person.wait()


def _is_bad(text: str) -> bool:
    return not any(text.endswith(good.partition("{}")[2]) for good, _ in GOOD)


def _was_approved(view: ItemView) -> bool:
    """Now, or before somebody thought again."""
    said = [one for one in (view.decision, *view.former) if isinstance(one, Decision)]
    return any(one.action is JudgmentAction.ACCEPT for one in said)


def _words_of(pid: int) -> list[str]:
    with suppress(psutil.Error):
        return psutil.Process(pid).cmdline()
    return []


async def storm(seed: int, rounds: int, agents: int, facts: int) -> Report:
    """One storm, in a folder that is gone afterwards."""
    report = Report(seed)
    with tempfile.TemporaryDirectory(prefix="gate-") as folder, GateModel(seed) as model:
        await GateStorm(Path(folder), random.Random(seed), report, model, agents, -(-facts // rounds)).rounds(rounds)
    return report


if __name__ == "__main__":
    sys.exit(main(storm, __doc__, rounds=100, agents=10, facts=1_000))
