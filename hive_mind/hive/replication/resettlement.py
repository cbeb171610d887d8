"""Settling the facts of a hive anew: journals of another topology with a snapshot's content, as if it had been there always.

Assertions stay what they are: author, source, confidence, time and time to live are not touched, so nothing gets younger or
surer by being moved. Only where they lie and under which dots is new. Every holder has everything of its partitions at once, and
nothing is under way. Only computes; journals come one after the other, because together they may not fit. Where the new hive has
seals, `seal` is that of the mover, which may write for all.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from hive_mind.crdt.clock import DRIFT_MS, is_believable
from hive_mind.errors import InvalidInput
from hive_mind.hive.chance import Chance
from hive_mind.hive.effects import Now, Persist, Put, Record
from hive_mind.hive.node import ACTOR, CLOCK, META, HiveNode
from hive_mind.hive.policy.registry_service import record_of
from hive_mind.hive.policy.seal import UNSEALED, Seal, sealed_anew
from hive_mind.hive.replication.journal_snapshot import JournalSnapshot, Vouched
from hive_mind.hive.replication.reliable_channels import CHANNELS, SENT
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology.base import Topology
from hive_mind.hive.topology.flat import Flat
from hive_mind.model.evidence import Assertion, Head, HiveFact, Sealed, Stamp

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
        _refuse_strangers(snapshot, settings.standing.tenant)
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
        """Others' writes to the partitions that a node holds."""
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
    stamps = (claim.assertion.stamp for claim in snapshot.vouched)
    entered = (entry.stamp for entry in snapshot.entries)
    believable = (
        stamp for stamps_of_one in (stamps, entered) for stamp in stamps_of_one if is_believable(stamp, wall_ms + DRIFT_MS)
    )
    return max(believable, default=Stamp(0))


def _refuse_strangers(snapshot: JournalSnapshot, tenant: str) -> None:
    if tenants := {claim.assertion.tenant for claim in snapshot.vouched} - {tenant}:
        raise InvalidInput(f"facts of tenant {min(tenants)!r} can't go to a hive of tenant {tenant!r}; nothing was changed")
