"""A small hive in one piece: everything in one index, one list of assertions. It can be away, forget to answer, and be slow."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from hive_mind.errors import BackendError, BackendUnavailable
from hive_mind.hive.effects import Held, Listed, Promotion, Retracted, Tallied
from hive_mind.hive.trust.contradiction import row
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.memory.gate import PromotionSettings
from hive_mind.memory.sharing import fact_of
from hive_mind.model.aggregation import moment_ms
from hive_mind.model.evidence import HiveFact, Provenance, Reason, Stamp, Statement
from hive_mind.model.fact import Fact, Sharing, is_about
from hive_mind.model.gathered import EvidenceColumns, Gathered, Probe
from hive_mind.model.ids import fact_id
from hive_mind.model.query import TermStatistics
from hive_mind.ranking.form import weighted_terms
from hive_mind.ranking.index import FactIndex
from hive_mind.ranking.merge import total
from hive_mind.ranking.pipeline import confirmation_share, trust_share
from hive_mind.ranking.vector import ExactVectors
from tests.builders import FIRST_US, BagOfWords, Home

AWAY = BackendUnavailable("hive", "the node does not answer")
OPEN = PromotionSettings(is_open=True)
RED, BLUE = "The pump is red.", "The pump is blue."


class SmallHive:
    """See `memory.base.Hive`. `calls` names every call; `before` and `after` may raise or change the world around one."""

    def __init__(self, dimension: int = 64) -> None:
        self._index, self._dimension = FactIndex(ExactVectors(dimension)), dimension
        self._vouched: dict[str, dict[tuple[str, str], Provenance]] = {}
        self._statements: dict[str, Statement] = {}
        self._clock = FIRST_US // 1000
        self.failure: BackendError | None = None
        self.reaches_others = True
        self.missing: tuple[str, ...] = ()
        self.refusal = ""
        self.moderators: set[str] = set()
        self.calls: list[str] = []
        self.before: Callable[[str], None] = lambda _: None
        self.after: Callable[[str], None] = lambda _: None

    async def promote(self, promotions: Sequence[Promotion]) -> Sequence[Held]:
        self._begin("promote")
        held = [self._promote(promotion) for promotion in promotions]
        self.after("promote")
        return held

    async def retract(self, fact_ids: Sequence[str], by: str, why: Reason = "retracted") -> Sequence[Retracted]:
        self._begin(f"retract:{why}")
        if self.refusal:
            return [Retracted(one, 0, self.refusal) for one in fact_ids]
        gone = [Retracted(one, self._retract(one, by)) for one in fact_ids]
        self.after("retract")
        return gone

    async def write(self, entries: Sequence[tuple[str, str]], by: str) -> Sequence[str]:
        self._begin("write")
        if by not in self.moderators:
            return [f"it is written by moderators, and {by!r} is none" for _ in entries]
        for one in [key.removeprefix("retracted/") for key, _ in entries]:
            for agent in {agent for agent, _ in self._vouched[one]}:
                self._retract(one, agent)
        return [""] * len(entries)

    async def ask(self, probe: Probe, *, confidence_min: float = 0.0, domains: tuple[str, ...] = ()) -> Gathered:
        del domains
        self._begin("ask")
        whole = total([self._index.statistics(probe.terms), probe.beside or TermStatistics(0, 0.0)])
        accept = (lambda one: self.fact(one).confidence >= confidence_min) if confidence_min else None
        pool = self._index.pool(replace(probe, statistics=whole), accept)
        facts = [self.fact(one) for one in pool.ids]
        columns = (
            [confirmation_share(fact.confirmations) for fact in facts],
            [trust_share(fact.trust) for fact in facts],
            [fact.confidence for fact in facts],
        )
        evidence = EvidenceColumns(*(np.array(column, np.float32) for column in columns))
        self.after("ask")
        return Gathered(pool, evidence, whole, 4, self.missing, holders=dict.fromkeys(pool.ids, "here"))

    async def fetch(self, wanted: Sequence[tuple[str, str]]) -> Sequence[HiveFact]:
        self._begin("fetch")
        return [self.fact(one) for one, _ in wanted if one in self._vouched]

    async def facts(self, *, concept: str = "", prefix: str = "", limit: int | None = None) -> Listed:
        self._begin("facts")
        found = sorted(map(self.fact, self._vouched), key=lambda fact: -min(one.stamp.ms for one in fact.provenance))
        named = [fact for fact in found if fact.id.startswith(prefix)]
        about = [fact for fact in named if is_about(concept, fact.statement.concept, fact.statement.entities)]
        return Listed(tuple(about[:limit]), 4, self.missing)

    async def tally(self, about: str = "", *, with_wording: bool = False) -> Tallied:
        self._begin("tally")
        found = map(self.fact, self._vouched)
        held = [fact for fact in found if is_about(about, fact.statement.concept, fact.statement.entities)]
        if with_wording:
            rows = tuple(row(one.id, one.statement, min(said.stamp for said in one.provenance)) for one in held)
            return Tallied({}, 4, self.missing, rows=rows)
        moments = {one.id: moment_ms(one.statement.said_at, one.provenance[0].stamp.ms) for one in held}
        return Tallied(moments, 4, self.missing)

    def fact(self, one: str) -> HiveFact:
        vouched = list(self._vouched[one].values())
        confirmations = len({provenance.root for provenance in vouched}) - 1
        confidence = max(provenance.confidence for provenance in vouched)
        return HiveFact(one, self._statements[one], tuple(vouched), confidence, confirmations, trust=1.0)

    @property
    def contents(self) -> set[str]:
        return {self._statements[one].content for one in self._vouched}

    def roots(self, content: str) -> set[str]:
        return {root for _, root in self._vouched.get(fact_id(content), {})}

    def _begin(self, call: str) -> None:
        self.calls.append(call)
        self.before(call.partition(":")[0])
        if self.failure:
            raise self.failure

    def _promote(self, promotion: Promotion) -> Held:
        one = fact_id(promotion.statement.content)
        if self.refusal:
            return Held(one, self.refusal)
        found = np.frombuffer(promotion.statement.vector, "<f2").astype(np.float32)
        vector = found if len(found) == self._dimension else None
        if one in self._vouched and vector is not None:
            self._index.set_vector(one, vector)
        if one not in self._vouched:
            self._statements[one] = promotion.statement
            self._vouched[one] = {}
            self._index.add(one, weighted_terms(as_fact(one, promotion.statement)), vector)
        self._clock += 1
        provenance = Provenance(promotion.agent, promotion.root, promotion.confidence, Stamp(self._clock))
        self._vouched[one].setdefault((promotion.agent, promotion.root), provenance)
        return Held(one, is_shared=self.reaches_others)

    def _retract(self, one: str, by: str) -> int:
        vouched = self._vouched.get(one, {})
        gone = [key for key in vouched if key[0] == by]
        for key in gone:
            del vouched[key]
        if gone and not vouched:
            self._index.remove(one, weighted_terms(as_fact(one, self._statements[one])))
            del self._vouched[one], self._statements[one]
        return len(gone)


def as_fact(one: str, statement: Statement) -> Fact:
    return fact_of(HiveFact(one, statement, (), 1.0, 0, 1.0))


class SharedHome(Home):
    """Where one agent's memory lives, with a hive behind it."""

    def __init__(self, hive: SmallHive | None = None, agent: str = "ada", *args, gate: PromotionSettings | None = None) -> None:
        super().__init__(*args)
        self.hive, self.agent, self.gate = hive or SmallHive(), agent, gate

    def memory(self, embedder=None, **options) -> DistributedCognitiveMemory:
        local = super().memory(embedder or BagOfWords(), **options)
        return DistributedCognitiveMemory(local, self.hive, agent=self.agent, gate=self.gate)


def two(hive: SmallHive) -> tuple[SharedHome, SharedHome]:
    return SharedHome(hive, "ada"), SharedHome(hive, "bo")


async def states(memory: DistributedCognitiveMemory) -> dict[str, Sharing]:
    return {fact.content: fact.sharing for fact in await memory.local_get_all_facts()}


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
