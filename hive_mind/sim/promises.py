"""The promises to clients that must hold in the end: the oracle. Every doubt is in the node's favour, and has its reason.

An acknowledged assertion is live at all holders unless somebody may have taken it back, its time may be over, or a disk was set
back. I3 for moderators: an assertion made before a moderator took it back is live nowhere in the end, even one its node never
had; a voice that spoke again later, or may have, stays, as does an assertion that the author's node stamped ahead of the time in
a boot that is over, as nobody knows any more when that was said.

Of search once all is well: a question to any member finds every promised fact once, and says that it is complete. Answers are
checked as they come: ranges, duplicates, how long they took, and that a client reads its own writes.

I10 and I11: once all is well, what is written now wins everywhere, and bears a time that is about now. A stamp from the far
future that is believed anywhere would win for ever.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from hive_mind.hive.effects import Ask, Held, Promote, Promotion, Retract, Retracted, Write
from hive_mind.hive.topology.spec import has_node_per
from hive_mind.model.gathered import Gathered
from hive_mind.sim import DEADLINE_MS, EVERYTHING, MINUTE_MS, MODERATOR, agents_of, probe
from hive_mind.sim.history import (
    NEVER_MS,
    Operation,
    Place,
    Voice,
    assertions_of,
    node_of,
    redacted_by,
    shares_of,
    voice_of,
    voiced,
)
from hive_mind.sim.machine import START_MS, Machine
from hive_mind.sim.world import Violation, World

# Hive time may be off by the round trip of a sample and the least step it makes; the prototype needed no more.
TIME_SLACK_MS = 10 * MINUTE_MS


def members(world: World) -> list[Machine]:
    """The machines that must agree: those that belong to the hive, run, and don't lie."""
    return [machine for machine in world.honest() if machine.name in world.topology.nodes]


@dataclass(frozen=True, slots=True)
class Promise:
    """A voice that must be live, in the partitions where it was seen, until some true time."""

    voice: Voice
    partitions: tuple[str, ...]
    operation: Operation


class _TakenBack(NamedTuple):
    by: str
    node: str
    started_ms: int
    over_ms: int
    ahead_ms: int


class Promises:
    """Derived from a history. `forgetful` nodes were set back to a backup, and with it the stamps they had given out.

    `stolen`: nodes whose key somebody else had, and until when. Nothing said by that key is promised.
    """

    def __init__(
        self, operations: list[Operation], *, forgetful: Collection[str] = (), stolen: Mapping[str, int] | None = None
    ) -> None:
        self._operations, self._forgetful, self._stolen = operations, forgetful, stolen or {}
        self._taken_back: dict[str, list[_TakenBack]] = {}
        for operation in operations:
            if isinstance(operation.event, Retract):
                row = _TakenBack(
                    operation.event.by, operation.node, operation.started_ms, operation.surely_over_ms, operation.ahead_ms
                )
                for fact_id in operation.event.fact_ids:
                    self._taken_back.setdefault(fact_id, []).append(row)
        self._redacted = {fact for operation in operations for fact in redacted_by(operation.event)}

    def live(self, now_ms: int) -> Iterator[Promise]:
        for voice, (operation, ends_ms) in self._last_words().items():
            if ends_ms - TIME_SLACK_MS <= now_ms or voice.fact_id in self._redacted:
                continue
            if any(
                row.over_ms > operation.started_ms or self._may_be_stamped_later(row, operation)
                for row in self._taken_back.get(voice.fact_id, ())
                if row.by in (voice.agent, MODERATOR)
            ):
                continue
            yield Promise(voice, tuple(sorted(operation.partitions.get(voice, ()))), operation)

    def dead(self) -> Iterator[tuple[Place, Operation]]:
        for operation in self._operations:
            if (
                isinstance(operation.event, Retract)
                and (operation.is_acknowledged or operation.is_unsure)
                and took_back(operation)
            ):
                yield from ((place, operation) for place in sorted(operation.dots))

    def redacted(self) -> frozenset[str]:
        writes = (op for op in self._operations if isinstance(op.event, Write) and op.is_acknowledged and op.outcome)
        return frozenset(fact for operation in writes for fact in redacted_by(operation.event))

    def _last_words(self) -> Mapping[Voice, tuple[Operation, int]]:
        """By voice the last acknowledged promotion, and until when it lasts: later ones in doubt may have made that shorter."""
        words: dict[Voice, tuple[Operation, int]] = {}
        for operation, promotion, outcome in _promotions(self._operations):
            voice, ends_ms = voice_of(promotion), (operation.started_ms + promotion.ttl_ms if promotion.ttl_ms else NEVER_MS)
            if operation.started_ms < self._stolen.get(operation.node, 0):
                continue
            if outcome is not None and not outcome.refused and operation.is_acknowledged:
                words[voice] = operation, ends_ms
            elif voice in words and not (outcome is not None and outcome.refused):
                words[voice] = words[voice][0], min(words[voice][1], ends_ms)
        return words

    def _may_be_stamped_later(self, row: _TakenBack, last: Operation) -> bool:
        """On another node, with a clock that is a little ahead or quite wrong, what came before may bear the later stamp."""
        if row.node == last.node and last.node not in self._forgetful:
            return False
        apart_ms = last.started_ms + last.ahead_ms - row.over_ms - row.ahead_ms
        return min(apart_ms, last.started_ms - row.over_ms) < TIME_SLACK_MS


