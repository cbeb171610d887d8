"""A storm over real processes and a real broker: rounds of faults while agents work, and a look at everything after each.

`python -m tests.chaos.storm --rounds 100 --seed 7` runs one; the same seed brings the same faults, if not the same moments.
"""

import argparse
import asyncio
import random
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hive_mind.errors import BackendError
from tests.chaos.ground import GROUNDS, Ground, opened
from tests.chaos.oracle import Oracle
from tests.contract.agents import NAMES

TOPOLOGIES = ("sharded", "flat", "federated")
CONVERGED_WITHIN_S = 10.0
# What took longer than it may is watched for so long, to tell what comes late from what is lost.
_LOST_AFTER_S = 60.0
_OPERATIONS = 14


@dataclass
class Report:
    """What a storm was like. `converged_s`: of each round, from the end of its fault until everybody saw everything."""

    seed: int
    converged_s: list[float] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def rounds(self) -> int:
        return len(self.converged_s)

    def __str__(self) -> str:
        faults, counts = (", ".join(f"{one[what]} {what}" for what in sorted(one)) for one in (self.faults, self.counts))
        times = sorted(self.converged_s) or [0.0]
        of_them = f"{times[len(times) // 2]:.1f} s, at most {times[-1]:.1f} s after each"
        return f"seed {self.seed}: {self.rounds} rounds: {faults}; {counts}; half had converged within {of_them}"


class Storm:
    """Some rounds over one hive."""

    def __init__(self, ground: Ground, chance: random.Random, report: Report, converged_within_s: float) -> None:
        self._ground, self._chance, self._report = ground, chance, report
        self._converged_within_s = converged_within_s
        self.oracle = Oracle()
        self._number = 0

    async def rounds(self, faults: Sequence[str]) -> None:
        for fault in faults:
            began_s = time.monotonic()
            work = asyncio.create_task(self._work())
            what = await self._ground.happen(fault, self._chance)
            ended_s = time.monotonic()
            # What hangs longer than that counts as not converged.
            took_s, last = await self._converged(max(ended_s, await work), what)
            self._report.converged_s.append(took_s)
            self._report.faults[fault] += 1
            told = f"  {self._report.rounds}: {what}; {ended_s - began_s:.1f} s, then {took_s:.1f} s"
            print(told + (f" ({last})" if last else ""), flush=True)
            if self.oracle.violations:
                break
        self._report.violations += self.oracle.violations
        self._report.counts += self.oracle.counts

    async def _work(self) -> float:
        """Agents store, take back, tell and look, while it storms. When the last of it was begun; all of it is done."""
        tasks = []
        for _ in range(_OPERATIONS):
            name = self._chance.choice(NAMES)
            do = self._chance.choices([self._store, self._retract, self._tell, self._look], [5, 2, 3, 3])[0]
            tasks.append(asyncio.create_task(do(name)))
            await asyncio.sleep(self._chance.uniform(0, 0.25))
        begun_s = time.monotonic()
        await asyncio.gather(*tasks)
        return begun_s

    async def _store(self, name: str) -> None:
        content = f"{self._word('Valve')} was seen by {name}."
        self.oracle.begins_to_store(content)
        if await self._done(name, "store", content=content, confidence=self._chance.choice([0.6, 0.95])) is not None:
            self.oracle.stored(name, content)

    async def _retract(self, name: str) -> None:
        mine = self.oracle.may_retract(name)
        if not mine:
            return
        content = self._chance.choice(mine)
        self.oracle.begins_to_retract(content)
        listed = await self._done(name, "facts", limit=0, local=True)
        ids = [fact["fact_id"] for fact in listed["facts"] if fact["content"] == content] if listed else []
        if listed and not ids:
            self.oracle.violations.append(f"{name} has lost {content!r}, which it acknowledged")
        if ids and await self._done(name, "retract", fact_id=ids[0]) is not None:
            self.oracle.retracted(content)

    async def _tell(self, name: str) -> None:
        to = self._chance.choice(["*", *(other for other in NAMES if other != name)])
        text = self._word("message")
        told = await self._done(name, "tell", to=to, text=text)
        if told is not None:
            self.oracle.was_told(text, told["told"])

    async def _look(self, name: str) -> None:
        before = frozenset(self.oracle.stable)
        listed = await self._done(name, "facts", limit=0)
        if listed is not None:
            self.oracle.saw_during_the_storm(name, before, {fact["content"] for fact in listed["facts"]}, listed["completeness"])

    async def _done(self, name: str, what: str, **fields: object) -> dict[str, Any] | None:
        """What came back; None where nothing did, because the agent ended."""
        try:
            done: dict[str, Any] = await self._ground[name].do(what, timeout_s=90, **fields)
            return done
        except BackendError:
            return None

    async def _converged(self, ended_s: float, what: str) -> tuple[float, str]:
        """Wait until everybody sees everything; how long after the fault that was, and what came last."""
        took_s, last, lacking = await self._until_whole(ended_s, self._converged_within_s)
        if lacking:
            states = {name: await self._ground[name].do("stats") for name in NAMES}
            later_s, _, never = await self._until_whole(ended_s, _LOST_AFTER_S)
            later = f"still {never}" if never else "and all was well"
            self.oracle.violations.append(f"{took_s:.1f} s after {what}: {lacking}; {later} after {later_s:.1f} s; {states}")
        return took_s, last

    async def _until_whole(self, since_s: float, timeout_s: float) -> tuple[float, str, str]:
        """How long it took, what somebody lacked last before that, and what they lack now if the time was too short."""
        last = ""
        while True:
            lacking = "; ".join(filter(None, await asyncio.gather(*(self._lacking(name) for name in NAMES))))
            took_s = time.monotonic() - since_s
            if not lacking or took_s > timeout_s:
                return took_s, last, lacking
            last = lacking
            await asyncio.sleep(0.1)

    async def _lacking(self, name: str) -> str:
        agent = self._ground[name]
        listed = await agent.do("facts", limit=0)
        contents = {fact["content"] for fact in listed["facts"]}
        lacking = self.oracle.lacking(contents, listed["completeness"])
        lacking = lacking or self.oracle.lacking_told(name, await agent.do("told"))
        if not lacking:
            self.oracle.agreed(name, contents)
        return f"{name} {lacking}" if lacking else ""

    def _word(self, kind: str) -> str:
        self._number += 1
        return f"{kind} {self._report.rounds}-{self._number}"


