"""The promise of search once all is well: a question to any member finds every promised fact once, and says that it is complete.

Answers are checked as they come: ranges, duplicates, how long they took, and that a client reads its own writes.

I10 and I11: once all is well, what is written now wins everywhere, and bears a time that is about now.

A stamp from the far future that is believed anywhere would win for ever.
"""

from collections import Counter
from collections.abc import Callable, Iterator

import msgspec

from hive_mind.hive.effects import Ask, Write
from hive_mind.hive.topology.spec import has_node_per
from hive_mind.model.gathered import Gathered
from hive_mind.sim.faults import MINUTE_MS
from hive_mind.sim.history import Operation
from hive_mind.sim.invariants.checks import members
from hive_mind.sim.invariants.promises import Promises
from hive_mind.sim.invariants.views import assertions_of, node_of, voiced
from hive_mind.sim.machine import START_MS, Machine
from hive_mind.sim.workload import DEADLINE_MS, EVERYTHING, MODERATOR, agents_of, probe
from hive_mind.sim.world import Violation, World

# Hive time may step back a little: a minute is two ten-thousandths of a confidence.
_ROUNDING = 1e-3

# A node decides at its next tick; what it hears from its disk and itself takes a little.
_LATE_MS = 500
# Times the mean: of an exponential distribution one in 10,000 takes nine, and an answer may wait for two writes.
_SYNCS = 20


def check_visible(world: World, promises: Promises, wait: Callable[[int], None]) -> Iterator[Violation]:
    """I1 and P13, as a client sees it. Asks twice: asking changes nothing (I6)."""
    first_answers = [(machine, _ask(world, machine)) for machine in members(world)]
    wait(DEADLINE_MS)
    second_answers = [(machine, _ask(world, machine)) for machine in members(world)]
    wait(DEADLINE_MS)
    expected = _wanted(world, promises)
    redacted, single = promises.redacted(), _with_one_voice(world)
    for machine, operation in (*first_answers, *second_answers):
        yield from _check(world, machine, operation, expected - redacted, redacted)
    for (_, first), (machine, second) in zip(first_answers, second_answers, strict=True) if _is_trustworthy(world) else ():
        yield from _check_faded(machine, first, second, single)


def _ask(world: World, machine: Machine) -> Operation:
    return world.request(machine, Ask(world.history.next_request(), probe(EVERYTHING), DEADLINE_MS))


def _wanted(world: World, promises: Promises) -> set[str]:
    """Promised facts of which an assertion counts at every member that has it: neither its agent nor itself under quarantine."""
    promised = {promise.voice.fact_id for promise in promises.live(world.schedule.now_ms)}
    hidden: set[str] = set()
    visible: set[str] = set()
    for machine in members(world):
        policy = node_of(machine).policy.at(machine.now)
        for _, assertion in assertions_of(machine):
            is_shown = policy.is_visible(assertion) and not policy.is_quarantined(assertion.assertion.fact_id)
            (visible if is_shown else hidden).add(assertion.assertion.fact_id)
    return (promised & visible) - hidden


def _check(
    world: World, machine: Machine, operation: Operation, expected: set[str], redacted: frozenset[str]
) -> Iterator[Violation]:
    outcome = operation.outcome
    if not isinstance(outcome, Gathered):
        yield Violation("every request is answered in time", f"{machine.name} did not answer {operation.event.request}")
        return
    if redacted_shown := redacted & set(outcome.pool.ids):
        yield Violation("I3 redacted is for ever", f"{min(redacted_shown)} is found at {machine.name}")
    if not _is_trustworthy(world):
        return
    if outcome.completeness != 1.0:
        yield Violation("P13 a healed hive is complete", f"{outcome.missing} missing at {machine.name}, silent: {outcome.silent}")
    if lost := expected - set(outcome.pool.ids):
        yield Violation("I1 what was acknowledged is found", f"{min(lost)} is not found at {machine.name}")


def _with_one_voice(world: World) -> set[str]:
    voices = Counter(
        voice.fact_id for voice in {voiced(assertion) for machine in members(world) for _, assertion in assertions_of(machine)}
    )
    return {fact_id for fact_id, count in voices.items() if count == 1}


def _is_trustworthy(world: World) -> bool:
    """Whether no liar is asked: it says what it likes. In a flat hive everybody asks itself."""
    return not world.liar or has_node_per(world.topology.name, "hive")


def _check_faded(machine: Machine, first: Operation, second: Operation, single: set[str]) -> Iterator[Violation]:
    """I6: confidence only falls, and not because somebody asked. With several voices another one may be heard again."""
    if isinstance(first.outcome, Gathered) and isinstance(second.outcome, Gathered):
        before = dict(zip(first.outcome.pool.ids, map(float, first.outcome.evidence.confidence), strict=True))
        for fact_id, confidence in zip(second.outcome.pool.ids, map(float, second.outcome.evidence.confidence), strict=True):
            if fact_id in single and confidence > before.get(fact_id, 1.0) + _ROUNDING:
                yield Violation("I6 confidence fades", f"{fact_id} rose from {before[fact_id]} to {confidence} at {machine.name}")


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


_TRUST = "1.25"
_RATING = '{"good":7,"bad":3,"at_ms":0}'
# A drift, and as much as hive time may be off.
_AHEAD_MS = 5 * MINUTE_MS


def check_fresh(world: World, settle: Callable[[], None]) -> Iterator[Violation]:
    """Write at every member, let them agree, and look whether everybody reads it."""
    writes = dict(_writes(world))
    settle()
    latest_ms = START_MS + world.schedule.now_ms + _AHEAD_MS
    for machine in members(world):
        registry = node_of(machine).registry
        for key, value in writes.items():
            value_read = registry.get(key)
            if value_read != msgspec.json.decode(value):
                yield Violation(
                    "I10 what is written now wins everywhere", f"{key} is {value_read} on {machine.name}, not {value}"
                )
        for entry in registry.entries():
            if entry.key in writes and entry.stamp.ms > latest_ms:
                ahead_ms = entry.stamp.ms - START_MS - world.schedule.now_ms
                yield Violation("I11 logical time is about true time", f"{entry.key} of {entry.by} is {ahead_ms} ms ahead")


def _writes(world: World) -> Iterator[tuple[str, str]]:
    subject, *machines = sorted(members(world), key=lambda machine: machine.name)
    world.request(subject, Write(world.history.next_request(), ((f"trust/{agents_of(subject.name)[0]}", _TRUST),), MODERATOR))
    yield f"trust/{agents_of(subject.name)[0]}", _TRUST
    for machine in machines:
        rater = agents_of(machine.name)[0]
        key = f"rating/{rater}/{agents_of(subject.name)[1]}"
        world.request(machine, Write(world.history.next_request(), ((key, _RATING),), rater))
        yield key, _RATING
