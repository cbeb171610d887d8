"""What does it take to put a condition to data, and what may the worst one take?

CPU time of rules that mean well, each compiled once and put to one result; then the longest and the largest of all expressions
that mean harm (`tests/unit/goals/attacks.py`), compiled and put to data of a megabyte.

    python -m benchmarks.conditions [--runs 5000]
"""

import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from statistics import median

from benchmarks.harness import cpu_ms, parser_of
from hive_mind.errors import ConditionError
from hive_mind.goals.condition import Condition
from tests.unit.goals.attacks import ALL, DATA

RESULT = {
    "code": "def f():\n    return 1\n" * 20,
    "logs": ["run 1", "run 2"],
    "text": "the api key is in the safe",
    "confidence": 0.4,
    "sources": [],
    "facts": [{"confidence": 0.4}] * 20,
    "error_type": "timeout",
}
# What is looked for in code, logs and outputs; the first two are document 001's, the last goes through a list of twenty.
RULES = (
    "'eval(' in result.get('code', '')",
    "'password' not in str(result.get('logs', ''))",
    "result.get('error_type') == 'timeout'",
    "output.confidence < 0.5 and not output.sources",
    "matches('(?i)password|api[_-]?key', result.get('text', ''))",
    "len([fact for fact in result.get('facts', []) if fact.confidence < 0.5]) > 3",
)
BATCH = 100
BOUND_MS, BOUND_MB = 50, 10


def cpu_us(work: Callable[[], object], runs: int) -> float:
    """The median of batches, since one call is shorter than the clock's step."""
    taken = []
    for _ in range(max(3, runs // BATCH)):
        started = time.process_time_ns()
        for _ in range(BATCH):
            work()
        taken.append((time.process_time_ns() - started) / 1e3 / BATCH)
    return median(taken)


def harm(text: str) -> None:
    with suppress(ConditionError):
        Condition(text).put_to(DATA)


def harm_ms(text: str) -> float:
    return cpu_ms(harm, [text])


def peak_mb(text: str) -> float:
    tracemalloc.start()
    try:
        harm(text)
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def main() -> None:
    runs = parser_of(__doc__, runs=5000).parse_args().runs
    for text in RULES:
        condition = Condition(text)
        compiling = cpu_us(lambda text=text: Condition(text), runs // 10)  # type: ignore[misc]
        match = cpu_us(lambda: condition.holds(result=RESULT, output=RESULT), runs)  # noqa: B023 - measured at once
        print(f"{text:78} match {match:6.1f} µs CPU   compile {compiling:6.0f} µs")
    harm("1 == 1")
    slowest, largest = (max((measure(text), text) for text in ALL) for measure in (harm_ms, peak_mb))
    print(f"\nof {len(ALL)} attacks: longest {slowest[0]:.1f} ms CPU (bound {BOUND_MS}): {slowest[1][:60]}")
    print(f"largest {largest[0]:.1f} MB (bound {BOUND_MB}): {largest[1][:60]}")


if __name__ == "__main__":
    main()
