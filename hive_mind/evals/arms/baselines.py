"""The baselines every other arm has to beat: keywords alone, chance, and handing over everything."""

import random
from collections.abc import Callable, Mapping, Sequence

from hive_mind.evals.arms.base import ArmResult, Progress
from hive_mind.evals.arms.costs import Learning, outcome_of
from hive_mind.evals.arms.keeping import documents_by_fact, facts_of
from hive_mind.evals.datasets import LabelledQuestion, Scope
from hive_mind.evals.rows import Learned
from hive_mind.model.fact import Fact
from hive_mind.model.probe import Anchors, Probe
from hive_mind.model.query import Hit
from hive_mind.model.scores import ComponentScores
from hive_mind.ranking.form import weighted_terms
from hive_mind.ranking.index import FactIndex
from hive_mind.ranking.tokens import tokenize

Find = Callable[[LabelledQuestion, int], Sequence[Hit]]


class BaselineArm:
    """Facts of a scope and one plain way to find some of them."""

    def __init__(self, find: Find, documents: Mapping[str, Sequence[str]], learned: Learned) -> None:
        self._find, self.documents, self.learned = find, documents, learned

    async def ask(self, question: LabelledQuestion, limit: int) -> ArmResult:
        async def search() -> Sequence[Hit]:
            return self._find(question, limit)

        return await outcome_of(search)

    async def close(self) -> None:
        """Nothing: it is all in RAM."""


def bm25(scope: Scope, progress: Progress | None = None) -> BaselineArm:
    """Our index's BM25 and nothing else: no vectors, no identifiers, no evidence. Scores are shares of the best."""
    learning = Learning()
    facts = {fact.id: fact for fact in facts_of(scope)}
    index = FactIndex(None)
    for number, fact in enumerate(facts.values(), start=1):
        index.add(fact.id, weighted_terms(fact), None)
        if progress and number % 1000 == 0:
            progress(f"{scope.name}: documents", number, len(facts))
    learned = learning.done().of(len(facts), 1, None)

    def find(question: LabelledQuestion, limit: int) -> Sequence[Hit]:
        pool = index.pool(Probe(tuple(tokenize(question.text)), Anchors(), None, limit))
        found = sorted(zip(pool.keyword.tolist(), pool.ids, strict=True), key=lambda one: (-one[0], one[1]))[:limit]
        best = found[0][0] if found else 1.0
        return [_hit(facts[name], score / best, score) for score, name in found]

    return BaselineArm(find, documents_by_fact(scope.documents), learned)


def chance(scope: Scope, seed: int) -> BaselineArm:
    """Facts drawn by the seed and the question's id, so one question draws the same whatever was asked before."""
    facts = facts_of(scope)

    def find(question: LabelledQuestion, limit: int) -> Sequence[Hit]:
        drawn = random.Random(f"{seed} {question.id}")  # noqa: S311 - it has to be the same again
        return [_hit(fact) for fact in drawn.sample(facts, min(limit, len(facts)))]

    return BaselineArm(find, documents_by_fact(scope.documents), Learned(len(facts)))


def full_context(scope: Scope) -> BaselineArm:
    """All facts in their order, whatever the limit: a model's input if nothing were looked up. Nothing is retrieved."""
    hits = [_hit(fact) for fact in facts_of(scope)]

    def find(question: LabelledQuestion, limit: int) -> Sequence[Hit]:  # noqa: ARG001
        return hits

    return BaselineArm(find, documents_by_fact(scope.documents), Learned(len(hits)))


def _hit(fact: Fact, score: float = 0.0, keyword: float = 0.0) -> Hit:
    return Hit(fact, score, ComponentScores(keyword, None, 0.0, 0.0, 0.0))
