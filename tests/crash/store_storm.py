"""Processes that write into memories are killed, again and again: nothing acknowledged is lost, each opens, no write is half.

Each life begins with a copy of a memory that was closed cleanly and goes through eleven kills, so that the last one meets what
ten left. Most kills wait for the first sight of a checkpoint. `python -m tests.crash.store_storm --kills 1000 --seed 7` runs a
storm; the same seed draws the same kills, if not the same moments.
"""

import argparse
import asyncio
import random
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash import checkpoints
from tests.crash.grown import Grown
from tests.servers.forked import Forked

SIZES = (76, 45_000, 200_000)
KILLS_PER_LIFE = 11
_PASTS = ("closed", "killed once", "killed 2 to 9 times", "killed 10 times")
# Of the kills: the others come at any time, also while the file is being opened.
_AT_A_CHECKPOINT = 0.75
_AFTER_SIGHT_S = (0.0005, 0.004, 0.12)
_AT_ANY_TIME_S = 0.9
# A child that never gets there would hang the storm.
_CHILD_MAX_S = 30.0


@dataclass
class Report:
    """What a storm was like."""

    seed: int
    kills: Counter[tuple[int, str]] = field(default_factory=Counter)
    """by size and what the memory had been through"""
    inside: Counter[int] = field(default_factory=Counter)
    """by size: those inside a checkpoint"""
    writes: int = 0
    """acknowledged"""
    violations: list[str] = field(default_factory=list)

    @property
    def killed(self) -> int:
        return sum(self.kills.values())

    @property
    def killed_inside(self) -> int:
        return sum(self.inside.values())

    def __str__(self) -> str:
        lines = [f"{'facts':>9} " + "".join(f"{past:>21}" for past in _PASTS) + f"{'inside a checkpoint':>21}"]
        for size in sorted({size for size, _ in self.kills}):
            counts = [self.kills[size, past] for past in _PASTS] + [self.inside[size]]
            lines.append(f"{size:>9,} " + "".join(f"{count:>21}" for count in counts))
        told = f"{self.killed} kills, {self.killed_inside} inside a checkpoint; {self.writes} writes acknowledged"
        return "\n".join([*lines, f"seed {self.seed}: {told}, {len(self.violations)} violations"])


def storm(seed: int, kills: int, folder: Path, sizes: Sequence[int] = SIZES, *, is_told: bool = False) -> Report:
    """So many kills at least, the sizes in turn; stops at the first violation, and leaves the memory in `folder`."""
    report, rng = Report(seed), random.Random(seed)
    bases = {size: _base(folder, size) for size in sizes}
    lives = 0
    while report.killed < kills and not report.violations:
        size = sizes[lives % len(sizes)]
        base, grown_at = bases[size]
        path = folder / f"life-{lives}" / "memory.sqlite"
        path.parent.mkdir()
        subprocess.run(["cp", "--reflink=auto", base, path], check=True, timeout=100)
        _live(path, size, grown_at, rng, report)
        lives += 1
        if is_told:
            print(f"  {report.killed} kills, {report.killed_inside} inside a checkpoint", flush=True)
        if not report.violations:
            for file in path.parent.iterdir():
                file.unlink()
    return report


def _base(folder: Path, size: int) -> tuple[Path, int]:
    path = folder / f"{size}.sqlite"
    return path, Grown(size).grow(path)


def _live(path: Path, size: int, grown_at: int, rng: random.Random, report: Report) -> None:
    work, acknowledged = Grown(size), 0
    for number in range(KILLS_PER_LIFE):
        seed = rng.randrange(1 << 30)
        acknowledged = max(acknowledged, _killed(path, size, seed))
        report.inside[size] += checkpoints.was_under_way(path)
        report.kills[size, _past(number)] += 1
        wrong, count = work.judged(path, grown_at, acknowledged)
        if wrong:
            report.violations.append(f"seed {report.seed}, kill {number + 1} of {path} ({size} facts, {seed}): {wrong}")
            return
        # What was seen may not go, either.
        acknowledged = count
    report.writes += acknowledged
    asyncio.run(_written_to_again(work, path, acknowledged + 1))
    wrong, _ = work.judged(path, grown_at, acknowledged + 1)
    report.violations += [f"seed {report.seed}, {path} after its kills: {wrong}"] if wrong else []


async def _written_to_again(work: Grown, path: Path, number: int) -> None:
    store = await work.open(path)
    await work.write(store, number)
    await store.close()


def _past(kills: int) -> str:
    return _PASTS[0 if not kills else 1 if kills == 1 else 2 if kills < KILLS_PER_LIFE - 1 else 3]


def _killed(path: Path, size: int, seed: int) -> int:
    """Run the writer and kill it; the last write it acknowledged."""
    rng, told = random.Random(seed), path.with_name("told")
    command = [sys.executable, "-m", "tests.crash.killed_writer", str(size), str(path), str(seed)]
    with told.open("wb") as out, Forked(command, stdout=out) as child:
        try:
            _wait(path, told, child, rng)
        finally:
            child.kill()
    assert child.returncode == -9, f"the writer ended by itself: {' '.join(command)}"
    lines = told.read_text().split("\n")[:-1]
    return max((int(line.split()[1]) for line in lines if line.startswith("ACK")), default=0)


def _wait(path: Path, told: Path, child: "subprocess.Popen[bytes]", rng: random.Random) -> None:
    """Until it is to be killed: the moment is what is tried."""
    if rng.random() >= _AT_A_CHECKPOINT:
        threading.Event().wait(rng.uniform(0.1, _AT_ANY_TIME_S))
        return
    until = time.monotonic() + _CHILD_MAX_S
    while not told.stat().st_size and child.poll() is None and time.monotonic() < until:
        threading.Event().wait(0.005)
    for _ in range(rng.randint(1, 3)):
        checkpoints.seen(path, child, until)
        threading.Event().wait(rng.uniform(0, rng.choice(_AFTER_SIGHT_S)))


def options(about: str | None, kills: int) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--kills", type=int, default=kills)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    return parser


def played(seed: int, storm_in: Callable[[Path], Any]) -> int:
    """Tells what a storm comes to, and leaves its folder where something is wrong."""
    print(f"seed {seed}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="storm-"))
    report = storm_in(folder)
    print(report)
    for violation in report.violations:
        print(f"VIOLATION {violation}")
    if not report.violations:
        subprocess.run(["rm", "-r", folder], check=True, timeout=100)
    return bool(report.violations)


def main() -> int:
    parser = options(__doc__, 1000)
    parser.add_argument("--sizes", type=lambda text: tuple(map(int, text.split(","))), default=SIZES)
    given = parser.parse_args()
    return played(given.seed, lambda folder: storm(given.seed, given.kills, folder, given.sizes, is_told=True))


if __name__ == "__main__":
    sys.exit(main())
