"""The journals of a hive, though none of its nodes runs: their combined content, and journals of another topology made of it.

An assertion is live if some journal has it and none knows that it is gone. Messages still under way are in their author's
journal, so nothing is lost by reading them at rest.

Settled anew, facts lie as if they had been there always. Assertions stay what they are: author, source, confidence, time and time
to live are not touched, so nothing gets younger or surer by being moved. Only where they lie and under which dots is new. Every
holder has everything of its partitions at once, and nothing is under way. Only computes; journals come one after the other,
because together they may not fit. Where the new hive has seals, `seal` is that of the mover, which may write for all.

A journal finds the bits that flipped on its disk. Damage from before it kept checksums is found here, before a node takes back
the other records, and edited records too: a checksum is no secret, but the id of a fact follows from its content.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from hive_mind.crdt import DRIFT_MS, is_believable
from hive_mind.errors import InvalidInput, WireError
from hive_mind.hive import Chance
from hive_mind.hive.effects import Kept, Now, Persist, Put, Record, SetAside
from hive_mind.hive.membership import MEMBERSHIP
from hive_mind.hive.node import ACTOR, CLOCK, META, OFFSET, HiveNode
from hive_mind.hive.policy import UNSEALED, Seal, sealed_anew
from hive_mind.hive.policy.admission import has_its_id
from hive_mind.hive.policy.registry import Registry
from hive_mind.hive.policy.registry_service import REGISTRY, record_of
from hive_mind.hive.replication.outbox import OUTBOX, UNDELIVERED, Batch
from hive_mind.hive.replication.partition_content import OWN_JUDGEMENT
from hive_mind.hive.replication.partition_replica import ASSERTIONS, BEYOND, HEADS, PROOFS, SEEN
from hive_mind.hive.replication.partitions import INCOMING
from hive_mind.hive.replication.reliable_channels import APPLICATION, CHANNEL_BYTES, CHANNELS, RECEIVED, SENT
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology import Flat, Topology
from hive_mind.hive.topology.federated import EVERYONE
from hive_mind.hive.topology.log import TopologyLog
from hive_mind.model.decoding import msgpack_decoder
from hive_mind.model.evidence import ACTOR_BYTES, COUNTER_BYTES, Actor, Assertion, Head, HiveFact, Removal, Sealed, Stamp
from hive_mind.model.messages import RegistryEntry

_DOT_BYTES = ACTOR_BYTES + COUNTER_BYTES

_decode_sealed = msgpack_decoder(Sealed)
_decode_removal = msgpack_decoder(Removal)
_decode_head = msgpack_decoder(Head)
_decode_entry = msgpack_decoder(RegistryEntry)

Place = bytes
"""As a journal's key says it: a partition, a zero byte, a dot."""


@dataclass(frozen=True, slots=True)
class Vouched:
    """An assertion, and the node that wrote it; "" where nobody says which."""

    assertion: Assertion
    node: str = ""


@dataclass(frozen=True, slots=True)
class JournalSnapshot:
    """Everything that counts, each assertion once, in the order of their stamps."""

    vouched: tuple[Vouched, ...] = ()
    entries: tuple[RegistryEntry, ...] = ()
    own: Mapping[str, tuple[Put, ...]] = field(default_factory=dict)
    """Per node: its boots, its clock, and the state of its channels."""
    lost: Mapping[str, int] = field(default_factory=dict)
    """Writes by node that are known to have been made, and that no journal has or knows to be gone."""


@dataclass(slots=True)
class _Known:
    """Dots in one journal: those live in it, and those seen."""

    live: set[Place] = field(default_factory=set)
    up_to: dict[bytes, int] = field(default_factory=dict)
    beyond: set[Place] = field(default_factory=set)

    def has_seen(self, place: Place) -> bool:
        writer, counter = place[:-COUNTER_BYTES], int.from_bytes(place[-COUNTER_BYTES:], "big")
        return self.up_to.get(writer, 0) >= counter or place in self.beyond or place in self.live


