"""A node's knowledge, ready to be searched: facts derived from live assertions, and the indexes that find them.

Facts at home here and copies of others' facts lie in two indexes, because a copy counts at its home only. Nothing here is
merged or kept: everything follows from the shares, is brought up to date at each question, and can be thrown away.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import msgspec
import numpy as np

from hive_mind.hive.compacting_index import CompactingIndex, Indexed, IndexedEvidence
from hive_mind.hive.effects import Record, Taken
from hive_mind.hive.policy.admission import answerable, is_comparable
from hive_mind.hive.policy.node_policy import NodePolicy
from hive_mind.hive.replication.partition_content import age
from hive_mind.hive.replication.partition_replica import PartitionReplica
from hive_mind.hive.trust import contradiction
from hive_mind.hive.trust.contradiction import Claim, Concepts, fused
from hive_mind.hive.trust.trust_book import TRUST_DEFAULT, k_eff
from hive_mind.model.aggregation import moment_ms, row
from hive_mind.model.evidence import Assertion, HiveFact, Provenance, Sealed, Stamp, Statement, Status
from hive_mind.model.fact import is_about, with_places
from hive_mind.model.gathered import EvidenceColumns, Occurrences, Pool, Probe
from hive_mind.model.messages import ListPlace
from hive_mind.model.query import TermStatistics
from hive_mind.ranking.form import weighted_terms
from hive_mind.ranking.index import Accept, FactIndex, Positions, with_statistics
from hive_mind.ranking.merge import merge_found
from hive_mind.ranking.neighbours import has_place, place_of
from hive_mind.ranking.pipeline import confirmation_share, trust_share
from hive_mind.ranking.vector import Vector, VectorArm

_RIVALS_MAX = 8


@dataclass(slots=True)
class _Known:
    """A visible fact as it was last derived."""

    statement: Statement
    partitions: tuple[str, ...]
    is_home: bool
    agents: tuple[str, ...]
    confirmations: float
    confidence: float
    stamp: Stamp
    root: str
    tenant: str
    signed: bytes = b""
    """Its signature, made when somebody asks for that."""

    @property
    def evidence(self) -> IndexedEvidence:
        return IndexedEvidence(self.confirmations, self.confidence, self.agents, has_place(self.statement))


class _Order(NamedTuple):
    """Places of the facts at home that are about a concept, the oldest first."""

    concept: str
    places: list[ListPlace]


class _Tally(NamedTuple):
    """Rows (`model.aggregation`) of the facts at home that are about something, ascending."""

    about: str
    rows: list[bytes]


@dataclass(frozen=True, slots=True)
class Counted:
    """Whether a fact counts here or is a copy, and whether several sources vouch for it."""

    is_home: bool
    is_confirmed: bool


@dataclass(frozen=True, slots=True)
class Shares:
    """The shares of a node, and which of their partitions count here and which are copies."""

    by_partition: Mapping[str, PartitionReplica]
    homes: Collection[str] = frozenset()
    copies: Collection[str] = frozenset()

    def visible(self, fact_id: str, partitions: Iterable[str], judge: NodePolicy) -> list[Sealed]:
        assertions = (assertion for name in partitions for assertion in self.by_partition[name].assertions(fact_id))
        return [assertion for assertion in assertions if judge.is_visible(assertion)]


class Replica:
    """Indexes over a node's shares. `model` names the model of the vectors compared, "" for none."""

    def __init__(self, new_arm: Callable[[], VectorArm | None], model: str, shares: Shares) -> None:
        self._new_arm, self._model, self._shares = new_arm, model, shares
        self._entries: dict[str, _Known] = {}
        self._concepts = Concepts()
        self._dirty: dict[str, set[str]] = {}
        self._version = -1
        self._order: _Order | None = None
        """Of the last listing, for requests for its next page; None once anything changed."""
        self._tally: _Tally | None = None
        """Of the last tally, likewise."""
        self._ids: list[str] | None = None
        """All ids in order, to be found by how they begin; None until somebody asks for that."""
        arm = new_arm()
        self._dimension = 0 if arm is None else arm.dimension
        self._home, self._copies = self._new_part(), self._new_part()

    def rearrange(self, shares: Shares) -> None:
        """Other partitions count here from now on."""
        self._shares = shares
        self._entries, self._concepts, self._dirty, self._order = {}, Concepts(), {}, None
        self._tally = self._ids = None
        self._home, self._copies = self._new_part(), self._new_part()
        for name in (*shares.homes, *shares.copies):
            self.changed(name, shares.by_partition[name].members.items())

    def changed(self, partition: str, fact_ids: Iterable[str]) -> None:
        """Assertions of these facts came or went; they are derived again when somebody asks."""
        if partition in self._shares.homes or partition in self._shares.copies:
            for fact_id in fact_ids:
                self._dirty.setdefault(fact_id, set()).add(partition)

    @property
    def is_behind(self) -> bool:
        return bool(self._dirty)

    def index_some(self, facts_max: int, judge: NodePolicy) -> bool:
        """Re-evaluate a few changed facts ahead of the next question. Returns whether more are left."""
        if not self._dirty:
            return any(part.renew_some(facts_max) for part in (self._home, self._copies))
        for fact_id in list(islice(self._dirty, facts_max)):
            self._derive(fact_id, self._dirty.pop(fact_id), judge)
        return bool(self._dirty)

    def pool(self, probe: Probe, confidence_min: float, judge: NodePolicy) -> tuple[Pool, EvidenceColumns, Occurrences | None]:
        """Candidates among the facts that have their home here, and what their keyword scores are made of."""
        self._refresh(judge)
        accept = self._accept(confidence_min, judge, probe.as_of_ms)
        pool, positions, words = self._home.index.pool_with_words(answerable(probe, self._dimension), accept)
        return pool, self._evidence(self._home, pool, positions, judge), words

    def pool_of_all(self, probe: Probe, confidence_min: float, judge: NodePolicy) -> tuple[Pool, EvidenceColumns, TermStatistics]:
        """Candidates among everything kept here, copies too, and the statistics they were scored by."""
        self._refresh(judge)
        parts = (self._home, self._copies)
        statistics = with_statistics(probe, [part.index for part in parts]).statistics or TermStatistics(0, 0.0)
        total = statistics + probe.beside if probe.beside else statistics
        hive_probe = replace(probe, statistics=total)
        accept = self._accept(confidence_min, judge, probe.as_of_ms)
        pools = [self._found(part, hive_probe, accept, judge) for part in parts if len(part.index)]
        # A fact is in one of the two, so no evidence is counted twice.
        merged = merge_found([pool for pool, _ in pools], [evidence for _, evidence in pools], probe.depth)
        return *merged, total

    def fact(self, fact_id: str, judge: NodePolicy) -> HiveFact | None:
        self._refresh(judge)
        entry = self._entries.get(fact_id)
        if entry is not None:
            assertions = self._shares.visible(fact_id, entry.partitions, judge)
            rivals = []
            if entry.statement.concept:
                rivals = self._concepts.rivals(fact_id, entry.statement, lambda rival: self._entries[rival].statement)
            return self._fact(fact_id, assertions, judge, _status(entry, rivals), rivals) if assertions else None
        assertions = [assertion for share in self._shares.by_partition.values() for assertion in share.assertions(fact_id)]
        return self._fact(fact_id, assertions, judge, "quarantined") if assertions and judge.is_quarantined(fact_id) else None

    def listed(
        self, concept: str, limit: int, judge: NodePolicy, after: ListPlace | None = None
    ) -> Iterator[tuple[ListPlace, HiveFact]]:
        """Facts at home here that are about a concept ("" for all), newest first, with their places; those `after` one."""
        self._refresh(judge)
        if self._order is None or self._order.concept != concept:
            at_home = ((id, entry) for id, entry in self._entries.items() if entry.is_home)
            about = (
                (id, entry)
                for id, entry in at_home
                if not concept or is_about(concept, entry.statement.concept, entry.statement.entities)
            )
            self._order = _Order(concept, sorted(ListPlace(entry.stamp, id) for id, entry in about))
        places = self._order.places
        end = len(places) if after is None else bisect_left(places, after)
        return self._facts_at((places[place] for place in range(end - 1, max(end - limit, 0) - 1, -1)), judge)

    def named(
        self, prefix: str, limit: int, judge: NodePolicy, after: ListPlace | None = None
    ) -> Iterator[tuple[ListPlace, HiveFact]]:
        """Facts at home here with an id that begins like this, newest first, with their places; those `after` one."""
        ids = self._ids_in_order(judge)
        start = bisect_left(ids, prefix)
        end = bisect_right(ids, prefix, start, key=lambda fact_id: fact_id[: len(prefix)])
        entries = ((id, self._entries[id]) for id in ids[start:end])
        places = sorted((ListPlace(entry.stamp, id) for id, entry in entries if entry.is_home), reverse=True)
        return self._facts_at((place for place in places if after is None or place < after), judge, limit)

    def tallied(self, about: str, after: bytes, rows_max: int | None, judge: NodePolicy) -> tuple[bytes, bool]:
        """Rows of the facts at home here that are about something, ascending, those `after` one; and whether there are more."""
        self._refresh(judge)
        if self._tally is None or self._tally.about != about or judge.may_expire():
            self._tally = _Tally(about, sorted(self._rows(about, judge)))
        rows = self._tally.rows
        start = bisect_right(rows, after)
        end = len(rows) if rows_max is None else start + rows_max
        return b"".join(rows[start:end]), end < len(rows)

    def _rows(self, about: str, judge: NodePolicy) -> Iterator[bytes]:
        accept = self._accept(0.0, judge)
        for id, entry in self._entries.items():
            words = entry.statement
            if entry.is_home and (not about or is_about(about, words.concept, words.entities)) and (accept is None or accept(id)):
                yield row(moment_ms(words.said_at, entry.stamp.ms), id)

    def worded(self, after: bytes, rows_max: int | None, judge: NodePolicy) -> tuple[bytes, bool]:
        """Rows (`contradiction.row`) of the facts at home here, ascending, those `after` one; and whether there are more."""
        ids, accept = self._ids_in_order(judge), self._accept(0.0, judge)
        entries = ((id, self._entries[id]) for id in ids[bisect_right(ids, contradiction.before_rows_after(after)) :])
        at_home = ((id, fact) for id, fact in entries if fact.is_home and (accept is None or accept(id)))
        rows = b"".join(
            contradiction.row(id, fact.statement, fact.stamp, _signed(fact)) for id, fact in islice(at_home, rows_max)
        )
        return rows, next(at_home, None) is not None

    def prepare(self, facts_max: int, judge: NodePolicy, *, with_wording: bool) -> Iterator[None]:
        """Do ahead, in pieces, what a question would do in one go the first time: of all there is when it begins."""
        for _ in range(facts_max, len(self._dirty), facts_max):
            self.index_some(facts_max, judge)
            yield
        unsigned = [entry for entry in self._entries.values() if entry.is_home and not entry.signed] if with_wording else []
        for start in range(0, len(unsigned), facts_max):
            for entry in unsigned[start : start + facts_max]:
                _signed(entry)
            yield

    def counted(self, judge: NodePolicy) -> dict[str, Counted]:
        self._refresh(judge)
        accept = self._accept(0.0, judge)
        visible = ((id, entry) for id, entry in self._entries.items() if accept is None or accept(id))
        return {id: Counted(entry.is_home, entry.confirmations > 0) for id, entry in visible}

    def _facts_at(
        self, places: Iterable[ListPlace], judge: NodePolicy, limit: int | None = None
    ) -> Iterator[tuple[ListPlace, HiveFact]]:
        return ((place, fact) for place in islice(places, limit) if (fact := self.fact(place.fact_id, judge)) is not None)

    def _ids_in_order(self, judge: NodePolicy) -> list[str]:
        self._refresh(judge)
        if self._ids is None:
            self._ids = sorted(self._entries)
        return self._ids

    def _refresh(self, judge: NodePolicy) -> None:
        if judge.version != self._version:
            self._version = judge.version
            self._home.forget_trust()
            self._copies.forget_trust()
            for partition in (*self._shares.homes, *self._shares.copies):
                self.changed(partition, self._shares.by_partition[partition].members.items())
        if not self._dirty:
            return
        dirty, self._dirty = self._dirty, {}
        for fact_id, partitions in dirty.items():
            self._derive(fact_id, partitions, judge)

    def _derive(self, fact_id: str, partitions: set[str], judge: NodePolicy) -> None:
        former = self._entries.get(fact_id)
        if former is not None:
            partitions = partitions.union(former.partitions)
        self._order = self._tally = None
        entry = None if judge.is_quarantined(fact_id) else self._derived(fact_id, partitions, judge)
        if former is not None and entry is not None and _is_indexed_alike(former, entry):
            self._entries[fact_id] = entry
            self._part_of(entry).note(fact_id, entry.evidence)
            return
        if former is not None:
            del self._entries[fact_id]
            if self._ids is not None:
                del self._ids[bisect_left(self._ids, fact_id)]
            self._part_of(former).remove(fact_id, weighted_terms(former.statement))
            self._concepts.remove(fact_id, former.statement.concept)
        if entry is not None:
            self._entries[fact_id] = entry
            if self._ids is not None:
                insort(self._ids, fact_id)
            self._part_of(entry).add(fact_id, self._indexed(fact_id))
            self._concepts.add(fact_id, entry.statement.concept)

    def _derived(self, fact_id: str, partitions: Iterable[str], judge: NodePolicy) -> _Known | None:
        """At home if any assertion is: a copy besides adds nothing."""
        by_partition = {name: self._shares.visible(fact_id, (name,), judge) for name in partitions}
        at_home = [sealed for name, sealeds in by_partition.items() if name in self._shares.homes for sealed in sealeds]
        counted = at_home or [sealed for sealeds in by_partition.values() for sealed in sealeds]
        if not counted:
            return None
        first = min(counted, key=age)
        return _Known(
            statement=first.assertion.statement,
            partitions=tuple(name for name, assertions in by_partition.items() if assertions),
            is_home=bool(at_home),
            agents=tuple(sorted({sealed.assertion.agent for sealed in counted}))
            if len(counted) > 1
            else (first.assertion.agent,),
            confirmations=confirmation_share(_confirmed([assertion.assertion for assertion in counted], judge)),
            confidence=max(assertion.assertion.confidence for assertion in counted),
            stamp=first.assertion.stamp,
            root=first.assertion.root,
            tenant=first.assertion.tenant,
        )

    def _new_part(self) -> CompactingIndex:
        return CompactingIndex(lambda: FactIndex(self._new_arm()), self._indexed)

    def _indexed(self, fact_id: str) -> Indexed:
        entry = self._entries[fact_id]
        return Indexed(weighted_terms(entry.statement), self._vector(entry.statement), entry.evidence)

    def _vector(self, statement: Statement) -> Vector | None:
        if len(statement.vector) != 2 * self._dimension or statement.model != self._model:
            return None
        vector = np.frombuffer(statement.vector, dtype="<f2").astype(np.float32)
        return vector if is_comparable(vector, self._dimension) else None

    def _part_of(self, entry: _Known) -> CompactingIndex:
        return self._home if entry.is_home else self._copies

    def _found(
        self, part: CompactingIndex, probe: Probe, accept: Accept | None, judge: NodePolicy
    ) -> tuple[Pool, EvidenceColumns]:
        pool, positions = part.index.found(probe, accept)
        return pool, self._evidence(part, pool, positions, judge)

    def _evidence(self, part: CompactingIndex, pool: Pool, positions: Positions, judge: NodePolicy) -> EvidenceColumns:
        evidence = part.columns.at(
            positions,
            lambda agents: trust_share(max(judge.trust(agent) for agent in agents)),
            lambda number: self._place(pool.ids[number]),
        )
        if not judge.may_expire():
            return evidence
        entries = [self._entries[fact_id] for fact_id in pool.ids]
        faded = np.array([judge.faded(entry.confidence, entry.stamp) for entry in entries], dtype=np.float32)
        return msgspec.structs.replace(evidence, confidence=faded)

    def _place(self, fact_id: str) -> bytes:
        entry = self._entries[fact_id]
        return place_of(entry.statement, entry.root, entry.tenant)

    def _accept(self, confidence_min: float, judge: NodePolicy, as_of_ms: int = 0) -> Accept | None:
        """Without expiry, a time and a least confidence nothing has to be looked at one by one."""
        if confidence_min <= 0 and not judge.may_expire() and not as_of_ms:
            return None

        def is_wanted(fact_id: str) -> bool:
            entry = self._entries[fact_id]
            if judge.faded(entry.confidence, entry.stamp) < confidence_min or 0 < as_of_ms < entry.stamp.ms:
                return False
            return not judge.may_expire() or bool(self._shares.visible(fact_id, entry.partitions, judge))

        return is_wanted

    def _fact(
        self, fact_id: str, sealed: list[Sealed], judge: NodePolicy, status: Status, rivals: Sequence[str] = ()
    ) -> HiveFact:
        """The same assertion in its home and in a copy's partition is one."""
        assertions = {(a.agent, a.root): a for a in sorted((s.assertion for s in sealed), key=lambda a: a.stamp, reverse=True)}
        ordered = sorted(assertions.values(), key=lambda a: (a.stamp, a.agent))
        statement = min(sealed, key=age).assertion.statement
        labels = with_places(statement.labels, dict.fromkeys(label for a in ordered for label in a.statement.labels))
        return HiveFact(
            id=fact_id,
            statement=statement if labels == statement.labels else msgspec.structs.replace(statement, labels=labels),
            provenance=tuple(Provenance(a.agent, a.root, a.confidence, a.stamp) for a in ordered),
            confidence=max(judge.faded(a.confidence, a.stamp) for a in ordered),
            confirmations=round(k_eff(ordered, _alike, judge.voucher)) if len(ordered) > 1 else 0,
            trust=max(judge.trust(a.agent) for a in ordered),
            status=status,
            disputed_by=tuple(rivals[:_RIVALS_MAX]),
            votes=_votes(fact_id, ordered, judge),
        )


