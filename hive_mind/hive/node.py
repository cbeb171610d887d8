"""One protocol machine of a hive: an event comes in, effects go out. It never waits, reads a clock or opens a socket.

The same code runs under a broker, under the simulator and in a test. This file dispatches each event; the rules are in
`partitions` (records kept), `policy` (rights), `delivery` (outbox), `gossip` and `exchange` (anti-entropy), and `scatter`
(questions).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from hive_mind.crdt import HybridClock
from hive_mind.errors import InvalidInput
from hive_mind.hive import Chance
from hive_mind.hive.effects import (
    Acknowledge,
    Ask,
    Done,
    Effect,
    Event,
    Fetch,
    Kept,
    Listing,
    Now,
    Persist,
    Promote,
    Put,
    Rearrange,
    Received,
    Reconnected,
    Record,
    Retract,
    SearchLocal,
    Send,
    Shared,
    Taken,
    Tally,
    Tick,
    Write,
    by_partition,
    merged,
)
from hive_mind.hive.heartbeats import HiveClock
from hive_mind.hive.policy import UNSEALED, Seal
from hive_mind.hive.policy.admission import believable, bounded
from hive_mind.hive.policy.node_policy import NodePolicy
from hive_mind.hive.policy.registry import Registry
from hive_mind.hive.policy.registry_service import (
    REGISTRY,
    ClockSkewRetraction,
    RegistryService,
    announced,
    facts_taken_back,
    has_erasure,
    record_of,
)
from hive_mind.hive.query.questions import Questions
from hive_mind.hive.replica import Counted, Replica, reindex
from hive_mind.hive.replication.anti_entropy import AntiEntropy
from hive_mind.hive.replication.outbox import OUTBOX, UNDELIVERED, Outbox
from hive_mind.hive.replication.partitions import Partitions
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology import Topology
from hive_mind.model.decoding import msgpack_decoder
from hive_mind.model.evidence import HiveFact, Stamp, actor_id
from hive_mind.model.messages import (
    Announce,
    FactsReply,
    FactsRequest,
    ListReply,
    ListRequest,
    Message,
    PoolReply,
    PoolRequest,
    PrefixRequest,
    Receipt,
    RegistryEntry,
    Replicate,
    SearchReply,
    SearchRequest,
    SyncOffer,
    SyncState,
    SyncStep,
    TallyReply,
    TallyRequest,
    WordingRequest,
)
from hive_mind.ranking.vector import VectorArm

META = "meta"
CLOCK, OFFSET, ACTOR, REVOKED = b"clock", b"offset", b"actor/", b"revoked"
DISOWNED = b"disowned"
"""That this node has let go of what its own agents said: they say it again at each start, as nobody knows how far they came."""
_IDLE_MS = 60_000
# About 5 ms: as long as anybody else in the process may have to wait for it.
_INDEXED_AT_ONCE = 32


class HiveNode:
    """A member of one hive. Call `start` once, then `handle` for each event; perform the effects in their order.

    `chance` gives the incarnation among other things, so every boot needs another seed. `is_founding` is False for one that joins
    a hive that has facts already: it then copies what it is to hold before it speaks for it.
    """

    def __init__(
        self,
        name: str,
        topology: Topology,
        *,
        chance: Chance,
        settings: HiveSettings | None = None,
        seal: Seal = UNSEALED,
        new_arm: Callable[[], VectorArm | None] = lambda: None,
        is_founding: bool = True,
    ) -> None:
        self._is_founding = is_founding
        self.name, self.settings = name, settings or HiveSettings()
        self.incarnation = chance.getrandbits(64).to_bytes(8, "big")
        actor = actor_id(name, self.incarnation)
        self.clock = HybridClock(actor)
        self.time = HiveClock(len(topology.nodes))
        standing = self.settings.standing
        self.registry = Registry(standing.moderators, standing.entries_per_agent, seal)
        self.policy = NodePolicy(standing, seal, self.registry, self.time)
        self.partitions = Partitions(name, self.incarnation, actor, topology, self.policy)
        self.replica = Replica(new_arm, self.settings.model, self.partitions.searchable())
        self.outbox = Outbox(self.settings.delivery, chance, self.partitions.share, self.policy.is_erased)
        self.repair = AntiEntropy(self.partitions, self.policy, self.settings.gossip, self.incarnation, chance)
        self.registry_service = RegistryService(self.registry, self.policy, self.partitions, self.clock)
        self.registry_service.own_actors.add(actor)
        self.clock_skew = ClockSkewRetraction(self.policy, self.partitions.shares, self.clock, self.registry_service.own_actors)
        self.questions = Questions(name, self.partitions, self.replica, self.settings.scatter)
        self._housekeeping_at_ms = self._revision = 0
        self.refused: Counter[str] = Counter()
        """Refused parts of others' messages, by reason."""

    @property
    def topology(self) -> Topology:
        return self.partitions.topology

    def start(self, journal: Iterable[Kept], now: Now) -> list[Effect]:
        """Take back the journal's records; lost ones are had from others again. Once, before the first event."""
        at, everything = self.policy.at(now), list(journal)
        about_shares = [record for record in everything if record.table not in (OUTBOX, UNDELIVERED, REGISTRY, META)]
        records = [record for record in everything if isinstance(record, Put)]
        held_records = self.partitions.load(about_shares, is_founding=self._is_founding)
        for record in records:
            if record.table == OUTBOX:
                self.outbox.load(record.value, now.mono_ms)
            elif record.table == UNDELIVERED:
                self.outbox.undelivered.load(record.key, record.value)
            elif record.table == REGISTRY:
                self.registry_service.load(record.value)
            elif record.key == CLOCK:
                self.clock.take(msgpack_decoder(Stamp)(record.value), now.wall_ms, None)
            elif record.key.startswith(ACTOR):
                self.registry_service.own_actors.add(record.key.removeprefix(ACTOR))
            elif record.key == REVOKED:
                self.policy.seal.revoke(record.value)
            elif record.key == DISOWNED:
                self.partitions.has_lost = True
            elif record.key == OFFSET:
                self.time = self.policy.time = HiveClock(len(self.topology.nodes), int(record.value))
        for share in self.partitions.shares.values():
            at.note_first_seen(share.all_sealed())
            # Its clock may be lost: its next stamps are later than all assertions here.
            for assertion in share.all_sealed() if len(records) < len(everything) else ():
                self.clock.take(assertion.assertion.stamp, now.wall_ms, None)
        self.replica.rearrange(self.partitions.searchable())
        self.repair.gossip.start(now)
        self._housekeeping_at_ms = now.mono_ms + self.settings.housekeeping_ms
        kept_too = (Put(META, ACTOR + actor, b"") for actor in sorted(self.registry_service.own_actors))
        return [Persist([*held_records, *kept_too]), *(self._disown(at) if self.policy.seal.revision else [])]

    def handle(self, event: Event, now: Now) -> list[Effect]:
        at = self.policy.at(now)
        match event:
            case Received(sender, message, delivery):
                return self._receive(sender, message, at) + ([Acknowledge(delivery)] if delivery else [])
            case Promote():
                return self._promote(event, at)
            case Retract():
                return self._retract(event, at)
            case Write():
                return self._write(event, at)
            case Ask():
                return self.questions.ask(event, at)
            case Listing():
                return self.questions.listed(event, at)
            case Tally():
                return self.questions.tallied(event, at)
            case Fetch():
                return self.questions.fetch(event, at)
            case Rearrange(topology, is_next):
                return self._rearrange(topology, now, is_next=is_next)
            case Tick():
                return self._tick(at)
            case Reconnected():
                return self._reconnected(now)
            case _:
                raise InvalidInput(f"event {type(event).__name__.lower()} is not handled by a node")

    def search(self, request: SearchRequest, now: Now) -> SearchReply | None:
        """Search this node's replica for a peer. None: not for a topology this node does not know."""
        return self.questions.answer(bounded(request), self.policy.at(now))

    def index_some(self, now: Now) -> bool:
        return self.replica.index_some(_INDEXED_AT_ONCE, self.policy.at(now))

    def prepare(self, event: Event, now: Now) -> Iterator[None]:
        if isinstance(event, Ask | Fetch | Listing | Tally):
            with_wording = isinstance(event, Tally) and event.with_wording
            yield from self.replica.prepare(_INDEXED_AT_ONCE, self.policy.at(now), with_wording=with_wording)

    def fact(self, fact_id: str, now: Now) -> HiveFact | None:
        return self.replica.fact(fact_id, self.policy.at(now))

    def counted(self, now: Now) -> Mapping[str, Counted]:
        """The facts that searches of this node's replica can find, by id."""
        return self.replica.counted(self.policy.at(now))

    def collectable(self, now: Now) -> list[str]:
        return sorted({assertion.assertion.fact_id for _, assertion in self.partitions.expired(self.policy.at(now))})

    def keep_house_next(self) -> None:
        """Let the next `Tick` look for what has expired, however long ago that was done."""
        self._housekeeping_at_ms = 0

    def wake_at_ms(self, now: Now) -> int:
        at_ms = min(self._housekeeping_at_ms, now.mono_ms + _IDLE_MS)
        for due_ms in (
            self.questions.wake_at_ms(),
            self.outbox.wake_at_ms(),
            self.repair.gossip.wake_at_ms if len(self.partitions.topology.nodes) > 1 else None,
        ):
            if due_ms is not None and due_ms < at_ms:
                at_ms = due_ms
        return at_ms

    def _promote(self, event: Promote, at: NodePolicy) -> list[Effect]:
        wall_ms = at.hive_ms()
        outcomes, shares = self.partitions.promote(event.promotions, (self.clock.tick(wall_ms) for _ in event.promotions), at)
        self.clock_skew.note(shares, at)
        return [*self._written(shares, at), Done(event.request, self.outbox.noted(outcomes, shares))]

    def _retract(self, event: Retract, at: NodePolicy) -> list[Effect]:
        outcomes, own_changes, entries = self.registry_service.retract(event, at)
        shares = merged(own_changes, self.registry_service.apply(entries, at, are_just_written=True))
        return [*self._written(shares, at, entries), Done(event.request, tuple(outcomes))]

    def _write(self, event: Write, at: NodePolicy) -> list[Effect]:
        new_entries, reasons = self.registry_service.write(event.entries, event.by, at)
        shares = self.registry_service.apply(new_entries, at, are_just_written=True)
        erased = [Persist(self.outbox.undelivered.erase())] if has_erasure(new_entries) else []
        return [*erased, *self._written(shares, at, new_entries), Done(event.request, tuple(reasons))]

    def _written(self, shares: Mapping[str, Taken], at: NodePolicy, entries: Iterable[RegistryEntry] = ()) -> list[Effect]:
        """Make durable what this node wrote, then tell the holders."""
        known_entries = tuple(entries)
        records = [*reindex(self.replica, shares), *map(record_of, known_entries), *self._overflown()]
        if not records:
            return []
        at.note_first_seen(add for share in shares.values() for add in share.adds)
        records.append(Put(META, CLOCK, msgspec.msgpack.encode(self.clock.last)))
        posted, sends = self._post(shares, at.now)
        return [Persist([*records, *posted]), *sends, *self._announced(known_entries)]

    def _announced(self, entries: Sequence[RegistryEntry]) -> list[Send]:
        nodes = tuple(node for node in self.topology.nodes if node != self.name)
        return [Send(nodes, chunk) for chunk in announced(entries, self.settings.gossip.step_bytes_max)] if nodes else []

    def _post(self, shares: Mapping[str, Taken], now: Now) -> tuple[list[Record], list[Send]]:
        return self.outbox.deliver(shares, self.topology.holders, self.name, now.mono_ms)

    def _receive(self, sender: str, message: Message, at: NodePolicy) -> list[Effect]:
        self.questions.latencies.mark_alive(sender)
        match message:
            case PoolRequest() | FactsRequest() | ListRequest() | PrefixRequest() | TallyRequest() | WordingRequest():
                return [SearchLocal(message, sender)]
            case PoolReply() | FactsReply() | ListReply() | TallyReply():
                reply = message if sender == self.name else believable(message, self.policy.tenant)
                if isinstance(reply, FactsReply | ListReply):
                    reply = msgspec.structs.replace(reply, facts=tuple(filter(self.policy.is_to_be_shown, reply.facts)))
                    # Decisions about these from now on are stamped later than the facts, whichever clock is ahead.
                    for row in (row for fact in reply.facts for row in fact.provenance):
                        self.clock.take(row.stamp, at.hive_ms())
                return self.questions.take(sender, reply, at)
            case Replicate():
                return self._replicate(sender, message, at)
            case Receipt():
                records, facts = self.outbox.received(sender, message.batch)
                shared: list[Effect] = [Shared(tuple(sorted(set(facts))))] if facts else []
                return [Persist(records), *shared] if records else shared
            case Announce():
                return self._take_entries(message.entries, at)
            case SyncOffer():
                records, answers = self.repair.on_offer(sender, message, at.now)
                return [*self._took({}, at, records), *answers]
            case SyncState():
                return self._on_state(sender, message, at)
            case SyncStep():
                shares, records, answers = self.repair.on_step(sender, message, at)
                return [*self._took(shares, at, records), *answers]
            case _:
                return []

    def _replicate(self, sender: str, message: Replicate, at: NodePolicy) -> list[Effect]:
        """Keep what is new, also where a partition is named twice; of one that moved away until the new holders have it."""
        shares = by_partition(
            (changes.partition, self.partitions.share(changes.partition).take_changes(changes, at))
            for changes in message.changes
            if self.topology.holders(changes.partition)
        )
        astray = {name: share for name, share in shares.items() if self.partitions.keep_if_astray(name)}
        posted, sends = self._post(astray, at.now) if astray else ([], [])
        return [*self._took(shares, at, posted), *sends, Send((sender,), Receipt(message.batch))]

    def _took(self, shares: Mapping[str, Taken], at: NodePolicy, further: Iterable[Record] = ()) -> list[Effect]:
        """Make durable what came from others."""
        for share in shares.values():
            for assertion in share.adds:
                self.clock.take(assertion.assertion.stamp, at.hive_ms())
            self.refused.update(share.refused)
        if not shares:
            return [Persist(records)] if (records := [*further]) else []
        at.note_first_seen(add for share in shares.values() for add in share.adds)
        records = [*reindex(self.replica, shares), *self.outbox.undelivered.keep(shares), *further]
        return [Persist(records)] if records else []

    def _take_entries(self, entries: Iterable[RegistryEntry], at: NodePolicy) -> list[Effect]:
        changed, refused = self.registry_service.take(entries, at)
        self.refused.update(refused)
        shares = self.registry_service.apply(changed, at)
        erased = self.outbox.undelivered.erase() if has_erasure(changed) else []
        self.repair.authorship.doubt(facts_taken_back(changed))
        erased += [record_of(entry) for entry in changed]
        erased += self._overflown()
        return [*self._took(shares, at, erased), *self._written(self.clock_skew.concede(at), at)]

    def _overflown(self) -> list[Record]:
        records, refused = self.registry_service.take_overflown()
        self.refused.update(refused)
        return records

    def _on_state(self, sender: str, state: SyncState, at: NodePolicy) -> list[Effect]:
        if (answers := self.repair.on_state(sender, state, at.now)) is None:
            return []
        # Once it is known what time it is, facts only hidden until then are removed.
        was_synced, sent_ms = self.time.is_synced, state.clock.answers_mono_ms
        if sent_ms and sender in self.topology.nodes:
            self.questions.latencies.exchanged(sender, at.now.mono_ms - sent_ms, at.now.mono_ms)
        is_moved = sender in self.topology.nodes and self.time.vote(sender, state.clock, at.now)
        shares = self.registry_service.apply_all(at) if self.time.is_synced and not was_synced else {}
        records: list[Record] = [Put(META, OFFSET, str(self.time.offset_ms).encode())] if is_moved else []
        records += self.partitions.agreed(sender, (*state.agrees, *state.nothing), frozenset(state.complete))
        # Only now: a node that reports agreement has persisted everything.
        self.partitions.handed_over(sender, self.repair.taken_over(sender, state))
        entries = self._take_entries(state.registry, at)
        return [*self._took(shares, at), *entries, *self._took(self.partitions.let_go(), at, records), *answers]

    def _reconnected(self, now: Now) -> list[Effect]:
        """Send again, and exchange, soon: recent messages may be lost."""
        self.outbox.hasten(now.mono_ms)
        self.repair.gossip.hasten(now)
        return []

    def _tick(self, at: NodePolicy) -> list[Effect]:
        now = at.now
        effects = [*(self._disown(at) if self.policy.seal.revision != self._revision else ()), *self.questions.tick(at)]
        records, sends = self.outbox.due(now.mono_ms, self.topology.holders, self.name, self.questions.latencies.suspects)
        effects += [Persist(records), *sends] if records else sends
        effects += self.repair.offers(now)
        if now.mono_ms >= self._housekeeping_at_ms:
            self._housekeeping_at_ms = now.mono_ms + self.settings.housekeeping_ms
            effects += self._keep_house(at)
        return effects

    def _disown(self, at: NodePolicy) -> list[Effect]:
        """Keys were revoked: their assertions count no more, nor do their retractions and registry entries."""
        seal = self.policy.seal
        self._revision, shares, forgotten = seal.revision, self.partitions.disown(at), self.registry_service.disown()
        lost = [Put(META, DISOWNED, b"")] if self.partitions.has_lost else []
        return self._took(shares, at, [Put(META, REVOKED, seal.revocations), *lost, *forgotten])

    def _keep_house(self, at: NodePolicy) -> list[Effect]:
        """Collect what expired, forget old proofs, and mend what was stamped by a clock that ran ahead."""
        hive_ms = at.trusted_ms()
        if hive_ms is None:
            return []
        self.clock.pull_back(hive_ms)
        collected = self.partitions.collect(self.clock.tick(hive_ms), at)
        # Before anything is removed: facts taken back by an entry written again go in the same step.
        mended = self.registry_service.mend(hive_ms, at)
        let_go = self.registry_service.apply_all(at)
        forgotten = self.partitions.forget_old(round(hive_ms - self.settings.proofs_kept_hours * 3_600_000), at)
        shares = merged(collected, let_go, forgotten)
        self.policy.forget_first_seen(assertion for share in self.partitions.shares.values() for assertion in share.all_sealed())
        return [*self._took(shares, at, [record_of(entry) for entry in mended]), *self._announced(mended)]

    def _rearrange(self, topology: Topology, now: Now, *, is_next: bool) -> list[Effect]:
        if topology.epoch <= self.topology.epoch:
            return []
        records = self.partitions.rearrange(topology, is_next=is_next)
        self.questions.rearranged()
        self.time.rearrange(topology.nodes)
        self.replica.rearrange(self.partitions.searchable())
        self.repair.rearranged(now)
        return [Persist(records)] if records else []
