"""Does the ranking suit texts of any length? One memory on chats with an assistant, phone apps, dialogue, abstracts and code.

    python -m benchmarks.lengths --data DATA --cache FOLDER [--only SET …] [--words]

Figures are recall@10 and nDCG@10 times 100, by words alone and, without `--words`, with MiniLM beside them. DATA has the folders
and files of `docs/data-card.md`, and what `benchmarks.stdlib_functions DATA/stdlib` wrote, where it is there.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import parser_of
from benchmarks.quality import K, columns, mean, sets
from benchmarks.sentences import embedded
from hive_mind.evals.arms import by_texts, documents_by_fact, facts_of, firsts_of, texts_found
from hive_mind.evals.datasets import Scope
from hive_mind.memory.recall import Recall
from hive_mind.model.query import Query
from hive_mind.ranking.form import KnownTerms, mixed_vector, texts_to_embed
from hive_mind.ranking.vector import ExactVectors

DIMENSION = 384
Rows = dict[str, NDArray[np.float32]]


def measured_sets(data: Path) -> dict[str, list[Scope]]:
    (chats,) = sets(data, "beam").values()
    together = Scope("beam", tuple(d for s in chats for d in s.documents), tuple(q for s in chats for q in s.questions))
    others = sets(data, "lifebench", "locomo", "hotpotqa", "cranfield", "scifact", "stdlib")
    return {"beam": chats, "beam in one memory": [together], **others}


async def rows_of(scopes: Sequence[Scope], file: Path) -> Rows:
    texts = [text for scope in scopes for fact in facts_of(scope) for text in texts_to_embed(fact)]
    texts = list(dict.fromkeys([*texts, *(question.text for scope in scopes for question in scope.questions)]))
    rows = await embedded(texts, file)
    return dict(zip(texts, rows, strict=True))


def memory_of(scope: Scope, rows: Rows) -> Recall:
    memory, vectors = Recall(lambda: ExactVectors(DIMENSION)), {}
    facts = facts_of(scope)
    for fact in facts if rows else ():
        vector = mixed_vector(rows[fact.content], rows[fact.before] if fact.before else None)
        vectors[fact.id] = vector.astype(np.float16)
    for _ in memory.load(facts, vectors, KnownTerms()):
        pass
    return memory


def quality(scopes: Sequence[Scope], rows: Rows) -> tuple[float, float]:
    pairs = []
    for scope in scopes:
        memory, named = memory_of(scope, rows), documents_by_fact(scope.documents)
        firsts = firsts_of(named)
        for question in scope.questions:
            ids = texts_found(memory.search(Query(question.text, K), rows.get(question.text)), named)
            judged = by_texts(question, firsts).relevant
            if max(judged.values(), default=0) > 0:
                pairs.append((ids, judged))
    found = columns(pairs)
    return mean(found["recall"]), mean(found["ndcg"])


def main() -> None:
    parser = parser_of(__doc__, "data", "cache")
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--words", action="store_true", help="no embeddings")
    options = parser.parse_args()
    for name, scopes in measured_sets(options.data).items():
        if scopes and (not options.only or name in options.only):
            figures = [quality(scopes, {})]
            if not options.words:
                file = options.cache / f"lengths-{name.replace(' ', '-')}.f16"
                figures.append(quality(scopes, asyncio.run(rows_of(scopes, file))))
            print(f"{name:20}" + "".join(f"{f'{recall:.1f} / {gain:.1f}':>16}" for recall, gain in figures), flush=True)


if __name__ == "__main__":
    main()