class JournalMerger:
    """Takes journals one after the other, in any order; then says what they come to. `moderators` are those of the settings."""

    def __init__(self, moderators: Iterable[str] = ()) -> None:
        self._journals: list[_Known] = []
        self._sealed: dict[Place, Sealed] = {}
        self._proofs: dict[Place, set[bytes]] = {}
        self._heads: dict[bytes, Head] = {}
        self._registry = Registry(moderators)
        self._own_records: dict[str, tuple[Put, ...]] = {}

    def take(self, node: str, records: Iterable[Put]) -> None:
        """A node's journal. Raises `ValueError` for a value that no node writes."""
        journal, own_records = _Known(), list[Put]()
        for record in records:
            if record.table == ASSERTIONS:
                # Replicas hold the same under the same dot; so it is read once. What was edited in one is taken from another.
                if record.key not in self._sealed and has_its_id((assertion := _decode_sealed(record.value)).assertion):
                    self._sealed[record.key] = assertion
                journal.live.add(record.key)
            elif record.table == SEEN:
                journal.up_to[record.key] = int.from_bytes(record.value, "big")
            elif record.table == BEYOND:
                journal.beyond.add(record.key)
            elif record.table == PROOFS:
                self._proofs.setdefault(record.key, set()).add(record.value)
            elif record.table == HEADS:
                head, former = _decode_head(record.value), self._heads.get(record.key)
                if former is None or former.counter < head.counter:
                    self._heads[record.key] = head
            elif record.table == REGISTRY:
                self._registry.take([_decode_entry(record.value)], None)
            elif _is_own(record):
                own_records.append(record)
        self._journals.append(journal)
        self._own_records[node] = tuple(own_records)

    def snapshot(self) -> JournalSnapshot:
        places_gone = self._gone()
        live = {place: assertion for place, assertion in self._sealed.items() if place not in places_gone}
        nodes_by_actor = {head.actor: head.node for head in self._heads.values()}
        voices = sorted(_voices(live).items(), key=_age)
        vouched = tuple(Vouched(assertion.assertion, nodes_by_actor.get(_actor_of(place), "")) for place, assertion in voices)
        return JournalSnapshot(vouched, self._registry.entries(), self._own_records, self._lost())

    def _gone(self) -> set[Place]:
        """A dot that was seen and is gone was removed; and a proof may arrive before its dot."""
        places_gone: set[Place] = set()
        for journal in self._journals:
            places_gone.update(place for place in self._sealed if place not in journal.live and journal.has_seen(place))
        moderators = self._registry.moderators
        for place in self._proofs.keys() & self._sealed.keys():
            proofs = map(_decode_removal, self._proofs[place])
            if any(_proves(proof, self._sealed[place].assertion, moderators) for proof in proofs):
                places_gone.add(place)
        return places_gone

    def _lost(self) -> dict[str, int]:
        lost: dict[str, int] = {}
        for writer, head in self._heads.items():
            first = max((journal.up_to.get(writer, 0) for journal in self._journals), default=0) + 1
            places = (writer + counter.to_bytes(COUNTER_BYTES, "big") for counter in range(first, head.counter + 1))
            if count := sum(1 for place in places if not any(journal.has_seen(place) for journal in self._journals)):
                lost[head.node] = lost.get(head.node, 0) + count
        return lost


def _voices(live: Mapping[Place, Sealed]) -> dict[Place, Sealed]:
    """The last assertion of an agent on a fact from one root; and that of its home rather than of a copy."""
    best: dict[tuple[str, str, str], Place] = {}
    for place, assertion in live.items():
        voice = assertion.assertion.fact_id, assertion.assertion.agent, assertion.assertion.root
        former_place = best.get(voice)
        if former_place is None or _weight(place, assertion) > _weight(former_place, live[former_place]):
            best[voice] = place
    return {place: live[place] for place in best.values()}


def _weight(place: Place, assertion: Sealed) -> tuple[bool, object, Place]:
    is_home = place[: -_DOT_BYTES - 1].decode() != EVERYONE
    return is_home, assertion.assertion.stamp, place


def _age(voice: tuple[Place, Sealed]) -> tuple[object, bytes]:
    return voice[1].assertion.stamp, voice[1].dot


def _proves(removal: Removal, assertion: Assertion, moderators: frozenset[str]) -> bool:
    """Retractions for all are known by the registry; expiry and exceeded quotas every node judges by itself."""
    is_about_it = removal.fact_id == assertion.fact_id and removal.why not in OWN_JUDGEMENT
    return is_about_it and (removal.by == assertion.agent or removal.by in moderators)


def _is_own(record: Put) -> bool:
    if record.table == META:
        return record.key == OFFSET or record.key.startswith(ACTOR)
    return record.table in (CHANNELS, SENT, RECEIVED) or record.table.startswith(APPLICATION)


def _actor_of(place: Place) -> Actor:
    return place[-_DOT_BYTES:-COUNTER_BYTES]


NodeOf = Callable[[Vouched], str]
"""At which of the new nodes somebody's word is written."""

# A quota is against floods; assertions let in once are not judged again.
_ANY_NUMBER = 1 << 62
_ALONE = "estate"
# Assertions carried over were judged before.
_NO_TIME = Now(0, 0)


