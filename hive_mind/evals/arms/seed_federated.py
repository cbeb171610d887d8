"""Document 004's federated hive: every group returns its own list by keywords, and ranks decide, of keywords and of confidence.

Groups are as in a federated arm. Each scores by its own statistics and hands over three facts per wanted one, itself, with their
scores. Their results, each fact once, are ranked by score and ranked by confidence, and the two ranks are fused (`ranking.seed`).
Confidence is the one a fact was promoted with. The keyword score is our BM25, better than that of 004, so the loss here is due to
merging. A cell's mode plays no part.

How much it loses depends on two things. Where a data set does not say how sure its documents are, all are equally sure, and the
list by confidence is one by id: as good as random, as confidence is to any question. And 004 leaves open how much each group
returns. On 200 questions of LoCoMo with 5 groups, recall@10 falls from 72 to 48 with one fact per wanted one, to 33 with three
and to 27 with ten. If equally sure facts shared a rank nothing would be lost: the second list would then say nothing at all.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hive_mind.evals.arms.base import ArmResult, Cost, Means
from hive_mind.evals.arms.costs import outcome_of
from hive_mind.evals.arms.trained_fleet import HiveArm, plan_of, train
from hive_mind.evals.arms.weighing import weight_of
from hive_mind.evals.datasets import LabelledQuestion, Scope
from hive_mind.evals.experiments.values import Cell
from hive_mind.memory.sharing.conversion import fact_of
from hive_mind.model.evidence import HiveFact
from hive_mind.model.gathered import Gathered
from hive_mind.model.messages import FactsReply, PoolReply, PoolRequest
from hive_mind.model.probe import Anchors, Probe
from hive_mind.model.query import Hit
from hive_mind.model.scores import ComponentScores
from hive_mind.ranking.fusion import RRF_K
from hive_mind.ranking.seed import Collected, seed_federated
from hive_mind.ranking.tokens import tokenize

FACTS_PER_HIT = 3
"""Between 004's readings: it caps nothing, has an inner multiplier of 10, and 3 for groups of matching domains."""
_DEADLINE_MS = 2_000


@dataclass(frozen=True, slots=True)
class _Returned:
    """Results of one group."""

    gathered: Gathered
    facts: tuple[HiveFact, ...]

    def collected(self) -> Iterable[Collected]:
        """Each fact with its score and how sure its author was."""
        pool, evidence = self.gathered.pool, self.gathered.evidence
        return map(Collected, pool.ids, pool.keyword.tolist(), evidence.confidence.tolist())

    def weight(self, group: str) -> int:
        """The bytes of the reply: scores and facts."""
        pool = PoolReply("", group, self.gathered.pool, self.gathered.evidence)
        return weight_of(pool) + weight_of(FactsReply("", self.facts))


class SeedFederatedArm(HiveArm):
    """Groups that have learned a scope."""

    async def ask(self, question: LabelledQuestion, limit: int) -> ArmResult:
        """Put one question. A group that is down is asked in vain."""
        probe = Probe(tuple(tokenize(question.text)), Anchors(), None, FACTS_PER_HIT * limit)
        node = self._trained.fleet.plan.node_of(self._trained.asker(question))
        returned: dict[str, _Returned] = {}

        async def search() -> Sequence[Hit]:
            returned.update([(group, await self._of_group(group, probe)) for group in self._groups])
            return _merged(returned.values(), limit)

        return await outcome_of(search, lambda _: self._cost(node, probe, returned))

    @property
    def _groups(self) -> list[str]:
        return [name for name in self._trained.fleet.nodes if name not in self._trained.down]

    async def _of_group(self, group: str, probe: Probe) -> _Returned:
        runner = self._trained.fleet.nodes[group].runner
        gathered = await runner.ask(probe, is_local=True)
        return _Returned(gathered, tuple(await runner.fetch([(fact_id, group) for fact_id in gathered.pool.ids])))

    def _cost(self, own: str, probe: Probe, returned: Mapping[str, _Returned]) -> Cost:
        """A request to each other group, and a reply of each that is there."""
        groups = [group for group in self._trained.fleet.nodes if group != own]
        replies = [returned[group].weight(group) for group in groups if group in returned]
        asked = sum(weight_of(PoolRequest("", group, 1, probe, _DEADLINE_MS)) for group in groups)
        share = len(returned) / len(self._trained.fleet.nodes)
        return Cost(len(groups) + len(replies), asked + sum(replies), len(groups), share)


def _merged(returned: Iterable[_Returned], limit: int) -> list[Hit]:
    """The best of all groups, scored so that first in both lists is 1."""
    facts: dict[str, HiveFact] = {}
    collected: list[Collected] = []
    for one in returned:
        facts |= {fact.id: fact for fact in one.facts if fact.id not in facts}
        collected += one.collected()
    keyword: dict[str, float] = {}
    for found in collected:
        keyword[found.id] = max(found.keyword, keyword.get(found.id, 0.0))
    return [
        Hit(fact_of(facts[name]), score * (RRF_K + 1) / 2, ComponentScores(keyword[name], None, 0.0, 0.0, 0.0))
        for name, score in seed_federated(collected)[:limit]
    ]


async def open_arm(cell: Cell, scope: Scope, means: Means) -> SeedFederatedArm:
    """The groups of a cell. Raises `InvalidInput` for groups or nodes down that can't be."""
    return SeedFederatedArm(await train(cell, scope, means, plan_of(cell, "federated")))
