"""How assertions reach their holders and stay there: replicas, outbox, anti-entropy, reliable channels. Here: when a node
exchanges, and with which peers.

All converge because all are asked: trust makes a peer more likely, never impossible, and every fourth choice takes
the next of a shuffled round of all, so no peer waits longer than that round. The messages of an exchange are in `exchange.py`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from hive_mind.hive import Chance
from hive_mind.hive.effects import Now
from hive_mind.model.bounds import Setting
from hive_mind.ranking.pipeline import TRUST_MAX

# Drawing again until trust accepts: at the lowest weight one draw in ten is accepted, so this many almost never all fail.
DRAWS_MAX = 64
# Buckets of peers that left are thrown away with all the others; a full one is what a peer starts with anyway.
BUCKETS_MAX = 10_000


@dataclass(frozen=True)
class GossipSettings:
    """How much traffic agreement may cost."""

    # Two: a fact reaches a thousand nodes in six rounds; one takes eight, three save one round for half as much traffic again.
    fanout: Annotated[int, Setting(ge=1, le=20)] = 2
    """Peers a round goes to."""
    # Twice as long halves the idle traffic (some 28 bytes a second and node) and doubles how long a lost delta stays unnoticed.
    period_ms: Annotated[int, Setting("period_s", gt=0, le=3600, per=1000)] = 10_000
    """Between two rounds of a node. Lower: lost messages are noticed sooner."""
    # A node that starts knows little: its first round comes within this time, at random, so that a fleet does not start as one.
    first_ms: int = 1_000
    # How soon a round follows news, and the rest of an exchange that had too much to say; also the shortest time between rounds.
    soon_ms: int = 500
    # Lower finds starved peers sooner; higher follows trust more.
    round_robin_every: int = 4
    # How long an exchange may be silent before it is begun again, and how often that is tried before the next round.
    patience_ms: int = 1_000
    retries: int = 2
    # The weight of a peer nobody trusts, beside 1.0 for an ordinary one. At 0.0 such a peer would never hear of anything.
    trust_floor: float = 0.2
    # Both order what is sent; neither drops anything.
    min_confidence: float = 0.3
    top_k: int = 10
    # Below every broker's limit for one message; the rest follows soon after.
    step_bytes_max: int = 192 * 1024
    # Steps of one session that are answered. A million facts need eight.
    steps_max: int = 20
    # Offers of one peer that are answered in a period; more wait for the peer's next one.
    offers_per_period: int = 8


def never_open(peer: str) -> bool:
    """For callers that do not follow exchanges to their end."""
    del peer
    return False


class Gossip:
    """A node's timetable and choice of peers."""

    def __init__(self, node: str, settings: GossipSettings, chance: Chance) -> None:
        self._node, self._settings, self._chance = node, settings, chance
        self._round_at = self._last = 0
        self._repeat_ms: dict[str, int] = {}
        self._rounds_begun: dict[str, tuple[int, int]] = {}
        self._turn = 0
        self._waiting: list[str] = []
        self._buckets: dict[str, tuple[float, int]] = {}

    @property
    def wake_at_ms(self) -> int:
        """Monotonic time at which `due` has something to say."""
        if not self._repeat_ms and not self._rounds_begun:
            return self._round_at
        return min([self._round_at, *self._repeat_ms.values(), *[at for at, _ in self._rounds_begun.values()]])

    def start(self, now: Now) -> None:
        """Begin: the first round is soon."""
        self._last = now.mono_ms
        self._round_at = now.mono_ms + int(self._chance.uniform(0.0, self._settings.first_ms))

    def hasten(self, now: Now) -> None:
        """There is news: have the next round soon, however often this is said."""
        earliest = max(now.mono_ms, self._last + self._settings.soon_ms)
        self._round_at = min(self._round_at, earliest + int(self._chance.uniform(0.0, self._settings.soon_ms)))

    def resume(self, peer: str, now: Now) -> None:
        """Exchange with that peer again soon: something had to wait."""
        self._repeat_ms.setdefault(peer, now.mono_ms + self._settings.soon_ms)

    def due(
        self, now: Now, peers: Sequence[str], trust_of: Callable[[str], float], is_open: Callable[[str], bool] = never_open
    ) -> tuple[str, ...]:
        """Peers to offer an exchange now; none before its time. `is_open`: whether an exchange with a peer is unfinished."""
        due = dict.fromkeys(peer for peer, at in self._repeat_ms.items() if at <= now.mono_ms)
        for peer in due:
            del self._repeat_ms[peer]
        if now.mono_ms >= self._round_at:
            self._last = now.mono_ms
            # A tenth of jitter either way keeps nodes that started together from staying together.
            self._round_at = now.mono_ms + int(self._settings.period_ms * self._chance.uniform(0.9, 1.1))
            due |= dict.fromkeys(self.choose(peers, trust_of))
        present = [peer for peer in due if peer in peers]
        retried = [peer for peer in self._stuck(now, is_open) if peer in peers and peer not in due]
        if is_open is not never_open:
            self._rounds_begun |= dict.fromkeys(present, (now.mono_ms + self._settings.patience_ms, self._settings.retries))
        return (*present, *retried)

    def _stuck(self, now: Now, is_open: Callable[[str], bool]) -> list[str]:
        over = {peer: left for peer, (at, left) in self._rounds_begun.items() if at <= now.mono_ms}
        stuck = [peer for peer, left in over.items() if left and is_open(peer)]
        for peer in over:
            del self._rounds_begun[peer]
        self._rounds_begun |= {peer: (now.mono_ms + self._settings.patience_ms, over[peer] - 1) for peer in stuck}
        return stuck

    def choose(self, peers: Sequence[str], trust_of: Callable[[str], float]) -> tuple[str, ...]:
        peers = [peer for peer in peers if peer != self._node]
        if len(peers) <= self._settings.fanout:
            return tuple(peers)
        chosen: dict[str, None] = {}
        while len(chosen) < self._settings.fanout:
            self._turn += 1
            is_robin = self._turn % self._settings.round_robin_every == 0
            chosen[self._next(peers, chosen) if is_robin else self._trusted(peers, trust_of, chosen)] = None
        return tuple(chosen)

    def admits(self, peer: str, now: Now) -> bool:
        """Whether to answer an offer of that peer: a bucket of tokens each, so one that offers without pause costs no more."""
        full = float(self._settings.offers_per_period)
        tokens, since_ms = self._buckets.get(peer, (full, now.mono_ms))
        tokens = min(full, tokens + full * (now.mono_ms - since_ms) / self._settings.period_ms)
        if len(self._buckets) >= BUCKETS_MAX:
            self._buckets.clear()
        self._buckets[peer] = (max(tokens - 1.0, 0.0) if tokens >= 1.0 else tokens, now.mono_ms)
        return tokens >= 1.0

    def _trusted(self, peers: Sequence[str], trust_of: Callable[[str], float], passed_over: Iterable[str]) -> str:
        """One at random, likelier the more it is trusted. Drawing and rejecting asks for the trust of a few, not of all."""
        for _ in range(DRAWS_MAX):
            peer = self._chance.choice(peers)
            weight = max(trust_of(peer), self._settings.trust_floor)
            if peer not in passed_over and self._chance.random() * TRUST_MAX < weight:
                return peer
        return next(peer for peer in peers if peer not in passed_over)

    def _next(self, peers: Sequence[str], passed_over: Iterable[str]) -> str:
        """The next peer of the shuffled round; newcomers join the following round."""
        present = set(peers) - set(passed_over)
        while True:
            while self._waiting:
                if (peer := self._waiting.pop()) in present:
                    return peer
            self._waiting = list(peers)
            self._chance.shuffle(self._waiting)


def convergence_check(replicas: Sequence[Iterable[str]]) -> float:
    """Share of all distinct contents that every replica holds: 0.0 without replicas, 1.0 where none holds anything."""
    contents_held = [frozenset(contents) for contents in replicas]
    if not contents_held:
        return 0.0
    everything = frozenset[str]().union(*contents_held)
    return len(contents_held[0].intersection(*contents_held)) / len(everything) if everything else 1.0


def run_gossip_round(
    gossips: Mapping[str, Gossip], exchange: Callable[[str, str], None], trust_of: Callable[[str], float]
) -> int:
    """One round of everybody, for nodes of one process. `exchange` carries one out; returns how many there were."""
    pairs = [(name, peer) for name, gossip in gossips.items() for peer in gossip.choose(tuple(gossips), trust_of)]
    for name, peer in pairs:
        exchange(name, peer)
    return len(pairs)
