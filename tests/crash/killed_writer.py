"""A process to be killed: writes into a file as fast as it can, and says what is acknowledged.

`python -m tests.crash.killed_writer KIND FILE SEED` goes on where the last one was killed; "ACK n" says that write n is durable.
KIND is a kind of file, or how many facts a memory had grown to.
"""

import asyncio
import os
import random
import sys
from pathlib import Path

from tests.crash.grown import Grown
from tests.crash.workloads import WORKLOADS


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


async def main(kind: str, path: Path, seed: int) -> None:
    rng, work = random.Random(seed), Grown(int(kind)) if kind.isdecimal() else WORKLOADS[kind]()
    work.with_small_logs(rng)
    opened = await work.open(path)
    done = await work.written(opened)

    async def write(number: int) -> None:
        await work.write(opened, number)
        say(f"ACK {number}")

    say("OPEN")
    while True:
        # Several at once, so that some share a commit.
        group = range(done + 1, done + rng.choice((1, 1, 4)) + 1)
        await asyncio.gather(*map(write, group))
        done = group[-1]
        await work.unrest(opened, path, rng)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
