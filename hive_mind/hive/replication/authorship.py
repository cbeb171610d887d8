"""A node's writes to partitions that others hold. Every boot of a holder is asked whether it has all of them.

A batch that arrived is done. A holder with a disk set back since may have lost its assertions, or have taken back
ones again; and where no other holder knows better, the author does. So it compares the dots of its own boots with each holder, by
steps of an ordinary exchange about nothing else, until the holder says that there is no difference; and again when that boots.

It asks again where all are told to take back something of which it still has assertions: those that a clock running ahead stamped
too late for the retraction, holders may have dropped all the same. And seldom in any case: a holder may get only later the writes
that an author, set back itself, has forgotten.
"""

from collections.abc import Iterable, Iterator

import msgspec

from hive_mind.crdt.reconcile import listing
from hive_mind.hive.replication.exchange import NAMED_MAX, Exchanges
from hive_mind.hive.replication.partition_replica import PartitionReplica
from hive_mind.hive.replication.partitions import Partitions
from hive_mind.model.evidence import ACTOR_BYTES, Actor, actor_of
from hive_mind.model.messages import Span, SyncState, SyncStep

# A step of some 150 bytes for each partition and holder. An author of thousands of facts so sends 20 bytes a second, as much as
# its other exchanges cost when nothing happens.
_CONFIRMED_MS = 6 * 3_600_000


class Authorship:
    """Which holders have confirmed what this node wrote."""

    def __init__(self, partitions: Partitions, exchanges: Exchanges) -> None:
        self._partitions, self._exchanges = partitions, exchanges
        self._confirmed: dict[tuple[str, str], tuple[bytes, int]] = {}
        """By holder and partition the boot that had all of it, and until when (monotonic) that is good enough."""

    def steps(self, holder: str, state: SyncState, mono_ms: int) -> Iterator[SyncStep]:
        """Questions to a holder that has just named its boot."""
        if not self._exchanges.has_begun(holder, state.session):
            return
        for share in self._written_to(holder):
            if not self._is_confirmed(holder, share.partition, state.incarnation, mono_ms):
                yield self._exchanges.opened(state, share, tuple(self._spans(share, state.session)))

    def share_of(self, sender: str, step: SyncStep, mono_ms: int) -> tuple[PartitionReplica, SyncStep] | None:
        """The share a holder's answer is about, and the part of the answer about this node's writes; None where nothing needs an
        answer."""
        if not self._is_written_to(sender, step.partition):
            return None
        if is_empty(step):
            self._confirmed[sender, step.partition] = step.incarnation, mono_ms + _CONFIRMED_MS
            return None
        share = self._partitions.shares[step.partition]
        return share, _narrowed(step, frozenset(head.actor for head in share.own_heads()))

    def unconfirmed(self, holder: str, boot: bytes, mono_ms: int) -> list[str]:
        """Partitions of which a boot of a holder has not said, or not lately, that it has everything this node wrote."""
        written = [share.partition for share in self._written_to(holder)]
        return [name for name in written if not self._is_confirmed(holder, name, boot, mono_ms)]

    def doubt(self, fact_ids: Iterable[str]) -> None:
        """Ask again about the partitions where this node still has something of these: others may have let go of it."""
        named, shares = list(fact_ids), self._partitions.shares
        asked = {name for _, name in self._confirmed} if named else ()
        doubtful = {name for name in asked if any(shares[name].members.contains(id) for id in named)}
        self._confirmed = {place: boot for place, boot in self._confirmed.items() if place[1] not in doubtful}

    def keep_only(self, nodes: frozenset[str]) -> None:
        """Forget holders that have left."""
        self._confirmed = {key: boot for key, boot in self._confirmed.items() if key[0] in nodes}

    def _is_confirmed(self, holder: str, partition: str, boot: bytes, mono_ms: int) -> bool:
        by, until_ms = self._confirmed.get((holder, partition), (b"", 0))
        return by == boot and mono_ms < until_ms

    def _written_to(self, holder: str) -> Iterator[PartitionReplica]:
        held = self._partitions.topology.held_by(holder)
        return (self._partitions.shares[name] for name in held if self._is_written_to(holder, name))

    def _is_written_to(self, holder: str, partition: str) -> bool:
        """Whether this node has nothing of a partition but what it wrote, and the other is to have everything."""
        partitions = self._partitions
        share = partitions.shares.get(partition)
        if share is None or share.is_holder or partition in partitions.leaving or holder == partitions.node:
            return False
        return holder in partitions.topology.holders(partition) and bool(share.own_heads())

    def _spans(self, share: PartitionReplica, session: bytes) -> Iterator[Span]:
        """A span for each boot of this node that wrote there."""
        index = self._exchanges.index(share, session)
        for actor in sorted(head.actor for head in share.own_heads()):
            bounds = actor, _next(actor)
            start, end = index.range(*bounds)
            few = end - start <= NAMED_MAX
            yield listing(*bounds, index.dots(*bounds)) if few else Span(*bounds, index.fingerprint(*bounds))


def is_empty(step: SyncStep) -> bool:
    """Whether it only says that there is no difference."""
    return not (step.spans or step.adds or step.removals or step.wants or step.seen)


def _narrowed(step: SyncStep, own: frozenset[Actor]) -> SyncStep:
    """A step reduced to what concerns its author. A removal is sealed, so it stays whole."""
    return msgspec.structs.replace(
        step,
        spans=tuple(span for span in step.spans if span.low[:ACTOR_BYTES] in own),
        adds=tuple(add for add in step.adds if actor_of(add.dot) in own),
        removals=tuple(one for one in step.removals if any(actor_of(dot) in own for dot in one.dots)),
        heads=tuple(head for head in step.heads if head.actor in own),
        seen_up_to=tuple(dot for dot in step.seen_up_to if actor_of(dot) in own),
        seen_beyond=tuple(dot for dot in step.seen_beyond if actor_of(dot) in own),
    )


def _next(actor: Actor) -> bytes:
    """A bound behind everything of an actor; b"" (none) behind the last there can be."""
    after = int.from_bytes(actor, "big") + 1
    return after.to_bytes(ACTOR_BYTES, "big") if after < 1 << (8 * ACTOR_BYTES) else b""
