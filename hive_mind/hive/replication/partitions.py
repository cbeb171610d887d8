"""The partitions of a node: which it holds, its agents' writes to them, and how they move when members join or leave.

A new holder is incomplete until it agrees with a member that is complete; a former one keeps what it has until a new holder has
it. Every change returns records to persist, and names the facts that searches must look at again.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from hive_mind.hive.effects import Delete, Held, Kept, Promotion, Put, Record, Retracted, SetAside, Taken, by_partition
from hive_mind.hive.policy.admission import malformed
from hive_mind.hive.policy.node_policy import NodePolicy, lifetime
from hive_mind.hive.replica import Shares
from hive_mind.hive.replication.partition_replica import BEYOND, SEEN, PartitionReplica
from hive_mind.hive.topology import Topology
from hive_mind.model.evidence import Actor, Assertion, Dot, Sealed, Stamp, actor_of
from hive_mind.model.ids import fact_id

INCOMING, HELD = "incoming", "held"
# Record of a partition that moved away, and is kept until others have it: whether everything of it is here, and its next
# holders.
_WHOLE, _PART = "whole", "part"


class _Left(NamedTuple):
    """A partition that moved away: whether everything of it was here, and its next holders."""

    is_whole: bool
    heirs: Sequence[str]


class Partitions:
    """Shares by partition. `actor` is this boot of this node."""

    def __init__(self, node: str, incarnation: bytes, actor: Actor, topology: Topology, policy: NodePolicy) -> None:
        self.node, self.topology, self._policy = node, topology, policy
        self._incarnation, self._actor = incarnation, actor
        self.shares: dict[str, PartitionReplica] = {}
        self.sources: dict[str, tuple[str, ...]] = {}
        """Partitions still being copied here, and their former holders."""
        self._unheard: dict[str, set[str]] = {}
        """Of these, where the former holders are known for sure: those that this node has not agreed with yet."""
        self.leaving: dict[str, set[str]] = {}
        """Partitions held no longer, and the new holders that are not known to have all of it."""
        self._former: set[str] = set()
        """Members that may have left and still have something to hand over."""
        self.has_lost = False
        """Whether records were lost that no other member holds: their authors must assert them again."""
        for partition in topology.held_by(node):
            self.share(partition).is_holder = True

    def share(self, partition: str) -> PartitionReplica:
        if (replica := self.shares.get(partition)) is None:
            replica = self.shares[partition] = PartitionReplica(
                partition, self._actor, self.node, self._incarnation, is_wary=self._policy.seal.is_on
            )
        return replica

    def searchable(self) -> Shares:
        """The partitions the replica indexes: homes are those that questions ask for, copies the others held here."""
        homes = {name for replica_set in self.topology.read_set(self.node) for name in replica_set.partitions}
        names = [name for name, share in self.shares.items() if share.is_holder]
        return Shares(self.shares, frozenset(names) & homes, frozenset(names) - homes)

    def shared_with(self, peer: str) -> Iterator[PartitionReplica]:
        """The shares to compare with a peer: those both hold, those being copied from it, those it is to take over."""
        theirs = set(self.topology.held_by(peer))
        for name, share in self.shares.items():
            if (name in theirs and self._is_kept_here(share)) or (share.is_holder and peer in self.sources.get(name, ())):
                yield share

    def kept_here(self, partition: str) -> PartitionReplica | None:
        share = self.shares.get(partition)
        return share if share is not None and self._is_kept_here(share) else None

    def _is_kept_here(self, share: PartitionReplica) -> bool:
        return share.is_holder or share.partition in self.leaving

    def offered(self, peer: str, partitions: Iterable[str]) -> dict[str, PartitionReplica]:
        """Partitions of an exchange that a peer begins: it may be handing over some that this node did not know it had.

        A stranger may have left before this node came: it can hand over assertions that are missing here, and sees nothing else.
        """
        for name in partitions:
            if name in self.sources and peer not in self.sources[name]:
                self.sources[name] = (*self.sources[name], peer)
                self._former.add(peer)
        is_member = peer in self.topology.nodes or peer in self._former
        kept = {name: share for name, share in self.shares.items() if self._is_kept_here(share)}
        return kept if is_member else {name: share for name, share in kept.items() if name in self.sources}

    def expect(self, leavers: Iterable[str]) -> None:
        """Former members that may still hand over partitions; they need receipts."""
        self._former.update(leavers)

    def peers(self) -> tuple[str, ...]:
        moving = {peer for peers_of_one in (*self.sources.values(), *self.leaving.values()) for peer in peers_of_one}
        return tuple(sorted((moving | set(self.topology.peers(self.node))) - {self.node}))

    def promote(
        self, promotions: Sequence[Promotion], stamps: Iterable[Stamp], at: NodePolicy
    ) -> tuple[list[Held], dict[str, Taken]]:
        """Assert for agents. Earlier equal assertions of the same agent are held already."""
        outcomes: list[Held] = []
        fresh: dict[str, dict[tuple[str, str, str], Assertion]] = {}
        for promotion, stamp in zip(promotions, stamps, strict=False):
            assertion = self._assertion(promotion, stamp, at)
            # Everybody else would refuse it too, and this node would be alone with it.
            withdrawn = "it was taken back for all" if self._policy.is_taken_back(assertion) else ""
            if reason := malformed(assertion) or withdrawn:
                outcomes.append(Held(assertion.fact_id, reason))
                continue
            if promotion.is_again and self._is_over(assertion):
                outcomes.append(Held(assertion.fact_id, is_shared=True))
                continue
            home = self._home_of(assertion.fact_id)
            outcomes.append(Held(assertion.fact_id, "", self.share(home).is_holder))
            sureness = 1.0 if promotion.is_escalated else assertion.confidence
            for partition in (home, *self._copies(assertion, sureness)):
                if not self._has_alike(partition, assertion):
                    fresh.setdefault(partition, {})[assertion.fact_id, assertion.agent, assertion.root] = assertion
        return outcomes, {name: self.share(name).assert_all(assertions.values(), at) for name, assertions in fresh.items()}

    def _is_over(self, assertion: Assertion) -> bool:
        """Whether a moderator took it back, and its agent did not say it anew since, as far as this node knows."""
        if not self._policy.is_moderated(assertion.fact_id):
            return False
        live = (sealed.assertion for share in self.shares.values() for sealed in share.assertions(assertion.fact_id))
        return all(voice.agent != assertion.agent or self._policy.is_taken_back(voice) for voice in live)

    def retract(
        self, fact_id: str, by: str, stamp: Stamp, at: NodePolicy, *, is_for_all: bool
    ) -> tuple[Retracted, dict[str, Taken]]:
        """Take back what an agent asserted, as far as this node knows it; or everything it has, for a moderator."""
        is_known, removed = False, 0
        shares: dict[str, Taken] = {}
        for partition, share in self.shares.items():
            assertions = list(share.assertions(fact_id))
            is_known = is_known or bool(assertions)
            dots = [assertion.dot for assertion in assertions if is_for_all or assertion.assertion.agent == by]
            if dots:
                shares[partition] = share.remove(fact_id, dots, by, "retracted", stamp, at)
                removed += len(dots)
        refused = "only its author or a moderator may take it back" if is_known and not removed else ""
        return Retracted(fact_id, removed, refused), shares

    def expired(self, at: NodePolicy) -> list[tuple[str, Sealed]]:
        return [(name, sealed) for name, share in self.shares.items() for sealed in share.all_sealed() if at.is_expired(sealed)]

    def collect(self, stamp: Stamp, at: NodePolicy) -> dict[str, Taken]:
        return by_partition(
            (name, self.shares[name].remove(assertion.assertion.fact_id, [assertion.dot], self.node, "expired", stamp, at))
            for name, assertion in self.expired(at)
        )

    def withdraw(
        self, fact_ids: Iterable[str], by: str, stamp: Stamp, at: NodePolicy, *, is_just_written: bool = False
    ) -> dict[str, Taken]:
        """Remove what a retraction or redaction covers that everybody knows of.

        One that is just being written here means what is here, whatever the time may be.
        """
        covers = self._policy.is_taken_back if is_just_written else at.is_withdrawn
        return by_partition(
            (name, share.remove(id, dots, by, "redacted", stamp, at))
            for id in fact_ids
            for name, share in self.shares.items()
            if (dots := [assertion.dot for assertion in share.assertions(id) if covers(assertion.assertion)])
        )

    def disown(self, at: NodePolicy) -> dict[str, Taken]:
        """Let go of what revoked keys said. What this node lost so, its authors must assert again."""
        shares: dict[str, Taken] = {}
        for name, share in self.shares.items():
            actors = {head.actor for head in share.own_heads()}
            shares[name] = share.disown(at)
            if any(actor_of(assertion.dot) in actors for assertion in shares[name].gone):
                self.has_lost = True
        return shares

    def forget_old(self, before_ms: int, at: NodePolicy) -> dict[str, Taken]:
        """Forget proofs that are older, and what is beyond the limits."""
        return by_partition(
            (name, taken_share)
            for name, share in self.shares.items()
            for taken_share in (share.forget_proofs(before_ms), share.forget_beyond_limits(at))
        )

    def erased(self) -> set[str]:
        live = (assertion.assertion for share in self.shares.values() for assertion in share.all_sealed())
        return {assertion.fact_id for assertion in live if self._policy.is_erased(assertion)}

    def first_said(self, fact_id: str, agent: str) -> Stamp | None:
        """When an agent said of a fact what is live of it; the earliest, as far as this node knows."""
        assertions = (assertion.assertion for share in self.shares.values() for assertion in share.assertions(fact_id))
        return min((assertion.stamp for assertion in assertions if assertion.agent == agent), default=None)

    def rearrange(self, topology: Topology, *, is_next: bool = True) -> list[Record]:
        """Another topology holds. Partitions that move away stay until a new holder has them.

        Where it is not the next one, the former holders of a partition are unknown: then only a holder of everything can confirm
        that it is whole. One that had everything, left and comes back lacks only messages to its successors.
        """
        former, self.topology = self.topology, topology
        self._former.update(former.nodes)
        partitions, was_held = set(topology.held_by(self.node)), set(former.held_by(self.node))
        records: list[Record] = [Put(HELD, _key(name), b"") for name in sorted(partitions - was_held)]
        for name in sorted(partitions - was_held):
            share = self.share(name)
            share.is_holder = True
            before = former.holders(name) if is_next else (*former.holders(name), *topology.holders(name))
            sources = tuple(dict.fromkeys(node for node in before if node != self.node))
            is_back = self.leaving.pop(name, None) is not None and share.is_complete
            share.is_complete = not sources
            if sources:
                unheard = sources if is_next or is_back else ()
                self.sources[name], self._unheard[name] = sources, set(unheard)
                records.append(_incoming(name, sources, unheard))
        for name in sorted(was_held - partitions):
            self.share(name).is_holder = False
            records += self._arrived(name)
        # Also what was on its way to nodes that are holders no longer.
        return records + [self._leaves(name) for name in sorted({*self.leaving, *(was_held - partitions)})]

    def _leaves(self, partition: str) -> Record:
        """Keep a partition that moved away until others have it, restarts or not: they wait for its word, though it is empty."""
        self.leaving[partition] = {node for node in self.topology.holders(partition) if node != self.node}
        extent = _WHOLE if self.share(partition).is_complete else _PART
        return Put(HELD, _key(partition), "\n".join((extent, *sorted(self.leaving[partition]))).encode())

    def keep_if_astray(self, partition: str) -> bool:
        """Keep what came here although others hold it now, until they have it; whether it is that."""
        if self.shares[partition].is_holder:
            return False
        if partition not in self.leaving:
            self.leaving[partition] = set()
            # A node that never held it, or has handed it over, has only assertions that came by chance.
            self.shares[partition].is_complete = False
        self.leaving[partition].update(self.topology.holders(partition))
        return True

    def agreed(self, peer: str, partitions: Iterable[str], complete: Collection[str]) -> list[Record]:
        """A peer has the same of these partitions as this node, of some of them everything.

        A new holder has everything once it agreed with a holder of everything, or with each former holder: two that were
        given each other's place would otherwise wait for one another.
        """
        still = [name for name in partitions if name in self.sources]
        return [record for name in still for record in self._heard(name, peer, is_whole=name in complete)]

    def handed_over(self, peer: str, partitions: Iterable[str]) -> None:
        """A peer has proved that it has all of these that is here, and knows of everything that was here and is gone."""
        for name in partitions:
            if name in self.leaving:
                self.leaving[name].discard(peer)

    def _heard(self, partition: str, peer: str, *, is_whole: bool) -> list[Record]:
        """A peer has no more of a partition than this node. Whether that is everything, and what to persist of it."""
        unheard = self._unheard.get(partition)
        if unheard is not None and peer in unheard:
            unheard.discard(peer)
        elif not is_whole:
            return []
        if unheard and not is_whole:
            return [_incoming(partition, self.sources[partition], unheard)]
        self.shares[partition].is_complete = True
        return self._arrived(partition)

    def let_go(self) -> dict[str, Taken]:
        arrived = [name for name, waiting in self.leaving.items() if not waiting]
        for name in arrived:
            del self.leaving[name]
        return by_partition(
            (name, share) for name in arrived for share in (Taken([Delete(HELD, _key(name))]), self.shares[name].drop_others())
        )

    def load(self, journal: Iterable[Kept], *, is_founding: bool) -> list[Record]:
        """Take back shares from the journal; records to persist besides.

        A partition this node did not hold when it was last here has to be copied first, unless the hive begins with it; and one
        of which a record is lost is copied anew.
        """
        lost: set[str] = set()
        was_held: set[str] = set()
        has_left: dict[str, _Left] = {}
        up_to: dict[str, dict[Actor, int]] = {}
        beyond: dict[str, list[Dot]] = {}
        for record in journal:
            name, _, key = record.key.partition(b"\0")
            partition = name.decode(errors="replace")
            if isinstance(record, SetAside):
                lost.add(partition if record.is_place_sure else "")
            elif record.table == SEEN:
                up_to.setdefault(partition, {})[key] = int.from_bytes(record.value, "big")
            elif record.table == BEYOND:
                beyond.setdefault(partition, []).append(key)
            elif record.table == HELD and record.value:
                extent, *heirs = record.value.decode().split("\n")
                has_left[partition] = _Left(extent == _WHOLE, heirs)
            elif record.table == HELD:
                was_held.add(partition)
            elif record.table == INCOMING:
                sources, _, unheard = record.value.decode().partition("\0")
                self.sources[partition] = tuple(sources.split("\n"))
                if unheard:
                    self._unheard[partition] = set(unheard.split("\n"))
                self.share(partition).is_complete = False
            else:
                self.share(partition).load(record.table, key, record.value)
        for partition in {*up_to, *beyond, *self.shares}:
            self.share(partition).finish_loading(up_to.get(partition, {}), beyond.get(partition, []))
        records = self._moved_away(was_held, has_left)
        records += self._taken_over(was_held, has_left, is_founding=is_founding and not was_held and not has_left)
        # The partition of a record with a damaged key is unknown.
        for partition in lost if lost <= self.shares.keys() else tuple(self.shares):
            records += self._copied_anew(partition)
        for partition, share in self.shares.items():
            if share.has_of_others():
                self.keep_if_astray(partition)
        return records

    def _copied_anew(self, partition: str) -> list[Record]:
        """Something of it is lost, so what was seen and is not live here need not be gone: only what is here was seen."""
        share, former = self.share(partition), self.sources.get(partition, ())
        records = share.forget_seen()
        if partition in self.leaving:
            share.is_complete = False
            records.append(Put(HELD, _key(partition), _PART.encode()))
        sources = dict.fromkeys([*former, *(node for node in self.topology.holders(partition) if node != self.node)])
        if share.is_holder and not sources:
            self.has_lost = True
        if share.is_holder and sources:
            share.is_complete, self.sources[partition] = False, tuple(sources)
            if partition in self._unheard or not former:
                self._unheard[partition] = set(sources)
            records.append(_incoming(partition, sources, self._unheard.get(partition, ())))
        return records

    def _moved_away(self, was_held: set[str], has_left: Mapping[str, _Left]) -> list[Record]:
        """Partitions that were to be handed over, or went to others while this node was away."""
        partitions = self.topology.held_by(self.node)
        records: list[Record] = []
        for name in sorted(was_held.union(has_left).difference(partitions)):
            share = self.share(name)
            share.is_complete = has_left[name].is_whole if name in has_left else share.is_complete
            records += [*self._arrived(name), self._leaves(name)]
        return records

    def _taken_over(self, was_held: set[str], has_left: Mapping[str, _Left], *, is_founding: bool) -> list[Record]:
        """Partitions that came to this node while it was away."""
        new = [name for name in self.topology.held_by(self.node) if name not in was_held]
        records: list[Record] = [Put(HELD, _key(name), b"") for name in new]
        for name in [] if is_founding else new:
            left = has_left.get(name, _Left(False, ()))
            holders = (*left.heirs, *self.topology.holders(name))
            sources = tuple(dict.fromkeys(node for node in holders if node != self.node))
            if sources and name not in self.sources:
                self.sources[name] = sources
                self.share(name).is_complete = False
                if left.is_whole and left.heirs:
                    self._unheard[name] = set(sources)
                records.append(_incoming(name, sources, self._unheard.get(name, ())))
        return records

    def _arrived(self, partition: str) -> list[Record]:
        self._unheard.pop(partition, None)
        return [Delete(INCOMING, _key(partition))] if self.sources.pop(partition, None) else []

    def _assertion(self, promotion: Promotion, stamp: Stamp, at: NodePolicy) -> Assertion:
        settings = self._policy.settings
        span = lifetime(promotion.ttl_ms, at.trusted_ms(), settings.expiry)
        id = fact_id(promotion.statement.content, settings.tenant)
        return Assertion(
            id,
            promotion.agent,
            promotion.root,
            promotion.confidence,
            stamp,
            promotion.statement,
            span.ttl_ms,
            span.expires_ms,
            settings.tenant,
        )

    def _home_of(self, fact_id: str) -> str:
        """Where the fact counts: here, unless a copy shows that it has its home elsewhere already."""
        home = self.topology.home(fact_id, self.node)
        for partition in self.topology.copies(fact_id, self.node, 1.0):
            copy = self.shares.get(partition)
            if copy is not None and copy.members.contains(fact_id) and not self.share(home).members.contains(fact_id):
                dot = min(copy.members.dots_of(fact_id), key=lambda dot: copy.stamp_of(dot))
                head = copy.heads.get(actor_of(dot))
                return self.topology.home(fact_id, head.node) if head and head.node in self.topology.nodes else home
        return home

    def _copies(self, assertion: Assertion, sureness: float) -> list[str]:
        """Where it is copied to: where it is sure enough, and where a former word of the same voice would contradict it."""
        possible = self.topology.copies(assertion.fact_id, self.node, 1.0)
        partitions = self.topology.copies(assertion.fact_id, self.node, sureness) if possible else ()
        return [name for name in possible if name in partitions or self._has_said(name, assertion)]

    def _has_said(self, partition: str, assertion: Assertion) -> bool:
        share = self.shares.get(partition)
        voices = (
            ((sealed.assertion.agent, sealed.assertion.root) for sealed in share.assertions(assertion.fact_id)) if share else ()
        )
        return (assertion.agent, assertion.root) in voices

    def _has_alike(self, partition: str, assertion: Assertion) -> bool:
        """Whether it would say nothing new: same voice, same words, same confidence, and no time to live to renew."""
        return any(
            (voice.agent, voice.root, voice.confidence) == (assertion.agent, assertion.root, assertion.confidence)
            and voice.statement == assertion.statement
            and not assertion.ttl_ms
            for voice in (given_assertion.assertion for given_assertion in self.share(partition).assertions(assertion.fact_id))
        )


def _incoming(partition: str, sources: Iterable[str], unheard: Iterable[str] = ()) -> Put:
    value = "\n".join(sources) + "\0" + "\n".join(sorted(unheard))
    return Put(INCOMING, _key(partition), value.encode())


def _key(partition: str) -> bytes:
    return partition.encode() + b"\0"
