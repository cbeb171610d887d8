"""Power fails at any moment of a journal's or a record's life: everything acknowledged is there, no write is there in half.

A real process writes under trace; a model of the disk says what may be left wherever the power fails, and each such history is
laid out as files, opened by the real code, compared with what was acknowledged, and written to again.
`python -m tests.crash.power_loss --histories 10000 --seed 7` runs so many, half of them of each kind. A violation names the seed,
the moment and the history; `--trace FILE --moment K --history N` looks at it again.
"""

import random
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from hive_mind.errors import HiveError
from tests.crash.disk_model import Disk, Image
from tests.crash.disk_trace import Change, compiled, read_trace, run_traced
from tests.crash.traced_writer import ACKNOWLEDGED, BEGUN
from tests.crash.workloads import WORKLOADS, Workload, difference

# How many writes, and what then: killed at any change, or where everything was written and nothing synced; and opened again.
_SESSIONS = ((12, "close"), (30, "die"), (18, "close"), (9, "unsynced"), (3, "unsynced"), (20, "die"), (1, "die"), (14, "close"))
# So many histories are taken of one trace; then another seed draws another.
_HISTORIES_PER_TRACE = 1000
_DRAWS = 4
# The files are never synced for good, so memory will do; where there is no such folder, the disk.
_IN_MEMORY = Path("/dev/shm")  # noqa: S108


class Moment(NamedTuple):
    """After change `at` of a trace."""

    at: int
    begun: int
    acknowledged: int
    disk: Disk


@dataclass
class Report:
    """What the histories of one kind were like. `moments`: how many different ones."""

    kind: str
    seed: int
    histories: int = 0
    lossy: int = 0
    """in which something that was not synced was lost"""
    moments: int = 0
    traces: int = 0
    changes: int = 0
    seconds: float = 0.0
    violations: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        pace = 1000 * self.seconds / max(1, self.histories)
        return (
            f"{self.kind}, seed {self.seed}: {self.histories} histories ({self.lossy} with losses) at {self.moments} moments of "
            f"{self.changes} changes in {self.traces} traces, {pace:.1f} ms each, {len(self.violations)} violations"
        )


def room() -> Path | None:
    """Where to lay out files: in memory if possible."""
    return _IN_MEMORY if _IN_MEMORY.is_dir() else None


def make_trace(library: Path, folder: Path, kind: str, seed: int) -> tuple[Path, int]:
    """Several lives of one file: the trace, and the inode of the folder it begins with. Fails where the trace lacks something."""
    home, trace = folder / "home", folder / f"{kind}-{seed}.trace"
    home.mkdir()
    for number, (writes, end) in enumerate(_SESSIONS):
        command = ["-m", "tests.crash.traced_writer", kind, str(home), f"{seed}{number}", str(writes), end]
        code = run_traced(library, home, trace, command)
        assert code == (0 if end == "close" else -9), f"the writer ended with {code}: {' '.join(command)}"
    root = home.stat().st_ino
    disk = Disk(root)
    for change in read_trace(trace):
        disk.follow(change)
    assert disk.holds() == _files(home), "the trace lacks a change"
    shutil.rmtree(home)
    return trace, root


def _files(folder: Path) -> Image:
    paths = (path for path in folder.rglob("*") if not path.name.endswith("-shm"))
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in paths}


def moments(changes: Sequence[Change], root: int, forgets: frozenset[str] = frozenset()) -> Iterator[Moment]:
    """Every moment of a trace; the disk goes on with the next one."""
    disk, begun, acknowledged = Disk(root, forgets=forgets), 0, 0
    for at, change in enumerate(changes):
        disk.follow(change)
        if change.what == "M":
            word, _, number = change.text.partition(" ")
            begun = max(begun, int(number)) if word == BEGUN else begun
            acknowledged = max(acknowledged, int(number)) if word == ACKNOWLEDGED else acknowledged
        yield Moment(at, begun, acknowledged, disk)


def shares(changes: Sequence[Change], count: int, rng: random.Random) -> list[int]:
    """How many histories to take at each moment: some everywhere, most right before and after a sync or an acknowledgement."""
    weights = [1.0] * len(changes)
    for at, change in enumerate(changes):
        if change.what == "S":
            weights[max(0, at - 1)] += 4
            weights[at] += 2
        elif change.text.startswith(ACKNOWLEDGED) or change.what in "RU":
            weights[at] += 2
    taken = [0] * len(changes)
    for at in rng.choices(range(len(changes)), weights, k=count):
        taken[at] += 1
    return taken


def histories(moment: Moment, seed: int, count: int) -> Iterator[tuple[int, Image]]:
    """So many different images the disk may hold after a power failure at this moment, fewer where there are not so many."""
    seen = set[int]()
    for number in range(count * _DRAWS):
        image = moment.disk.after_power_failure(random.Random(f"{seed}/{moment.at}/{number}"))
        mark = hash(tuple(sorted(image.items(), key=lambda item: item[0])))
        if mark not in seen:
            seen.add(mark)
            yield number, image
        if len(seen) >= count or not moment.disk.is_pending():
            return


async def check(work: Workload, folder: Path, image: Image, moment: Moment) -> str:
    """What is wrong with what is left, "" for nothing."""
    _lay_out(folder, image, random.Random(moment.at))
    path = folder / work.file
    try:
        opened = await work.open(path)
        try:
            return await _judged(work, opened, moment)
        finally:
            await opened.close()
    except (HiveError, AssertionError) as error:
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


def _lay_out(folder: Path, image: Image, rng: random.Random) -> None:
    folder.mkdir()
    for path, content in image.items():
        if content is None:
            (folder / path).mkdir()
            continue
        (folder / path).write_bytes(content)
        # Mapped memory that was on its way to the disk; SQLite must not believe it.
        if path.endswith("-wal") and rng.random() < 0.3:
            (folder / (path.removesuffix("-wal") + "-shm")).write_bytes(rng.randbytes(32_768))


async def play(
    report: Report, changes: Sequence[Change], root: int, count: int, *, trace: Path, forgets: frozenset[str] = frozenset()
) -> None:
    """`count` histories of one trace."""
    rng, work = random.Random(f"{report.seed}/{trace.name}"), WORKLOADS[report.kind]()
    taken = shares(changes, count, rng)
    report.traces, report.changes = report.traces + 1, report.changes + len(changes)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="power-loss-", dir=room()) as folder:
        for moment in moments(changes, root, forgets):
            report.moments += bool(taken[moment.at])
            for number, image in histories(moment, report.seed, taken[moment.at]) if taken[moment.at] else ():
                report.histories += 1
                report.lossy += image != moment.disk.holds()
                if wrong := await check(work, Path(folder) / "home", image, moment):
                    where = f"--seed {report.seed} --moment {moment.at} --history {number} --kind {report.kind} --trace {trace}"
                    report.violations.append(f"{wrong} [{where}; after: {changes[moment.at]}]")
    report.seconds += time.monotonic() - began


async def storm(kind: str, seed: int, count: int, folder: Path, forgets: frozenset[str] = frozenset()) -> Report:
    """`count` different histories of one kind of file, over as many traces as that takes. Traces stay in `folder`."""
    report, library = Report(kind, seed), compiled(folder)
    while report.histories < count and not report.violations:
        trace, root = make_trace(library, folder, kind, seed + report.traces)
        share = min(_HISTORIES_PER_TRACE, count - report.histories)
        await play(report, list(read_trace(trace)), root, share, trace=trace, forgets=forgets)
    return report
