"""A node's questions to the hive, and its answers to those of others.

Answering a peer is searching the own replica and nothing else, so a question can never cause another one.
"""

from collections.abc import Iterable
from dataclasses import replace

from msgspec import structs

from hive_mind.hive.effects import Ask, Done, Effect, Fetch, Listing, SearchLocal, Send, Tally
from hive_mind.hive.index.replica import Replica
from hive_mind.hive.policy.node_policy import PolicyNow
from hive_mind.hive.query.fetching import FetchScatter
from hive_mind.hive.query.latencies import Latencies, ScatterSettings
from hive_mind.hive.query.listing import ListScatter, TallyScatter, rows_that_fit, wordings_that_fit
from hive_mind.hive.query.paged import Asker, page
from hive_mind.hive.query.scatter import FOR_MORE, Scatter
from hive_mind.hive.replication.partitions import Partitions
from hive_mind.hive.topology.base import ReplicaSet
from hive_mind.hive.trust import signature
from hive_mind.model.evidence import HiveFact
from hive_mind.model.gathered import Gathered
from hive_mind.model.messages import (
    FactsReply,
    FactsRequest,
    ListPlace,
    ListReply,
    ListRequest,
    PoolReply,
    PoolRequest,
    PrefixRequest,
    SearchReply,
    SearchRequest,
    TallyReply,
    TallyRequest,
    WordingRequest,
)

_Scatter = Scatter | FetchScatter | ListScatter | TallyScatter


