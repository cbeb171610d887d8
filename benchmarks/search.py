"""How fast does one agent's memory search, beside what else one could use?

CPU time per question at several sizes: the index of hive-mind (keyword, vector, hybrid, adding one fact), numpy's own matrix
product, bm25s, SQLite FTS5, and Kuzu's own full-text and HNSW indexes, in one run on the same sentences, vectors and questions.

    python -m benchmarks.search --data DATA --cache FOLDER [--sizes 1000 10000 100000] [--json FILE]

Kuzu's indexes are built up to `--kuzu-max` facts only: its HNSW takes minutes beyond.
"""

import argparse
import asyncio
import json
import sqlite3
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import bm25s
import kuzu
import numpy as np

from benchmarks.sentences import Rows, collect, vectors
from hive_mind import backends
from hive_mind.memory.intake import new_fact
from hive_mind.memory.recall import Recall
from hive_mind.model.content import Candidate
from hive_mind.model.fact import Fact
from hive_mind.model.query import Method, Query
from hive_mind.ranking.form import weighted_terms
from hive_mind.ranking.tokens import tokenize

QUESTIONS = 200


@dataclass(frozen=True)
class Row:
    """One way to search at one size: median and 95th percentile of CPU milliseconds."""

    what: str
    facts: int
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True)
class Corpus:
    """The first `facts` sentences with their vectors, and the questions with theirs."""

    sentences: Sequence[str]
    rows: Rows
    questions: Sequence[str]
    question_rows: Rows

    def __len__(self) -> int:
        return len(self.sentences)


def timed(what: str, corpus: Corpus, search: Callable[[int], object], count: int = QUESTIONS) -> Row:
    """`search` is called with the number of a question."""
    times = []
    for number in range(count):
        started = time.process_time_ns()
        search(number)
        times.append((time.process_time_ns() - started) / 1e6)
    return Row(what, len(corpus), float(np.median(times)), float(np.quantile(times, 0.95)))


def hive_mind_rows(corpus: Corpus) -> Iterator[Row]:
    texts = [*corpus.sentences, *(f"{s} Once more, number {n}." for n, s in enumerate(corpus.sentences[:QUESTIONS]))]
    facts = [new_fact(Candidate(text, "", 0.8), "bench", 0) for text in texts]
    for arm in ("exact", "quantised", "usearch"):
        yield from recall_rows(corpus, facts[: len(corpus)], facts[len(corpus) :], arm)


def recall_rows(corpus: Corpus, facts: Sequence[Fact], new: Sequence[Fact], arm: str) -> Iterator[Row]:
    """What a memory searches with, over one kind of vector index."""
    open_arm = backends.load("ann", arm).open
    recall = Recall(lambda: open_arm(corpus.rows.shape[1]))
    for fact, vector in zip(facts, corpus.rows, strict=True):
        recall.keep(fact, vector)

    def ask(method: Method) -> Callable[[int], object]:
        def search(number: int) -> object:
            vector = None if method == "keyword" else corpus.question_rows[number]
            return recall.search(Query(corpus.questions[number], 10, method), vector)

        return search

    if arm == "exact":
        yield timed("keyword", corpus, ask("keyword"))
    yield timed(f"vector, {arm}", corpus, ask("vector"))
    yield timed(f"hybrid, {arm}", corpus, ask("hybrid"))
    terms = [weighted_terms(fact) for fact in new]
    index = recall.current
    yield timed(f"add one, {arm}", corpus, lambda number: index.add(new[number].id, terms[number], corpus.rows[number]))


def product_row(corpus: Corpus) -> Row:
    return timed("numpy product alone", corpus, lambda number: corpus.rows @ corpus.question_rows[number])


def bm25s_row(corpus: Corpus) -> Row:
    index = bm25s.BM25(method="lucene")
    index.index([tokenize(sentence) for sentence in corpus.sentences], show_progress=False)
    return timed(
        "bm25s", corpus, lambda n: index.retrieve([tokenize(corpus.questions[n])], k=10, show_progress=False, n_threads=0)
    )


def sqlite_row(corpus: Corpus) -> Row:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE VIRTUAL TABLE facts USING fts5(content, tokenize='porter')")
        database.executemany("INSERT INTO facts VALUES (?)", [(sentence,) for sentence in corpus.sentences])

        def search(number: int) -> object:
            words = " OR ".join(f'"{word}"' for word in words_of(corpus.questions[number]))
            return database.execute("SELECT rowid FROM facts WHERE facts MATCH ? ORDER BY rank LIMIT 10", (words,)).fetchall()

        return timed("SQLite FTS5", corpus, search)


def words_of(question: str) -> list[str]:
    return ["".join(c for c in word if c.isalnum()) for word in question.split() if any(c.isalnum() for c in word)]


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
        for number, (sentence, row) in enumerate(zip(corpus.sentences, corpus.rows, strict=True)):
            connection.execute(insert, {"id": number, "content": sentence, "v": row.tolist()})
        connection.execute("COMMIT")
        connection.execute("CALL CREATE_FTS_INDEX('F', 'text', ['content'])")
        connection.execute("CALL CREATE_VECTOR_INDEX('F', 'near', 'v', metric := 'cosine')")
        text = connection.prepare("CALL QUERY_FTS_INDEX('F', 'text', $q, top := 10) RETURN node.id, score")
        near = connection.prepare("CALL QUERY_VECTOR_INDEX('F', 'near', $q, 10) RETURN node.id, distance")
        yield timed("Kuzu FTS", corpus, lambda n: connection.execute(text, {"q": corpus.questions[n]}).get_all())
        yield timed("Kuzu HNSW", corpus, lambda n: connection.execute(near, {"q": corpus.question_rows[n].tolist()}).get_all())
        connection.close()
        database.close()


def measure(corpus: Corpus, kuzu_max: int) -> Iterator[Row]:
    yield from hive_mind_rows(corpus)
    yield product_row(corpus)
    yield bm25s_row(corpus)
    yield sqlite_row(corpus)
    if len(corpus) <= kuzu_max:
        yield from kuzu_rows(corpus)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with *.corpus.jsonl and locomo/")
    parser.add_argument("--cache", type=Path, required=True, help="folder for the embeddings, outside the repository")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--kuzu-max", type=int, default=10_000, help="build Kuzu's own indexes up to this many facts")
    parser.add_argument("--json", type=Path, help="also write the rows here")
    options = parser.parse_args()
    texts = collect(options.data)
    question_rows, rows = asyncio.run(vectors(texts, options.cache))
    results = []
    print(f"{'what':22}{'facts':>9}{'p50 ms':>10}{'p95 ms':>10}   CPU, per question")
    for size in options.sizes:
        for row in measure(Corpus(texts.passages[:size], rows[:size], texts.questions, question_rows), options.kuzu_max):
            print(f"{row.what:22}{row.facts:>9,}{row.p50_ms:>10.3f}{row.p95_ms:>10.3f}", flush=True)
            results.append(asdict(row))
    if options.json:
        options.json.write_text(json.dumps({"rows": results}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
