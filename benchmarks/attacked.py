"""How long honest members take to answer while a stranger floods their bus with forged messages, beside the same without.

Three members of a sharded hive, each fact on one of them, over a Redis server of our own; so every question is put to the others.
They prove who they are (`identity: require`). The stranger is a process of its own; it says all that a hive of its own says
which believes everybody, unsigned, that many times a second. Both are measured in turn.

    python -m benchmarks.attacked [--questions 200] [--rounds 3] [--rates 100,500] [--json FILE]
"""

import argparse
import asyncio
import itertools
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles

import msgspec

from benchmarks.bus_brokers import bus_at
from benchmarks.harness import parser_of, told, waits_ms
from benchmarks.hive import Prose, promotions
from benchmarks.identity import members, shared
from hive_mind.runtime.members import MemberPlan
from hive_mind.runtime.members.member import RunningMember
from tests.attacking import addressed, said_in_a_twin
from tests.servers.redis_server import RedisServer

NAMES, HIVE, FACTS = ("ada", "bob", "cleo"), "attacked", 1_000
_PERIOD_S = 0.05


async def attack(url: str, rate: int) -> None:
    """For ever, until this process is ended."""
    with tempfile.TemporaryDirectory() as folder:
        said = itertools.cycle(addressed(await said_in_a_twin(Path(folder), *NAMES), HIVE, NAMES))
    bus = await bus_at(url)
    for number in itertools.count():
        some = [
            msgspec.structs.replace(one, id=f"{number}.{at}")
            for at, one in zip(range(round(rate * _PERIOD_S)), said, strict=False)
        ]
        since = time.monotonic()
        await bus.publish(some, timeout_s=30)
        await asyncio.sleep(max(0.0, _PERIOD_S - (time.monotonic() - since)))


def plan_of(name: str, url: str) -> MemberPlan:
    return MemberPlan(name, url, hive=HIVE, topology="sharded", replicas=1, members=NAMES, partitions=64)


async def asked(member: RunningMember, questions: int) -> tuple[list[float], int]:
    """Milliseconds of each question; and how many answers were not complete."""
    shares = list[float]()

    async def ask(number: int) -> None:
        shares.append((await member.memory.search_facts(Prose(number).words(4)[0], 5)).completeness)

    return await waits_ms(ask, range(questions)), sum(share < 1.0 for share in shares)


async def measured(url: str, folder: Path, rates: Sequence[int], questions: int, rounds: int) -> list[dict[str, float]]:
    times: dict[int, list[float]] = {rate: [] for rate in (0, *rates)}
    partial, refused = dict.fromkeys(times, 0), dict.fromkeys(times, 0.0)
    async with members(folder, [plan_of(name, url) for name in NAMES], is_proven=True) as found:
        await shared(found, promotions(Prose(1), "ada", FACTS, with_vectors=False))
        await asked(found[-1], 20)
        for _ in range(rounds):
            for rate, so_far in times.items():
                stranger = await started(url, rate) if rate else None
                before, since = unproven(found), time.monotonic()
                if rate:
                    while unproven(found) == before:  # noqa: ASYNC110
                        await asyncio.sleep(0.02)
                    before, since = unproven(found), time.monotonic()
                some, silent = await asked(found[-1], questions)
                so_far += some
                partial[rate] += silent
                refused[rate] += (unproven(found) - before) / (time.monotonic() - since) / rounds
                if stranger is not None:
                    stranger.kill()
                    await stranger.wait()
    return [
        {"a second": rate, "refused a second": refused[rate], "p50 ms": cuts[49], "p99 ms": cuts[98], "partial": partial[rate]}
        for rate, some in times.items()
        if (cuts := quantiles(some, n=100))
    ]


def unproven(found: Sequence[RunningMember]) -> int:
    return sum(sum(one.runner.figures.unproven.values()) for one in found)


async def started(url: str, rate: int) -> asyncio.subprocess.Process:
    command = (sys.executable, "-m", "benchmarks.attacked", "--attack", url, "--rates", str(rate))
    return await asyncio.create_subprocess_exec(*command, stdout=DEVNULL)


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    parser = parser_of(__doc__, "json", questions=200, rounds=3)
    parser.add_argument("--rates", default="100,500", help="messages of the stranger a second")
    parser.add_argument("--attack", default="", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    rates = [int(one) for one in given.rates.split(",")]
    if given.attack:
        asyncio.run(attack(given.attack, rates[0]))
        return
    with RedisServer() as server, tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(measured(server.url, Path(folder), rates, given.questions, given.rounds))
    told(rows, given.json)


if __name__ == "__main__":
    main(sys.argv[1:])
