"""The parts of a share that an exchange compares: fingerprints, and dots seen that are live no more.

Computed when first asked for and kept until the share changes, so that two shares in sync cost a hash of a hash to compare.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import chain

from hive_mind.crdt.orset import ORSet
from hive_mind.crdt.reconcile import ROOT_BYTES, DotIndex
from hive_mind.hive.replication.partition_content import Proofs
from hive_mind.model.evidence import ACTOR_BYTES, Actor, Dot, actor_of, counter_of
from hive_mind.model.messages import Span

# Every node decides such removals by itself; a proof of them convinces no other node.
OWN_JUDGEMENT = ("expired", "quota", "revoked")
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
        """Whether nothing has changed since."""
        return self.members is members and self.version == (members.version, proofs.version)

    def live_root(self, session: bytes) -> bytes:
        """A fingerprint of the live dots, another one in each session."""
        return _root(self._live_digest, session)

    def seen_root(self, session: bytes) -> bytes:
        return _root(self._seen_digest, session)

    def index(self, session: bytes) -> DotIndex:
        """The live dots, ready for reconciliation."""
        return self._index.keyed(session)

    def seen(self, low: bytes = b"", high: bytes = b"") -> SeenDigest:
        """Seen dots of the actors between two bounds (b"": none).

        Only of actors with removed assertions: of the others, seen and live dots are the same. For the same reason
        live dots beyond a gap are left out.
        """
        actors = self._thinned
        start = bisect_left(actors, low[:ACTOR_BYTES]) if low else 0
        stop = bisect_left(actors, _after(high[:ACTOR_BYTES])) if high else len(actors)
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
        """Actors with removed assertions, sorted."""
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


def _after(actor: Actor) -> bytes:
    """A bound behind the actor itself and before every other that follows it."""
    return actor.ljust(ACTOR_BYTES, b"\0") + b"\0"
