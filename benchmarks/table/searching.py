"""One agent's memory of 100,000 facts: a keyword search, a hybrid one over 384-d vectors, and what it all takes in RAM.

Real sentences, questions and MiniLM vectors. CPU time from the question's text to ranked facts with their scores; the question's
vector is made already. bm25s gives ids and scores only and can't grow; numpy's product, one thread, compares no words at all.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing

import bm25s

from benchmarks.figure import Figure, Means, beside, once, side_by_side
from benchmarks.harness import cpu_ms, own_mb
from benchmarks.sentences import Rows, Texts, collect, vectors
from hive_mind import backends
from hive_mind.errors import InvalidInput
from hive_mind.memory.intake import new_fact
from hive_mind.memory.recall import Recall
from hive_mind.model.content import Candidate
from hive_mind.model.query import Method, Query
from hive_mind.ranking.tokens import tokenize

FACTS, QUESTIONS, SLOW_QUESTIONS = 100_000, 100, 8
Ask = Callable[[int], object]


def measured(means: Means) -> Iterator[Figure]:
    if means.data is None:
        raise InvalidInput("needs real sentences: name the folder of the collections with --data")
    texts = collect(means.data)
    question_rows, rows = asyncio.run(vectors(texts, means.cache))
    rows = rows[:FACTS]
    before_mb = own_mb()
    recall = filled(texts, rows)
    held_mb = own_mb() - before_mb
    what, alone = "100,000 facts × 384-d vectors in RAM", "the vectors alone, float16"
    yield once("memory-100k", what, held_mb, "MB", alone, rows.size * 2 / 1e6, 250)
    yield from keyword_figures(recall, texts, means.rounds)
    ours = asking(recall, texts, "hybrid", question_rows)
    yield timed(
        "hybrid-100k",
        "query 100,000 facts × 384-d vectors, CPU p50",
        ours,
        "numpy's product alone",
        lambda number: rows @ question_rows[number],
        means.rounds,
        target=10,
    )


def filled(texts: Texts, rows: Rows, arm: str = "quantised") -> Recall:
    open_arm = backends.load("ann", arm).open
    recall = Recall(lambda: open_arm(rows.shape[1]))
    for sentence, row in zip(texts.passages, rows, strict=False):
        recall.keep(new_fact(Candidate(sentence, "", 0.8), "bench", 0), row)
    return recall


def keyword_figures(recall: Recall, texts: Texts, rounds: int) -> Iterator[Figure]:
    ours, what = asking(recall, texts, "keyword"), "query 100,000 facts, keyword, CPU p50"
    yield timed("keyword-100k", what, ours, "bm25s", by_bm25s(texts.passages[:FACTS], texts.questions), rounds, target=2)
    with closing(sqlite3.connect(":memory:")) as database:
        peer = by_fts5(database, texts.passages[:FACTS], texts.questions)
        yield timed("keyword-100k-fts5", what, ours, "SQLite FTS5", peer, rounds, target=2, peer_questions=SLOW_QUESTIONS)


def asking(recall: Recall, texts: Texts, method: Method, rows: Rows | None = None) -> Ask:
    return lambda number: recall.search(Query(texts.questions[number], 10, method), None if rows is None else rows[number])


def by_bm25s(passages: list[str], questions: list[str]) -> Ask:
    index = bm25s.BM25(method="lucene")
    index.index([tokenize(sentence) for sentence in passages], show_progress=False)
    return lambda number: index.retrieve([tokenize(questions[number])], k=10, show_progress=False, n_threads=0)


def by_fts5(database: sqlite3.Connection, passages: list[str], questions: list[str]) -> Ask:
    database.execute("CREATE VIRTUAL TABLE facts USING fts5(content, tokenize='porter')")
    database.executemany("INSERT INTO facts VALUES (?)", [(sentence,) for sentence in passages])
    statement = "SELECT rowid FROM facts WHERE facts MATCH ? ORDER BY rank LIMIT 10"

    def search(number: int) -> object:
        words = " OR ".join(f'"{word}"' for word in words_of(questions[number]))
        return database.execute(statement, (words,)).fetchall()

    return search


def words_of(question: str) -> list[str]:
    return ["".join(c for c in word if c.isalnum()) for word in question.split() if any(c.isalnum() for c in word)]


def timed(
    name: str, what: str, ours: Ask, peer: str, theirs: Ask, rounds: int, *, target: float, peer_questions: int = QUESTIONS
) -> Figure:
    """The same questions, in turn."""
    sides = side_by_side(lambda: cpu_ms(ours, range(QUESTIONS)), lambda: cpu_ms(theirs, range(peer_questions)), rounds)
    return beside(name, what, "ms", peer, sides, target)
