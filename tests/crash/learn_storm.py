"""`hive-mind learn` takes in a long text over a grown memory and is killed at the first sight of a checkpoint: nothing is lost.

An observer reads, right before the kill, how many facts are kept; from then on they must stay. Learning the same again then comes
to the same end as if nobody had been killed. `python -m tests.crash.learn_storm --kills 100 --seed 7` does it a hundred times.
"""

import random
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from hive_mind.model.fact import Fact, Relation
from hive_mind.store.sqlite import problems
from hive_mind.store.sqlite.reading import RecordReader
from tests.crash import checkpoints
from tests.crash.grown import Grown, base_fact
from tests.crash.store_storm import options, played
from tests.servers.forked import Forked, run

FACTS, LINES = 45_000, 12_000
_AFTER_SIGHT_S = 0.12
_COMMAND_MAX_S = 180.0
# Learning on to the end takes much longer than the rest.
_KILLS_PER_END = 10


@dataclass
class Report:
    """What a storm was like. `ends`: how often the same was learned again, to its end."""

    seed: int
    kills: int = 0
    inside: int = 0
    ends: int = 0
    learned: list[int] = field(default_factory=list)
    """facts that were new when it was killed"""
    violations: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        median = sorted(self.learned)[len(self.learned) // 2] if self.learned else 0
        return (
            f"learn, seed {self.seed}: {self.kills} kills, {self.inside} inside a checkpoint, after {median} new facts (median); "
            f"{self.ends} times learned again to the end; {len(self.violations)} violations"
        )


def storm(seed: int, kills: int, folder: Path, facts: int = FACTS, lines: int = LINES, *, is_told: bool = False) -> Report:
    """So many kills, each of a copy of one memory; stops at the first violation, and leaves the memory in `folder`."""
    report, rng = Report(seed), random.Random(seed)
    base, text = folder / "base.sqlite", folder / "text.txt"
    Grown(facts).grow(base)
    text.write_text("".join(f"Pump {n} of hall {n % 23} was repaired on day {n % 300}.\n" for n in range(lines)))
    for number in range(kills):
        home = folder / f"home-{number}"
        path = home / "agents" / "ada" / "memory.sqlite"
        path.parent.mkdir(parents=True)
        subprocess.run(["cp", "--reflink=auto", base, path], check=True, timeout=100)
        if wrong := _killed(path, home, text, facts, rng, report) or (_ended(path, home, text, facts + lines, report)):
            report.violations.append(f"seed {seed}, kill {number + 1} of {path}: {wrong}")
            break
        subprocess.run(["rm", "-r", home], check=True, timeout=100)
        if is_told and number % 10 == 9:
            print(f"  {report}", flush=True)
    return report


def _killed(path: Path, home: Path, text: Path, facts: int, rng: random.Random, report: Report) -> str:
    """Kill the command; what is wrong then."""
    with Forked(_command(home, text), stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        try:
            is_seen = checkpoints.seen(path, child, time.monotonic() + _COMMAND_MAX_S)
            threading.Event().wait(rng.uniform(0, _AFTER_SIGHT_S))
            with RecordReader(path) as reader:
                acknowledged = reader.last_tick
        finally:
            child.kill()
            said = child.stdout.read() if child.stdout else b""
    assert is_seen, f"no checkpoint was seen in {_COMMAND_MAX_S:g} s, or before the command ended: {said!r}"
    report.kills, report.inside = report.kills + 1, report.inside + checkpoints.was_under_way(path)
    return _judged(path, facts, acknowledged, report)


def _judged(path: Path, facts: int, acknowledged: int, report: Report) -> str:
    if damaged := problems(path):
        return f"damaged: {damaged[:3]}"
    with RecordReader(path) as reader:
        if reader.last_tick < acknowledged:
            return f"the last tick is {reader.last_tick}, somebody saw {acknowledged}"
        kept = {node.id: node.value for node in reader.nodes_since(0) if isinstance(node.value, Fact)}
        derived = Counter(edge.from_id for edge in reader.edges_since(0) if edge.relation is Relation.DERIVES_FROM)
    missing = [number for number in range(facts) if kept.get(f"base {number}") != base_fact(number)]
    new = {id for id in kept if not id.startswith("base ")}
    report.learned.append(len(new))
    half = [id for id in new if derived[id] != 1]
    return f"{len(missing)} old facts are lost, {len(half)} new ones have no source" if missing or half else ""


def _ended(path: Path, home: Path, text: Path, due: int, report: Report) -> str:
    """Learn the same again, now and then; what is wrong then."""
    if report.kills % _KILLS_PER_END != 1:
        return ""
    report.ends += 1
    done = run(_command(home, text), _COMMAND_MAX_S)
    if done.returncode:
        return f"learning it again ended with {done.returncode}: {done.stderr.decode()[-500:]}"
    with RecordReader(path) as reader:
        kept = sum(isinstance(node.value, Fact) for node in reader.nodes_since(0))
    return "" if kept == due else f"{kept} facts instead of {due} after learning the same again"


def _command(home: Path, text: Path) -> list[str]:
    return [sys.executable, "-m", "hive_mind", "learn", str(text), "--agent", "ada", "--home", str(home), "--embed", "none"]


def main() -> int:
    given = options(__doc__, 100).parse_args()
    return played(given.seed, lambda folder: storm(given.seed, given.kills, folder, is_told=True))


if __name__ == "__main__":
    sys.exit(main())
