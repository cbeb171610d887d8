"""A process to be killed: writes batches of records into a journal and says which are acknowledged.

`python -m tests.crash.journal_writer FILE SEED` prints "ACK n" once write n is durable.
"""

import asyncio
import os
import random
import sys
from dataclasses import replace
from pathlib import Path

from hive_mind.hive.effects import Delete, Put, Record
from hive_mind.journal import sqlite

# A write-back every few dozen writes, so that many of the kills can hit one.
PAGES_BETWEEN_WRITE_BACKS = 40
RECORDS_PER_WRITE = 5
COUNTER = ("meta", b"written")


def key(number: int, place: int) -> bytes:
    return f"{number:06}.{place}".encode()


def value(number: int, place: int) -> bytes:
    """Of very different lengths, so that pages split and some values have pages of their own."""
    return f"{number}.{place}|".encode() * (1 + (number * 7 + place * 131) % 900)


def records_of(number: int) -> list[Record]:
    """Write `number`: all of it must be there after a crash, or nothing of it. It takes a record of the write before."""
    puts = [Put("dots", key(number, place), value(number, place)) for place in range(RECORDS_PER_WRITE)]
    return [*puts, Delete("dots", key(number - 1, 0)), Put(*COUNTER, str(number).encode())]


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


async def main(path: Path, seed: int) -> None:
    rng = random.Random(seed)
    journal = await sqlite.open(path)
    kept = {(put.table, put.key): put.value for put in await journal.load()}
    first = int(kept.get(COUNTER, b"-1")) + 1

    async def write(number: int) -> None:
        await journal.write(records_of(number))
        say(f"ACK {number}")

    say("OPEN")
    for start in range(first, first + 400_000, 4):
        # Several at once, so that some share a commit.
        at_once = 4 if rng.random() < 0.5 else 1
        for some in range(start, start + 4, at_once):
            await asyncio.gather(*(write(number) for number in range(some, some + at_once)))


if __name__ == "__main__":
    sqlite.FORMAT = replace(sqlite.FORMAT, log_bytes=PAGES_BETWEEN_WRITE_BACKS * sqlite.FORMAT.page_bytes)
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
