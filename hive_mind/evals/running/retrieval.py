"""One measurement at once: arms of this process side by side, without a run's folder, answers or a judge.

Questions are put, scored and counted as in a run of an experiment; here everything is kept in RAM, and a line for each arm is
what comes of it. What a single memory finds is what the others are compared with.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Literal

import msgspec

from hive_mind.embed.base import Embedder
from hive_mind.errors import InvalidInput
from hive_mind.evals.arms.base import Means, OpenArm, Progress
from hive_mind.evals.arms.dealing import deal_by
from hive_mind.evals.arms.methods import NEEDS_VECTORS, search_by
from hive_mind.evals.arms.opening import open_here
from hive_mind.evals.datasets import Dataset, Scope, load_dataset, pooled
from hive_mind.evals.experiments.matrix import cell_of
from hive_mind.evals.experiments.values import Arm, DataSource, Fault, Retrieval
from hive_mind.evals.rows import Row, Timing
from hive_mind.evals.running.data import row_id
from hive_mind.evals.running.question import Asking, measured
from hive_mind.evals.running.vector_cache import remembering
from hive_mind.evals.scorecards.metrics import identical
from hive_mind.hive.topology.spec import is_shared
from hive_mind.measure.intervals import Estimate, estimate, macro_mean, middle
from hive_mind.model.query import LIMIT, METHOD
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_embedder

ScopeName = Literal["per-conversation", "pooled"]
Asked = dict[str, tuple[Row, Timing]]
"""By the question's id, in the order of the data."""


@dataclass(frozen=True, slots=True)
class RetrievalRun:
    """What to measure. `keep` is a folder for databases and vectors that are reused: nothing is embedded twice; None: in RAM.

    `arms` are single or topologies, of which `down` nodes are stopped once everything is learned.
    """

    dataset: str
    data: Path
    method: str = METHOD
    scope: ScopeName = "per-conversation"
    name: str = ""
    limit: int = LIMIT
    keep: Path | None = None
    arms: tuple[Arm, ...] = (Arm(),)
    down: int = 0
    ranking: RankingSettings | None = None
    """How memories and hives rank; None: by themselves."""


class RetrievalLine(msgspec.Struct, frozen=True):
    """What an arm found. Metrics are macro means in [0, 1] over the questions with a relevant document."""

    dataset: str
    scope: str
    method: str
    topology: str
    agents: int
    deal: str
    documents: int
    questions: int
    left_out: int
    left_out_reasons: dict[str, int]
    metrics: dict[str, float | None]
    intervals: dict[str, list[float] | None]
    groups: int
    by_category: dict[str, dict[str, float | None]]
    cpu_ms_per_query: float | None
    messages_per_query: float | None
    bytes_per_query: float | None
    completeness: float | None
    embedding: str
    identical_top10: float | None


async def evaluate(run: RetrievalRun, settings: Settings, progress: Progress | None = None) -> list[RetrievalLine]:
    """A line for each arm. Raises `InvalidInput` for data or a method that can't be used, or a missing embedding model."""
    search_by(run.method)
    for arm in run.arms:
        deal_by(arm.deal)
    dataset = load(run)
    needs_vectors = run.method in NEEDS_VECTORS
    embedder = await open_embedder(settings if needs_vectors else replace(settings, embed="none"))
    try:
        if needs_vectors and not embedder.dimension:
            raise InvalidInput(f"method {run.method!r} needs an embedding model: see hive-mind doctor")
        means = Means(settings, remembering(embedder, run.keep), progress, run.keep)
        return await _lines(run, dataset, means, embedder)
    finally:
        await embedder.close()


def load(run: RetrievalRun) -> Dataset:
    """The data of a run, pooled where it says so. Raises `InvalidInput`."""
    # As for `eval run`, --data may also be the folder of all sets.
    inner = run.data / run.name
    is_inner = bool(run.name) and inner.is_dir()
    dataset = load_dataset(inner if is_inner else run.data, "" if is_inner else run.name, run.dataset)
    return pooled(dataset) if run.scope == "pooled" else dataset


