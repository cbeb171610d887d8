"""What runs cost: CPU of a turn without a model, of a question asked at once and as a run, of taking up a run of 1,000 steps, and
memory and CPU of 1,000 that are parked.

`python -m benchmarks.runs` prints a table; `--output json` the same as JSON.
"""

import asyncio
import gc
import resource
from pathlib import Path
from time import process_time, process_time_ns

from benchmarks.harness import Row, figure, seconds, shown, waits_ms
from hive_mind import backends
from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.performer import RunParts
from hive_mind.agents.runs.run_journal import RunJournal
from hive_mind.judge.items import OPEN_MAX
from hive_mind.ledger import Ledger
from hive_mind.model.content import Content
from hive_mind.model.gathered import Question
from hive_mind.runs.spec import WorkerSpec
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.workers.runs import open_goal_seeking
from hive_mind.tools import Toolbox, ToolContext
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
        spent = [await waits_ms(answered, asked, process_time_ns) for answered in (agent.answer_question, agent.pursue)]
    return sum(spent[0]) / QUESTIONS, sum(spent[1]) / QUESTIONS


async def resume_ms(folder: Path) -> tuple[float, int]:
    """From a closed run to its state, and how many steps that were."""
    ledger = await opened(folder / "turns.sqlite")
    loading = asyncio.ensure_future(RunJournal(ledger, "turns").load())
    spent_s = await seconds(loading)
    await ledger.close()
    return 1e3 * spent_s, loading.result().seq


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


async def measured(folder: Path) -> list[Row]:
    turn = await turn_ms(folder)
    resumed, steps = await resume_ms(folder)
    megabytes, idle = await parked(folder)
    at_once, as_run = await question_ms(folder)
    return [
        figure("a turn without a model, CPU; at most 5", turn, "ms"),
        figure(f"a question to {FACTS:,} facts, at once, CPU; at most 5", at_once, "ms"),
        figure("the same as a run, CPU; at most 25", as_run, "ms"),
        figure(f"a run of {steps:,} steps taken up; at most 100", resumed, "ms"),
        figure(f"{PARKED:,} parked runs; at most 20", megabytes, "MB"),
        figure(f"{PARKED:,} parked runs, CPU; at most 1", idle, "ms/s"),
    ]


if __name__ == "__main__":
    shown(__doc__, measured)
