"""Known bugs of replicated stores, put back into the production classes for as long as a test runs: does the harness see them?

Each is a context manager that patches classes; production code has no switch for any of it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from hive_mind.crdt import HybridClock
from hive_mind.crdt.context import Context
from hive_mind.crdt.orset import ORSet
from hive_mind.hive.effects import Acknowledge, Effect, Persist, Put, Send
from hive_mind.hive.heartbeats import HiveClock
from hive_mind.hive.node import HiveNode
from hive_mind.hive.policy import admission
from hive_mind.hive.policy.registry import Registry
from hive_mind.hive.replication.exchange import Answer, Exchanges
from hive_mind.hive.replication.outbox import OUTBOX
from hive_mind.hive.replication.partition_replica import PartitionReplica
from hive_mind.hive.replication.partitions import Partitions
from hive_mind.hive.trust import trust_book
from hive_mind.model.evidence import actor_of, counter_of
from hive_mind.model.messages import ClockSample, SyncOffer, SyncStep
from hive_mind.sim.machine import Machine

Mutant = Callable[[], "contextmanager[None]"]
MUTANTS: dict[str, Mutant] = {}


def registered(mutants: dict[str, Mutant]) -> Callable[[Callable[[], Iterator[None]]], Mutant]:
    """A decorator that makes a mutant of a generator, and puts it among these under its name."""

    def mutant(make: Callable[[], Iterator[None]]) -> Mutant:
        mutants[make.__name__] = contextmanager(make)
        return mutants[make.__name__]

    return mutant


mutant = registered(MUTANTS)


@contextmanager
def all_of(*patches) -> Iterator[None]:
    with ExitStack() as stack:
        for one in patches:
            stack.enter_context(one)
        yield


def reordered(change: Callable[[list[Effect]], Sequence[Effect]]):
    """Every node carries out its effects in another order."""
    handle = HiveNode.handle
    return patch.object(HiveNode, "handle", lambda self, event, now: list(change(handle(self, event, now))))


@mutant
def ack_before_fsync():
    """Clients and peers are told before the disk has it."""
    with reordered(lambda effects: sorted(effects, key=lambda effect: isinstance(effect, Persist))):
        yield


@mutant
def dual_write():
    """State and outbox are written one after the other, not together."""

    def split(effects):
        for effect in effects:
            if isinstance(effect, Persist):
                yield Persist([one for one in effect.records if one.table != OUTBOX])
            else:
                yield effect
        late = [one for effect in effects if isinstance(effect, Persist) for one in effect.records if one.table == OUTBOX]
        if late:
            yield Persist(late)

    with reordered(lambda effects: list(split(sorted(effects, key=lambda effect: isinstance(effect, Send))))):
        yield


@mutant
def ack_on_poll():
    """The broker may forget a message before it is handled."""
    with reordered(lambda effects: sorted(effects, key=lambda effect: not isinstance(effect, Acknowledge))):
        yield


class _Always:
    """Chance whose first 64 bits, the incarnation, are given."""

    def __init__(self, chance, incarnation: int) -> None:
        self._chance, self._incarnation = chance, incarnation

    def getrandbits(self, bits: int, /) -> int:
        given, self._incarnation = self._incarnation, None
        return self._chance.getrandbits(bits) if given is None else given

    def __getattr__(self, name: str):
        return getattr(self._chance, name)


def with_incarnations(of: Callable[[str], int]):
    init = HiveNode.__init__

    def patched(self, name, topology, *, chance, **rest):
        init(self, name, topology, chance=_Always(chance, of(name)), **rest)

    return patch.object(HiveNode, "__init__", patched)


@mutant
def no_incarnation():
    """A node is the same writer after a restart: it gives out a dot twice."""
    with with_incarnations(lambda _: 7):
        yield


@mutant
def incarnation_counted():
    """Incarnations are counted on disk, so that a restored backup takes the count back with it."""
    boots: dict[str, int] = {}
    start = Machine.start

    def counting(self):
        if self.node is None:
            kept = {record.key: record.value for record in self.disk.load() if record.table == "boots"}
            boots[self.name] = int(kept.get(b"n", b"0")) + 1
            self.disk.write([Put("boots", b"n", str(boots[self.name]).encode())])
            self.disk.sync()
        start(self)

    with all_of(patch.object(Machine, "start", counting), with_incarnations(lambda name: boots[name]), without_table("boots")):
        yield


def without_table(table: str):
    start = HiveNode.start
    return patch.object(HiveNode, "start", lambda self, kept, now: start(self, [r for r in kept if r.table != table], now))


@mutant
def session_not_bound():
    """A reply to an earlier boot of a node is taken for one to this."""
    admits, on_state = Exchanges.admits, Exchanges.on_state

    def answering(self, message):
        return patch.object(self, "_incarnation", message.answers)

    def admitting(self, sender, step):
        with answering(self, step):
            return admits(self, sender, step)

    def stating(self, sender, state, registry):
        with answering(self, state):
            return on_state(self, sender, state, registry)

    with all_of(patch.object(Exchanges, "admits", admitting), patch.object(Exchanges, "on_state", stating)):
        yield


@mutant
def gc_by_local_clock():
    """What has expired is judged by this machine's own clock."""

    def own(_, now):
        return now.wall_ms

    with all_of(patch.object(HiveClock, "now_ms", own), patch.object(HiveClock, "trusted_ms", own)):
        yield


