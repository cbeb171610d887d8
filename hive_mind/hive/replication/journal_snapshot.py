"""The combined content of a hive's journals, though none of its nodes runs: one truth out of all their parts.

An assertion is live if some journal has it and none knows that it is gone. Messages still under way are in their author's
journal, so nothing is lost by reading them at rest. Only computes; callers read the files and use the result.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hive_mind.hive.effects import Put
from hive_mind.hive.node import ACTOR, META, OFFSET
from hive_mind.hive.policy.admission import has_its_id
from hive_mind.hive.policy.registry import Registry
from hive_mind.hive.policy.registry_service import REGISTRY
from hive_mind.hive.replication.app_messages import APPLICATION
from hive_mind.hive.replication.partition_replica import ASSERTIONS, BEYOND, HEADS, OWN_JUDGEMENT, PROOFS, SEEN
from hive_mind.hive.replication.reliable_channels import CHANNELS, RECEIVED, SENT
from hive_mind.hive.topology.federated import EVERYONE
from hive_mind.model.decoding import msgpack_decoder
from hive_mind.model.evidence import ACTOR_BYTES, COUNTER_BYTES, Actor, Assertion, Head, Removal, Sealed
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
        return self.up_to.get(_writer_of(place), 0) >= _counter_of(place) or place in self.beyond or place in self.live


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
                self._take_assertion(journal, record)
            elif record.table == SEEN:
                journal.up_to[record.key] = int.from_bytes(record.value, "big")
            elif record.table == BEYOND:
                journal.beyond.add(record.key)
            elif record.table == PROOFS:
                self._proofs.setdefault(record.key, set()).add(record.value)
            elif record.table == HEADS:
                self._take_head(record)
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

    def _take_assertion(self, journal: _Known, record: Put) -> None:
        # Replicas hold the same under the same dot; so it is read once. What was edited in one is taken from another.
        if record.key not in self._sealed and has_its_id((assertion := _decode_sealed(record.value)).assertion):
            self._sealed[record.key] = assertion
        journal.live.add(record.key)

    def _take_head(self, record: Put) -> None:
        head, former = _decode_head(record.value), self._heads.get(record.key)
        if former is None or former.counter < head.counter:
            self._heads[record.key] = head

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
    is_home = _partition_of(place) != EVERYONE
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


def _partition_of(place: Place) -> str:
    return place[: -_DOT_BYTES - 1].decode()


def _writer_of(place: Place) -> bytes:
    return place[:-COUNTER_BYTES]


def _actor_of(place: Place) -> Actor:
    return place[-_DOT_BYTES:-COUNTER_BYTES]


def _counter_of(place: Place) -> int:
    return int.from_bytes(place[-COUNTER_BYTES:], "big")
