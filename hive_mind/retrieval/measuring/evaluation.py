"""Measuring a configuration: every golden question is asked of the index, and what comes back is compared with its labels.

No model judges. The cut is at least ten places, whatever the configuration shows: were it the configuration's own, one that
shows a single result would be measured by an easier ideal. What was tuned on can't tell whether it is any good, so some questions
are for tuning and others decide.

Measurements are kept as `results/<configuration>-<time>.json`, with a row for every question and the circumstances: enough to be
compared with another one without measuring again. A file is written once and never changed.
"""

import platform
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np

import hive_mind
from hive_mind.embed import Embedder
from hive_mind.errors import InvalidInput
from hive_mind.measure import SEED
from hive_mind.retrieval import Golden, GoldenQuery, RetrievalConfig, Split, writable, write_whole
from hive_mind.retrieval.index import open_index
from hive_mind.retrieval.measuring import METRICS, Evaluation, QuestionRow, Shown
from hive_mind.retrieval.searching import QueryResult
from hive_mind.retrieval.workspace import Workspace
from hive_mind.runtime.settings import Settings

K_MIN = 10

Progress = Callable[[str, int, int], None]


class Index(Protocol):
    """The index that is measured, and of which is known what it holds."""

    async def search(self, query: str, config: RetrievalConfig) -> QueryResult: ...
    def facets(self) -> Mapping[str, Mapping[str, int]]: ...
    def counts(self) -> tuple[int, int]:
        """How many documents and chunks there are."""


