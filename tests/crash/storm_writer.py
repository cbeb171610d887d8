"""A process to be killed: writes into a grown memory as fast as it can, and says what is acknowledged.

`python -m tests.crash.storm_writer FILE FACTS SEED` goes on where the last one was killed; "ACK n" says that
write n is durable.
"""

import asyncio
import os
import random
import sys
from dataclasses import replace
from pathlib import Path

from hive_mind.store.sqlite import record
from tests.crash.grown import Grown

# Those it has, and some that bring many checkpoints.
_LOG_PAGES = (record.FORMAT.log_bytes // record.FORMAT.page_bytes, 256, 64)
# A memory that falls asleep writes its log back, too.
_WRITES_BETWEEN_SLEEPS = 300


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


async def main(path: Path, facts: int, seed: int) -> None:
    rng, work = random.Random(seed), Grown(facts)
    record.FORMAT = replace(record.FORMAT, log_bytes=rng.choice(_LOG_PAGES) * record.FORMAT.page_bytes)
    store = await work.open(path)
    done = await work.written(store)

    async def write(number: int) -> None:
        await work.write(store, number)
        say(f"ACK {number}")

    say("OPEN")
    while True:
        # Several at once, so that some share a commit.
        group = range(done + 1, done + rng.choice((1, 1, 4)) + 1)
        await asyncio.gather(*map(write, group))
        done = group[-1]
        if rng.randrange(_WRITES_BETWEEN_SLEEPS) == 0:
            await store.tidy()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
