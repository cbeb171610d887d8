"""A member that lies: it knows the protocol, holds the keys of its own agents and nobody else's, and wants others to lose facts.

It claims to have seen everything, to agree with everybody, to have kept what it threw away; it forges assertions, removals, heads
and moderators' words, answers questions with nonsense, and floods. All of it is well-formed: what is not never passes the wire.
`seal` makes the seals of what is false, good ones or bad ones; intruders use the same parts.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np

from hive_mind.bus import Envelope
from hive_mind.hive import Chance
from hive_mind.hive.effects import Effect, Event, Now, Received, Send, Tick
from hive_mind.hive.node import HiveNode
from hive_mind.hive.policy import Seal, sealed, sealed_entry, sealed_head, sealed_removal
from hive_mind.model.evidence import Assertion, Dot, Head, Reason, Removal, Sealed, Stamp, actor_id, actor_of, dot
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import (
    Announce,
    Changes,
    ClockSample,
    Message,
    PoolReply,
    Receipt,
    RegistryEntry,
    Replicate,
    SearchReply,
    SearchRequest,
    SyncOffer,
    SyncState,
    SyncStep,
    TakenOver,
)
from hive_mind.sim import FACT_IDS, MODERATOR, STATEMENTS, YEAR_MS, agents_of

FAR = 1 << 39
_Kind = TypeVar("_Kind", bound=Message)


class Forgery:
    """Made of what was overheard, of which `now_ms` is the time."""

    def __init__(self, chance: Chance, overheard: Sequence[Envelope], now_ms: int, seal: Seal) -> None:
        self._chance, self._overheard, self._now_ms, self._seal = chance, overheard, now_ms, seal

    def message(self, node: str) -> Message:
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
        if (assertion := self._heard_of()) is None:
            return self.entries(node)
        by = self._chance.choice((assertion.assertion.agent, MODERATOR, *agents_of(node)))
        removal = Removal(assertion.assertion.fact_id, (assertion.dot,), by, "retracted", assertion.assertion.stamp)
        partition = self._partition()
        return self._replicate(Changes(partition, (), (sealed_removal(self._seal, partition, removal),)))

    def entries(self, node: str) -> Message:
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


_LIES_SHARE = 0.4
_FLOOD = 20
_SEEN: tuple[Literal["", "whole", "rest"], ...] = ("", "whole", "rest")
_REASONS: tuple[Reason, ...] = ("retracted", "expired", "quota", "superseded", "redacted")


class Liar:
    """Makes lies for one node. `chance` decides which, and when it rather tells the truth, so as to be believed."""

    def __init__(self, name: str, chance: Chance) -> None:
        self._name, self._chance, self._now = name, chance, Now(0, 0)

    def unseen(self, event: Event) -> list[Effect]:
        """It says that it kept what it does not even look at, or nothing."""
        if isinstance(event, Received) and isinstance(event.message, Replicate) and self._lies():
            return [Send((event.sender,), Receipt(event.message.batch))]
        return []

    def twisted(self, node: HiveNode, event: Event, effects: Sequence[Effect], now: Now) -> list[Effect]:
        """The effects of the honest program, made worse."""
        self._now = now
        out: list[Effect] = [
            Send(effect.to, self._false(node, effect.message)) if isinstance(effect, Send) and self._lies() else effect
            for effect in effects
        ]
        if isinstance(event, Tick):
            names = tuple(name for name in node.topology.nodes if name != self._name)
            out += [Send(names, message) for message in self._spam(node, now)]
        return out

    def reply(self, honest: SearchReply | None) -> SearchReply | None:
        if honest is None or not self._lies():
            return honest
        if self._chance.random() < 0.5 or not isinstance(honest, PoolReply):
            return None
        bad = msgspec.structs.replace(honest)
        ids = ("0" * 32, "1" * 32)
        nonsense = np.array([np.nan, 1e30], dtype=np.float32)
        pool = type(honest.pool)(ids, nonsense, nonsense, nonsense)
        return msgspec.structs.replace(bad, pool=pool)

    def _lies(self) -> bool:
        return self._chance.random() < _LIES_SHARE

    def _false(self, node: HiveNode, message: Message) -> Message:
        match message:
            case SyncStep():
                return self._false_step(node, message)
            case SyncOffer():
                return msgspec.structs.replace(message, clock=self._false_clock(message.clock))
            case SyncState():
                everything = tuple(share for share in node.partitions.shares)
                proof = self._chance.getrandbits(256).to_bytes(32, "big")
                return msgspec.structs.replace(
                    message,
                    agrees=everything,
                    clock=self._false_clock(message.clock),
                    taken_over=tuple(TakenOver(share, proof) for share in everything),
                )
            case _:
                return message

    def _false_step(self, node: HiveNode, step: SyncStep) -> SyncStep:
        """Everything was seen and nothing is live: in a plain set of this kind that removes everything."""
        share = node.partitions.shares[step.partition]
        heads = tuple(Head(head.node, head.incarnation, FAR, head.seal) for head in share.heads.values())
        return msgspec.structs.replace(
            step,
            adds=(*step.adds, self._forged_add(node, self._now), *self._squatted(node, step.partition)),
            removals=(*step.removals, *self._forged_removals(node), *self._taken_back_before(node, step.partition)),
            heads=(*step.heads, *heads),
            seen_up_to=tuple(dot(actor, FAR) for actor in sorted(share.heads)),
            spans=tuple(msgspec.structs.replace(span, dots=(), fingerprint=b"") for span in step.spans),
            seen=self._chance.choice(_SEEN),
        )

    def _false_clock(self, clock: ClockSample) -> ClockSample:
        return msgspec.structs.replace(clock, wall_ms=clock.wall_ms + self._chance.choice((-YEAR_MS, YEAR_MS)))

    def _spam(self, node: HiveNode, now: Now) -> list[Message]:
        if self._chance.random() > 0.1:
            return []
        # One that keeps nothing lies about what others keep.
        partition = self._chance.choice(sorted(node.partitions.shares) or [node.topology.home(FACT_IDS[0], self._name)])
        adds = (*(self._forged_add(node, now) for _ in range(_FLOOD)), *self._squatted(node, partition))
        removals = (*self._forged_removals(node), *self._taken_back_before(node, partition))
        forged = Changes(partition, adds, removals, ())
        return [Replicate(f"{self._chance.getrandbits(64):016x}", (forged,)), Announce(self._forged_entries(now))]

    def _squatted(self, node: HiveNode, partition: str) -> tuple[Sealed, ...]:
        """Assertions of its own agent, or of another node's, under the dot that this node will write next."""
        if (following := self._next_of_another(node, partition)) is None:
            return ()
        theirs = [
            sealed for sealed in node.partitions.shares[partition].all_sealed() if actor_of(sealed.dot) == actor_of(following)
        ]
        if theirs and self._chance.random() < 0.5:
            # Or what that node itself said under an earlier one.
            stolen = self._chance.choice(sorted(theirs, key=lambda sealed: sealed.dot))
            return (Sealed(following, stolen.assertion, stolen.seal),)
        agent, statement = agents_of(self._name)[0], self._chance.choice(STATEMENTS)
        stamp = Stamp(self._now.wall_ms, 0, actor_of(following))
        assertion = Assertion(fact_id(statement.content), agent, agent, 1.0, stamp, statement)
        return (sealed(node.policy.seal, partition, following, assertion),)

    def _taken_back_before(self, node: HiveNode, partition: str) -> tuple[Removal, ...]:
        """Removals by its own agent of the next entry of another node, whatever that will be."""
        if (following := self._next_of_another(node, partition)) is None:
            return ()
        agent, stamp = agents_of(self._name)[0], Stamp(self._now.wall_ms, 0, actor_of(following))
        removal = Removal(self._chance.choice(FACT_IDS), (following,), agent, self._chance.choice(_REASONS), stamp)
        return (sealed_removal(node.policy.seal, partition, removal),)

    def _next_of_another(self, node: HiveNode, partition: str) -> Dot | None:
        """A dot that another node will write under soon, or just has."""
        share = node.partitions.shares.get(partition)
        heads = [head for head in share.heads.values() if head.node != self._name] if share is not None else []
        if not heads:
            return None
        head = self._chance.choice(sorted(heads, key=lambda each: each.actor))
        return dot(head.actor, head.counter + self._chance.randrange(1, 4))

    def _forged_add(self, node: HiveNode, now: Now) -> Sealed:
        """One thing wrong with each: the author, the tenant, the confidence, the words under an id, the dot."""
        chance = self._chance
        victim, statement = chance.choice(agents_of("n0")), chance.choice(STATEMENTS)
        stamp = Stamp(now.wall_ms + chance.choice((0, YEAR_MS)), 0, node.incarnation)
        assertion = Assertion(fact_id(statement.content), victim, victim, 1.0, stamp, statement)
        wrong: tuple[dict[str, Any], ...] = (
            {},
            {"tenant": "another"},
            {"confidence": 8_100.0},
            {"confidence": float("nan")},
            {"fact_id": chance.choice(FACT_IDS)},
            {"agent": ""},
            {"expires_ms": -1},
        )
        forged = msgspec.structs.replace(assertion, **chance.choice(wrong))
        return Sealed(self._forged_dot(node), forged, chance.choice((b"", b"\0" * 32)))

    def _forged_dot(self, node: HiveNode) -> Dot:
        actor = actor_id(self._name, node.incarnation)
        return self._chance.choice((dot(actor, self._chance.randrange(1, FAR)), b"", b"short", b"\xff" * 13, b"\0" * 13))

    def _forged_removals(self, node: HiveNode) -> tuple[Removal, ...]:
        live = [given_assertion for share in node.partitions.shares.values() for given_assertion in share.all_sealed()]
        if not live:
            return ()
        assertion = self._chance.choice(sorted(live, key=lambda each: each.dot))
        why = self._chance.choice(_REASONS)
        by = self._chance.choice((MODERATOR, self._name, assertion.assertion.agent))
        return (Removal(assertion.assertion.fact_id, (assertion.dot,), by, why, assertion.assertion.stamp, b"\1" * 32),)

    def _forged_entries(self, now: Now) -> tuple[RegistryEntry, ...]:
        chance, stamp = self._chance, Stamp(now.wall_ms + self._chance.choice((0, YEAR_MS)), 0, b"liar")
        fact, agent = chance.choice(FACT_IDS), agents_of(self._name)[0]
        return (
            RegistryEntry(f"redacted/{fact}", "true", stamp, MODERATOR),
            RegistryEntry(f"redacted/{fact}", "true", stamp, agent),
            RegistryEntry(f"moderator/{agent}", "true", stamp, agent),
            RegistryEntry(f"retracted/{fact}", "true", stamp, chance.choice((agent, MODERATOR))),
            RegistryEntry("trust/" + agent, "9e99", stamp, MODERATOR),
            RegistryEntry("nonsense", "{", stamp, agent),
        )


class LyingNode(HiveNode):
    """A production node whose effects go through a liar."""

    liar: Liar

    def handle(self, event: Event, now: Now) -> list[Effect]:
        """Handle it as everybody would, or not at all, and lie about it."""
        return self.liar.unseen(event) or self.liar.twisted(self, event, super().handle(event, now), now)

    def search(self, request: SearchRequest, now: Now) -> SearchReply | None:
        return self.liar.reply(super().search(request, now))