async def evaluate(
    index: Index,
    config: RetrievalConfig,
    golden: Golden,
    split: Split | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Measure a configuration with one part of the golden set, or with all. Raises `InvalidInput` where that part is empty."""
    questions = golden.split(split)
    if not questions:
        raise InvalidInput(f'no question of the golden set is marked "split": "{split}": mark some, or measure with all')
    return await measured(index, config, questions, split or "all", progress)


def held_out(golden: Golden) -> tuple[tuple[GoldenQuery, ...], str]:
    """The questions nobody tuned on: those marked "test"; where none is, those not marked "train". And what they are called.

    Raises `InvalidInput` where all are marked "train".
    """
    if test := golden.split("test"):
        return test, "test"
    unmarked = tuple(query for query in golden.queries if query.split is None)
    if not unmarked:
        raise InvalidInput('every golden question is marked "split": "train": mark some "test", those decide what is deployed')
    return unmarked, "all" if len(unmarked) == len(golden.queries) else "unmarked"


async def measured(
    index: Index, config: RetrievalConfig, questions: Sequence[GoldenQuery], split: str, progress: Progress | None = None
) -> Evaluation:
    rows = []
    for number, question in enumerate(questions, 1):
        rows.append(await _row(index, config, question))
        if progress:
            progress(config.name, number, len(questions))
    return Evaluation(config, split, max(K_MIN, config.results_max), tuple(rows))


async def _row(index: Index, config: RetrievalConfig, question: GoldenQuery) -> QuestionRow:
    started = time.perf_counter()
    result = await index.search(question.query, config)
    ms = 1e3 * (time.perf_counter() - started)
    return QuestionRow(
        id=question.id,
        query=question.query,
        relevant=tuple(question.relevant),
        distractors=tuple(question.distractors),
        shown=tuple(Shown(**{name: getattr(view, name) for name in Shown.__slots__}) for view in result.results),
        **{name: getattr(result, name) for name in ("scored", "method", "cut_at", "why_cut", "notes")},
        ms=round(ms, 3),
    )


OpenCollection = Callable[[str], AbstractAsyncContextManager[Index]]


@dataclass(frozen=True, slots=True)
class Bench:
    """Everything it takes to measure. `embedding` is the name of the model, "" without one."""

    workspace: Workspace
    open: OpenCollection
    embedding: str = ""
    progress: Progress | None = None

    @property
    def has_embeddings(self) -> bool:
        return bool(self.embedding)

    async def measured(
        self, config: RetrievalConfig, questions: Sequence[GoldenQuery], split: str, index: Index, collection: str
    ) -> Evaluation:
        """Measure over the index that is open, where it is of the same collection, else over one of its own."""
        if config.collection == collection:
            return await measured(index, config, questions, split, self.progress)
        async with self.open(config.collection) as own_index:
            return await measured(own_index, config, questions, split, self.progress)


def bench_of(workspace: Workspace, settings: Settings, embedder: Embedder, progress: Progress | None = None) -> Bench:
    """A bench over the real index. Nothing is measured on documents as they were: each opening takes in what has changed."""

    @asynccontextmanager
    async def open(collection: str) -> AsyncIterator[Index]:
        async with await open_index(workspace, collection, settings, embedder) as index:
            await index.update(progress)
            yield index

    return Bench(workspace, open, embedder.model if embedder.dimension else "", progress)


# Thirty is what the documentation asks beginners to label; half of fewer is too little to tune on and to decide.
CROSSED_BELOW = 30
CROSSED = "cross-validated"
"""The name of a split in which all questions tune and all decide."""

Questions = tuple[GoldenQuery, ...]


@dataclass(frozen=True, slots=True)
class TrainTestSplit:
    """The golden set in two parts, or twice the whole where it is small.

    Training questions come in an order that has nothing to do with that of the file.

    `note` says how they were parted where nobody had marked them.
    """

    training: Questions
    deciding: Questions
    split: str
    note: str = ""

    @property
    def is_crossed(self) -> bool:
        """Whether both parts are the same questions: then only cross-validation can tell anything."""
        return self.split == CROSSED


def train_test_split(golden: Golden) -> TrainTestSplit:
    """The parts as they are marked; where nothing is marked, every other question, in an order that stays the same.

    Of a small set of which nothing is marked both parts are the whole.

    Raises `InvalidInput` where one part is empty.
    """
    if all(query.split is None for query in golden.queries):
        return _parted(golden.queries)
    training = golden.split("train")
    if not training:
        raise InvalidInput('no golden question is marked "split": "train": mark about half of them: tuning uses only those')
    deciding, split = held_out(golden)
    return TrainTestSplit(mixed(training), deciding, split)


def mixed(questions: Sequence[GoldenQuery]) -> Questions:
    """The questions in an order that depends on their words alone, so that the first few are a fair sample."""
    return tuple(sorted(questions, key=lambda query: blake2b(query.query.encode("utf-8", "replace"), digest_size=8).digest()))


def _parted(questions: Sequence[GoldenQuery]) -> TrainTestSplit:
    if len(questions) < 2:
        raise InvalidInput("a single golden question can't be in both splits: label at least 30")
    ordered = mixed(questions)
    if len(ordered) < CROSSED_BELOW:
        template = "all {} questions tune, since none is marked and they are few: figures are cross-validated"
        return TrainTestSplit(ordered, ordered, CROSSED, template.format(len(ordered)))
    note = 'no question is marked: every other one was held out here. Mark them "train" and "test", or deploy measures with all'
    return TrainTestSplit(ordered[::2], ordered[1::2], "unmarked", note)


FORMAT = 1


def environment(bench: Bench) -> dict[str, Any]:
    """The other influences on the figures, needed to repeat them."""
    golden = bench.workspace.golden_file
    return {
        "hive_mind": hive_mind.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
        "embedding": bench.embedding,
        # A digest.
        "golden": blake2b(golden.read_bytes(), digest_size=8).hexdigest() if golden.exists() else "",
        "seed": SEED,
    }


def write_results(workspace: Workspace, evaluation: Evaluation, about: dict[str, Any], at: datetime) -> Path:
    """Write a measurement down. Returns its file, whose name is taken by no other."""
    content = {"format": FORMAT, "at": at.isoformat(timespec="seconds"), "environment": about}
    content |= {"summary": summary(evaluation), "evaluation": _plain(evaluation)}
    path = _free(workspace.results, f"{evaluation.config.name}-{at:%Y%m%dT%H%M%SZ}")
    write_whole(path, msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n")
    return path


def summary(evaluation: Evaluation) -> dict[str, Any]:
    """The figures of a measurement, as they stand in a file and in reports."""
    means: dict[str, dict[str, Any]] = {}
    for metric in METRICS:
        mean = evaluation.estimate(metric)
        means[metric] = {"mean": None, "undefined": len(evaluation.rows)}
        if mean is not None:
            interval = [round(mean.low, 4), round(mean.high, 4)]
            undefined = len(evaluation.rows) - mean.n
            means[metric] = {"mean": round(mean.mean, 4), "interval": interval, "undefined": undefined}
    return {
        "questions": len(evaluation.rows),
        "k": evaluation.k,
        **means,
        "distractors": evaluation.distractors,
        "distractors_in_5": evaluation.distractors_in(5),
        "contaminated_questions": evaluation.contaminated,
        "results": evaluation.results,
        "udcg_by_k": [round(value, 4) for value in evaluation.curve],
        "notes": list(evaluation.notes),
    }


def _plain(evaluation: Evaluation) -> dict[str, Any]:
    """A measurement, and what each row is worth, which follows from the rest."""
    rows = [asdict(row) | {"measures": asdict(row.measures(evaluation.k))} for row in evaluation.rows]
    for row, question_row in zip(rows, evaluation.rows, strict=True):
        for view in row["shown"]:
            view["label"] = question_row.label(view["document"])
    config = evaluation.config.model_dump(mode="json", by_alias=True)
    return {"config": config, "split": evaluation.split, "k": evaluation.k, "rows": rows}


def _free(folder: Path, name: str) -> Path:
    with writable(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for number in count(1):
        path = folder / (f"{name}-{number}.json" if number > 1 else f"{name}.json")
        # The name is taken, so that nobody who measures at the same time writes over it.
        with writable(path), suppress(FileExistsError):
            path.touch(exist_ok=False)
            break
    return path