@mutant
def clock_without_round_trip():
    """A sample of a peer's clock counts however long it was under way."""
    vote = HiveClock.vote

    def hasty(self, peer, sample, now):
        return vote(self, peer, ClockSample(sample.wall_ms, sample.mono_ms, now.mono_ms), now)

    with patch.object(HiveClock, "vote", hasty):
        yield


@mutant
def no_drift_bound():
    """Stamps from any future are believed."""
    tick, take = HybridClock.take, Registry.take
    with all_of(
        patch.object(HybridClock, "take", lambda self, stamp, wall_ms, *_: tick(self, stamp, wall_ms, None)),
        patch.object(HybridClock, "pull_back", lambda *_: None),
        patch.object(Registry, "take", lambda self, entries, _, *rest: take(self, entries, None, *rest)),
        patch.object(Registry, "sweep", lambda *_: []),
    ):
        yield


@mutant
def hlc_not_advanced():
    """A node does not move its clock up to stamps it reads."""
    with patch.object(HybridClock, "take", lambda *_: True):
        yield


@mutant
def absolute_ttl_unsynced():
    """An author without a trusted clock writes all the same until when its assertion lives."""
    assertion = Partitions._assertion

    def trusting(self, *rest):
        with patch.object(HiveClock, "trusted_ms", HiveClock.now_ms):
            return assertion(self, *rest)

    with patch.object(Partitions, "_assertion", trusting):
        yield


@mutant
def no_dedupe():
    """What was taken away is let in again when it is repeated."""
    with all_of(
        patch.object(PartitionReplica, "_is_known", lambda self, dot: dot in self._sealed),
        patch.object(PartitionReplica, "_is_taken_back", lambda *_: False),
        patch.object(Context, "unseen", lambda _, dots: list(dots)),
    ):
        yield


@mutant
def remove_forgets_context():
    """Whatever is removed is forgotten altogether."""
    take_away = ORSet._take_away

    def forgetful(self, dots):
        gone = take_away(self, dots)
        for dot in gone:
            actor = actor_of(dot)
            up_to = {a: (min(n, counter_of(dot) - 1) if a == actor else n) for a, n in self._context.up_to.items()}
            beyond = [one for one in self._live if actor_of(one) == actor and one != dot]
            self._context = Context(up_to, [*self._context.beyond - {dot}, *beyond])
        return gone

    with all_of(
        patch.object(ORSet, "_take_away", forgetful),
        patch.object(PartitionReplica, "_forget", without_proofs(PartitionReplica._forget)),
    ):
        yield


def without_proofs(forget):
    def forgetting(self, dots, removal, taken):
        forget(self, dots, removal, taken)
        for dot in dots:
            self._proofs.forget(dot)

    return forgetting


@mutant
def trust_decides_membership():
    """Assertions of agents that are trusted little are not kept, and noted as seen."""
    admitted = PartitionReplica._admitted

    def choosy(self, adds, authority, taken):
        fresh, observed, *rest = admitted(self, adds, authority, taken)
        distrusted = [given for given in fresh if authority.trust(given.assertion.agent) < 0.9]
        return [given for given in fresh if given not in distrusted], [*observed, *(one.dot for one in distrusted)], *rest

    with patch.object(PartitionReplica, "_admitted", choosy):
        yield


@mutant
def push_top_k_only():
    """Gossip pushes the three surest facts and pulls nothing."""
    on_offer = Exchanges.on_offer

    def surest(share):
        return tuple(sorted(share.all_sealed(), key=lambda given: (-given.assertion.confidence, given.dot))[:3])

    def pushing(self, sender, offer: SyncOffer, shares, registry, now):
        state, *_ = on_offer(self, sender, offer, shares, registry, now) or (None,)
        about = [shares[summary.partition] for summary in offer.summaries if summary.partition in shares]
        steps = (SyncStep(offer.session, self._incarnation, offer.incarnation, one.partition, adds=surest(one)) for one in about)
        return () if state is None else (state, *steps)

    with all_of(patch.object(Exchanges, "on_offer", pushing), patch.object(Exchanges, "on_step", lambda *_, **__: Answer())):
        yield


@mutant
def no_clamp():
    """Trust is what somebody wrote, however much."""

    with all_of(patch.object(admission, "_clamped", float), patch.object(trust_book, "TRUST_MAX", float("inf"))):
        yield


assert len(MUTANTS) == 16
