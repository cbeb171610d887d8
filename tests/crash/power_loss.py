"""Power fails at any moment of a journal's or a record's life: everything acknowledged is there, no write is there in half.

A real process writes under trace; a model of the disk says what may be left wherever the power fails. Each such history is laid
out as files, opened by the real code, compared with what was acknowledged, and written to again. Two of three lives go on with
what such a failure left. `python -m tests.crash.power_loss --histories 10000 --seed 7` runs so many, half of them of each kind; a
violation names its trace, moment and history, with which the same command looks at it again.
"""

import argparse
import asyncio
import logging
import random
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.crash.disk_model import Disk, Image
from tests.crash.disk_trace import Change, compiled, read_trace
from tests.crash.lives import AFTER_POWER_FAILURE, FIRST, Left, lay_out, live
from tests.crash.traced_writer import ACKNOWLEDGED, BEGUN
from tests.crash.workloads import WORKLOADS, Workload, difference

NOTHING_FORGOTTEN = frozenset[str]()
_HISTORIES_PER_LIFE = 1000
# Often the same is drawn twice.
_DRAWS_PER_HISTORY = 4
# So many of those that lack something are kept for a life to go on with, until the next is.
_GOES_ON = 0.05
# Nothing of it is kept, so memory will do; where there is no such folder, the disk.
_IN_MEMORY = Path("/dev/shm")  # noqa: S108


class Moment(NamedTuple):
    """After change `at` of a trace. The disk goes on with the next moment."""

    at: int
    begun: int
    acknowledged: int
    disk: Disk


@dataclass
class Report:
    """What the histories of one kind were like. `lossy`: in which something that was not synced was lost."""

    kind: str
    seed: int
    histories: int = 0
    lossy: int = 0
    moments: int = 0
    lives: int = 0
    changes: int = 0
    seconds: float = 0.0
    violations: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        pace = 1000 * self.seconds / max(1, self.histories)
        return (
            f"{self.kind}, seed {self.seed}: {self.histories} histories ({self.lossy} with losses) at {self.moments} of "
            f"{self.changes} moments in {self.lives} lives, {pace:.1f} ms each, {len(self.violations)} violations"
        )


def room() -> Path | None:
    """Where to lay out files: in memory if possible."""
    return _IN_MEMORY if _IN_MEMORY.is_dir() else None


def moments(changes: Sequence[Change], forgets: frozenset[str] = NOTHING_FORGOTTEN) -> Iterator[Moment]:
    """Every moment of a trace, in order."""
    disk, begun, acknowledged = Disk(forgets=forgets), 0, 0
    for at, change in enumerate(changes):
        disk.follow(change)
        if change.what == "M":
            word, _, number = change.text.partition(" ")
            begun = max(begun, int(number))
            acknowledged = max(acknowledged, int(number)) if word == ACKNOWLEDGED else acknowledged
        yield Moment(at, begun, acknowledged, disk)


def shares(changes: Sequence[Change], count: int, rng: random.Random) -> list[int]:
    """How many histories to take at each moment: some everywhere, most around syncs, acknowledgements, renames and removals."""
    begins = next(at for at, change in enumerate(changes) if change.what == "M")
    weights = [0.0] * begins + [1.0] * (len(changes) - begins)
    for at, change in enumerate(changes[begins + 1 :], begins + 1):
        if change.what == "S":
            weights[at - 1] += 4
            weights[at] += 2
        elif change.what in "RU" or change.text.startswith((ACKNOWLEDGED, BEGUN)):
            weights[at] += 2
    taken = [0] * len(changes)
    for at in rng.choices(range(len(changes)), weights, k=count):
        taken[at] += 1
    return taken


def image_of(moment: Moment, seed: int, number: int) -> Image:
    """One of the images the disk may hold after a power failure at this moment."""
    return moment.disk.after_power_failure(random.Random(f"{seed}/{moment.at}/{number}"))


def images(moment: Moment, seed: int, count: int) -> Iterator[tuple[int, Image]]:
    """So many different ones, fewer where there are not so many."""
    seen = set[int]()
    for number in range(count * _DRAWS_PER_HISTORY):
        image = image_of(moment, seed, number)
        mark = hash(tuple(sorted(image.items())))
        if mark not in seen:
            seen.add(mark)
            yield number, image
        if len(seen) == count or not moment.disk.is_pending():
            return


