"""What does it cost to have facts judged by rules before they are shared?

CPU time of storing and sharing facts from one agent to another, on disk, with no judge and with three rules that let all of them
through, by turns in one run; then of one ruling, of the judge's decision in it, and of one pass of the rules alone.

    python -m benchmarks.review [--facts 2000] [--runs 7]
"""

import asyncio
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.conditions import cpu_us
from benchmarks.harness import parser_of
from hive_mind import backends
from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.decision_log import LedgerLog
from hive_mind.agents.judging.fact_judge import FactJudge, names_of
from hive_mind.agents.judging.gate_reviewer import GateReviewer
from hive_mind.embed.none import NoEmbedder
from hive_mind.judge.judgment import JudgeSettings
from hive_mind.judge.pipeline import Case, next_judgment
from hive_mind.judge.rules import EvaluationRule, RulesAtWork, RuleSet
from hive_mind.ledger import Ledger
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.model.content import Candidate
from hive_mind.model.fact import Fact
from hive_mind.runtime.members.fleet import FleetPlan, open_fleet
from hive_mind.runtime.settings import Settings

RULES = RuleSet(
    EvaluationRule.model_validate({"id": id, "condition": condition, "action": action})
    for id, condition, action in (
        ("money", "'euros' in result.text", "escalate"),
        ("rumours", "'rumour' in result.text.lower()", "retry"),
        ("doubtful", "result.confidence < 0.2 and len(result.sources) < 2", "retry"),
    )
)
AT_WORK = RulesAtWork(RULES)
BATCH = 100
BOUND_US, BOUND_SHARE = 10, 0.10


def candidates(facts: int) -> list[Candidate]:
    hours = ("in the morning", "at noon", "in the evening")
    return [
        Candidate(f"Valve {n} of hall {n % 9} was checked {hours[n % 3]} by shift {n % 5}.", "valves", 0.8) for n in range(facts)
    ]


def judge_over(ledger: Ledger) -> FactJudge:
    return FactJudge("ann", None, LedgerLog(ledger))


async def cpu_s(facts: int, *, is_judged: bool) -> float:
    """Until all of them are shared."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = await backends.load("ledger", "memory").open()
        async with await open_fleet(Settings(home=Path(folder)), FleetPlan("flat", ("ann", "ben")), NoEmbedder()) as fleet:
            memory = fleet.memory("ann")
            assert isinstance(memory, DistributedCognitiveMemory)
            if is_judged:
                memory.reviewed_by(
                    GateReviewer("ann", LedgerDesk(ledger), memory.reconsider, lambda: AT_WORK, judge_over(ledger))
                )
            said = candidates(facts)
            started = time.process_time()
            for start in range(0, facts, BATCH):
                await memory.store_facts(said[start : start + BATCH], "log")
            await fleet.settled()
            return time.process_time() - started


def ruling_us(runs: int) -> tuple[float, float, float]:
    """A ruling of the gate, the judge's decision by rules, and the rules alone."""
    fact = Fact("f" * 32, candidates(1)[0].content, "valves", 0.8, ("log",), 0)
    ledger = asyncio.run(backends.load("ledger", "memory").open())

    async def never(fact_ids: object) -> None:
        del fact_ids

    reviewer = GateReviewer("ann", LedgerDesk(ledger), never, lambda: AT_WORK, judge_over(ledger))
    case, settings = Case(names_of(fact, "ann"), kind="fact"), JudgeSettings()
    return (
        cpu_us(lambda: reviewer.ruling(fact), runs),
        cpu_us(lambda: next_judgment(case, RULES, settings), runs),
        cpu_us(lambda: RULES.first(case.names, "fact"), runs),
    )


def main() -> None:
    given = parser_of(__doc__, facts=2000, runs=7).parse_args()
    pairs = []
    for number in range(given.runs):
        order = (False, True) if number % 2 else (True, False)
        took = {is_judged: asyncio.run(cpu_s(given.facts, is_judged=is_judged)) for is_judged in order}
        pairs.append((took[False], took[True]))
    alone, judged = (1e6 * median(some) / given.facts for some in zip(*pairs, strict=True))
    ratio = median(judged / alone for alone, judged in pairs)
    print(f"stored and shared: {alone:.0f} µs CPU a fact; judged by three rules {judged:.0f} µs, × {ratio:.3f}")
    print(f"(wanted: at most × {1 + BOUND_SHARE:.2f})")
    ruling, decision, rules = ruling_us(5000)
    print(f"a decision by rules: {decision:.1f} µs, of which the rules {rules:.1f} µs (wanted: at most {BOUND_US})")
    print(f"a ruling of the gate around it: {ruling:.1f} µs")


if __name__ == "__main__":
    main()