def _promotions(operations: list[Operation]) -> Iterator[tuple[Operation, Promotion, Held | None]]:
    for operation in operations:
        if isinstance(operation.event, Promote):
            outcomes: tuple[object, ...] = operation.outcome if isinstance(operation.outcome, tuple) else ()
            answers = outcomes or (None,) * len(operation.event.promotions)
            for promotion, outcome in zip(operation.event.promotions, answers, strict=True):
                yield operation, promotion, outcome if isinstance(outcome, Held) else None


def took_back(operation: Operation) -> bool:
    outcomes = operation.outcome if isinstance(operation.outcome, tuple) else ()
    return bool(outcomes) and all(isinstance(outcome, Retracted) and not outcome.refused for outcome in outcomes)


def check_moderated(world: World) -> Iterator[Violation]:
    """Look at all holders, a day later."""
    moderated = dict(_gone(world))
    for machine in world.honest():
        shares = shares_of(machine) if machine.name in world.topology.nodes else {}
        for partition, assertion in assertions_of(machine) if shares else ():
            request = moderated.get(voiced(assertion))
            if request is not None and shares[partition].is_holder:
                wrong = f"{voiced(assertion)}, said before a moderator's {request}, is live in {partition} of {machine.name}"
                yield Violation("I3 what a moderator took back is gone", wrong)


def _gone(world: World) -> Iterator[tuple[Voice, str]]:
    """Voices that must be silent, and the request that silenced them."""
    operations: dict[Voice, list[Operation]] = {}
    for operation, promotion in world.history.promises():
        operations.setdefault(voice_of(promotion), []).append(operation)
    by_fact: dict[str, list[Operation]] = {}
    for operation, fact_id in _taken_back(world):
        by_fact.setdefault(fact_id, []).append(operation)
    for voice, words in operations.items():
        for by in by_fact.get(voice.fact_id, ()):
            if all(_is_before(world, word, by) for word in words):
                yield voice, by.event.request


def _taken_back(world: World) -> Iterator[tuple[Operation, str]]:
    """The removals of a moderator on a node that knew how late it was, and has not forgotten it."""
    for operation in world.history.operations:
        event = operation.event
        is_known = operation.ahead_ms >= -TIME_SLACK_MS // 2 and operation.node not in world.restored
        if (
            is_known
            and operation.is_acknowledged
            and isinstance(event, Retract)
            and event.by == MODERATOR
            and took_back(operation)
        ):
            yield from ((operation, fact_id) for fact_id in event.fact_ids)


def _is_before(world: World, word: Operation, by: Operation) -> bool:
    """Whether it surely was, and the nodes can tell: by the stamps, or by the author's node, which has run ever since."""
    if word.surely_over_ms + TIME_SLACK_MS > by.started_ms:
        return False
    if word.ahead_ms <= TIME_SLACK_MS // 2:
        return True
    return word.node in world.topology.nodes and world.machines[word.node].boots == word.boot


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
    voices = Counter(
        voice.fact_id for voice in {voiced(assertion) for machine in members(world) for _, assertion in assertions_of(machine)}
    )
    redacted, single = promises.redacted(), {fact_id for fact_id, count in voices.items() if count == 1}
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
