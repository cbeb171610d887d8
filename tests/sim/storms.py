"""Runs for tests: one seed, or one with weather of its own; a failure says which command repeats it."""

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random

from hive_mind.cli.simulate import repeat_command
from hive_mind.sim import FAULTS, SIGNED, parse
from hive_mind.sim.run import OPERATIONS, Run, SimulationPlan, SimulationReport, run

ALL = parse("all")
TRUSTING = ",".join(name for name in FAULTS if name not in SIGNED)
"""What befalls a hive whose members all mean well, and prove nothing."""
# What a continuous run can afford: the storm is shorter than by default, what follows it is the same.
OPERATIONS_IN_TESTS = 60
# Always the same seeds, so that a change is judged by what it changes. See the Makefile's `soak` for many more, and new ones:
# what `test_seeds` keeps of those that broke a promise was found beyond the first five hundred.
COUNT = int(os.environ.get("HIVE_SEEDS", "5"))
MUTANT_SEEDS_MAX = 500
# Few for each test, so that no process is the last to end by much.
SEEDS = [range(start, min(start + 5, COUNT)) for start in range(0, COUNT, 5)]


def calm_or_storm(topology: str, seed: int, faults: str = "all", operations: int = OPERATIONS) -> SimulationReport:
    return run(SimulationPlan(topology, seed, parse(faults), operations), Random)


def with_weather(topology: str, seed: int, faults: str = "all", operations: int = OPERATIONS, **weather) -> SimulationReport:
    """A run whose weather is set rather than drawn."""
    one = Run(SimulationPlan(topology, seed, parse(faults), operations), Random)
    one.world.weather = one.world.network.weather = replace(one.world.weather, **weather)
    return one.report()


def storm(topology: str, faults: str, operations: int = OPERATIONS_IN_TESTS, first: int = 0, **weather) -> Callable[[], str]:
    """What breaks first in storms of one kind; `first` is a seed that has shown it, so that nobody waits for it."""

    def found() -> str:
        for seed in (*range(first, MUTANT_SEEDS_MAX), *range(first)):
            report = with_weather(topology, seed, faults, operations, **weather)
            if report.violation is not None:
                return f"{report.violation.invariant} (seed {seed})"
        return ""

    return found


def first_violation(topology: str, seeds: Iterable[int], operations: int = OPERATIONS, faults: str = "all") -> str:
    """What is broken first and how to repeat it, "" if nothing is."""
    for seed in seeds:
        report = calm_or_storm(topology, seed, faults, operations)
        if report.violation is not None:
            return f"{report.violation.invariant}: {report.violation.what}\n  again: {repeat_command(report, faults)}"
    return ""