async def storm(
    seed: int, rounds: int, kind: str = "redis", *, only: Sequence[str] = (), converged_within_s: float = CONVERGED_WITHIN_S
) -> Report:
    """So many rounds, dealt out over hives of each topology."""
    chance, report = random.Random(seed), Report(seed)
    all_faults = only or GROUNDS[kind].faults
    # Each at least once, before any comes again.
    dealt = [fault for _ in range(rounds // len(all_faults) + 1) for fault in chance.sample(all_faults, len(all_faults))]
    for number, topology in enumerate(TOPOLOGIES):
        faults = dealt[:rounds][number :: len(TOPOLOGIES)]
        if faults and not report.violations:
            with tempfile.TemporaryDirectory(prefix="storm-") as folder:
                print(f"seed {seed}, {topology} over {kind}", flush=True)
                async with opened(kind, Path(folder), topology) as ground:
                    await Storm(ground, chance, report, converged_within_s).rounds(faults)
                    if report.violations:
                        print(ground.logs(), file=sys.stderr)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--over", choices=list(GROUNDS), default="redis")
    parser.add_argument("--pause-s", type=float, default=30.0, help="the longest that an agent or a broker is paused or cut off")
    parser.add_argument("--only", default="", help="faults to be used, with commas between them; by default all")
    options = parser.parse_args()
    Ground.pause_s = options.pause_s
    report = asyncio.run(storm(options.seed, options.rounds, options.over, only=[one for one in options.only.split(",") if one]))
    print(report)
    for violation in report.violations:
        print(f"BROKEN: {violation}")
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
