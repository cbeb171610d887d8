"""A process that shares a ledger with others: decides, or appends until it is killed.

`python -m tests.crash.ledger_writer FILE decide NAME COUNT` decides as many items as nobody else has, once a line comes on its
standard input, and prints the number of those it won. `… FILE append NAME SEED` prints "ACK n" once its n-th append is durable.
`… FILE visit NAME COUNT` opens, appends and closes so many times, as one command after another does.
"""

import asyncio
import os
import random
import sys
from dataclasses import replace
from pathlib import Path

from hive_mind.ledger import Ledger, sqlite
from hive_mind.model.entry import Entry

# A write-back every few dozen appends, so that many of the kills can hit one.
PAGES_BETWEEN_WRITE_BACKS = 40
ENTRIES_PER_APPEND = 5


def body(name: str, number: int, place: int) -> bytes:
    """Of very different lengths, so that some entries have pages of their own."""
    return f"{name}.{number}.{place}|".encode() * (1 + (number * 7 + place * 131) % 400)


def entries_of(name: str, number: int) -> list[Entry]:
    """Append `number`: all of it must be there after a crash, or nothing of it."""
    return [Entry("step", body(name, number, place), number) for place in range(ENTRIES_PER_APPEND)]


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


async def decide(ledger: Ledger, name: str, count: int) -> None:
    say("READY")
    await asyncio.to_thread(sys.stdin.readline)
    won = [await ledger.append(f"item/{item}", 1, [Entry("decided", name.encode(), 0)]) for item in range(count)]
    say(f"WON {won.count(True)}")


async def append(ledger: Ledger, name: str, seed: int) -> None:
    rng = random.Random(seed)
    first = len(await ledger.read(f"run/{name}")) // ENTRIES_PER_APPEND

    async def one(number: int) -> None:
        assert await ledger.append(f"run/{name}", number * ENTRIES_PER_APPEND, entries_of(name, number))
        say(f"ACK {number}")

    say("OPEN")
    for start in range(first, first + 400_000, 4):
        # Several at once, so that some share a commit.
        at_once = 4 if rng.random() < 0.5 else 1
        for some in range(start, start + 4, at_once):
            await asyncio.gather(*(one(number) for number in range(some, some + at_once)))


async def visit(path: Path, name: str, count: int) -> None:
    for number in range(count):
        ledger = await sqlite.open(path, is_shared=True)
        assert await ledger.append(f"run/{name}", number, [Entry("step", body(name, number, 0), number)])
        await ledger.close()


async def main(path: Path, what: str, name: str, number: int) -> None:
    if what == "visit":
        await visit(path, name, number)
        return
    ledger = await sqlite.open(path, is_shared=True)
    await (decide if what == "decide" else append)(ledger, name, number)
    await ledger.close()


if __name__ == "__main__":
    sqlite.FORMAT = replace(sqlite.FORMAT, log_bytes=PAGES_BETWEEN_WRITE_BACKS * sqlite.FORMAT.page_bytes)
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])))