class Questions:
    """Those under way, by request."""

    def __init__(self, node: str, partitions: Partitions, replica: Replica, settings: ScatterSettings) -> None:
        self._node, self._partitions, self._replica = node, partitions, replica
        self._settings = settings
        self.latencies = Latencies(settings)
        self._asking: dict[str, _Scatter] = {}
        self._read_set_of_all: tuple[ReplicaSet, ...] | None = None
        self._sets: dict[str, ReplicaSet] = {}

    # ── asking ────────────────────────────────────────────────────────────────────────────────────────────────────

    def ask(self, event: Ask, at: PolicyNow) -> list[Effect]:
        """Begin a search; one of this node alone is answered at once."""
        if event.is_local:
            return [Done(event.request, self._gather_here(event, at))]
        topology = self._partitions.topology
        read_set = self._read_set(event.domains)
        favoured = frozenset(topology.favoured(event.domains)) if event.domains else frozenset[str]()
        scatter = Scatter(event, read_set, self._node, topology.epoch, self._settings, self.latencies, at.now.mono_ms, favoured)
        return self._begin(event.request, scatter, at)

    def fetch(self, event: Fetch, at: PolicyNow) -> list[Effect]:
        """Begin to get facts by id."""
        topology = self._partitions.topology

        def may_hold(id: str, replica_set: ReplicaSet) -> bool:
            return any(topology.home(id, member) in replica_set.partitions for member in replica_set.members)

        now_ms, read_set = at.now.mono_ms, self._read_set()
        scatter = FetchScatter(event, read_set, self._node, self._settings, self.latencies, now_ms, may_hold)
        return self._begin(event.request, scatter, at)

    def listed(self, event: Listing, at: PolicyNow) -> list[Effect]:
        return self._begin(event.request, ListScatter(event, self._asker(), at.now.mono_ms), at)

    def tallied(self, event: Tally, at: PolicyNow) -> list[Effect]:
        return self._begin(event.request, TallyScatter(event, self._asker(), at.now.mono_ms), at)

    def take(self, sender: str, reply: SearchReply, at: PolicyNow) -> list[Effect]:
        """A reply came; one that nobody waits for changes nothing."""
        request = reply.query if reply.query in self._asking else reply.query.removesuffix(FOR_MORE)
        scatter = self._asking.get(request)
        return [] if scatter is None else self._continue(request, scatter.take(sender, reply, at.now.mono_ms), at)

    def tick(self, at: PolicyNow) -> list[Effect]:
        asking = list(self._asking.items())
        return [effect for request, scatter in asking for effect in self._continue(request, scatter.tick(at.now.mono_ms), at)]

    def wake_at_ms(self) -> int | None:
        """When `tick` has something to do."""
        if not self._asking:
            return None
        return min((at for scatter in self._asking.values() if (at := scatter.wake_at_ms) is not None), default=None)

    # ── answering ─────────────────────────────────────────────────────────────────────────────────────────────────

    def rearranged(self) -> None:
        self._sets, self._read_set_of_all = {}, None

    def answer(self, request: SearchRequest, at: PolicyNow) -> SearchReply | None:
        """This replica's results. None: asked about a topology, or for rows, that this node does not know."""
        if isinstance(request, FactsRequest):
            facts_held = ((id, self._replica.fact(id, at)) for id in request.fact_ids)
            rows_cut, is_cut = page(((id, _to_read(fact)) for id, fact in facts_held if fact is not None), request.bytes_max)
            return FactsReply(request.query, tuple(fact for _, fact in rows_cut), is_cut)
        name = request.replica_set
        if (missing := self._missing(name, request.epoch)) is None:
            return None
        match request:
            case PoolRequest(query, _, _, probe):
                pool, evidence, words = self._replica.pool(probe, request.confidence_min, at)
                return PoolReply(query, name, pool, evidence, missing, words)
            case ListRequest():
                rows = self._replica.listed(request.concept, request.limit, at, request.after)
                return _listed(request, rows, missing)
            case PrefixRequest():
                rows = self._replica.named(request.prefix, request.limit, at, request.after)
                return _listed(request, rows, missing)
            case TallyRequest(query):
                ids, is_cut = self._replica.tallied(request.about, request.after, rows_that_fit(request.bytes_max), at)
                return TallyReply(query, name, ids, missing, is_cut)
            case WordingRequest(query):
                if request.form != signature.FORM:
                    return None
                worded, is_cut = self._replica.worded(request.after, wordings_that_fit(request.bytes_max), at)
                return TallyReply(query, name, worded, missing, is_cut)

    # ── inside ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _gather_here(self, event: Ask, at: PolicyNow) -> Gathered:
        pool, evidence, statistics = self._replica.pool_of_all(event.probe, event.confidence_min, at)
        holders = dict.fromkeys(pool.ids, self._node)
        return Gathered(pool, evidence, statistics, 0, holders=holders, as_of_ms=at.hive_ms())

    def _begin(self, request: str, scatter: _Scatter, at: PolicyNow) -> list[Effect]:
        self._asking[request] = scatter
        return self._continue(request, scatter.start(at.now.mono_ms), at)

    def _continue(self, request: str, effects: Iterable[Send | SearchLocal], at: PolicyNow) -> list[Effect]:
        scatter = self._asking[request]
        if not scatter.is_done:
            return list(effects)
        del self._asking[request]
        outcome = scatter.gathered()
        if isinstance(outcome, Gathered):
            outcome = replace(outcome, as_of_ms=at.hive_ms())
        return [Done(request, outcome)]

    def _asker(self) -> Asker:
        return Asker(self._node, self._read_set(), self._partitions.topology.epoch, self._settings, self.latencies)

    def _read_set(self, domains: tuple[str, ...] = ()) -> tuple[ReplicaSet, ...]:
        """Replica sets to ask; worked out once per topology for all questions that name no domains."""
        if domains:
            return self._partitions.topology.read_set(self._node, domains)
        if self._read_set_of_all is None:
            self._read_set_of_all = self._partitions.topology.read_set(self._node)
        return self._read_set_of_all

    def _missing(self, name: str, epoch: int) -> tuple[str, ...] | None:
        """Partitions of a replica set this node can't speak for."""
        topology, shares = self._partitions.topology, self._partitions.shares
        if epoch != topology.epoch:
            return None
        if not self._sets:
            self._sets = {replica_set.name: replica_set for replica_set in self._read_set()}
        if (asked_replica_set := self._sets.get(name)) is None:
            return None
        known_shares = [(partition, shares.get(partition)) for partition in asked_replica_set.partitions]
        return tuple([name for name, share in known_shares if share is None or not (share.is_holder and share.is_complete)])


def _listed(
    request: ListRequest | PrefixRequest, rows: Iterable[tuple[ListPlace, HiveFact]], missing: tuple[str, ...]
) -> ListReply:
    list_rows, is_cut = page(((place, _to_read(fact)) for place, fact in rows), request.bytes_max)
    facts = tuple(fact for _, fact in list_rows)
    return ListReply(request.query, request.replica_set, facts, missing, list_rows[-1][0] if is_cut else None)


def _to_read(fact: HiveFact) -> HiveFact:
    """A fact without its vector: most of its bytes, and only needed to find it."""
    return structs.replace(fact, statement=structs.replace(fact.statement, model="", vector=b""))
