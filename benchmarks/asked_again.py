"""How often must a member of a hive be asked a second time, because its own statistics misled it about what is wanted?

    python -m benchmarks.asked_again --data DATA [--json FILE]

LoCoMo's turns and SciFact's abstracts are dealt to agents, each a member by itself, and asked for the best ten by words. A member
is asked again if by the statistics of all it may have left out what belongs among them; "had more" are those that then gave
something new that did. How often the first ten are those of one index over everything is counted too.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.harness import Row, parser_of, told
from hive_mind.evals.arms import deal_by
from hive_mind.evals.datasets import Document
from hive_mind.evals.datasets.load import load_dataset
from hive_mind.hive.effects import Ask, SearchLocal, Send
from hive_mind.hive.query import Latencies, ScatterSettings
from hive_mind.hive.query.rounds import Asker
from hive_mind.hive.query.scatter import FOR_MORE, Scatter
from hive_mind.hive.topology import ReplicaSet
from hive_mind.model.evidence import Statement
from hive_mind.model.gathered import EvidenceColumns, Gathered, Probe
from hive_mind.model.messages import PoolReply, PoolRequest
from hive_mind.ranking.form import weighted_terms
from hive_mind.ranking.index import FactIndex
from hive_mind.ranking.pipeline import RankingSettings, rank
from hive_mind.ranking.question import InColumns, anchors
from hive_mind.ranking.tokens import tokenize

LIMIT, QUESTIONS = 10, 200
DEPTH = RankingSettings().depth_for("keyword", LIMIT)
WAYS = [("locomo", "round-robin", 10), ("locomo", "round-robin", 100), ("locomo", "session", 20), ("locomo", "session", 100)]
WAYS += [("locomo", "speaker", 20), ("scifact", "round-robin", 10), ("scifact", "round-robin", 100)]


def index_of(documents: Sequence[Document]) -> FactIndex:
    index = FactIndex()
    for one in documents:
        index.add(one.id, weighted_terms(Statement(one.text, said_at=one.said_at, speaker=one.speaker, before=one.before)))
    return index


def plain_evidence(size: int) -> EvidenceColumns:
    half = np.full(size, 0.5, dtype=np.float32)
    return EvidenceColumns(np.zeros(size, dtype=np.float32), half, half)


def receiver(effect: Send | SearchLocal) -> str:
    return effect.to[0] if isinstance(effect, Send) else effect.reply_to


def request_of(effect: Send | SearchLocal) -> PoolRequest:
    request = effect.message if isinstance(effect, Send) else effect.request
    assert isinstance(request, PoolRequest)
    return request


def ask(members: Sequence[FactIndex], probe: Probe) -> tuple[Gathered, list[int]]:
    """What was found, and how many new ones of it each second answer gave."""
    read_set = tuple(ReplicaSet(f"{n}", (f"{n}",), (f"{n}",)) for n in range(len(members)))
    scatter = Scatter(Ask("q", probe, 2_000), Asker("asker", read_set, 1, ScatterSettings(), Latencies()), 0)
    effects, given, again = scatter.start(0), dict[str, frozenset[str]](), list[tuple[str, frozenset[str]]]()
    while effects:
        (one, *effects) = effects
        request = request_of(one)
        pool, _, words = members[int(request.replica_set)].pool_with_words(request.probe)
        if request.query.endswith(FOR_MORE):
            again.append((request.replica_set, frozenset(pool.ids)))
        else:
            given[request.replica_set] = frozenset(pool.ids)
        reply = PoolReply(request.query, request.replica_set, pool, plain_evidence(len(pool)), (), words)
        effects += scatter.take(receiver(one), reply, 1)
    gathered = scatter.gathered()
    return gathered, [len((ids - given[name]) & set(gathered.pool.ids)) for name, ids in again]


def best(gathered: Gathered) -> list[str]:
    return [one.id for one in rank(gathered.pool, InColumns(gathered.pool, gathered.evidence).support, LIMIT, "keyword")]


def named(document: Document, scope: str) -> Document:
    """Conversations number their turns and sessions alike."""
    return replace(document, id=f"{scope}/{document.id}", section=f"{scope}/{document.section}")


def row(data: Path, name: str, deal: str, agents: int) -> Row:
    """Members asked again for a question, and how many had more; `same`: the share of questions that one index answers alike."""
    scopes = load_dataset(data / name if name == "locomo" else data / f"{name}.corpus.jsonl").scopes
    documents = [named(document, scope.name) for scope in scopes for document in scope.documents]
    questions = [question.text for scope in scopes for question in scope.questions]
    whole = [index_of(documents)]
    members = [index_of(dealt) for dealt in deal_by(deal)(documents, agents) if dealt]
    again, same, asked = [], 0, questions[:: max(1, len(questions) // QUESTIONS)]
    for text in asked:
        probe = Probe(tuple(dict.fromkeys(tokenize(text))), anchors(text), None, DEPTH)
        found, new = ask(members, probe)
        again += new
        same += best(found) == best(ask(whole, probe)[0])
    had_more = sum(count > 0 for count in again)
    shares = {"asked_again": len(again), "had_more": had_more, "same": same}
    return {"data": name, "deal": deal, "members": len(members), **{name: count / len(asked) for name, count in shares.items()}}


def main() -> None:
    options = parser_of(__doc__, "data", "json").parse_args()
    told((row(options.data, *way) for way in WAYS), options.json)


if __name__ == "__main__":
    main()
