"""What runs cost: CPU of a turn without a model, of a question asked at once and as a run, of taking up a run of 1,000 steps, and
memory and CPU of 1,000 that are parked.

`python -m benchmarks.runs` prints a table; `--output json` the same as JSON.
"""

import asyncio
import gc
import resource
import tempfile
from pathlib import Path
from time import perf_counter, process_time

from benchmarks.harness import Row, parser_of, show
from hive_mind import backends
from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.performer import RunParts
from hive_mind.agents.runs.run_journal import RunJournal
from hive_mind.judge.items import OPEN_MAX
from hive_mind.ledger.base import Ledger
from hive_mind.model.content import Content
from hive_mind.model.gathered import Question
from hive_mind.runs.spec import WorkerSpec
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.workers.runs import open_goal_seeking
from hive_mind.tools.base import Toolbox, ToolContext
from hive_mind.tools.functions import tool

ROUNDS, PARKED, FACTS, QUESTIONS = 200, 1_000, 1_000, 100

LOOP = WorkerSpec.model_validate(
    {
        "id": "round",
        "entry": "count",
        "nodes": [{"id": "count", "kind": "tool", "tool": "count", "outputs": ["number"], "visits": ROUNDS}],
        "edges": [{"source": "count", "target": "count", "on": "condition", "when": f"output.number < {ROUNDS}"}],
        "context": "isolated",
    }
)
TALK = WorkerSpec.model_validate(
    {"id": "talk", "entry": "talk", "nodes": [{"id": "talk", "kind": "person", "prompt": "Go on?", "outputs": ["word"]}]}
)


def parts_over(ledger: Ledger, folder: Path | None, agent: str = "bench") -> RunParts:
    """An agent whose only tool counts."""
    counted = iter(range(1, 1_000_000))

    @tool
    async def count(context: ToolContext) -> int:
        """The next number."""
        del context
        return next(counted)

    return RunParts(agent, ledger, lambda *_: Toolbox([count]), folder=folder)


async def opened(path: Path) -> Ledger:
    ledger: Ledger = await backends.load("ledger", "sqlite").open(path, False)
    return ledger


async def turn_ms(folder: Path) -> float:
    """CPU of one turn: a call, its result as a file, its judgement, the edge; durable steps in between."""
    ledger = await opened(folder / "turns.sqlite")
    executor = RunExecutor("turns", parts_over(ledger, folder))
    await executor.start(LOOP, {})
    start = process_time()
    state = await executor.drive()
    spent = (process_time() - start) * 1e3
    assert (state.outcome, len(state.done)) == ("accepted", ROUNDS), state.reason
    await ledger.close()
    return spent / ROUNDS


async def question_ms(folder: Path) -> tuple[float, float]:
    """CPU of a question that is answered at once, and of the same one as a run whose steps are durable."""
    settings = Settings(home=folder / "asked", embed="none")
    async with open_goal_seeking(settings, "bench") as agent:
        text = "\n".join(f"Pump {number} of hall {number % 7} has a pressure of {number} bar." for number in range(FACTS))
        await agent.learn_from_content(Content(text, "log"))
        asked = [Question(f"Which pressure has pump {number}?") for number in range(QUESTIONS)]
        spent = []
        for answered in (agent.answer_question, agent.pursue):
            start = process_time()
            for one in asked:
                await answered(one)
            spent.append((process_time() - start) * 1e3 / len(asked))
    return spent[0], spent[1]


async def resume_ms(folder: Path) -> tuple[float, int]:
    """From a closed run to its state, and how many steps that were."""
    ledger = await opened(folder / "turns.sqlite")
    start = perf_counter()
    state = await RunJournal(ledger, "turns").load()
    spent = (perf_counter() - start) * 1e3
    await ledger.close()
    return spent, state.seq


async def parked(folder: Path) -> tuple[float, float]:
    """Megabytes and CPU milliseconds per second that parked runs cost a process which has them."""
    ledger = await opened(folder / "parked.sqlite")
    for number in range(3):
        await _park(parts_over(ledger, None, "warm"), f"warm{number}")
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(PARKED):
        # An agent may have so many open questions.
        await _park(parts_over(ledger, None, f"bench{number // OPEN_MAX}"), f"p{number}")
    gc.collect()
    megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    start = process_time()
    await asyncio.sleep(2)
    spent = (process_time() - start) * 1e3 / 2
    await ledger.close()
    return megabytes, spent


async def _park(parts: RunParts, name: str) -> None:
    executor = RunExecutor(name, parts)
    await executor.start(TALK, {})
    assert (await executor.drive()).is_waiting


async def measured() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        turn = await turn_ms(folder)
        resumed, steps = await resume_ms(folder)
        megabytes, idle = await parked(folder)
        at_once, as_run = await question_ms(folder)
    return [
        {"what": "a turn without a model, CPU ms", "measured": round(turn, 2), "at most": 5.0},
        {"what": f"a question to {FACTS:,} facts, at once, CPU ms", "measured": round(at_once, 2), "at most": 5.0},
        {"what": "the same as a run, CPU ms", "measured": round(as_run, 2), "at most": 25.0},
        {"what": f"a run of {steps:,} steps taken up, ms", "measured": round(resumed, 1), "at most": 100.0},
        {"what": f"{PARKED:,} parked runs, MB", "measured": round(megabytes, 1), "at most": 20.0},
        {"what": f"{PARKED:,} parked runs, CPU ms per s", "measured": round(idle, 1), "at most": 1.0},
    ]


def main() -> None:
    """Measure and print."""
    output = parser_of(__doc__, "output").parse_args().output
    show(asyncio.run(measured()), output, lambda row: f"{row['what']:45} {row['measured']:>8} (at most {row['at most']:g})")


if __name__ == "__main__":
    main()