@dataclass(frozen=True, slots=True)
class Journal:
    """The journal a node is to begin with."""

    node: str
    records: list[Record]


@dataclass(slots=True)
class _Written:
    """Assertions written to a partition, by node."""

    sealed: dict[str, Sequence[Sealed]] = field(default_factory=dict)
    heads: dict[str, tuple[Head, ...]] = field(default_factory=dict)


class Resettlement:
    """For one snapshot and one topology. `now` is the time as this machine has it; it decides nothing about facts."""

    def __init__(
        self,
        snapshot: JournalSnapshot,
        topology: Topology,
        node_of: NodeOf,
        settings: HiveSettings,
        chance: Chance,
        now: Now,
        seal: Seal = UNSEALED,
    ) -> None:
        tenant = settings.standing.tenant
        if tenants := {claim.assertion.tenant for claim in snapshot.vouched} - {tenant}:
            raise InvalidInput(f"facts of tenant {min(tenants)!r} can't go to a hive of tenant {tenant!r}; nothing was changed")
        self._snapshot, self._topology, self._settings, self._chance, self._now = snapshot, topology, settings, chance, now
        self._placed = _placed(snapshot.vouched, topology, node_of)
        self._writes: dict[str, _Written] = {}
        self._seal = seal
        self._latest = _latest_believable(snapshot, now.wall_ms)
        self.undelivered = 0
        """Messages to nodes that no longer exist; they are undeliverable."""

    def journals(self) -> Iterator[Journal]:
        """One for each node, in their order. Raises `InvalidInput` for what no node of this hive would take."""
        authors = [self._author(name) for name in self._topology.nodes]
        for number, (node, records) in enumerate(authors):
            authors[number] = (node, [])
            yield Journal(node.name, [*records, *self._copied(node), *self._shared(), *self._own(node.name)])
            # Its share of others' writes is as large as its journal.
            node.partitions.shares.clear()

    def _author(self, name: str) -> tuple[HiveNode, list[Record]]:
        """A node, and what it writes for agents that are at home there."""
        node = _node(name, self._topology, self._settings, self._chance, self._seal)
        effects = node.start([], self._now)
        records = [record for effect in effects if isinstance(effect, Persist) for record in effect.records]
        latest = self._latest
        for partition, assertions in self._placed.get(name, {}).items():
            share = node.partitions.share(partition)
            taken_share = share.assert_all(assertions, node.policy.at(_NO_TIME))
            records += taken_share.records
            writes = self._writes.setdefault(partition, _Written())
            writes.sealed[name], writes.heads[name] = taken_share.adds, share.own_heads()
            # Its next word on any of this has to be a later one.
            latest = max(latest, assertions[-1].stamp)
        return node, [*records, Put(META, CLOCK, msgspec.msgpack.encode(latest))]

    def _copied(self, node: HiveNode) -> Iterator[Record]:
        for partition in self._topology.held_by(node.name):
            writes = self._writes.get(partition, _Written())
            adds = [assertion for author, assertions in writes.sealed.items() if author != node.name for assertion in assertions]
            heads = [head for author, heads_there in writes.heads.items() if author != node.name for head in heads_there]
            share = node.partitions.share(partition).take(adds, (), heads, node.policy.at(_NO_TIME))
            if share.refused:
                raise InvalidInput(f"facts can't be moved: {next(iter(share.refused))}; nothing was changed")
            yield from share.records

    def _shared(self) -> list[Put]:
        return [record_of(sealed_anew(self._seal, entry)) for entry in self._snapshot.entries]

    def _own(self, name: str) -> Iterator[Put]:
        """Former records about a node of this name; the first one also takes those of nodes that are no more."""
        for former, records in self._snapshot.own.items():
            is_gone = former not in self._topology.nodes
            for record in records:
                if former == name:
                    is_message = record.table in (CHANNELS, SENT)
                    if not is_message or self._receiver(record) in self._topology.nodes:
                        yield record
                    else:
                        self.undelivered += record.table == SENT
                elif is_gone and name == self._topology.nodes[0]:
                    self.undelivered += record.table == SENT
                    if record.table == META and record.key.startswith(ACTOR):
                        yield record

    @staticmethod
    def _receiver(record: Put) -> str:
        """Of a channel: its key is the receiver, after a number in front of what was said."""
        return record.key[8 if record.table == SENT else 0 :].decode()