async def check(work: Workload, folder: Path, image: Image, moment: Moment) -> str:
    """What is wrong with what is left, "" for nothing."""
    lay_out(folder, image, random.Random(moment.at))
    try:
        opened = await work.open(folder / work.file)
        try:
            return await _judged(work, opened, moment)
        finally:
            await opened.close()
    except Exception as error:  # noqa: BLE001 - whatever it is, the memory is not what it was
        return f"{type(error).__name__}: {error}"
    finally:
        shutil.rmtree(folder)


async def _judged(work: Workload, opened: object, moment: Moment) -> str:
    count, found = await work.found(opened)
    if not moment.acknowledged <= count <= moment.begun:
        return f"{count} writes are there, {moment.acknowledged} were acknowledged, {moment.begun} begun"
    if wrong := difference(found, work.expected(count)):
        return f"after {count} writes: {'; '.join(wrong)}"
    await work.write(opened, count + 1)
    count, found = await work.found(opened)
    wrong = difference(found, work.expected(count))
    return f"written to again: {'; '.join(wrong)}" if wrong else ""


async def play(report: Report, trace: Path, count: int, forgets: frozenset[str] = NOTHING_FORGOTTEN) -> Left | None:
    """`count` histories of one life. What one of them left, for another life to go on with."""
    changes, rng, work = list(read_trace(trace)), random.Random(f"{report.seed}/{trace.name}"), WORKLOADS[report.kind]()
    taken, lossy, began = shares(changes, count, rng), list[Image](), time.monotonic()
    report.lives, report.changes = report.lives + 1, report.changes + len(changes)
    with tempfile.TemporaryDirectory(prefix="power-loss-", dir=room()) as folder:
        home = Path(folder) / "home"
        for moment in moments(changes, forgets):
            report.moments += taken[moment.at] > 0
            for number, image in images(moment, report.seed, taken[moment.at]):
                report.histories += 1
                if image != moment.disk.holds():
                    report.lossy += 1
                    lossy = [image] if rng.random() < _GOES_ON else lossy
                if wrong := await check(work, home, image, moment):
                    where = f"--kind {report.kind} --seed {report.seed} --trace {trace} --moment {moment.at} --history {number}"
                    report.violations.append(f"{wrong} [{where}; after: {changes[moment.at]}]")
        report.seconds += time.monotonic() - began
        return Left(lossy[0], await _writes_in(work, home, lossy[0])) if lossy and not report.violations else None


async def _writes_in(work: Workload, folder: Path, image: Image) -> int:
    lay_out(folder, image)
    opened = await work.open(folder / work.file)
    count, _ = await work.found(opened)
    await opened.close()
    shutil.rmtree(folder)
    return count


async def storm(kind: str, seed: int, count: int, folder: Path, forgets: frozenset[str] = NOTHING_FORGOTTEN) -> Report:
    """`count` different histories of one kind of file, over as many lives as that takes. Their traces stay in `folder`."""
    report, library, left = Report(kind, seed), compiled(folder), None
    while report.histories < count and not report.violations:
        before = left if report.lives % 3 else None
        sessions = AFTER_POWER_FAILURE if before else FIRST
        trace = live(library, folder, kind, seed + report.lives, sessions, before)
        left = await play(report, trace, min(_HISTORIES_PER_LIFE, count - report.histories), forgets)
    return report


async def again(kind: str, seed: int, trace: Path, at: int, history: int, folder: Path) -> str:
    """What was wrong with one history."""
    moment = next(some for some in moments(list(read_trace(trace))) if some.at == at)
    return await check(WORKLOADS[kind](), folder / "home", image_of(moment, seed, history), moment)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=sorted(WORKLOADS), action="append", help="all if not given")
    parser.add_argument("--histories", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--trace", type=Path, help="look at one history again: with --kind, --seed, --moment and --history")
    parser.add_argument("--moment", type=int, default=0)
    parser.add_argument("--history", type=int, default=0)
    given = parser.parse_args()
    # Each torn log is told as a warning.
    logging.disable(logging.WARNING)
    print(f"seed {given.seed}", flush=True)
    folder, kinds = Path(tempfile.mkdtemp(prefix="power-loss-traces-")), given.kind or sorted(WORKLOADS)
    if given.trace:
        violations = [asyncio.run(again(kinds[0], given.seed, given.trace, given.moment, given.history, folder))]
    else:
        violations = []
        for kind in kinds:
            report = asyncio.run(storm(kind, given.seed, given.histories // len(kinds), folder))
            violations += report.violations
            print(report, flush=True)
    for violation in filter(None, violations):
        print(f"VIOLATION {violation}")
    if not any(violations):
        shutil.rmtree(folder)
    return any(violations)


if __name__ == "__main__":
    sys.exit(main())
