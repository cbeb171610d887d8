"""What a question to a hive costs one process: candidates of every group or shard, scoring them together, merging, ranking.

CPU time per question, hybrid with 384-d vectors in each kind of exact vector index, through the same `Scatter` that a node uses.
Every member's index is in this process: so it is the whole computation of the hive, and no network.
`python -m benchmarks.hive_query [--output json]`.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.harness import Row, cpu_times_ms, p50_p95, parser_of, show
from hive_mind import backends
from hive_mind.hive.effects import Ask, SearchLocal, Send
from hive_mind.hive.query.latencies import Latencies, ScatterSettings
from hive_mind.hive.query.scatter import Scatter
from hive_mind.hive.topology.base import ReplicaSet
from hive_mind.model.gathered import Gathered
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import PoolReply, PoolRequest, SearchReply, SearchRequest
from hive_mind.model.probe import Anchors, EvidenceColumns, Pool, Probe
from hive_mind.ranking.index import FactIndex
from hive_mind.ranking.merge import merge_pools
from hive_mind.ranking.pipeline import Ranked, in_columns, rank
from hive_mind.ranking.vector import Vector

DIMENSION, WORDS, DEPTH, LIMIT, REPLICAS = 384, (8, 28), 100, 10, 3
ARMS = ("quantised", "exact")


@dataclass(frozen=True)
class Hive:
    """One index for each replica set, which one member of it answers from."""

    indexes: dict[str, FactIndex]
    read_set: tuple[ReplicaSet, ...]

    def answer(self, request: SearchRequest) -> SearchReply:
        assert isinstance(request, PoolRequest)
        pool, _, words = self.indexes[request.replica_set].pool_with_words(request.probe)
        return PoolReply(request.query, request.replica_set, pool, plain_evidence(len(pool)), (), words)


def plain_evidence(size: int) -> EvidenceColumns:
    half = np.full(size, 0.5, dtype=np.float32)
    return EvidenceColumns(np.zeros(size, dtype=np.float32), half, half)


class Language:
    """Words of which the n-th is n times rarer than the first, as in a language, and random unit vectors."""

    def __init__(self, seed: int) -> None:
        self._rng, self._numbers = random.Random(seed), np.random.default_rng(seed)
        self._words = [f"w{n}" for n in range(10_000)]
        self._weights = np.cumsum([1 / rank for rank in range(1, len(self._words) + 1)]).tolist()

    def words(self, count: int) -> list[str]:
        return self._rng.choices(self._words, cum_weights=self._weights, k=count)

    def length(self) -> int:
        return self._rng.randint(*WORDS)

    def vectors(self, count: int) -> np.ndarray:
        rows = self._numbers.standard_normal((count, DIMENSION), dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def hive_of(sets: int, facts: int, replicas: int, arm: str, language: Language) -> Hive:
    indexes, read_set = {}, []
    open_arm = backends.load("ann", arm).open
    for number in range(sets):
        name, index = f"set{number:02}", FactIndex(open_arm(DIMENSION))
        for row, vector in enumerate(language.vectors(facts)):
            words = language.words(language.length())
            terms = {word: float(words.count(word)) for word in words}
            index.add(fact_id(f"{number} {row} {' '.join(words)}"), terms, vector)
        indexes[name] = index
        read_set.append(ReplicaSet(name, tuple(f"{name}-{n}" for n in range(replicas)), (name,)))
    return Hive(indexes, tuple(read_set))


def ask(hive: Hive, probe: Probe, latencies: Latencies) -> Gathered:
    """All messages at once and without loss."""
    scatter = Scatter(Ask("q", probe, 2_000), hive.read_set, "asker", 1, ScatterSettings(), latencies, 0)
    effects = scatter.start(0)
    while effects:
        replies = [(receiver(effect), hive.answer(request_of(effect))) for effect in effects]
        effects = [effect for sender, reply in replies for effect in scatter.take(sender, reply, 1)]
    assert scatter.is_done
    return scatter.gathered()


def receiver(effect: Send | SearchLocal) -> str:
    return effect.to[0] if isinstance(effect, Send) else effect.reply_to


def request_of(effect: Send | SearchLocal) -> SearchRequest:
    request = effect.message if isinstance(effect, Send) else effect.request
    assert isinstance(request, PoolRequest)
    return request


def best(gathered: Gathered) -> list[Ranked]:
    return rank(gathered.pool, in_columns(gathered.evidence), LIMIT)


def probe_of(words: Sequence[str], vector: Vector) -> Probe:
    return Probe(tuple(dict.fromkeys(words)), Anchors(), vector, DEPTH)


def query_row(what: str, sets: int, facts: int, arm: str, questions: int) -> Row:
    language = Language(sets)
    hive, latencies = hive_of(sets, facts, REPLICAS, arm, language), Latencies()
    probes = [probe_of(language.words(8), vector) for vector in language.vectors(questions)]
    best(ask(hive, probes[0], latencies))

    def search(probe: Probe) -> None:
        assert len(best(ask(hive, probe, latencies))) == LIMIT

    return {"what": f"{what}, {arm}: {sets} × {facts:,} facts", **p50_p95(cpu_times_ms(search, probes))}


def merge_row(pools: int, candidates: int, shared: int) -> Row:
    """`shared` facts are in two pools each."""
    rng = np.random.default_rng(1)
    made = []
    for number in range(pools):
        ids = [fact_id(f"{n} of {number}") for n in range(candidates)]
        ids[:shared] = [fact_id(f"{n} of pair {number // 2}") for n in range(shared)]
        keyword, semantic = rng.random((2, candidates), dtype=np.float32)
        made.append(Pool(tuple(ids), keyword, semantic, np.zeros(candidates, dtype=np.float32)))
    times = cpu_times_ms(lambda _: merge_pools(made, DEPTH), range(100))
    return {"what": f"merge {pools} pools × {candidates}, {shared} of each in two", **p50_p95(times)}


def main() -> None:
    parser = parser_of(__doc__, "output")
    parser.add_argument("--questions", type=int, default=50)
    options = parser.parse_args()
    rows = [
        merge_row(50, 200, shared=0),
        merge_row(50, 200, shared=20),
        *(query_row("federated", 50, 1_000, arm, options.questions) for arm in ARMS),
        *(query_row("sharded", 34, 3_000, arm, options.questions) for arm in ARMS),
    ]
    show(rows, options.output, lambda row: f"{row['what']:<45} p50 {row['p50_ms']:>7.2f} ms   p95 {row['p95_ms']:>7.2f} ms CPU")


if __name__ == "__main__":
    main()
