"""The content of a partition replica, read only: live assertions under dots, proofs of removal, and heads of the nodes.

A proof may come before the assertion it takes away, and any member can give one for an assertion that never comes. So of each
giver only the newest are kept: a member that takes back without end loses its own. Which they are depends on no order.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b

import msgspec

from hive_mind.crdt.orset import ORSet
from hive_mind.hive.policy.admission import weight
from hive_mind.model.evidence import Actor, Dot, Head, Removal, Sealed, Stamp, actor_of, counter_of
from hive_mind.model.messages import Changes

SEEN_BEYOND_MAX = 10_000
"""Single dots of one node that are remembered beyond gaps in its counting."""

_encode = msgspec.msgpack.Encoder().encode


class Proofs(dict[Dot, Removal]):
    """Changed by `keep` and `forget` alone."""

    def __init__(self) -> None:
        super().__init__()
        self.version = 0
        """Grows with every change."""
        self._numbers: Counter[str] = Counter()

    def keep(self, dot: Dot, removal: Removal) -> None:
        self.forget(dot)
        self[dot] = removal
        self.version += 1
        self._numbers[removal.by] += 1

    def forget(self, dot: Dot) -> bool:
        if (former := self.pop(dot, None)) is None:
            return False
        self.version += 1
        self._numbers[former.by] -= 1
        if not self._numbers[former.by]:
            del self._numbers[former.by]
        return True

    def beyond(self, most: int, givers: Iterable[str] | None = None) -> list[Dot]:
        """The older ones of givers with more than `most`; of some givers, or of all."""
        crowded = {giver for giver in (self._numbers if givers is None else givers) if self._numbers[giver] > most}
        of: dict[str, list[tuple[Stamp, Dot]]] = {}
        for dot, removal in self.items() if crowded else ():
            if removal.by in crowded:
                of.setdefault(removal.by, []).append((removal.stamp, dot))
        return [dot for entries in of.values() for _, dot in sorted(entries)[: len(entries) - most]]


class PartitionContent:
    """The base of `PartitionReplica`: it changes nothing."""

    def __init__(self, partition: str, actor: Actor, node: str, incarnation: bytes, *, is_wary: bool = False) -> None:
        self.partition = partition
        self.members: ORSet[str] = ORSet(actor)
        self.heads: dict[Actor, Head] = {}
        self._is_wary = is_wary
        self.is_holder = False
        self.is_complete = True
        self._actor, self._node, self._incarnation = actor, node, incarnation
        self._sealed: dict[Dot, Sealed] = {}
        self._proofs = Proofs()
        self._own_heads: dict[Actor, Head] = {}
        self._heads_of: Counter[str] = Counter()
        """By node, how many of its boots are known."""
        self._per_agent: Counter[str] = Counter()
        """How much of its quota each agent has used."""
        self._noted_beyond: dict[Actor, set[Dot]] = {}
        """Single dots of which the journal says that they were seen."""
        self._prefix = partition.encode() + b"\0"
        self._content_digest = self.members, -1, b""

    def __len__(self) -> int:
        return len(self._sealed)

    def count(self, agent: str) -> int:
        """How many assertions of an agent are live; a long one counts for more."""
        return self._per_agent[agent]

    def sealed(self, dot: Dot) -> Sealed | None:
        return self._sealed.get(dot)

    def proof(self, dot: Dot) -> Removal | None:
        """Why a dot is gone, as long as that is kept."""
        return self._proofs.get(dot)

    def assertions(self, fact_id: str) -> Iterator[Sealed]:
        return (self._sealed[dot] for dot in self.members.dots_of(fact_id))

    def successors(self, removals: Iterable[Removal]) -> list[Sealed]:
        """Assertions that replaced those taken away only for them.

        They travel together: a node that learned of the removal, and never got the successor, would have lost a voice.
        """
        voices = {(removal.fact_id, removal.by) for removal in removals if removal.why == "superseded"}
        return [
            sealed for fact_id, agent in sorted(voices) for sealed in self.assertions(fact_id) if sealed.assertion.agent == agent
        ]

    def all_sealed(self) -> Iterable[Sealed]:
        return self._sealed.values()

    def proofs(self) -> Proofs:
        """All proofs that are kept, by dot."""
        return self._proofs

    def lacking(self, dots: Iterable[Dot]) -> list[Dot]:
        """Those of some dots that are to be asked for: neither live here nor known to be gone."""
        return [dot for dot in dots if not self._is_known(dot)]

    def everything(self) -> Changes:
        """All of it as one change, for an empty peer."""
        proofs = {id(proof): proof for proof in self._proofs.values()}
        return Changes(self.partition, tuple(self._sealed.values()), tuple(proofs.values()), tuple(self.heads.values()))

    def content_digest(self) -> bytes:
        """Of every live assertion as its author sealed it, or, where nothing is sealed, of its text."""
        members, version, digest = self._content_digest
        # Versions of one set only: where what was seen is forgotten another one takes its place, and counts anew.
        if members is not self.members or version != self.members.version:
            hasher = blake2b(digest_size=32)
            for dot, assertion in sorted(self._sealed.items(), key=_dot):
                hasher.update(_encode((dot, assertion.seal or assertion.assertion)))
            digest = hasher.digest()
            self._content_digest = self.members, self.members.version, digest
        return digest

    def stamp_of(self, dot: Dot) -> Stamp:
        return self._sealed[dot].assertion.stamp

    def own_heads(self) -> tuple[Head, ...]:
        """This node's own counts of its writes, of this boot and of earlier ones."""
        return tuple(self._own_heads.values())

    def _boots_beyond(self, most: int, nodes: Iterable[str]) -> set[Actor]:
        """Of nodes with more boots than the limit those to be forgotten, none of which has said anything that is live.

        Which ones depends on no order. One that speaks again is heard again. Where members do not lie there are none: there it is
        known of a dot that it is gone because it was seen, and nothing else says so.
        """
        crowded = {node for node in nodes if self._heads_of[node] > most} if self._is_wary else set()
        alive = {*map(actor_of, self._sealed), *self._own_heads} if crowded else set()
        actors_gone: set[Actor] = set()
        for node in crowded:
            silent = sorted(actor for actor, head in self.heads.items() if head.node == node and actor not in alive)
            actors_gone.update(silent[: max(len(silent) - most, 0)])
        return actors_gone

    def _beyond_gaps(self) -> dict[Actor, int]:
        """How far the actors of nodes are to count as seen that count with more gaps than are remembered.

        Among members that may lie nothing is gone because it was seen, so an assertion that fills a gap later is taken in all the
        same.
        """
        beyond = [dot for dot in self.members.context.beyond if self._is_wary and actor_of(dot) in self.heads]
        counts = Counter(self.heads[actor_of(dot)].node for dot in beyond)
        reached: dict[Actor, int] = {}
        for dot in beyond:
            actor, head = actor_of(dot), self.heads[actor_of(dot)]
            if counts[head.node] > SEEN_BEYOND_MAX:
                reached[actor] = max(reached.get(actor, 0), min(counter_of(dot), head.counter))
        return reached

    def _is_beyond_quota(self, assertion: Sealed, quota: int) -> bool:
        agent, since = assertion.assertion.agent, age(assertion)
        if self._per_agent[agent] <= quota:
            return False
        assertions = (sealed for sealed in self._sealed.values() if sealed.assertion.agent == agent and age(sealed) >= since)
        return sum(weight(other_assertion.assertion) for other_assertion in assertions) > quota

    def _is_known(self, dot: Dot) -> bool:
        if dot in self._sealed:
            return True
        return self.members.has_seen(dot) and (not self._is_wary or dot in self._proofs)


def age(assertion: Sealed) -> tuple[Stamp, Dot]:
    """Sorts assertions, the oldest first, in the same order everywhere."""
    return assertion.assertion.stamp, assertion.dot


def _dot(entry: tuple[Dot, Sealed]) -> Dot:
    return entry[0]
