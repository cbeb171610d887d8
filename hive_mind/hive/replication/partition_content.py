"""The content of a partition replica, read only: live assertions under dots, proofs of removal, and heads of the nodes.

A proof may come before the assertion it takes away, and any member can give one for an assertion that never comes. So of each
giver only the newest are kept: a member that takes back without end loses its own. Which they are depends on no order.

Of a replica an exchange compares fingerprints, and dots seen that are live no more: computed when first asked for and kept until
it changes, so that two in sync cost a hash of a hash to compare.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import chain
from operator import itemgetter

import msgspec

from hive_mind.crdt.orset import ORSet
from hive_mind.crdt.reconcile import ROOT_BYTES, DotIndex
from hive_mind.hive.policy.admission import weight
from hive_mind.model.evidence import ACTOR_BYTES, Actor, Dot, Head, Removal, Sealed, Stamp, actor_of, counter_of
from hive_mind.model.messages import Changes, Span

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
        return self._proofs

    def lacking(self, dots: Iterable[Dot]) -> list[Dot]:
        return [dot for dot in dots if not self._is_known(dot)]

    def everything(self) -> Changes:
        proofs = {id(proof): proof for proof in self._proofs.values()}
        return Changes(self.partition, tuple(self._sealed.values()), tuple(proofs.values()), tuple(self.heads.values()))

    def content_digest(self) -> bytes:
        members, version, digest = self._content_digest
        # Versions of one set only: where what was seen is forgotten another one takes its place, and counts anew.
        if members is not self.members or version != self.members.version:
            hasher = blake2b(digest_size=32)
            for dot, assertion in sorted(self._sealed.items(), key=itemgetter(0)):
                hasher.update(_encode((dot, assertion.seal or assertion.assertion)))
            digest = hasher.digest()
            self._content_digest = self.members, self.members.version, digest
        return digest

    def stamp_of(self, dot: Dot) -> Stamp:
        return self._sealed[dot].assertion.stamp

    def own_heads(self) -> tuple[Head, ...]:
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


OWN_JUDGEMENT = frozenset({"expired", "quota", "revoked"})
"""Reasons that every node checks by itself: nobody needs to vouch for them, and a proof convinces no other node."""
# This many fit into a message even where no two are consecutive. Beyond it the past is taken over without proofs.
PROVED_MAX = 32_768
_ROOTS_KEPT = 1024


@dataclass(frozen=True, slots=True)
class SeenDigest:
    """Seen dots of some actors: of each the last dot with no gap before it, dots beyond, and those provably gone."""

    up_to: tuple[Dot, ...] = ()
    beyond: tuple[Dot, ...] = ()
    proved: tuple[Dot, ...] = ()


@lru_cache(_ROOTS_KEPT)
def _root(digest: bytes, session: bytes) -> bytes:
    # Kept, because most partitions of a sharded hive are empty: a thousand times the same in each exchange.
    return blake2b(digest, key=session, digest_size=ROOT_BYTES).digest()


def _live_digest(live: DotIndex) -> bytes:
    # Two of them: no session's key is in here, and 32 bytes can't be made to collide with time to prepare either.
    return live.fingerprint() + live.keyed(b"again").fingerprint()


def _seen_digest(last: Iterable[Dot], beyond: Iterable[Dot]) -> bytes:
    hasher = blake2b(b"".join(sorted(last)), digest_size=32)
    hasher.update(b"|" + b"".join(sorted(beyond)))
    return hasher.digest()


_NOTHING_LIVE = _live_digest(DotIndex((), b""))
_NOTHING_SEEN = _seen_digest((), ())


def _together(columns: Iterable[Sequence[Dot]]) -> tuple[Dot, ...]:
    return tuple(dict.fromkeys(chain(*columns)))


class Digest:
    """One version of one share: of its set, and of the proofs it keeps."""

    def __init__(self, members: ORSet[str], proofs: Proofs) -> None:
        self.members, self.version = members, (members.version, proofs.version)
        self.live, self.context = members.live, members.context
        self._proofs = proofs

    def is_of(self, members: ORSet[str], proofs: Proofs) -> bool:
        return self.members is members and self.version == (members.version, proofs.version)

    def live_root(self, session: bytes) -> bytes:
        """A fingerprint of the live dots, another one in each session."""
        return _root(self._live_digest, session)

    def seen_root(self, session: bytes) -> bytes:
        return _root(self._seen_digest, session)

    def index(self, session: bytes) -> DotIndex:
        return self._index.keyed(session)

    def seen(self, low: bytes = b"", high: bytes = b"") -> SeenDigest:
        """Seen dots of the actors between two bounds (b"": none).

        Only of actors with removed assertions: of the others, seen and live dots are the same. For the same reason
        live dots beyond a gap are left out.
        """
        actors = self._thinned
        start = bisect_left(actors, low[:ACTOR_BYTES]) if low else 0
        # A bound behind the actor itself and before every other that follows it.
        stop = bisect_left(actors, high[:ACTOR_BYTES].ljust(ACTOR_BYTES, b"\0") + b"\0") if high else len(actors)
        return self._seen_of(actors[start:stop])

    def seen_some(self, actors_max: int, session: bytes) -> SeenDigest:
        """`seen` of as many actors; in another session of others."""
        return self._seen_of(some_actors(self._thinned, actors_max, session))

    def seen_in(self, spans: Iterable[Span]) -> SeenDigest:
        """`seen` of several spans at once."""
        if not self._thinned:
            return SeenDigest()
        parts = [self.seen(span.low, span.high) for span in spans]
        if len(parts) == 1:
            return parts[0]
        return SeenDigest(
            _together(part.up_to for part in parts),
            _together(part.beyond for part in parts),
            _together(part.proved for part in parts),
        )

    def _seen_of(self, actors: Sequence[Actor]) -> SeenDigest:
        last = self.context.last
        up_to = tuple([last[actor] for actor in actors if actor in last])
        beyond = tuple([dot for actor in actors for dot in self._beyond_of.get(actor, ()) if dot not in self.live])
        proved = [dot for actor in actors for dot in self._proved_of.get(actor, ())]
        return SeenDigest(up_to, beyond, tuple(proved[:PROVED_MAX]))

    @cached_property
    def _index(self) -> DotIndex:
        return DotIndex(tuple(self.live), b"")

    @cached_property
    def _live_digest(self) -> bytes:
        return _live_digest(self._index) if self.live else _NOTHING_LIVE

    @cached_property
    def _seen_digest(self) -> bytes:
        return _seen_digest(self.context.last.values(), self._beyond) if self.context.last or self._beyond else _NOTHING_SEEN

    @cached_property
    def _beyond(self) -> frozenset[Dot]:
        return self.context.beyond

    @cached_property
    def _beyond_of(self) -> dict[Actor, list[Dot]]:
        return _by_actor(self._beyond)

    @cached_property
    def _proved_of(self) -> dict[Actor, list[Dot]]:
        proofs, live = self._proofs, self.live
        return _by_actor(dot for dot in self.context.seen(proofs) if dot not in live and proofs[dot].why not in OWN_JUDGEMENT)

    @cached_property
    def _thinned(self) -> list[Actor]:
        live = Counter(map(actor_of, self.live))
        seen_counts = {actor: counter_of(last) for actor, last in self.context.last.items()}
        for actor, dots in self._beyond_of.items():
            seen_counts[actor] = seen_counts.get(actor, 0) + len(dots)
        return sorted(actor for actor, count in seen_counts.items() if count != live[actor])


def some_actors(actors: Sequence[Actor], actors_max: int, session: bytes) -> Sequence[Actor]:
    """As many of some sorted actors, sorted; others in another session, and each in some."""
    if len(actors) <= actors_max:
        return actors
    start = int.from_bytes(session[:4], "big") % len(actors)
    return sorted([*actors, *actors][start : start + actors_max])


def _by_actor(dots: Iterable[Dot]) -> dict[Actor, list[Dot]]:
    dots_by_actor: dict[Actor, list[Dot]] = {}
    for dot in dots:
        dots_by_actor.setdefault(actor_of(dot), []).append(dot)
    return dots_by_actor
