"""The console with 1,000 agents and 100,000 facts: how long a page takes until it can be used, in a real browser.

    python -m benchmarks.console [--agents 1000] [--facts 100000] [--rounds 5] [--screenshots FOLDER]

The agents are simulated: statuses as twenty processes would give them. The facts are real, in the memory of one agent that a
worker serves over HTTP. From the start of a navigation to the first idle moment after all scripts ran, wall time, in Chromium on
the same machine; the median and the worst of all rounds. `--screenshots` also writes what some pages look like, for the docs.
"""

import asyncio
import random
import statistics
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec

from benchmarks.harness import parser_of
from hive_mind.console import PREFIX
from hive_mind.console.app import console
from hive_mind.console.seen import FleetOverHttp, ProcessSeen
from hive_mind.console.visit import Decisions
from hive_mind.runtime.workers import AgentPhase, AgentStatus, Contact, NodeStatus, WorkerStatus
from hive_mind.runtime.workers.health import serve_worker
from hive_mind.runtime.workers.worker import Worker
from tests.acceptance.chromium import Tab, browser
from tests.unit.runtime.worker_builders import config, running
from tests.waiting import until

TOKEN = "of-this-benchmark"  # noqa: S105 - for this process alone
DESK, PHONE = 1280, 390
PROCESSES, AT_ONCE = 20, 500
PHASES: tuple[AgentPhase, ...] = ("ready", "asleep", "learning", "failed")
GROUPS = ("harbour", "mill", "quarry", "tower")
ASKED = "Which pump in hall 17 was replaced?"
PAGES = {
    "fleet": "/",
    "fleet, searched": "/?q=tower",
    "ask": f"/ask?agent=ada&q={ASKED}",
    "why not": f"/ask/why-not?agent=ada&q={ASKED}&expected=Pump P3 in hall 17",
    "facts": "/facts?agent=ada",
    "facts, page 20": "/facts?agent=ada&page=20",
    "facts, searched": "/facts?agent=ada&q=pump hall 17",
    "fact": "/facts/{fact}?agent=ada",
    "queues": "/queues?agent=ada",
}
SHOWN = {("fleet", DESK), ("why not", DESK), ("fact", PHONE), ("queues", DESK)}
INTERACTIVE = "new Promise(done => { const idle = () => requestIdleCallback(() => done(performance.now())); \
    document.readyState === 'complete' ? idle() : addEventListener('load', idle); })"


class SimulatedFleet(FleetOverHttp):
    """The process that runs, among others that are only told of."""

    def __init__(self, run: Path, agents: int, rng: random.Random) -> None:
        super().__init__(run)
        self._others = [_process(number, agents // PROCESSES, rng) for number in range(PROCESSES)]

    async def processes(self) -> Sequence[ProcessSeen]:
        """All of them."""
        return (*await super().processes(), *self._others)


def _process(number: int, agents: int, rng: random.Random) -> ProcessSeen:
    names = [f"agent-{number * agents + one:04}" for one in range(agents)]
    group = GROUPS[number % len(GROUPS)]
    nodes = tuple(
        NodeStatus(name, group, True, members=tuple(names), silent=_silent(names, rng), lag=rng.randrange(9)) for name in names
    )
    told = tuple(_agent(name, group, rng) for name in names)
    return ProcessSeen(f"town-{number}", WorkerStatus(f"town-{number}", 1, "", "town", "ready", 0, nodes, told))


def _silent(names: Sequence[str], rng: random.Random) -> tuple[str, ...]:
    return tuple(rng.sample(names, 2)) if rng.random() < 0.05 else ()


def _agent(name: str, group: str, rng: random.Random) -> AgentStatus:
    phase: AgentPhase = rng.choices(PHASES, (900, 80, 15, 5))[0]
    error = "the disk is full: 0 bytes free in /var/town" if phase == "failed" else ""
    facts, pending = rng.randrange(200), rng.randrange(3)
    return AgentStatus(name, name, group=group, phase=phase, facts=facts, pending=pending, error=error)


@asynccontextmanager
async def served(folder: Path, agents: int, facts: int, rng: random.Random) -> AsyncIterator[tuple[str, str]]:
    """The address of a link, and the id of a fact."""
    given = config(folder, topology="single")
    run = Path(given.run)
    await asyncio.to_thread(run.mkdir, parents=True)
    async with running(given) as worker:
        below = {PREFIX: console(SimulatedFleet(run, agents, rng), TOKEN, Decisions(None))}
        server = await serve_worker(worker, "127.0.0.1", 0, TOKEN, below)
        (run / "town.json").write_bytes(msgspec.json.encode(Contact("town", 1, 0.0, server.port, TOKEN, "")))
        try:
            await until(lambda: worker.status().is_ready)
            fact = await _filled(worker, facts)
            root, headers = f"http://127.0.0.1:{server.port}", {"Authorization": f"Bearer {TOKEN}"}
            async with aiohttp.ClientSession() as session, session.post(f"{root}{PREFIX}/link", headers=headers) as reply:
                yield root + (await reply.json())["path"], fact
        finally:
            await server.close()


async def _filled(worker: Worker, facts: int) -> str:
    """Learned as texts of some hundred sentences; the id of one of the last."""
    learned: list[str] = []
    for first in range(0, facts, AT_ONCE):
        sentences = (
            f"Pump P{number} in hall {number % 97} was replaced in {1950 + number % 70}."
            for number in range(first, first + AT_ONCE)
        )
        learned = (await worker.call("ada", "learn", text=" ".join(sentences), source=f"log of month {first // AT_ONCE}"))[
            "facts"
        ]
    for text in ("The pump in hall 3 is red.", "The pump in hall 3 is blue."):
        await worker.call("ada", "store", content=text, concept="pump", source="tour of the halls")
    held = (await worker.call("ada", "stats"))["facts"]
    print(f"{held:,} facts", flush=True)
    return learned[-1]


async def measured(tab: Tab, url: str, width: int) -> float:
    """From the start of the navigation to the first idle moment, in ms."""
    await tab.open(url, width=width)
    answer = await tab.call("Runtime.evaluate", expression=INTERACTIVE, awaitPromise=True, returnByValue=True)
    return float(answer["result"]["value"])


async def run(agents: int, facts: int, rounds: int, screenshots: Path | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        async with served(home / "town", agents, facts, random.Random(1)) as (link, fact), browser(home / "chromium") as tab:
            await tab.open(link, width=DESK)
            root = link.partition("/enter/")[0]
            for name, path in PAGES.items():
                url = root + path.format(fact=fact)
                for width in (DESK, PHONE):
                    took = [await measured(tab, url, width) for _ in range(rounds)]
                    print(f"{name:16} {width:5} px  {statistics.median(took):6.0f} ms  worst {max(took):6.0f} ms", flush=True)
                    if screenshots and (name, width) in SHOWN:
                        file = screenshots / f"{name.replace(', ', '-').replace(' ', '-')}-{width}.png"
                        await asyncio.to_thread(file.write_bytes, await tab.picture(full=False))


def main() -> None:
    parser = parser_of(__doc__, agents=1000, facts=100_000, rounds=5)
    parser.add_argument("--screenshots", type=Path, help="folder for what some pages look like")
    options = parser.parse_args()
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    asyncio.run(run(options.agents, options.facts, options.rounds, options.screenshots))


if __name__ == "__main__":
    main()
