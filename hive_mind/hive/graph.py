"""A hive as one object that is called and answers, for notebooks, tests and programs of one process.

The nodes behind it are those of a distributed hive; here they reach each other at once. Threads may share it: they take turns in
it, and embed side by side.

A program's function from texts to vectors, which may fail: then keywords have to do, and one line says so.
"""

import warnings
from collections.abc import Callable, Mapping
from itertools import count
from threading import RLock
from typing import Any

import msgspec
import numpy as np

from hive_mind.errors import InvalidInput
from hive_mind.hive import Chance, HiveAgent, HiveAggregate, HiveStatistics
from hive_mind.hive.effects import (
    Ask,
    Event,
    Fetch,
    Held,
    Listed,
    Listing,
    Now,
    Promote,
    Promotion,
    Received,
    Retract,
    Retracted,
    Tallied,
    Tally,
    Tick,
    Write,
)
from hive_mind.hive.node import HiveNode
from hive_mind.hive.performer import SynchronousHost
from hive_mind.hive.policy.admission import rating_key, subject_of
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology import Flat, Topology
from hive_mind.model.aggregation import Aggregation, in_order
from hive_mind.model.bounds import BOUNDS, OF_SOME
from hive_mind.model.evidence import HiveFact, Statement
from hive_mind.model.fact import CONFIDENCE
from hive_mind.model.gathered import Gathered, Probe
from hive_mind.model.messages import Announce, Replicate
from hive_mind.model.query import LIMIT
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.ranking.question import InColumns, Ranking, anchors
from hive_mind.ranking.tokens import question_terms, tokenize
from hive_mind.ranking.vector import ExactVectors, Vector, VectorArm

# Members of one process answer at once; only a defect could use it up.
_DEADLINE_MS = 10_000