def attached_to(topology: Topology, attached: Mapping[str, str], former: Mapping[str, str], heirs: Mapping[str, str]) -> NodeOf:
    """Where somebody's word goes: to the node of its agent, else to the one it was written at, else to that one's heir.

    `former` are groups by former node, `heirs` nodes by group.
    """
    nodes = frozenset(topology.nodes)

    def node_of(claim: Vouched) -> str:
        if (node := attached.get(claim.assertion.agent)) is not None:
            return node
        return claim.node if claim.node in nodes else heirs.get(former.get(claim.node, ""), topology.nodes[0])

    return node_of


def facts_of(snapshot: JournalSnapshot, settings: HiveSettings, chance: Chance, now: Now) -> tuple[HiveFact, ...]:
    """The facts that follow from a snapshot, those under quarantine too, by their age."""
    node = _node(_ALONE, Flat((_ALONE,)), settings, chance)
    node.start([], now)
    node.registry.take(snapshot.entries, None)
    (partition,) = node.topology.held_by(_ALONE)
    node.partitions.share(partition).assert_all((claim.assertion for claim in snapshot.vouched), node.policy.at(_NO_TIME))
    node.replica.rearrange(node.partitions.searchable())
    ids = dict.fromkeys(claim.assertion.fact_id for claim in snapshot.vouched)
    return tuple(fact for fact_id in ids if (fact := node.fact(fact_id, now)) is not None)


def _node(name: str, topology: Topology, settings: HiveSettings, chance: Chance, seal: Seal = UNSEALED) -> HiveNode:
    generous = replace(settings, standing=replace(settings.standing, quota_per_agent=_ANY_NUMBER))
    return HiveNode(name, topology, chance=chance, settings=generous, seal=seal)


def _placed(vouched: Iterable[Vouched], topology: Topology, node_of: NodeOf) -> dict[str, dict[str, list[Assertion]]]:
    """Assertions by node and partition. All of a fact have the home of the first one: only there they confirm each other."""
    homes: dict[str, str] = {}
    placed: dict[str, dict[str, list[Assertion]]] = {}
    for claim in vouched:
        node, assertion = node_of(claim), claim.assertion
        home = homes.setdefault(assertion.fact_id, topology.home(assertion.fact_id, node))
        for partition in (home, *topology.copies(assertion.fact_id, node, assertion.confidence)):
            placed.setdefault(node, {}).setdefault(partition, []).append(assertion)
    return placed


def _latest_believable(snapshot: JournalSnapshot, wall_ms: int) -> Stamp:
    """The latest stamp every clock accepts; a stamp of a clock that ran ahead is for its own author alone."""
    stamps = [*(claim.assertion.stamp for claim in snapshot.vouched), *(entry.stamp for entry in snapshot.entries)]
    return max((stamp for stamp in stamps if is_believable(stamp, wall_ms + DRIFT_MS)), default=Stamp(0))


def _assertion(value: bytes) -> Sealed:
    """With the id that its content has: two members that show different texts under one id would never find out."""
    assertion = _decode_sealed(value)
    if not has_its_id(assertion.assertion):
        raise WireError("the id of an assertion is not that of its content")
    return assertion


# Tables not named here may hold any bytes.
_READERS: Mapping[str, Callable[[bytes], object]] = {
    ASSERTIONS: _assertion,
    PROOFS: _decode_removal,
    HEADS: _decode_head,
    INCOMING: bytes.decode,
    OUTBOX: msgpack_decoder(Batch),
    UNDELIVERED: _assertion,
    REGISTRY: _decode_entry,
    MEMBERSHIP: TopologyLog.of,
    SENT: msgpack_decoder(tuple[str, bytes]),
}
_META_READERS: Mapping[bytes, Callable[[bytes], object]] = {CLOCK: msgpack_decoder(Stamp), OFFSET: int}


def with_damage_set_aside(journal: Iterable[Kept]) -> list[Kept]:
    """The same, with a `SetAside` for each record that says nothing."""
    records = [_judged(record) for record in journal]
    channels = {record.key for record in records if record.table == CHANNELS and isinstance(record, Put)}
    # Messages in a forgotten channel reach no receiver.
    return [
        SetAside(record.table, record.key) if record.table == SENT and record.key[CHANNEL_BYTES:] not in channels else record
        for record in records
    ]


def _judged(record: Kept) -> Kept:
    reader = _META_READERS.get(record.key) if record.table == META else _READERS.get(record.table)
    if reader is None or isinstance(record, SetAside):
        return record
    try:
        reader(record.value)
    # An unpaired surrogate, an invalid count.
    except (ValueError, WireError):
        return SetAside(record.table, record.key)
    return record
