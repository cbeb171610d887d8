"""What does a collection of documents cost: to index, to index again after few changes, and to ask, with filters and without?

Documents are made of running text of the public collections, one chunk of 512 tokens each, in ten folders.

    python -m benchmarks.retrieval_collection --data DATA --scratch FOLDER [--documents 10000] [--json FILE]

Vectors are random: enough to measure time, useless to measure quality, which benchmarks/retrieval_quality.py does.
"""

import asyncio
import gc
import random
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.fleet import RandomEmbedder
from benchmarks.harness import parser_of, seconds, told
from benchmarks.sentences import bodies_in, questions_in
from hive_mind.embed.none import NoEmbedder
from hive_mind.retrieval import Collection, RetrievalConfig
from hive_mind.retrieval.index import CollectionIndex, open_index
from hive_mind.retrieval.workspace import Workspace
from hive_mind.runtime.settings import Settings

FOLDERS = 10
# Without a filter, half of it, a tenth.
SHARES = (FOLDERS, FOLDERS // 2, 1)
QUESTIONS = 200
# As a collection counts them in a text of Latin letters.
TOKEN = re.compile(r"\w{1,12}|[^\w\s]")
COLLECTION = Collection(name="bench", filterable_fields=["category"])


def texts(data: Path, count: int) -> Iterator[str]:
    """Running text of exactly 512 tokens each; where the collections end, it begins again at another word."""
    words = [word for body in bodies_in(data) for word in body.split()]
    start = 0
    for _ in range(count):
        taken, tokens = [], 0
        while tokens < 512:
            word = words[start % len(words)]
            tokens += len(TOKEN.findall(word))
            if tokens <= 512:
                taken.append(word)
                start += 1
        if start >= len(words):
            start = start % len(words) + 97
        yield " ".join(taken)


def write_documents(folder: Path, bodies: Sequence[str]) -> None:
    for number, body in enumerate(bodies):
        path = folder / "documents" / f"folder{number % FOLDERS}" / f"{number:06}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body, "utf-8")


async def indexing(workspace: Workspace, folder: Path, count: int) -> dict[str, float]:
    plain = RetrievalConfig(name="plain", collection="bench", retrieval={"method": "keyword"})
    index = await open_index(workspace, COLLECTION, Settings(), NoEmbedder())
    first_s = await seconds(index.update())
    load_s = await seconds(index.search("the first one", plain))
    await index.close()
    change(folder, count // 100)
    # As a command does: a process that has nothing in RAM. Collecting what the first index left is no part of it.
    gc.collect()
    index = await open_index(workspace, COLLECTION, Settings(), NoEmbedder())
    again_s = await seconds(index.update())
    await index.search("the first one", plain)
    change(folder, count // 100, "once more ")
    warm_s = await seconds(index.update())
    await index.close()
    return {
        "chunks_per_s_durable": count / first_s,
        "chunks_per_s_durable_and_searchable": count / (first_s + load_s),
        "again_s": again_s,
        "again_share": again_s / first_s,
        "again_loaded_s": warm_s,
        "again_loaded_share": warm_s / (first_s + load_s),
    }


def change(folder: Path, count: int, word: str = "changed ") -> None:
    for path in sorted((folder / "documents").rglob("*.md"))[:count]:
        path.write_text(word + path.read_text("utf-8")[: -len(word)], "utf-8")


async def asking(workspace: Workspace, questions: Sequence[str]) -> list[dict[str, object]]:
    index = await open_index(workspace, COLLECTION, Settings(), RandomEmbedder())
    await index.update()
    rows = []
    for method in ("keyword", "hybrid"):
        configs = [of_folders(method, folders) for folders in SHARES]
        for config in configs:
            await index.search("choose what it may find", config)
        if method == "hybrid":
            for question in questions:  # Once to embed the question; a cached embedding is what is measured.
                await index.search(question, configs[0])
        for asked in ("first", "again"):
            times, scored = await timed(index, configs, questions)
            rows += by_share(method, asked, times, scored)
    await index.close()
    return rows


def of_folders(method: str, folders: int) -> RetrievalConfig:
    filters = {"category": [f"folder{number}" for number in range(folders)]} if folders < FOLDERS else {}
    return RetrievalConfig(name="c", collection="bench", retrieval={"method": method}, filters=filters)


async def timed(
    index: CollectionIndex, configs: Sequence[RetrievalConfig], questions: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """CPU milliseconds, and what was scored: a row a question, a column a configuration. In turn, so that a busy neighbour
    makes all of them slower and their ratio stays."""
    times, scored = np.zeros((len(questions), len(configs))), np.zeros((len(questions), len(configs)))
    for row, question in enumerate(questions):
        for turn in range(len(configs)):
            column = (row + turn) % len(configs)
            started = time.process_time_ns()
            found = await index.search(question, configs[column])
            times[row, column] = (time.process_time_ns() - started) / 1e6
            scored[row, column] = found.scored
    return times, scored


def by_share(method: str, asked: str, times: NDArray[np.float64], scored: NDArray[np.float64]) -> list[dict[str, object]]:
    """A row for each share. The ratio is the median of each question's own to the same question without a filter."""
    ratios = np.median(times / times[:, :1], axis=0)
    return [
        {
            "method": method,
            "asked": asked,
            "folders": folders,
            "p50_ms": float(np.median(times[:, column])),
            "p95_ms": float(np.quantile(times[:, column], 0.95)),
            "of_unfiltered": float(ratios[column]),
            "scored": float(scored[:, column].mean()),
        }
        for column, folders in enumerate(SHARES)
    ]


def main() -> None:
    options = parser_of(__doc__, "data", "scratch", "json", documents=10_000).parse_args()
    shutil.rmtree(options.scratch / "collection", ignore_errors=True)
    folder = options.scratch / "collection"
    (folder / "configs").mkdir(parents=True)
    bodies = list(texts(options.data, options.documents))
    write_documents(folder, bodies)
    # A file that changed less than a second ago is read again, as its times could not show another change.
    time.sleep(1.5)
    workspace = Workspace.open(folder)
    indexed = asyncio.run(indexing(workspace, folder, options.documents))
    questions = list(dict.fromkeys(questions_in(options.data)))
    random.Random(7).shuffle(questions)
    told([indexed, *asyncio.run(asking(workspace, questions[:QUESTIONS]))], options.json)


if __name__ == "__main__":
    main()
