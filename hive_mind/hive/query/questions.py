"""A node's questions to the hive, the facts it fetches once their holders are known, and its answers to those of others.

Answering a peer is searching the own replica and nothing else, so a question can never cause another one.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from msgspec import structs

from hive_mind.hive.effects import Ask, Done, Effect, Fetch, Listing, SearchLocal, Send, Tally
from hive_mind.hive.policy.node_policy import NodePolicy
from hive_mind.hive.query import Latencies, ScatterSettings
from hive_mind.hive.query.listing import ListScatter, TallyScatter, page, rows_that_fit, wordings_that_fit
from hive_mind.hive.query.rounds import Asker, ReplicaSetShare, Round, To, effect
from hive_mind.hive.query.scatter import FOR_MORE, Scatter
from hive_mind.hive.replica import Replica
from hive_mind.hive.replication.partitions import Partitions
from hive_mind.hive.topology import ReplicaSet
from hive_mind.hive.trust import contradiction
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

Requests = list[Send | SearchLocal]


class FetchScatter:
    """The facts themselves, from their holders; from other replicas where one stays silent or has let go of a fact."""

    def __init__(
        self,
        fetch: Fetch,
        asker: Asker,
        now_ms: int,
        may_hold: Callable[[str, ReplicaSet], bool] = lambda _id, _set: True,
    ) -> None:
        """`may_hold` tells whether this replica set can have a fact of unknown holder."""
        self._fetch, self._node = fetch, asker.node
        self._end_ms = now_ms + fetch.deadline_ms
        self._facts_held: dict[str, HiveFact] = {}
        self._cut: set[str] = set()
        """Members without room for everything they were asked for."""
        self._bytes_max = asker.settings.reply_bytes_max
        parts = [*_by_holder(fetch, asker.read_set), *_by_set(fetch, asker.read_set, may_hold)]
        self._round = Round(parts, asker, now_ms, self._end_ms)
        self.is_done = False
        self.silent: tuple[str, ...] = ()

    @property
    def wake_at_ms(self) -> int | None:
        return None if self.is_done else self._round.wake_at_ms

    def start(self, now_ms: int) -> Requests:
        if now_ms >= self._end_ms:
            self.is_done = True
            return []
        return self._sent(self._round.start(now_ms), now_ms) + self._advance(now_ms)

    def take(self, sender: str, reply: SearchReply, now_ms: int) -> Requests:
        """Take a reply. A late, repeated or unsolicited one changes nothing."""
        if self.is_done or not isinstance(reply, FactsReply) or reply.query != self._fetch.request:
            return []
        awaited = self._round.parts_awaited_of(sender)
        facts = {fact.id: fact for fact in reply.facts}
        # A reply does not say which request it answers: one that holds nothing of a part may be about another, or come twice.
        is_sure = len(awaited) == 1 and sender not in self._cut
        about = [part for part in awaited if is_sure or not facts or not facts.keys().isdisjoint(self._round.open_of(part))]
        out = [to for part in about for to in self._take(sender, part, facts, is_cut=reply.is_cut, now_ms=now_ms)]
        return self._sent(out, now_ms) + self._advance(now_ms)

    def tick(self, now_ms: int) -> Requests:
        return [] if self.is_done else self._sent(self._round.tick(now_ms), now_ms) + self._advance(now_ms)

    def gathered(self) -> tuple[HiveFact, ...]:
        return tuple(self._facts_held[id] for id in dict.fromkeys(id for id, _ in self._fetch.wanted) if id in self._facts_held)

    def _take(self, sender: str, part: str, facts: dict[str, HiveFact], *, is_cut: bool, now_ms: int) -> list[To]:
        """The facts a reply has of one part. A sender without room for all is asked for the rest."""
        still = self._round.open_of(part)
        if now_ms >= self._end_ms or not still:
            self._round.note(sender, part, now_ms)
            return []
        hive_facts = {id: facts[id] for id in still if id in facts}
        rest = [id for id in still if id not in facts]
        self._facts_held.update(hive_facts)
        if is_cut and hive_facts and rest:
            self._cut.add(sender)
            return self._round.ask_for_rest(sender, part, rest, now_ms)
        return self._round.take(sender, part, rest, now_ms)

    def _advance(self, now_ms: int) -> Requests:
        has_all = all(id in self._facts_held for id, _ in self._fetch.wanted)
        if has_all or self._round.has_ended(now_ms):
            self.silent, self.is_done = self._round.close(now_ms), True
        return []

    def _sent(self, requests: Iterable[To], now_ms: int) -> Requests:
        left_ms = self._end_ms - now_ms
        return [effect(to.node, self._request(to, left_ms), self._node) for to in requests]

    def _request(self, to: To, left_ms: int) -> FactsRequest:
        # Within a node nothing travels.
        bytes_max = 0 if to.node == self._node else self._bytes_max
        return FactsRequest(self._fetch.request, self._round.open_of(to.part), left_ms, bytes_max)


def _by_holder(fetch: Fetch, read_set: tuple[ReplicaSet, ...]) -> list[ReplicaSetShare]:
    """The facts to ask each holder for, and the other members that keep the same."""
    ids_by_holder: dict[str, list[str]] = {}
    for id, holder in dict(reversed(fetch.wanted)).items():
        if holder:
            ids_by_holder.setdefault(holder, []).append(id)
    return [
        ReplicaSetShare(
            holder,
            (holder, *(m for replica_set in read_set if holder in replica_set.members for m in replica_set.members)),
            tuple(ids),
        )
        for holder, ids in sorted(ids_by_holder.items())
    ]


def _by_set(
    fetch: Fetch, read_set: tuple[ReplicaSet, ...], may_hold: Callable[[str, ReplicaSet], bool]
) -> Iterator[ReplicaSetShare]:
    """Where to look for what nobody named a holder of. A replica set is no node, so its part must not be called like one."""
    lost = dict.fromkeys(id for id, holder in fetch.wanted if not holder)
    for replica_set in read_set if lost else ():
        if ids := tuple(id for id in lost if may_hold(id, replica_set)):
            yield ReplicaSetShare(f"\0{replica_set.name}", replica_set.members, ids)


_Scatter = Scatter | FetchScatter | ListScatter | TallyScatter


class Questions:
    """Questions under way, by request."""

    def __init__(self, node: str, partitions: Partitions, replica: Replica, settings: ScatterSettings) -> None:
        self._node, self._partitions, self._replica = node, partitions, replica
        self._settings = settings
        self.latencies = Latencies(settings)
        self._asking: dict[str, _Scatter] = {}
        self._read_set_of_all: tuple[ReplicaSet, ...] | None = None
        self._sets: dict[str, ReplicaSet] = {}

    def ask(self, event: Ask, at: NodePolicy) -> list[Effect]:
        """Begin a search; one of this node alone is answered at once."""
        if event.is_local:
            pool, evidence, statistics = self._replica.pool_of_all(event.probe, event.confidence_min, at)
            holders = dict.fromkeys(pool.ids, self._node)
            return [Done(event.request, Gathered(pool, evidence, statistics, 0, holders=holders, as_of_ms=at.hive_ms()))]
        topology = self._partitions.topology
        favoured = frozenset(topology.favoured(event.domains)) if event.domains else frozenset[str]()
        return self._begin(event.request, Scatter(event, self._asker(event.domains), at.now.mono_ms, favoured), at)

    def fetch(self, event: Fetch, at: NodePolicy) -> list[Effect]:
        topology = self._partitions.topology

        def may_hold(id: str, replica_set: ReplicaSet) -> bool:
            return any(topology.home(id, member) in replica_set.partitions for member in replica_set.members)

        return self._begin(event.request, FetchScatter(event, self._asker(), at.now.mono_ms, may_hold), at)

    def listed(self, event: Listing, at: NodePolicy) -> list[Effect]:
        return self._begin(event.request, ListScatter(event, self._asker(), at.now.mono_ms), at)

    def tallied(self, event: Tally, at: NodePolicy) -> list[Effect]:
        return self._begin(event.request, TallyScatter(event, self._asker(), at.now.mono_ms), at)

    def take(self, sender: str, reply: SearchReply, at: NodePolicy) -> list[Effect]:
        """A reply came; one that nobody waits for changes nothing."""
        request = reply.query if reply.query in self._asking else reply.query.removesuffix(FOR_MORE)
        scatter = self._asking.get(request)
        return [] if scatter is None else self._continue(request, scatter.take(sender, reply, at.now.mono_ms), at)

    def tick(self, at: NodePolicy) -> list[Effect]:
        asking = list(self._asking.items())
        return [effect for request, scatter in asking for effect in self._continue(request, scatter.tick(at.now.mono_ms), at)]

    def wake_at_ms(self) -> int | None:
        if not self._asking:
            return None
        return min((at for scatter in self._asking.values() if (at := scatter.wake_at_ms) is not None), default=None)

    def rearranged(self) -> None:
        self._sets, self._read_set_of_all = {}, None

    def answer(self, request: SearchRequest, at: NodePolicy) -> SearchReply | None:
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
                if request.form != contradiction.FORM:
                    return None
                worded, is_cut = self._replica.worded(request.after, wordings_that_fit(request.bytes_max), at)
                return TallyReply(query, name, worded, missing, is_cut)

    def _begin(self, request: str, scatter: _Scatter, at: NodePolicy) -> list[Effect]:
        self._asking[request] = scatter
        return self._continue(request, scatter.start(at.now.mono_ms), at)

    def _continue(self, request: str, effects: Iterable[Send | SearchLocal], at: NodePolicy) -> list[Effect]:
        scatter = self._asking[request]
        if not scatter.is_done:
            return list(effects)
        del self._asking[request]
        outcome = scatter.gathered()
        if isinstance(outcome, Gathered):
            outcome = replace(outcome, as_of_ms=at.hive_ms())
        return [Done(request, outcome)]

    def _asker(self, domains: tuple[str, ...] = ()) -> Asker:
        return Asker(self._node, self._read_set(domains), self._partitions.topology.epoch, self._settings, self.latencies)

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
