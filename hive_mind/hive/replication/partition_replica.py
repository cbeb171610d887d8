"""A node's share of one partition: live assertions under their dots, and proofs of the removed ones.

Membership is a tombstone-free add-wins set; it is safe among members that may lie because nothing leaves it without a proof: a
removal by the author or a moderator, or the node's own judgement that it expired or exceeds its author's quota. One that comes
before its assertion is kept until that comes. Every change returns the journal records that make it durable.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from hive_mind.crdt.orset import Delta, ORSet
from hive_mind.hive.effects import Delete, Put, Record, Taken
from hive_mind.hive.policy import (
    TOO_MANY_BOOTS,
    TOO_MANY_REMOVALS,
    is_sealed_head,
    is_sealed_removal,
    sealed,
    sealed_head,
    sealed_removal,
)
from hive_mind.hive.policy.admission import REMOVAL_DOTS_MAX, malformed_head, malformed_removal, refusal, weight
from hive_mind.hive.policy.node_policy import NodePolicy
from hive_mind.hive.replication.partition_content import OWN_JUDGEMENT, PartitionContent, age
from hive_mind.model.decoding import msgpack_decoder
from hive_mind.model.evidence import Actor, Assertion, Dot, Head, Reason, Removal, Sealed, Stamp, actor_of, counter_of
from hive_mind.model.messages import Changes

ASSERTIONS, PROOFS, SEEN, BEYOND, HEADS = "assertion", "proof", "seen", "beyond", "head"

# How far a limit may be exceeded between two times of housekeeping.
_SLACK = 2

_encode = msgspec.msgpack.Encoder().encode
_decode_sealed = msgpack_decoder(Sealed)
_decode_removal = msgpack_decoder(Removal)
_decode_head = msgpack_decoder(Head)


class PartitionReplica(PartitionContent):
    """One partition on one node. A node that only writes to it keeps just its own assertions (`is_holder` False).

    `is_complete` is False while a new holder still copies what others had before it. `is_wary`: members may lie, so a dot
    counts as gone only with a proof, whatever the context covers.
    """

    def assert_all(self, assertions: Iterable[Assertion], authority: NodePolicy) -> Taken:
        """Assert as this node, each in place of what the same agent had asserted of the fact from the same root."""
        change = Taken()
        added: dict[Dot, str] = {}
        for assertion in assertions:
            former = [sealed.dot for sealed in self.assertions(assertion.fact_id) if _is_same_voice(sealed.assertion, assertion)]
            (dot,) = self.members.add(assertion.fact_id, former).added
            added[dot] = assertion.fact_id
            given_assertion = sealed(authority.seal, self.partition, dot, assertion)
            self._keep(given_assertion, change)
            change.adds.append(given_assertion)
            if former:
                removal = Removal(assertion.fact_id, tuple(former), assertion.agent, "superseded", assertion.stamp)
                self._let_go(removal, authority, change)
        if added:
            self._enforce_quota({add.assertion.agent for add in change.adds}, authority, change)
            counter = self.members.context.up_to.get(self._actor, 0)
            head = sealed_head(authority.seal, self.partition, Head(self._node, self._incarnation, counter))
            self._set_head(head)
            change.records.append(Put(HEADS, self._prefix + self._actor, _encode(head)))
            self._note_seen(added, change)
        return change

    def remove(self, fact_id: str, dots: Sequence[Dot], by: str, why: Reason, stamp: Stamp, authority: NodePolicy) -> Taken:
        """Remove assertions. The caller has checked the right to."""
        change = Taken()
        self.members.drop(dots)
        self._let_go(Removal(fact_id, tuple(dots), by, why, stamp), authority, change)
        self._note_seen(dots, change)
        return change

    def disown(self, authority: NodePolicy) -> Taken:
        """Let go of what was said, and of what was taken back, by keys that nobody believes any more."""
        change, is_revoked = Taken(), authority.seal.is_revoked
        assertions = [sealed for sealed in self._sealed.values() if is_revoked(sealed.seal, sealed.assertion.stamp.ms)]
        self.members.drop([sealed.dot for sealed in assertions])
        for given_assertion in assertions:
            assertion = given_assertion.assertion
            removal = Removal(assertion.fact_id, (given_assertion.dot,), assertion.agent, "revoked", assertion.stamp)
            self._forget([given_assertion.dot], removal, change)
        self._drop_proofs([dot for dot, proof in self._proofs.items() if is_revoked(proof.seal, proof.stamp.ms)], change)
        self._note_seen([sealed.dot for sealed in assertions], change)
        # Forget what was seen of an actor of which nothing is trusted: replicas that never took it in would never agree.
        silent = {actor for actor, head in self.heads.items() if is_revoked(head.seal, 0)}
        silent |= {actor_of(sealed.dot) for sealed in assertions if is_revoked(sealed.seal, 0)}
        self._forget_actors(silent.difference(map(actor_of, self._sealed), (self._actor,)), change)
        return change

    def take(self, adds: Iterable[Sealed], removals: Iterable[Removal], heads: Iterable[Head], authority: NodePolicy) -> Taken:
        """Take in what is new and true of it. Applying anything twice changes nothing."""
        change, removals, heads = Taken(), list(removals), list(heads)
        self._take_heads(heads, authority, change)
        gone_removals = self._take_removals(removals, authority, change)
        fresh, observed = self._admitted(adds, authority, change)
        if fresh or gone_removals or observed:
            self._change(fresh, gone_removals, observed, authority, change)
        # To the limit itself `forget_beyond_limits` brings it, so that this need not be done with each message.
        givers = {assertion.assertion.agent for assertion in fresh}.union(removal.by for removal in removals)
        self._limit_proofs(_SLACK * authority.removals_max, change, givers)
        self._limit_boots(_SLACK * authority.boots_max, change, {head.node for head in heads})
        return change

    def _change(
        self,
        fresh: Sequence[Sealed],
        removals: Mapping[Dot, Removal],
        observed: Sequence[Dot],
        authority: NodePolicy,
        change: Taken,
    ) -> None:
        added = {given_assertion.dot: given_assertion.assertion.fact_id for given_assertion in fresh}
        # Dots a liar has made it cover are revived when they come; of honest members' dots none is covered here.
        self.members.revive({dot: fact for dot, fact in added.items() if self.members.has_seen(dot)} if self._is_wary else {})
        self.members.apply(Delta(added, frozenset([*removals, *observed])))
        for assertion in fresh:
            self._keep(assertion, change)
        change.adds += fresh
        for dot, removal in removals.items():
            self._forget([dot], removal, change)
        self._enforce_quota({given_assertion.assertion.agent for given_assertion in fresh}, authority, change)
        self._note_seen([*removals, *observed, *(given_assertion.dot for given_assertion in fresh)], change)

    def take_changes(self, changes: Changes, authority: NodePolicy) -> Taken:
        return self.take(changes.adds, changes.removals, changes.heads, authority)

    def join(self, up_to: Mapping[Actor, int], beyond: Iterable[Dot], heads: Iterable[Head], authority: NodePolicy) -> Taken:
        """Take over what another node has seen, where both hold the same assertions. No actor is believed beyond its own head."""
        change = Taken()
        self._take_heads(heads, authority, change)
        known_counters = {actor: head.counter for actor, head in self.heads.items()}
        bounded = {actor: min(counter, known_counters.get(actor, 0)) for actor, counter in up_to.items()}
        before = dict(self.members.context.up_to)
        single = [dot for dot in beyond if counter_of(dot) <= known_counters.get(actor_of(dot), 0)]
        self.members.join_context(bounded, single)
        moved = [actor for actor, counter in self.members.context.up_to.items() if before.get(actor) != counter]
        self._note_actors(moved, change)
        self._note_beyond(single, change)
        self._limit_boots(_SLACK * authority.boots_max, change, list(self._heads_of))
        return change

    def has_of_others(self) -> bool:
        return any(actor_of(dot) not in self._own_heads for dot in self._sealed)

    def drop_others(self) -> Taken:
        """Let go of a partition this node no longer holds, except its own writes.

        Seen dots of others are forgotten too: otherwise the node would refuse all of it should the partition come back.
        """
        change = Taken()
        for assertion in [held for held in self._sealed.values() if actor_of(held.dot) not in self._own_heads]:
            self._unkeep(assertion, change)
        change.records += self.forget_seen(self._own_heads)
        return change

    def forget_seen(self, but_of: Collection[Actor] = ()) -> list[Record]:
        """Have seen no more than what is live here, `but_of` some actors."""
        context = self.members.context
        records: list[Record] = [Delete(SEEN, self._prefix + actor) for actor in context.up_to if actor not in but_of]
        for actor in [actor for actor in self._noted_beyond if actor not in but_of]:
            records += [Delete(BEYOND, self._prefix + dot) for dot in sorted(self._noted_beyond.pop(actor))]
        self.members = ORSet(self._actor)
        up_to = {actor: counter for actor, counter in context.up_to.items() if actor in but_of}
        self.finish_loading(up_to, [dot for dot in context.beyond if actor_of(dot) in but_of])
        return records

    def forget_beyond_limits(self, authority: NodePolicy) -> Taken:
        """Forget the oldest proofs of members that gave too many, boots beyond the limit without live assertions, and gaps."""
        change = Taken()
        self._limit_proofs(authority.removals_max, change, None)
        self._limit_boots(authority.boots_max, change, list(self._heads_of))
        if reached := self._beyond_gaps():
            self.members.join_context(reached, ())
            self._note_actors(reached.keys(), change)
        return change

    def forget_proofs(self, before_ms: int) -> Taken:
        """Drop proofs that are older; by then every member has the removal, or has left."""
        change = Taken()
        self._drop_proofs([dot for dot, removal in self._proofs.items() if removal.stamp.ms < before_ms], change)
        return change

    def load(self, table: str, key: bytes, value: bytes) -> None:
        """Take back one journal record of this partition; `key` is without the partition."""
        match table:
            case "assertion":
                self._keep(_decode_sealed(value), None)
            case "proof":
                self._proofs.keep(key, _decode_removal(value))
            case "head":
                self._set_head(_decode_head(value))

    def finish_loading(self, up_to: Mapping[Actor, int], beyond: Iterable[Dot]) -> None:
        """After every record: make the set of what was loaded."""
        beyond = list(beyond)
        for dot in beyond:
            self._noted_beyond.setdefault(actor_of(dot), set()).add(dot)
        self.members.apply(Delta({dot: assertion.assertion.fact_id for dot, assertion in self._sealed.items()}, frozenset()))
        self.members.join_context(up_to, beyond)

    def _take_heads(self, heads: Iterable[Head], authority: NodePolicy, change: Taken) -> None:
        for head in heads:
            known_head = self.heads.get(head.actor)
            if known_head is not None and known_head.counter >= head.counter:
                continue
            reason = malformed_head(head)
            if reason or not is_sealed_head(authority.seal, self.partition, head):
                change.refused[reason or "a head that its node did not seal"] += 1
                continue
            self._set_head(head)
            change.records.append(Put(HEADS, self._prefix + head.actor, _encode(head)))

    def _is_squatted(self, assertion: Sealed, authority: NodePolicy) -> bool:
        """Whether its dot belongs to a node that did not seal it, or to an unknown one: it comes again with a head."""
        if not self._is_wary:
            return False
        head = self.heads.get(actor_of(assertion.dot))
        return head is None or not authority.seal.speaks_for(assertion.seal, head.node)

    def _take_removals(self, removals: Iterable[Removal], authority: NodePolicy, change: Taken) -> dict[Dot, Removal]:
        """Dots to let go of, with their proofs. A proof for what is not here yet waits for it."""
        gone_removals: dict[Dot, Removal] = {}
        for removal in removals:
            reason = malformed_removal(removal)
            if reason or not (removal.why in OWN_JUDGEMENT or is_sealed_removal(authority.seal, self.partition, removal)):
                change.refused[reason or "a removal that its author did not seal"] += 1
                continue
            for dot in removal.dots:
                assertion = self._sealed.get(dot)
                if assertion is None:
                    self._wait_for(dot, removal, authority, change)
                elif dot in gone_removals:
                    continue
                elif self._proves(removal, assertion, authority):
                    gone_removals[dot] = removal
                else:
                    change.refused["unauthorised removal"] += 1
                    change.contested.append(dot)
        return gone_removals

    def _wait_for(self, dot: Dot, removal: Removal, authority: NodePolicy, change: Taken) -> None:
        if removal.why in OWN_JUDGEMENT:
            return
        former = self._proofs.get(dot)
        # Anybody can send a removal of a future write; it must not block one by an entitled author.
        if former is not None and (self._is_entitled(former, dot, authority) or not self._is_entitled(removal, dot, authority)):
            return
        # Kept also where the dot is covered already (another's past): a holder set back to a backup asks for it.
        self._proofs.keep(dot, removal)
        change.records.append(Put(PROOFS, self._prefix + dot, _encode(removal)))

    def _is_entitled(self, removal: Removal, dot: Dot, authority: NodePolicy) -> bool:
        """Whether it counts while the assertion under a dot is unknown: a moderator's, and that of the dot's node."""
        head = self.heads.get(actor_of(dot))
        is_its_nodes = head is not None and authority.seal.speaks_for(removal.seal, head.node)
        return is_its_nodes or removal.why in OWN_JUDGEMENT or authority.is_moderator(removal.by)

    def _proves(self, removal: Removal, given_assertion: Sealed, authority: NodePolicy) -> bool:
        assertion = given_assertion.assertion
        if removal.fact_id != assertion.fact_id:
            return False
        if removal.why == "expired":
            return authority.is_expired(given_assertion)
        if removal.why == "quota":
            return self._is_beyond_quota(given_assertion, authority.quota)
        if removal.why == "revoked":
            return authority.seal.is_revoked(given_assertion.seal, assertion.stamp.ms)
        return removal.by == assertion.agent or authority.is_moderator(removal.by) or authority.is_withdrawn(assertion)

    def _admitted(self, adds: Iterable[Sealed], authority: NodePolicy, change: Taken) -> tuple[list[Sealed], list[Dot]]:
        """New assertions, and dots that are only to be remembered as seen: taken back before they came."""
        fresh: dict[Dot, Sealed] = {}
        observed: list[Dot] = []
        for add in adds:
            if add.dot in fresh or self._is_settled(add, authority):
                continue
            if reason := refusal(add, self.partition, authority.tenant, authority.seal):
                change.refused[reason] += 1
            elif self._is_squatted(add, authority):
                change.refused["a dot of another node's"] += 1
            elif self._is_taken_back(add, authority):
                observed.append(add.dot)
            else:
                fresh[add.dot] = add
        return list(fresh.values()), observed

    def _is_settled(self, assertion: Sealed, authority: NodePolicy) -> bool:
        """Whether it is here, or rightly gone. Among members that may lie a proof says nothing of another fact under its dot."""
        proof = self._proofs.get(assertion.dot)
        is_gone = not self._is_wary or proof is None or proof.why in OWN_JUDGEMENT or self._proves(proof, assertion, authority)
        return self._is_known(assertion.dot) and is_gone

    def _is_taken_back(self, sealed: Sealed, authority: NodePolicy) -> bool:
        waiting = self._proofs.get(sealed.dot)
        return authority.is_withdrawn(sealed.assertion) or (waiting is not None and self._proves(waiting, sealed, authority))

    def _keep(self, assertion: Sealed, change: Taken | None) -> None:
        self._sealed[assertion.dot] = assertion
        self._per_agent[assertion.assertion.agent] += weight(assertion.assertion)
        # A proof that waited and did not hold is nobody's proof.
        if self._proofs.forget(assertion.dot) and change is not None:
            change.records.append(Delete(PROOFS, self._prefix + assertion.dot))
        if change is not None:
            change.records.append(Put(ASSERTIONS, self._prefix + assertion.dot, _encode(assertion)))
            change.facts.add(assertion.assertion.fact_id)

    def _unkeep(self, assertion: Sealed, change: Taken) -> None:
        del self._sealed[assertion.dot]
        self._per_agent[assertion.assertion.agent] -= weight(assertion.assertion)
        if not self._per_agent[assertion.assertion.agent]:
            del self._per_agent[assertion.assertion.agent]
        change.gone.append(assertion)
        change.records.append(Delete(ASSERTIONS, self._prefix + assertion.dot))
        change.facts.add(assertion.assertion.fact_id)

    def _let_go(self, removal: Removal, authority: NodePolicy, change: Taken) -> None:
        """Drop dots for an entitled remover, under as many proofs as needed."""
        for start in range(0, len(removal.dots), REMOVAL_DOTS_MAX):
            part = msgspec.structs.replace(removal, dots=removal.dots[start : start + REMOVAL_DOTS_MAX])
            proof = sealed_removal(authority.seal, self.partition, part)
            if authority.seal.is_on and removal.why == "redacted" and not proof.seal:
                # Its key is elsewhere, and unsealed nobody believes it; but the registry says it, so this node may say it too.
                proof = sealed_removal(authority.seal, self.partition, msgspec.structs.replace(part, by=self._node))
            self._forget(part.dots, proof, change)

    def _forget(self, dots: Iterable[Dot], removal: Removal, change: Taken) -> None:
        for dot in dots:
            if (assertion := self._sealed.get(dot)) is None:
                continue
            self._unkeep(assertion, change)
            self._proofs.keep(dot, removal)
            change.records.append(Put(PROOFS, self._prefix + dot, _encode(removal)))
        change.removals.append(removal)

    def _drop_proofs(self, dots: Iterable[Dot], change: Taken) -> None:
        for dot in dots:
            self._proofs.forget(dot)
            change.records.append(Delete(PROOFS, self._prefix + dot))

    def _forget_actors(self, actors: Collection[Actor], change: Taken) -> None:
        if not actors:
            return
        self._drop_proofs([dot for dot in self._proofs if actor_of(dot) in actors], change)
        self._forget_boots(actors, change)

    def _limit_proofs(self, most: int, change: Taken, givers: Collection[str] | None) -> None:
        if dots := self._proofs.beyond(most, givers):
            self._drop_proofs(dots, change)
            change.refused[TOO_MANY_REMOVALS] += len(dots)

    def _limit_boots(self, most: int, change: Taken, nodes: Collection[str]) -> None:
        if actors_gone := self._boots_beyond(most, nodes):
            self._forget_boots(actors_gone, change)
            change.refused[TOO_MANY_BOOTS] += len(actors_gone)

    def _forget_boots(self, actors: Collection[Actor], change: Taken) -> None:
        for actor in [actor for actor in actors if actor in self.heads]:
            self._heads_of[self.heads.pop(actor).node] -= 1
            self._own_heads.pop(actor, None)
            change.records.append(Delete(HEADS, self._prefix + actor))
        context = self.members.context
        change.records += self.forget_seen({*context.up_to, *map(actor_of, context.beyond)}.difference(actors))

    def _enforce_quota(self, agents: Iterable[str], authority: NodePolicy, change: Taken) -> None:
        """Keep an agent's newest assertions. Deterministic: replicas with the same assertions keep the same ones."""
        for agent in sorted(agent for agent in agents if self._per_agent[agent] > authority.quota):
            assertions = [sealed for sealed in self._sealed.values() if sealed.assertion.agent == agent]
            used = 0
            for assertion in sorted(assertions, key=age, reverse=True):
                used += weight(assertion.assertion)
                if used > authority.quota:
                    self.members.drop([assertion.dot])
                    removal = Removal(assertion.assertion.fact_id, (assertion.dot,), agent, "quota", assertion.assertion.stamp)
                    self._forget([assertion.dot], removal, change)

    def _set_head(self, head: Head) -> None:
        self._heads_of[head.node] += head.actor not in self.heads
        self.heads[head.actor] = head
        if head.node == self._node:
            self._own_heads[head.actor] = head

    def _note_seen(self, dots: Iterable[Dot], change: Taken) -> None:
        """Make durable what was seen: the count per actor, and single dots beyond it that are live no more."""
        dots = list(dots)
        self._note_actors({actor_of(dot) for dot in dots}, change)
        self._note_beyond((dot for dot in dots if dot not in self._sealed), change)

    def _note_actors(self, actors: Collection[Actor], change: Taken) -> None:
        """Counts of these actors. Single dots that these reach need no records: left behind, they would come back by themselves
        where what was seen is to be forgotten."""
        up_to = self.members.context.up_to
        change.records += [Put(SEEN, self._prefix + actor, up_to[actor].to_bytes(5, "big")) for actor in actors if actor in up_to]
        for actor in actors if self._noted_beyond else ():
            last = self.members.context.last.get(actor, b"")
            reached = {dot for dot in self._noted_beyond.get(actor, ()) if dot <= last}
            change.records += [Delete(BEYOND, self._prefix + dot) for dot in sorted(reached)]
            if reached:
                self._noted_beyond[actor] -= reached
                if not self._noted_beyond[actor]:
                    del self._noted_beyond[actor]

    def _note_beyond(self, dots: Iterable[Dot], change: Taken) -> None:
        beyond = self.members.context.beyond
        for dot in [dot for dot in dots if dot in beyond]:
            self._noted_beyond.setdefault(actor_of(dot), set()).add(dot)
            change.records.append(Put(BEYOND, self._prefix + dot, b""))


def _is_same_voice(assertion: Assertion, other_assertion: Assertion) -> bool:
    """Whether the same agent passes on the same root: then the later one replaces the earlier one."""
    return assertion.agent == other_assertion.agent and assertion.root == other_assertion.root