class InMemoryHiveGraph:
    """A `HiveGraph` over the nodes of a topology, by default a single flat one.

    `clock` is the time as (wall, monotonic) milliseconds; `chance` needs a seed of its own in every replica that is merged with
    others; `embed` makes the vector of a text, for `settings.model`; `new_arm` an index of vectors, by default an exact one.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], Now],
        chance: Chance,
        topology: Topology | None = None,
        settings: HiveSettings | None = None,
        embed: Callable[[str], Vector] | None = None,
        new_arm: Callable[[], VectorArm | None] | None = None,
        ranking: RankingSettings | None = None,
    ) -> None:
        self.topology = topology or Flat(("hive",), 1)
        self.settings = settings or HiveSettings()
        self._clock, self._ranking = clock, ranking or RankingSettings()
        self._embedder = GuardedEmbedder(embed) if embed else None
        # Re-entrant: public methods call each other.
        self._turn = RLock()
        self._later_ms = 0
        self._numbers, self._dealt = count(1), count()
        arm = new_arm or self._new_exact_arm
        nodes = [HiveNode(n, self.topology, chance=chance, settings=self.settings, new_arm=arm) for n in self.topology.nodes]
        self.host = SynchronousHost(nodes, self._now)

    def register_agent(self, agent_id: str, domain: str = "", *, node: str = "") -> None:
        """Make an agent known, at a node; without one they are dealt in turn. Raises `InvalidInput` for a name that is taken."""
        nodes = self.topology.nodes
        if node and node not in nodes:
            raise InvalidInput(f"there is no node {node!r} in this hive; there are {', '.join(nodes)}")
        with self._turn:
            if self._first.registry.get(_key(agent_id)) is not None:
                at = self._node(agent_id).name
                raise InvalidInput(
                    f"an agent {agent_id!r} is registered already, at {at}: unregister it first, or take another name"
                )
            at = node or nodes[next(self._dealt) % len(nodes)]
            self._write(agent_id, _key(agent_id), msgspec.json.encode({"domain": domain, "node": at}).decode())

    def unregister_agent(self, agent_id: str) -> None:
        """Let an agent go; its assertions stay, and so does the trust in it. Raises `InvalidInput` for a stranger."""
        with self._turn:
            self._refuse_stranger(agent_id)
            self._write(agent_id, _key(agent_id), "")

    def agents(self) -> Mapping[str, HiveAgent]:
        with self._turn:
            node = self._first
            now = self._now()
            entries = node.registry.with_prefix("agent/").items()
            names_and_values = ((subject_of(key), value) for key, value in entries)
            return {
                name: HiveAgent(name, value.get("domain", ""), self._node(name).name, node.policy.at(now).trust(name))
                for name, value in names_and_values
            }

    def update_trust(self, agent_id: str, trust: float, *, by: str) -> float:
        with self._turn:
            self._write(by, f"trust/{agent_id}", repr(float(trust)))
            return self._node(by).policy.at(self._now()).trust(agent_id)

    def rate(self, rater: str, subject: str, good: int, bad: int) -> float:
        """How often an agent found another one right and wrong, in all. Returns the trust that follows."""
        with self._turn:
            value = msgspec.json.encode({"good": good, "bad": bad, "at_ms": self._now().wall_ms}).decode()
            self._write(rater, rating_key(rater, subject), value)
            return self._node(rater).policy.at(self._now()).trust(subject)

    def promote_fact(
        self,
        agent_id: str,
        content: str,
        concept: str = "",
        confidence: float = CONFIDENCE,
        *,
        source: str = "",
        ttl_ms: int = 0,
        labels: tuple[str, ...] = (),
    ) -> HiveFact:
        vector = self._embedder.vector(content) if self._embedder else None
        statement = Statement(content, concept, labels=tuple(labels))
        if vector is not None:
            statement = msgspec.structs.replace(statement, model=self.settings.model, vector=vector.astype("<f2").tobytes())
        return self._vouched(Promotion(statement, agent_id, source or agent_id, _sure(confidence), ttl_ms))

    def _vouched(self, promotion: Promotion) -> HiveFact:
        with self._turn:
            self._refuse_stranger(promotion.agent)
            promoted = self._promote(self._node(promotion.agent).name, promotion)
            if promoted.refused:
                raise InvalidInput(f"the hive can't take this fact: {promoted.refused}")
            fact = self.get_fact(promoted.fact_id)
        assert fact is not None  # noqa: S101 - it was just promoted
        return fact

    def _promote(self, node: str, promotion: Promotion) -> Held:
        answer: Held
        (answer,) = self._ask_node(node, lambda request: Promote(request, [promotion]))
        return answer

    def confirm_fact(self, fact_id: str, agent_id: str, confidence: float = CONFIDENCE, *, source: str = "") -> HiveFact:
        return self._vouched(Promotion(self._known(fact_id).statement, agent_id, source or agent_id, _sure(confidence)))

    def retract_fact(self, fact_id: str, by: str) -> int:
        retraction: Retracted
        (retraction,) = self._ask(by, lambda request: Retract(request, [fact_id], by))
        if retraction.refused:
            raise InvalidInput(f"{by!r} can't take back {fact_id}: {retraction.refused}")
        return retraction.removed

    def quarantine_fact(self, fact_id: str, *, by: str, is_on: bool = True) -> None:
        """Keep a fact from searches, or let it be found again; for moderators."""
        self._write(by, f"quarantine/{fact_id}", "true" if is_on else "false")

    def escalate_fact(self, fact_id: str) -> None:
        with self._turn:
            self._known(fact_id)
            for name, node in self.host.nodes.items():
                # The home group's replica, also where another one asserted it; existing copies stay single.
                home = node.partitions.shares.get(self.topology.home(fact_id, name))
                for assertion_sealed in [assertion.assertion for assertion in home.assertions(fact_id)] if home else ():
                    promotion = Promotion(
                        assertion_sealed.statement,
                        assertion_sealed.agent,
                        assertion_sealed.root,
                        assertion_sealed.confidence,
                        assertion_sealed.ttl_ms,
                        is_escalated=True,
                    )
                    self._promote(name, promotion)

    broadcast_fact = escalate_fact

    def get_fact(self, fact_id: str) -> HiveFact | None:
        with self._turn:
            facts = (node.fact(fact_id, self._now()) for node in self.host.nodes.values())
            return next((fact for fact in facts if fact is not None), None)

    def list_facts(self, limit: int = 100, concept: str = "") -> list[HiveFact]:
        OF_SOME.refuse("limit", limit)
        listed: Listed = self._ask("", lambda request: Listing(request, limit, _DEADLINE_MS, concept))
        return list(listed.facts)

    def aggregate_facts(self, wanted: Aggregation) -> HiveAggregate:
        BOUNDS["limit"].refuse("limit", wanted.limit)
        with self._turn:
            tallied: Tallied = self._ask("", lambda request: Tally(request, _DEADLINE_MS, wanted.about))
            ids = [] if wanted.kind == "count" else in_order(tallied.moments, wanted.kind)[: wanted.limit]
            facts = self._ask("", lambda request: Fetch(request, [(id, "") for id in ids], _DEADLINE_MS))
            return HiveAggregate(len(tallied.moments), tuple(facts), tallied.completeness)

    def get_statistics(self) -> HiveStatistics:
        with self._turn:
            counted = {name: node.counted(self._now()) for name, node in self.host.nodes.items()}
            at_home = [(id, fact) for facts_of_node in counted.values() for id, fact in facts_of_node.items() if fact.is_home]
            suspects = map(subject_of, self._first.registry.with_prefix("quarantine/"))
            return HiveStatistics(
                agents=len(self.agents()),
                facts=len({id for id, _ in at_home}),
                confirmed=len({id for id, fact in at_home if fact.is_confirmed}),
                quarantined=sum(self.get_fact(id) is not None for id in suspects),
                by_node={name: len(facts_of_node) for name, facts_of_node in counted.items()},
            )

    def query_facts(self, query: str, limit: int = LIMIT, min_confidence: float = 0.0, *, agent_id: str = "") -> list[HiveFact]:
        return self._query(query, limit, min_confidence, agent_id, is_local=True)

    def query_federated(
        self, query: str, limit: int = LIMIT, min_confidence: float = 0.0, *, agent_id: str = ""
    ) -> list[HiveFact]:
        return self._query(query, limit, min_confidence, agent_id, is_local=False)

    def _query(self, query: str, limit: int, least: float, agent_id: str, *, is_local: bool) -> list[HiveFact]:
        BOUNDS["limit"].refuse("limit", limit)
        BOUNDS["min_confidence"].refuse("min_confidence", least)
        vector = self._embedder.vector(query) if self._embedder else None
        depth = self._ranking.depth_for("hybrid", limit)
        probe = Probe(question_terms(query), anchors(query), vector, depth)
        domains = tuple(tokenize(query))
        gathered: Gathered = self._ask(
            agent_id, lambda request: Ask(request, probe, _DEADLINE_MS, least, domains, is_local=is_local)
        )
        best = Ranking("", "hybrid", self._ranking, InColumns(gathered.pool, gathered.evidence)).best(limit)
        places = [(document.id, gathered.holders[document.id]) for document in best]
        return list(self._ask(agent_id, lambda request: Fetch(request, places, _DEADLINE_MS)))

    def merge_state(self, other: "InMemoryHiveGraph") -> None:
        """Take over everything another replica of this hive knows, removals too. Raises `InvalidInput` for a twin of this one."""
        if other is not self and _boots(self) & _boots(other):
            # Both have named their writes alike: each would take the other's facts for its own, and lose them.
            raise InvalidInput("both replicas use the same random seed: give each its own")
        contents = other.contents()
        with self._turn:
            for sender, announced, shares in contents:
                for name, node in self.host.nodes.items():
                    self.host.handle(name, Received(sender, announced))
                    for partition, share in shares:
                        if node.partitions.share(partition).is_holder:
                            self.host.handle(name, Received(sender, share))

    def contents(self) -> list[tuple[str, Announce, list[tuple[str, Replicate]]]]:
        """Each node's pending messages, collected so that no lock of two hives is ever held at once."""
        with self._turn:
            return [
                (
                    node.name,
                    Announce(node.registry.entries()),
                    [(partition, Replicate("", (share.everything(),))) for partition, share in node.partitions.shares.items()],
                )
                for node in self.host.nodes.values()
            ]

    def run_gossip(self, rounds: int = 1) -> None:
        for _ in range(rounds):
            with self._turn:
                self._later_ms += self.settings.gossip.period_ms * 2
                for name in self.host.nodes:
                    self.host.handle(name, Tick())

    def gc(self, *, dry_run: bool = False) -> list[str]:
        with self._turn:
            due = sorted({id for node in self.host.nodes.values() for id in node.collectable(self._now())})
            if due and not dry_run:
                for name, node in self.host.nodes.items():
                    node.keep_house_next()
                    self.host.handle(name, Tick())
            return due

    def _now(self) -> Now:
        now = self._clock()
        # Gossip that was asked for happens "later" on the monotonic clock; no other clock is touched.
        return Now(now.wall_ms, now.mono_ms + self._later_ms)

    def _known(self, fact_id: str) -> HiveFact:
        if (fact := self.get_fact(fact_id)) is None:
            raise InvalidInput(f"there is no fact {fact_id!r} in this hive")
        return fact

    def _refuse_stranger(self, agent_id: str) -> None:
        if self._first.registry.get(_key(agent_id)) is None:
            raise InvalidInput(f"no agent {agent_id!r} is registered in this hive: call register_agent({agent_id!r}) first")

    @property
    def _first(self) -> HiveNode:
        """The node asked for things all nodes know: between two calls nothing is under way."""
        return self.host.nodes[self.topology.nodes[0]]

    def _node(self, agent_id: str) -> HiveNode:
        entry = self._first.registry.get(_key(agent_id)) or {}
        return self.host.nodes.get(entry.get("node", ""), self._first)

    def _write(self, by: str, key: str, value: str) -> None:
        refused: str
        (refused,) = self._ask(by, lambda request: Write(request, [(key, value)], by))
        if refused:
            raise InvalidInput(refused)

    def _ask(self, agent_id: str, event: Callable[[str], Event]) -> Any:
        return self._ask_node(self._node(agent_id).name, event)

    def _ask_node(self, name: str, event: Callable[[str], Event]) -> Any:
        with self._turn:
            request = str(next(self._numbers))
            self.host.handle(name, event(request))
            return self.host.answer(request)

    def _new_exact_arm(self) -> VectorArm | None:
        """An index that looks at every vector; none where nobody makes vectors."""
        dimension = self._embedder.dimension if self._embedder else 0
        return ExactVectors(dimension) if dimension else None


