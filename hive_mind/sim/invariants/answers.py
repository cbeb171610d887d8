"""Checks of answers as they come: ranges, duplicates, how long they took, and that a client reads what it wrote."""

from collections.abc import Iterator

from hive_mind.hive.effects import Ask
from hive_mind.model.gathered import Gathered
from hive_mind.sim.history import Operation
from hive_mind.sim.world import Violation, World

# A node decides at its next tick; what it hears from its disk and itself takes a little.
_LATE_MS = 500
# Times the mean: of an exponential distribution one in 10,000 takes nine, and an answer may wait for two writes.
_SYNCS = 20


def check_answer(operation: Operation) -> Iterator[Violation]:
    """I4, I5 of one answer to a question."""
    outcome = operation.outcome
    if not isinstance(operation.event, Ask) or not isinstance(outcome, Gathered):
        return
    ids, evidence = outcome.pool.ids, outcome.evidence
    if len(set(ids)) != len(ids):
        yield Violation("I4 no fact is found twice", f"{len(ids) - len(set(ids))} of {operation.event.request}")
    for name, column, most in (("confidence", evidence.confidence, 1.0), ("trust", evidence.trust, 1.0)):
        if len(column) and not (float(column.min()) >= 0.0 and float(column.max()) <= most):
            yield Violation("I5 evidence is within its range", f"{name} {column.min()} to {column.max()}")
    if not 0.0 <= outcome.completeness <= 1.0:
        yield Violation("P13 completeness is a share", f"{outcome.completeness}")


def check_unanswered(world: World) -> Iterator[Violation]:
    """A client of a node that ran all the time has an answer by the deadline."""
    for operation in world.history.open():
        machine = world.machines[operation.node]
        if machine.node is None or machine.boots != operation.boot or world.was_held_up(machine, operation.started_ms):
            continue
        wait_ms = world.schedule.now_ms - operation.started_ms
        deadline_ms = operation.event.deadline_ms if isinstance(operation.event, Ask) else 0
        if wait_ms > deadline_ms * 1.1 + _LATE_MS + _SYNCS * world.weather.sync_ms:
            yield Violation("every request is answered in time", f"{operation.event.request} waits for {wait_ms} ms")