def reindex(replica: Replica, shares: Mapping[str, Taken]) -> list[Record]:
    """Let searches look again at what changed; the records of it all."""
    for partition, share in shares.items():
        replica.changed(partition, share.facts)
    return [record for change in shares.values() for record in change.records]


def _confirmed(assertions: Sequence[Assertion], judge: NodePolicy) -> float:
    """Most facts have one source; nobody confirms itself, whatever sources it names."""
    return k_eff(assertions, judge.trust, judge.voucher) if len(assertions) > 1 else 0.0


def _alike(_: str) -> float:
    return TRUST_DEFAULT


def _votes(fact_id: str, assertions: Sequence[Assertion], judge: NodePolicy) -> float | None:
    """Votes for a fact; None where nothing is known of the agents that assert it, so that their number decides alone."""
    if all(
        judge.trust(assertion.agent) == TRUST_DEFAULT and judge.voucher(assertion.agent) == assertion.agent
        for assertion in assertions
    ):
        return None
    claims = [Claim(assertion.agent, fact_id, assertion.root, assertion.confidence, assertion.stamp) for assertion in assertions]
    votes = fused(claims, judge.trust, judge.voucher)[fact_id]
    return None if votes == fused(claims, _alike)[fact_id] else votes


def _status(entry: _Known, rivals: Sequence[str]) -> Status:
    if rivals:
        return "disputed"
    return "confirmed" if entry.confirmations > 0 else "held"


def _signed(entry: _Known) -> bytes:
    entry.signed = entry.signed or contradiction.signed(entry.statement.content, entry.statement.speaker)
    return entry.signed


def _is_indexed_alike(entry: _Known, rival: _Known) -> bool:
    return entry.is_home == rival.is_home and (entry.statement is rival.statement or entry.statement == rival.statement)
