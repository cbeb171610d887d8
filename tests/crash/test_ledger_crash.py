"""Several processes share one ledger: each decision has one winner, and who is killed leaves nothing half.

Two children append to one file and say what is durable; one of them is killed without warning at a random moment while the other
goes on, then that one too. The same file lives through all kills, so that each meets what the ones before left.
`make chaos-store` kills three times as often.
"""

import asyncio
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hive_mind.ledger import sqlite
from hive_mind.model.entry import Entry
from tests.chance import seed_of_this_run
from tests.crash.ledger_writer import ENTRIES_PER_APPEND, entries_of
from tests.servers.forked import Forked

# A child that neither speaks nor dies would hang the test.
CHILD_MAX_S = 60.0
NAMES = ("left", "right")
ITEMS, DECIDERS = 200, 4
KILLS = int(os.environ.get("HIVE_KILLS", "10"))


@contextmanager
def child(path: Path, *words: object) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.crash.ledger_writer", str(path), *map(str, words)]
    with Forked(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        guard = threading.Timer(CHILD_MAX_S, process.kill)
        guard.start()
        try:
            yield process
        finally:
            guard.cancel()
            process.kill()


async def contents(path: Path) -> dict[str, list[Entry]]:
    ledger = await sqlite.open(path)
    try:
        return {head.stream: await ledger.read(head.stream) for head in await ledger.heads("")}
    finally:
        await ledger.close()


async def open_items(path: Path) -> None:
    ledger = await sqlite.open(path)
    for item in range(ITEMS):
        await ledger.append(f"item/{item}", 0, [Entry("opened", b"", 0)])
    await ledger.close()


def test_four_processes_race_for_two_hundred_decisions_and_each_has_one_winner(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    asyncio.run(open_items(path))
    with (
        child(path, "decide", 0, ITEMS) as a,
        child(path, "decide", 1, ITEMS) as b,
        child(path, "decide", 2, ITEMS) as c,
        child(path, "decide", 3, ITEMS) as d,
    ):
        deciders = (a, b, c, d)
        assert [one.stdout.readline() for one in deciders if one.stdout] == ["READY\n"] * DECIDERS
        for one in deciders:
            assert one.stdin is not None
            one.stdin.write("\n")
            one.stdin.flush()
        won = [int(one.stdout.readline().split()[1]) for one in deciders if one.stdout]

    kept = asyncio.run(contents(path))
    winners = [entries[1].body.decode() for entries in kept.values()]
    assert [len(entries) for entries in kept.values()] == [2] * ITEMS
    assert [winners.count(str(name)) for name in range(DECIDERS)] == won
    assert sum(won) == ITEMS


def test_processes_that_make_open_and_close_one_ledger_at_once_are_in_nobodys_way(tmp_path: Path) -> None:
    path, visits = tmp_path / "ledger.sqlite", 40
    with child(path, "visit", 0, visits) as a, child(path, "visit", 1, visits) as b, child(path, "visit", 2, visits) as c:
        ended = [one.wait(CHILD_MAX_S) for one in (a, b, c)]

    assert ended == [0, 0, 0]
    assert {stream: len(entries) for stream, entries in asyncio.run(contents(path)).items()} == {
        f"run/{name}": visits for name in range(3)
    }


def acknowledged(lines: list[str]) -> int:
    return max((int(line.split()[1]) for line in lines if line.startswith("ACK ") and line.endswith("\n")), default=-1)


def until(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline() for _ in range(count)]


def killed(process: subprocess.Popen[str]) -> list[str]:
    process.kill()
    assert process.stdout is not None
    return process.stdout.read().splitlines(keepends=True)


def storm(path: Path, rng: random.Random) -> dict[str, int]:
    """Two writers, one killed after the other; the last append each acknowledged."""
    names = rng.sample(NAMES, 2)
    with child(path, "append", names[0], rng.randrange(1 << 30)) as first, child(path, "append", names[1], 1) as second:
        early = until(first, rng.randrange(1, 60))
        # The moment of the kill is what is tried, so this waits for nothing.
        threading.Event().wait(rng.uniform(0, 0.003))
        early += killed(first)
        late = until(second, rng.randrange(1, 100))
        late += killed(second)
    return {names[0]: acknowledged(early), names[1]: acknowledged(late)}


def last_whole(path: Path, name: str) -> int:
    """The last append that is there; fails when one is there in part."""
    entries = asyncio.run(contents(path)).get(f"run/{name}", [])
    whole = len(entries) // ENTRIES_PER_APPEND
    expected = [(one.kind, one.body) for number in range(whole) for one in entries_of(name, number)]
    assert [(one.kind, one.body) for one in entries] == expected, f"half an append of {name} behind {whole}"
    return whole - 1


def storms(path: Path, seed: int, count: int) -> None:
    last = dict.fromkeys(NAMES, -1)
    for n in range(count):
        told = storm(path, random.Random(seed + n))
        for name in NAMES:
            expected = max(told[name], last[name])
            last[name] = last_whole(path, name)
            assert last[name] >= expected, f"seed {seed + n}: append {expected} of {name} was acknowledged and is lost"
    assert min(last.values()) > 0, f"seed {seed}: a writer never got its turn"


def test_writers_that_share_a_ledger_are_killed_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    storms(tmp_path / "ledger.sqlite", seed_of_this_run(), 3)


@pytest.mark.slow
def test_many_kills_of_writers_that_share_a_ledger_lose_nothing(tmp_path: Path) -> None:
    storms(tmp_path / "ledger.sqlite", seed_of_this_run(), KILLS // 2)
