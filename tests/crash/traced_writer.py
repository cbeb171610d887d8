"""A process under trace: writes into a file of ours, marks what it began and what is acknowledged, closes or is killed.

`python -m tests.crash.traced_writer KIND HOME SEED WRITES close|die|unsynced` goes on where the last one stopped.
"""

import asyncio
import random
import sys
from pathlib import Path

from tests.crash.disk_trace import die_in, die_unsynced, mark
from tests.crash.workloads import WORKLOADS

BEGUN, ACKNOWLEDGED = "begun", "acknowledged"
# Of a small one, at least.
_CHANGES_OF_A_WRITE = 12


async def main(kind: str, home: Path, seed: int, writes: int, end: str) -> None:
    rng = random.Random(seed)
    work = WORKLOADS[kind]()
    work.with_small_logs(rng)
    path = home / work.file
    opened = await work.open(path)
    done, _ = await work.found(opened)
    # Who has seen it builds on it.
    mark(f"{ACKNOWLEDGED} {done}")

    async def write(number: int) -> None:
        mark(f"{BEGUN} {number}")
        await work.write(opened, number)
        mark(f"{ACKNOWLEDGED} {number}")

    last = done + writes
    while done < last or end != "close":
        if done >= last:
            # In the middle of some write that comes now.
            die_in(rng.randint(1, _CHANGES_OF_A_WRITE)) if end == "die" else die_unsynced()
            last, end = done + _CHANGES_OF_A_WRITE, "close"
        # Several at once, so that some share a commit.
        group = range(done + 1, min(last, done + rng.choice((1, 1, 1, 2, 4))) + 1)
        await asyncio.gather(*map(write, group))
        done = group[-1]
        await work.unrest(opened, path, rng)
    await opened.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]))