def _sure(confidence: float) -> float:
    try:
        BOUNDS["confidence"].refuse("confidence", confidence)
    except InvalidInput:
        raise InvalidInput(f"the hive can't take this fact: a confidence is a number from 0 to 1, not {confidence!r}") from None
    return confidence


def _key(agent_id: str) -> str:
    return f"agent/{agent_id}"


def _boots(hive: InMemoryHiveGraph) -> set[tuple[str, bytes]]:
    """The names of its nodes with their incarnations, which name all writes made there."""
    return {(node.name, node.incarnation) for node in hive.host.nodes.values()}


class GuardedEmbedder:
    """Vectors of one length. `dimension` is 0 where the function failed at the first call: then there is nothing to compare."""

    def __init__(self, embed: Callable[[str], Vector]) -> None:
        self._embed, self._has_failed, self.dimension = embed, False, 0
        first = self.vector("how long a vector is")
        self.dimension = 0 if first is None else len(first)

    def vector(self, text: str) -> Vector | None:
        """The vector of a text, float32, shape (dimension,); None without an embedding."""
        try:
            vector = np.asarray(self._embed(text), dtype=np.float32)
            dimension = self.dimension or vector.size
            if vector.shape != (dimension,) or not dimension or not np.isfinite(vector).all():
                raise ValueError(f"a vector of shape {vector.shape}, or with NaN, where the first had {dimension} numbers")
        except Exception as error:  # noqa: BLE001 - whatever a program's own function raises, its facts are kept and found
            self._report(error)
            return None
        return vector

    def _report(self, error: Exception) -> None:
        if not self._has_failed:
            notice = f"no embeddings for now, searching by keywords only ({type(error).__name__}: {error})"
            warnings.warn(notice, RuntimeWarning, stacklevel=2)
        self._has_failed = True
