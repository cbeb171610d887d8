"""How fast does one agent's memory search, beside what else one could use?

CPU time per question at several sizes: the index of hive-mind (keyword, vector, hybrid, adding one fact), numpy's own matrix
product, bm25s, SQLite FTS5, and Kuzu's own full-text and HNSW indexes, in one run on the same sentences, vectors and questions.
Of each vector index alone: how many of the true ten nearest it finds, and the CPU seconds of building it.

    python -m benchmarks.search --data DATA --cache FOLDER [--sizes 1000 10000 100000] [--vectors-only] [--json FILE]

Kuzu's indexes are built up to `--kuzu-max` facts only: its HNSW takes minutes beyond.
"""

import asyncio
import sqlite3
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

import kuzu
import numpy as np

from benchmarks.harness import Row, cpu_times_ms, p50_p95, parser_of, told
from benchmarks.sentences import Rows, Texts, collect, vectors
from benchmarks.table.searching import Ask, asking, by_bm25s, by_fts5, filled
from hive_mind import backends
from hive_mind.memory.intake import new_fact
from hive_mind.model.content import Candidate
from hive_mind.ranking.form import weighted_terms

QUESTIONS = 200


@dataclass(frozen=True)
class Corpus:
    """The first sentences with their vectors, and the questions with theirs."""

    texts: Texts
    rows: Rows
    question_rows: Rows


def timed(what: str, corpus: Corpus, search: Ask) -> Row:
    """One way to search at one size, in CPU milliseconds a question."""
    return {"what": what, "facts": len(corpus.rows), **p50_p95(cpu_times_ms(search, range(QUESTIONS)))}


def hive_mind_rows(corpus: Corpus) -> Iterator[Row]:
    """What a memory searches with, over each kind of vector index."""
    texts, rows, question_rows = corpus.texts, corpus.rows, corpus.question_rows
    new = [
        new_fact(Candidate(f"{s} Once more, number {n}.", "", 0.8), "bench", 0) for n, s in enumerate(texts.passages[:QUESTIONS])
    ]
    terms = [weighted_terms(fact) for fact in new]
    for arm in ("exact", "quantised", "usearch"):
        recall = filled(texts, rows, arm)
        if arm == "exact":
            yield timed("keyword", corpus, asking(recall, texts, "keyword"))
        yield timed(f"vector, {arm}", corpus, asking(recall, texts, "vector", question_rows))
        yield timed(f"hybrid, {arm}", corpus, asking(recall, texts, "hybrid", question_rows))
        add = recall.current.add
        yield timed(f"add one, {arm}", corpus, lambda number, add=add: add(new[number].id, terms[number], rows[number]))


def vector_rows(corpus: Corpus) -> Iterator[Row]:
    """Each vector index alone, beside a plain product that is independent of them."""
    rows, questions = corpus.rows, corpus.question_rows
    truth = [set(np.argsort(-(rows @ question), kind="stable")[:10].tolist()) for question in questions]
    for name in backends.known("ann"):
        began_s = time.process_time()
        index = backends.load("ann", name).open(rows.shape[1])
        for position, row in enumerate(rows):
            index.add(position, row)
        build_s, found = time.process_time() - began_s, list[set[int]]()
        took = cpu_times_ms(lambda question, index=index, found=found: found.append(set(index.top(question, 10)[0])), questions)
        recall = mean(len(nearest & top) / 10 for nearest, top in zip(truth, found, strict=True))
        yield {"what": f"{name} alone", "facts": len(rows), "recall_at_10": recall, **p50_p95(took), "build_s": build_s}


def other_rows(corpus: Corpus) -> Iterator[Row]:
    texts = corpus.texts
    yield timed("numpy product alone", corpus, lambda number: corpus.rows @ corpus.question_rows[number])
    yield timed("bm25s", corpus, by_bm25s(texts.passages, texts.questions))
    with closing(sqlite3.connect(":memory:")) as database:
        yield timed("SQLite FTS5", corpus, by_fts5(database, texts.passages, texts.questions))


def kuzu_rows(corpus: Corpus) -> Iterator[Row]:
    warnings.filterwarnings("ignore", "The use of separate prepare", DeprecationWarning)
    with tempfile.TemporaryDirectory() as folder:
        database = kuzu.Database(str(Path(folder) / "bench.kuzu"), max_db_size=1 << 34)
        connection = kuzu.Connection(database)
        for extension in ("FTS", "VECTOR"):
            connection.execute(f"LOAD {extension}")
        connection.execute("CREATE NODE TABLE F(id INT64 PRIMARY KEY, content STRING, v FLOAT[384])")
        # `execute` with text and parameters keeps one statement per call; preparing once is what one would use.
        insert = connection.prepare("CREATE (:F {id: $id, content: $content, v: $v})")
        connection.execute("BEGIN TRANSACTION")
        for number, (sentence, row) in enumerate(zip(corpus.texts.passages, corpus.rows, strict=True)):
            connection.execute(insert, {"id": number, "content": sentence, "v": row.tolist()})
        connection.execute("COMMIT")
        connection.execute("CALL CREATE_FTS_INDEX('F', 'text', ['content'])")
        connection.execute("CALL CREATE_VECTOR_INDEX('F', 'near', 'v', metric := 'cosine')")
        text = connection.prepare("CALL QUERY_FTS_INDEX('F', 'text', $q, top := 10) RETURN node.id, score")
        near = connection.prepare("CALL QUERY_VECTOR_INDEX('F', 'near', $q, 10) RETURN node.id, distance")
        yield timed("Kuzu FTS", corpus, lambda n: connection.execute(text, {"q": corpus.texts.questions[n]}).get_all())
        yield timed("Kuzu HNSW", corpus, lambda n: connection.execute(near, {"q": corpus.question_rows[n].tolist()}).get_all())
        connection.close()
        database.close()


def measure(corpus: Corpus, kuzu_max: int, *, is_vectors_only: bool) -> Iterator[Row]:
    yield from vector_rows(corpus)
    if is_vectors_only:
        return
    yield from hive_mind_rows(corpus)
    yield from other_rows(corpus)
    if len(corpus.rows) <= kuzu_max:
        yield from kuzu_rows(corpus)


def main() -> None:
    parser = parser_of(__doc__, "data", "cache", "json", kuzu_max=10_000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--vectors-only", action="store_true", help="the vector indexes alone")
    options = parser.parse_args()
    texts = collect(options.data)
    question_rows, rows = asyncio.run(vectors(texts, options.cache))
    corpora = (Corpus(replace(texts, passages=texts.passages[:size]), rows[:size], question_rows) for size in options.sizes)
    found = (measure(corpus, options.kuzu_max, is_vectors_only=options.vectors_only) for corpus in corpora)
    told((row for some in found for row in some), options.json)


if __name__ == "__main__":
    main()
