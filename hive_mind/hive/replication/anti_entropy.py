"""A node's part in anti-entropy: when it offers exchanges, to which peers, over which partitions, and with what effects.

`Gossip` chooses time and peer, `exchange` the messages; here both meet the node's shares.

Proof that a partition was taken over: a node that leaves it drops its copy on nobody's word alone.

The leaving node's offer asks for it. The answer is a digest of every assertion, as its author sealed it, and of everything seen,
under a key of this exchange and these two members: a node that lacks a part can neither compute it nor use another's answer.

Of a node's writes to partitions that others hold, every boot of a holder is asked whether it has all of them (`Authorship`).
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from hmac import compare_digest

import msgspec

from hive_mind.crdt.reconcile import listing
from hive_mind.hive import Chance
from hive_mind.hive.effects import Now, Record, Send, Taken
from hive_mind.hive.policy.node_policy import NodePolicy
from hive_mind.hive.replication import Gossip, GossipSettings
from hive_mind.hive.replication.exchange import NAMED_MAX, Exchanges
from hive_mind.hive.replication.partition_replica import PartitionReplica
from hive_mind.hive.replication.partitions import Partitions
from hive_mind.model.evidence import ACTOR_BYTES, Actor, actor_of
from hive_mind.model.messages import Message, Span, SyncOffer, SyncState, SyncStep, TakenOver

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
        # Only the parts that concern its author. A removal is sealed, so it stays whole.
        actors = frozenset(head.actor for head in share.own_heads())
        return share, msgspec.structs.replace(
            step,
            spans=tuple(span for span in step.spans if span.low[:ACTOR_BYTES] in actors),
            adds=tuple(add for add in step.adds if actor_of(add.dot) in actors),
            removals=tuple(removal for removal in step.removals if any(actor_of(dot) in actors for dot in removal.dots)),
            heads=tuple(head for head in step.heads if head.actor in actors),
            seen_up_to=tuple(dot for dot in step.seen_up_to if actor_of(dot) in actors),
            seen_beyond=tuple(dot for dot in step.seen_beyond if actor_of(dot) in actors),
        )

    def unconfirmed(self, holder: str, boot: bytes, mono_ms: int) -> list[str]:
        """Partitions of which a boot of a holder has not said, or not lately, that it has everything this node wrote."""
        partitions = [share.partition for share in self._written_to(holder)]
        return [name for name in partitions if not self._is_confirmed(holder, name, boot, mono_ms)]

    def doubt(self, fact_ids: Iterable[str]) -> None:
        """Ask again about the partitions where this node still has something of these: others may have let go of it."""
        ids, shares = list(fact_ids), self._partitions.shares
        partitions = {name for _, name in self._confirmed} if ids else ()
        doubtful = {name for name in partitions if any(shares[name].members.contains(id) for id in ids)}
        self._confirmed = {place: boot for place, boot in self._confirmed.items() if place[1] not in doubtful}

    def keep_only(self, nodes: frozenset[str]) -> None:
        self._confirmed = {key: boot for key, boot in self._confirmed.items() if key[0] in nodes}

    def _is_confirmed(self, holder: str, partition: str, boot: bytes, mono_ms: int) -> bool:
        by, until_ms = self._confirmed.get((holder, partition), (b"", 0))
        return by == boot and mono_ms < until_ms

    def _written_to(self, holder: str) -> Iterator[PartitionReplica]:
        partitions = self._partitions.topology.held_by(holder)
        return (self._partitions.shares[name] for name in partitions if self._is_written_to(holder, name))

    def _is_written_to(self, holder: str, partition: str) -> bool:
        """Whether this node has nothing of a partition but what it wrote, and the other is to have everything."""
        partitions = self._partitions
        share = partitions.shares.get(partition)
        if share is None or share.is_holder or partition in partitions.leaving or holder == partitions.node:
            return False
        return holder in partitions.topology.holders(partition) and bool(share.own_heads())

    def _spans(self, share: PartitionReplica, session: bytes) -> Iterator[Span]:
        """A span for each boot of this node that wrote there."""
        index = self._exchanges.digest(share).index(session)
        for actor in sorted(head.actor for head in share.own_heads()):
            bounds = actor, _next(actor)
            start, end = index.range(*bounds)
            few = end - start <= NAMED_MAX
            yield listing(*bounds, index.dots(*bounds)) if few else Span(*bounds, index.fingerprint(*bounds))


def is_empty(step: SyncStep) -> bool:
    return not (step.spans or step.adds or step.removals or step.wants or step.seen)


def _next(actor: Actor) -> bytes:
    """A bound behind everything of an actor; b"" (none) behind the last there can be."""
    after = int.from_bytes(actor, "big") + 1
    return after.to_bytes(ACTOR_BYTES, "big") if after < 1 << (8 * ACTOR_BYTES) else b""


_STRAINED_SHARE, _UNSTRAINED = 20, 1 << 40

PROOF_BYTES = 32
# An answer that comes late is good all the same; one to an offer of long ago comes again.
_SESSIONS_MAX = 1_024

_encode = msgspec.msgpack.Encoder().encode


class AntiEntropy:
    """Exchanges of one node."""

    def __init__(
        self, partitions: Partitions, policy: NodePolicy, settings: GossipSettings, incarnation: bytes, chance: Chance
    ) -> None:
        self._partitions, self._policy, self._registry, self._chance = partitions, policy, policy.registry, chance
        self.gossip = Gossip(partitions.node, settings, chance)
        self.exchanges = Exchanges(incarnation, settings)
        self.authorship = Authorship(partitions, self.exchanges)
        self._handing_over = HandingOver(partitions.node, self.exchanges)

    def offers(self, now: Now) -> Iterator[Send]:
        for peer in self._due(now):
            session = self._chance.getrandbits(128).to_bytes(16, "big")
            shares = list(self._partitions.shared_with(peer))
            offer = self.exchanges.offer(session, shares, self._registry.fingerprint(session), now, peer)
            yield Send((peer,), self._handing_over.asking(peer, offer, self._partitions.leaving))

    def on_offer(self, sender: str, offer: SyncOffer, now: Now) -> tuple[list[Record], list[Send]]:
        """Answers to an offer, none to a sender that offers too often; and records to persist for partitions found equal."""
        if not self.gossip.admits(sender, now):
            return [], []
        shares = self._partitions.offered(sender, (summary.partition for summary in offer.summaries))
        complete = {name for name, share in shares.items() if share.is_complete}
        messages = self.exchanges.on_offer(sender, offer, shares, self._registry, now)
        equal = [name for message in messages if isinstance(message, SyncState) for name in message.agrees]
        records = self._partitions.agreed(
            sender, equal, {summary.partition for summary in offer.summaries if summary.is_complete}
        )
        nothing = tuple(summary.partition for summary in offer.summaries if summary.partition not in shares)
        taken_over = self._handing_over.proofs(sender, offer, shares)
        return records, [Send((sender,), _with_holdings(message, complete, nothing, taken_over)) for message in messages]

    def on_step(self, sender: str, step: SyncStep, at: NodePolicy) -> tuple[dict[str, Taken], list[Record], list[Send]]:
        """Results of a step: changes, further records, and messages to send."""
        if not self.exchanges.admits(sender, step):
            return {}, [], []
        share = self._partitions.kept_here(step.partition)
        if share is None:
            # Besides, no node would ever take from here the assertions of a late step for a partition that has moved away.
            if (authored := self.authorship.share_of(sender, step, at.now.mono_ms)) is None:
                return {}, [], []
            share, step = authored
        taken_share = share.take(step.adds, step.removals, step.heads, at)
        answer = self.exchanges.on_step(sender, step, share, partial(self._allowance, share), taken_share.contested)
        joined = Taken()
        if answer.up_to or answer.beyond:
            joined = share.join(answer.up_to, answer.beyond, step.heads, at)
        if answer.deferred:
            self.gossip.resume(sender, at.now)
        messages = answer.messages
        is_author = sender not in self._partitions.topology.holders(step.partition)
        if not messages and step.spans and is_author and share.is_complete:
            # It waits for that from a complete peer: others might know less.
            messages = (self.exchanges.settled(step, share),)
        return {step.partition: taken_share}, joined.records, [Send((sender,), message) for message in messages]

    def on_state(self, sender: str, state: SyncState, now: Now) -> list[Send] | None:
        """Registry entries that the sender lacks, and requests to it; None for a state that answers another boot."""
        answers = self.exchanges.on_state(sender, state, self._registry)
        if answers is None:
            return None
        return [Send((sender,), message) for message in (*answers, *self.authorship.steps(sender, state, now.mono_ms))]

    def taken_over(self, sender: str, state: SyncState) -> list[str]:
        """Partitions of which a holder proves that it has all that is here."""
        return self._handing_over.proven(sender, state, self._partitions.shares)

    def rearranged(self, now: Now) -> None:
        """Another topology holds: look soon whether anything has to move."""
        self.exchanges.keep_only(frozenset(self._partitions.peers()))
        self.authorship.keep_only(frozenset(self._partitions.topology.nodes))
        self.gossip.hasten(now)

    def _allowance(self, share: PartitionReplica, agent: str) -> int:
        """Assertions of an agent per step: few of one that has its quota full, as each new one only takes another's place."""
        quota = self._policy.quota
        return max(quota // _STRAINED_SHARE, 1) if share.count(agent) >= quota else _UNSTRAINED

    def _due(self, now: Now) -> list[str]:
        """Peers to exchange with now, and one more: the registry concerns all, also members that keep no common partition."""
        if now.mono_ms < self.gossip.wake_at_ms:
            return []
        peers = self._partitions.peers()
        strangers = sorted(set(self._partitions.topology.nodes).difference(peers, (self._partitions.node,)))
        chosen = list(self.gossip.due(now, peers or strangers, self._policy.at(now).trust, self.exchanges.is_open))
        return [*chosen, self._chance.choice(strangers)] if chosen and peers and strangers else chosen


def _with_holdings(message: Message, complete: set[str], nothing: tuple[str, ...], taken_over: tuple[TakenOver, ...]) -> Message:
    """Agreement with a complete peer counts; empty peers need not be awaited."""
    if not isinstance(message, SyncState):
        return message
    names = tuple(name for name in message.agrees if name in complete)
    return msgspec.structs.replace(message, complete=names, nothing=nothing, taken_over=taken_over)


class HandingOver:
    """Of one node, `exchanges` being its own."""

    def __init__(self, node: str, exchanges: Exchanges) -> None:
        self._node, self._exchanges = node, exchanges
        self._sessions_asked: OrderedDict[tuple[str, bytes], None] = OrderedDict()

    def asking(self, peer: str, offer: SyncOffer, leaving: Mapping[str, Collection[str]]) -> SyncOffer:
        """An offer asking for proof for the partitions this node drops once that peer has them. `leaving`: peers waited for, by
        partition."""
        names = {name for name, waiting in leaving.items() if peer in waiting}
        if not names:
            return offer
        self._sessions_asked[peer, offer.session] = None
        if len(self._sessions_asked) > _SESSIONS_MAX:
            self._sessions_asked.popitem(last=False)
        replace = msgspec.structs.replace
        summaries = tuple(
            replace(summary, is_leaving=True) if summary.partition in names else summary for summary in offer.summaries
        )
        return replace(offer, summaries=summaries)

    def proofs(self, leaver: str, offer: SyncOffer, shares: Mapping[str, PartitionReplica]) -> tuple[TakenOver, ...]:
        """For each partition that the offer asks about, and of which this node has the same and has seen the same."""
        summaries = {
            summary.partition: summary for summary in offer.summaries if summary.is_leaving and summary.partition in shares
        }
        return tuple(
            TakenOver(name, self._proof(offer.session, leaver, self._node, shares[name]))
            for name, summary in summaries.items()
            if shares[name].is_holder and self._exchanges.is_same(shares[name], summary, offer.session)
        )

    def proven(self, holder: str, state: SyncState, shares: Mapping[str, PartitionReplica]) -> list[str]:
        """The partitions of which a holder has all that is here, and knows of everything that was here and is gone."""
        if (holder, state.session) not in self._sessions_asked:
            return []
        claimed = [(claim, shares[claim.partition]) for claim in state.taken_over if claim.partition in shares]
        proofs = [(claim, self._proof(state.session, self._node, holder, share)) for claim, share in claimed]
        return [claim.partition for claim, proof in proofs if compare_digest(claim.proof, proof)]

    def _proof(self, session: bytes, leaver: str, holder: str, share: PartitionReplica) -> bytes:
        key = blake2b(_encode(("handed-over/1", session, leaver, holder, share.partition)), digest_size=PROOF_BYTES).digest()
        content = share.content_digest() + self._exchanges.digest(share).seen_root(key)
        return blake2b(content, key=key, digest_size=PROOF_BYTES).digest()
