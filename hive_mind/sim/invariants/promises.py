"""The promises to clients that must hold in the end: the oracle. Every doubt is in the node's favour, and has its reason.

An acknowledged assertion is live at all holders unless somebody may have taken it back, its time may be over, or a disk was set
back.

I3 for moderators: an assertion made before a moderator took it back is live nowhere in the end, even one its node never had.

Every doubt is in the nodes' favour: a voice that spoke again later, or may have, stays; so does an assertion that the author's
node stamped ahead of the time in a boot that is over, as nobody knows any more when that was said.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hive_mind.hive.effects import Held, Promote, Promotion, Retract, Retracted, Write
from hive_mind.sim.faults import MINUTE_MS
from hive_mind.sim.history import NEVER_MS, Operation, Voice, voice_of
from hive_mind.sim.invariants.views import Place, assertions_of, redacted_by, shares_of, voiced
from hive_mind.sim.workload import MODERATOR
from hive_mind.sim.world import Violation, World

# Hive time may be off by the round trip of a sample and the least step it makes; the prototype needed no more.
TIME_SLACK_MS = 10 * MINUTE_MS


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
        self._taken_back = _by_fact(operations)
        self._redacted = {fact for operation in operations for fact in redacted_by(operation.event)}

    def live(self, now_ms: int) -> Iterator[Promise]:
        for voice, (operation, ends_ms) in self._last_words().items():
            if ends_ms - TIME_SLACK_MS <= now_ms or voice.fact_id in self._redacted or self._may_be_taken_back(voice, operation):
                continue
            yield Promise(voice, tuple(sorted(operation.partitions.get(voice, ()))), operation)

    def dead(self) -> Iterator[tuple[Place, Operation]]:
        """Dots that must never be live again."""
        for operation in self._operations:
            if (
                isinstance(operation.event, Retract)
                and (operation.is_acknowledged or operation.is_unsure)
                and took_back(operation)
            ):
                yield from ((place, operation) for place in sorted(operation.dots))

    def redacted(self) -> frozenset[str]:
        """Facts that must not be seen again."""
        writes = (op for op in self._operations if isinstance(op.event, Write) and op.is_acknowledged and op.outcome)
        return frozenset(fact for operation in writes for fact in redacted_by(operation.event))

    def _last_words(self) -> Mapping[Voice, tuple[Operation, int]]:
        """By voice the last acknowledged promotion, and until when it lasts: later ones in doubt may have made that shorter."""
        words: dict[Voice, tuple[Operation, int]] = {}
        for operation, promotion, outcome in _promotions(self._operations):
            voice, ends_ms = voice_of(promotion), _end(operation, promotion)
            if operation.started_ms < self._stolen.get(operation.node, 0):
                continue
            if outcome is not None and not outcome.refused and operation.is_acknowledged:
                words[voice] = operation, ends_ms
            elif voice in words and not (outcome is not None and outcome.refused):
                words[voice] = words[voice][0], min(words[voice][1], ends_ms)
        return words

    def _may_be_taken_back(self, voice: Voice, last: Operation) -> bool:
        return any(
            (row.over_ms > last.started_ms or self._may_be_stamped_later(row, last))
            for row in self._taken_back.get(voice.fact_id, ())
            if row.by in (voice.agent, MODERATOR)
        )

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


def _end(operation: Operation, promotion: Promotion) -> int:
    return operation.started_ms + promotion.ttl_ms if promotion.ttl_ms else NEVER_MS


def _by_fact(operations: list[Operation]) -> Mapping[str, list[_TakenBack]]:
    rows_by_fact: dict[str, list[_TakenBack]] = {}
    for operation in operations:
        if isinstance(operation.event, Retract):
            row = _TakenBack(
                operation.event.by, operation.node, operation.started_ms, operation.surely_over_ms, operation.ahead_ms
            )
            for fact_id in operation.event.fact_ids:
                rows_by_fact.setdefault(fact_id, []).append(row)
    return rows_by_fact


def took_back(operation: Operation) -> bool:
    """Whether nothing of a retraction was refused."""
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
