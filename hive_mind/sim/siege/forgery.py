"""The parts of false messages: facts, removals, registry entries and replies in the names of others.

All of it is well-formed: malformed messages never pass the wire. `seal` makes the seals, good ones or bad ones.
"""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from hive_mind.bus.base import Envelope
from hive_mind.hive.chance import Chance
from hive_mind.hive.policy.seal import Seal, sealed, sealed_entry, sealed_head, sealed_removal
from hive_mind.model.evidence import Assertion, Head, Removal, Sealed, Stamp, actor_id, dot
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import (
    Announce,
    Changes,
    ClockSample,
    Message,
    Receipt,
    RegistryEntry,
    Replicate,
    SyncOffer,
    SyncState,
    SyncStep,
    TakenOver,
)
from hive_mind.sim.faults import YEAR_MS
from hive_mind.sim.workload import FACT_IDS, MODERATOR, STATEMENTS, agents_of

FAR = 1 << 39
_Kind = TypeVar("_Kind", bound=Message)


class Forgery:
    """Made of what was overheard, of which `now_ms` is the time."""

    def __init__(self, chance: Chance, overheard: Sequence[Envelope], now_ms: int, seal: Seal) -> None:
        self._chance, self._overheard, self._now_ms, self._seal = chance, overheard, now_ms, seal

    def message(self, node: str) -> Message:
        """Something false in a node's name."""
        return self._chance.choice((self.facts, self.facts, self.entries, self.receipt, self.removals))(node)

    def facts(self, node: str) -> Message:
        """Facts its agents never asserted, or asserted under another dot or elsewhere, and more heads than it has written."""
        partition, assertion = self._partition(), self._heard_of()
        adds = [self._asserted(node, partition) for _ in range(2)]
        incarnation = self._chance.getrandbits(64).to_bytes(8, "big")
        if assertion is not None:
            moved = dot(actor_id(node, incarnation), self._chance.randrange(1, 9))
            adds += [assertion, Sealed(moved, assertion.assertion, assertion.seal)]
        heads = (sealed_head(self._seal, partition, Head(node, incarnation, FAR)),)
        return self._replicate(Changes(partition, tuple(adds), (), heads))

    def removals(self, node: str) -> Message:
        """Removals of assertions, by their author, by the node, or by the moderator."""
        if (assertion := self._heard_of()) is None:
            return self.entries(node)
        by = self._chance.choice((assertion.assertion.agent, MODERATOR, *agents_of(node)))
        removal = Removal(assertion.assertion.fact_id, (assertion.dot,), by, "retracted", assertion.assertion.stamp)
        partition = self._partition()
        return self._replicate(Changes(partition, (), (sealed_removal(self._seal, partition, removal),)))

    def entries(self, node: str) -> Message:
        """Registry entries for everybody, by the moderator and by agents of the node."""
        chance, agent = self._chance, self._chance.choice(agents_of(node))
        stamp = Stamp(self._now_ms + chance.choice((0, 0, YEAR_MS)), 0, b"forged")
        fact = chance.choice(FACT_IDS)
        forged = (
            RegistryEntry(f"redacted/{fact}", "true", stamp, MODERATOR),
            RegistryEntry(f"retracted/{fact}", "true", stamp, MODERATOR),
            RegistryEntry(f"trust/{agent}", "0.0", stamp, MODERATOR),
            RegistryEntry(f"moderator/{agent}", "true", stamp, MODERATOR),
            RegistryEntry(f"retracted/{fact}/{agent}", "true", stamp, agent),
            RegistryEntry(f"rating/{agent}/{chance.choice(agents_of('n0'))}", '{"good":0,"bad":20,"at_ms":0}', stamp, agent),
        )
        return Announce(tuple(sealed_entry(self._seal, entry) for entry in forged))

    def receipt(self, node: str) -> Message:
        """That it has what it never got."""
        replicated = self._last(Replicate)
        return Receipt(replicated.batch) if replicated is not None else self.entries(node)

    def state(self) -> tuple[str, str, SyncState] | None:
        """To the last offer, in the name of who got it: that all is equal and complete, and another time. From whom, to whom."""
        envelopes = [
            envelope
            for envelope in self._overheard
            if isinstance(envelope.message, SyncOffer) and envelope.target != (envelope.sender,)
        ]
        if not envelopes or not isinstance(offer := envelopes[-1].message, SyncOffer):
            return None
        everything = tuple(summary.partition for summary in offer.summaries)
        wall_ms = self._now_ms + self._chance.choice((-YEAR_MS, YEAR_MS))
        clock = ClockSample(wall_ms, 1, offer.clock.mono_ms)
        incarnation = self._chance.getrandbits(64).to_bytes(8, "big")
        # Of a proof it knows no more than what the offer says.
        taken_over = tuple(TakenOver(summary.partition, summary.live) for summary in offer.summaries)
        state = SyncState(offer.session, incarnation, offer.incarnation, clock, everything, (), everything, (), taken_over)
        return envelopes[-1].target[0], envelopes[-1].sender, state

    def _replicate(self, changes: Changes) -> Replicate:
        return Replicate(f"{self._chance.getrandbits(64):016x}", (changes,))

    def _asserted(self, node: str, partition: str) -> Sealed:
        chance, agent = self._chance, self._chance.choice(agents_of(node))
        statement = chance.choice(STATEMENTS)
        stamp = Stamp(self._now_ms + chance.choice((0, YEAR_MS)), 0, b"forged")
        assertion = Assertion(fact_id(statement.content), agent, agent, 1.0, stamp, statement)
        forgery = sealed(self._seal, partition, dot(actor_id(node, b"forged!!"), chance.randrange(1, FAR)), assertion)
        stolen = self._heard_of()
        return Sealed(forgery.dot, assertion, forgery.seal or chance.choice((b"", bytes(80), stolen.seal if stolen else b"")))

    def _partition(self) -> str:
        partitions = [changes.partition for message in self._messages(Replicate) for changes in message.changes]
        return self._chance.choice([*partitions, *(step.partition for step in self._messages(SyncStep))] or ["all"])

    def _heard_of(self) -> Sealed | None:
        assertions = [add for message in self._messages(Replicate) for changes in message.changes for add in changes.adds]
        assertions += [assertion for step in self._messages(SyncStep) for assertion in step.adds]
        return self._chance.choice(assertions) if assertions else None

    def _messages(self, kind: type[_Kind]) -> Iterable[_Kind]:
        return (envelope.message for envelope in self._overheard if isinstance(envelope.message, kind))

    def _last(self, kind: type[_Kind]) -> _Kind | None:
        return next((envelope.message for envelope in reversed(self._overheard) if isinstance(envelope.message, kind)), None)


def another(chance: Chance, envelope: Envelope, names: Sequence[str], number: int) -> Envelope:
    """A genuine message with one thing about it changed; or not changed at all, which is the same message again."""
    changes: tuple[dict[str, object], ...] = (
        {},
        {"id": f"again{number}"},
        {"target": (chance.choice(names),)},
        {"sender": chance.choice(names)},
        {"correlation_id": "another"},
        {"sent_ms": 1},
        {"seal": envelope.seal[:-1] + bytes([envelope.seal[-1] ^ 1])},
    )
    return msgspec.structs.replace(envelope, **chance.choice(changes))
