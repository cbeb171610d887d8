"""How fast and how exact are the vector indexes on real embeddings?

Measures for every index of hive_mind.ann: recall@10 against exact search and CPU time per question.

    python -m benchmarks.ann --data DATA --cache FOLDER [--embed-only] [--sizes 10000 60000 100000] [--json FILE]

Sentences and questions come from the collections of `--data` (see benchmarks/sentences.py), embedded once into `--cache`. The
report says how many rows are windows of two sentences instead of one.
"""

import argparse
import asyncio
import time

import numpy as np

from benchmarks.harness import Row, parser_of, tell, write
from benchmarks.sentences import Rows, collect, vectors
from hive_mind import backends
from hive_mind.ranking.vector import VectorArm


def measured(name: str, rows: Rows, questions: Rows, truth: list[set[int]], windows: int) -> Row:
    """One index at one size. Times are CPU milliseconds of the whole process, for one question."""
    started = time.process_time()
    index = backends.load("ann", name).open(rows.shape[1])
    for position, row in enumerate(rows):
        index.add(position, row)
    build_s = time.process_time() - started
    top_10, ten_ms = timed(index, questions, 10)
    _, hundred_ms = timed(index, questions, 100)
    shares = [len(expected & set(found)) / 10 for expected, found in zip(truth, top_10, strict=True)]
    return {
        "index": name,
        "rows": len(rows),
        "windows": windows,
        "recall_at_10": round(float(np.mean(shares)), 4),
        "p50_k10_ms": round(float(np.median(ten_ms)), 3),
        "p50_k100_ms": round(float(np.median(hundred_ms)), 3),
        "p95_k10_ms": round(float(np.quantile(ten_ms, 0.95)), 3),
        "build_s": round(build_s, 1),
    }


def timed(index: VectorArm, questions: Rows, k: int) -> tuple[list[list[int]], list[float]]:
    found, times_ms = [], []
    for question in questions:
        started = time.process_time_ns()
        positions, _ = index.top(question, k)
        times_ms.append((time.process_time_ns() - started) / 1e6)
        found.append(positions.tolist())
    return found, times_ms


def nearest(rows: Rows, questions: Rows) -> list[set[int]]:
    """The true ten nearest by a plain product, independent of any index that is measured."""
    return [set(np.argsort(-(rows @ question), kind="stable")[:10].tolist()) for question in questions]


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "data", "cache", "json")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 60_000, 100_000])
    parser.add_argument("--embed-only", action="store_true")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    options.cache.mkdir(parents=True, exist_ok=True)
    texts = collect(options.data)
    questions, passages = asyncio.run(vectors(texts, options.cache))
    if options.embed_only:
        return
    results = []
    for size in sorted({min(size, len(passages)) for size in options.sizes}):
        rows = passages[:size]
        truth = nearest(rows, questions)
        windows = max(0, size - (len(passages) - texts.windows))
        for name in backends.known("ann"):
            results.append(measured(name, rows, questions, truth, windows))
            tell(results[-1])
    write(options.json, results)


if __name__ == "__main__":
    main()