async def ask_all(arm: OpenArm, scope: Scope, limit: int, progress: Progress | None = None) -> list[tuple[Row, Timing]]:
    """Put all questions of a scope to an arm that has learned it, and close it."""
    asking, found = Asking(arm, "single", limit, {}), []
    try:
        for number, question in enumerate(scope.questions, start=1):
            found.append(await measured(asking, question, question.id, await arm.ask(question, limit)))
            if progress:
                progress(f"{scope.name}: questions", number, len(scope.questions))
    finally:
        await arm.close()
    return found


async def _lines(run: RetrievalRun, dataset: Dataset, means: Means, embedder: Embedder) -> list[RetrievalLine]:
    alone = await _asked(run, dataset, means, Arm())
    lines = []
    for arm in run.arms:
        asked = await _asked(run, dataset, means, arm) if is_shared(arm.kind) else alone
        lines.append(_line(run, dataset, arm, asked, alone, embedder.model if run.method in NEEDS_VECTORS else ""))
    return lines


async def _asked(run: RetrievalRun, dataset: Dataset, means: Means, arm: Arm) -> Asked:
    """Every question, each scope asked of an arm of its own."""
    way, fault = Retrieval(run.method, ranking=run.ranking), Fault(down=run.down if is_shared(arm.kind) else 0)
    cell = cell_of(DataSource(dataset.name), arm, way, 1, fault)
    found: Asked = {}
    for scope in dataset.scopes:
        opened = await open_here(cell, scope, means, search_by(run.method))
        asked = await ask_all(opened, scope, run.limit, means.progress)
        for question, (row, timing) in zip(scope.questions, asked, strict=True):
            id = row_id(dataset, scope, question)
            found[id] = msgspec.structs.replace(row, question=id, group=dataset.groups.get(id, "")), timing
    return found


def _line(run: RetrievalRun, dataset: Dataset, arm: Arm, asked: Asked, alone: Asked, embedding: str) -> RetrievalLine:
    rows, limit = [row for row, _ in asked.values()], run.limit
    names = [f"{metric}@{limit}" for metric in ("recall", "mrr", "ndcg")]
    found = {name: estimate([row.metrics[name] for row in rows], [row.group for row in rows]) for name in names}
    recall, cpu = found[names[0]], middle(timing.cpu_ms for _, timing in asked.values())
    counted = recall.n if recall else 0
    mine, single = ({id: row for id, (row, _) in one.items()} for one in (asked, alone))
    same = identical(mine, single, min(limit, 10))
    return RetrievalLine(
        dataset=dataset.name,
        scope=run.scope,
        method=run.method,
        topology=arm.kind,
        agents=arm.agents,
        deal=arm.deal if is_shared(arm.kind) else "",
        documents=dataset.documents,
        questions=counted,
        left_out=sum(dataset.left_out.values()) + len(rows) - counted,
        left_out_reasons=dict(dataset.left_out),
        metrics={name: round(one.mean, 4) if one else None for name, one in found.items()},
        intervals={name: _interval(one) for name, one in found.items()},
        groups=len({row.group for row in rows if row.group}),
        by_category=_by_category(rows, names),
        cpu_ms_per_query=round(cpu.median, 4) if cpu else None,
        messages_per_query=_mean([row.messages for row in rows]),
        bytes_per_query=_mean([row.bytes for row in rows]),
        completeness=_mean([row.completeness for row in rows]),
        embedding=embedding,
        identical_top10=_mean([one for one in same if one is not None]),
    )


def _by_category(rows: Sequence[Row], names: Sequence[str]) -> dict[str, dict[str, float | None]]:
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.category or "all"):
        groups.setdefault(row.category or "all", []).append(row)
    means = {(one, name): macro_mean(row.metrics[name] for row in group) for one, group in groups.items() for name in names}
    return {
        category: {name: None if (mean := means[category, name]) is None else round(mean, 4) for name in names}
        for category in groups
    }


def _interval(one: Estimate | None) -> list[float] | None:
    return [round(one.low, 4), round(one.high, 4)] if one else None


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 4) if values else None
