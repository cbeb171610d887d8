"""One cell from start to end: learn, ask, score, write down. Runs in a process of its own and talks to nobody but its folder.

Interrupted, it learns again and asks what was not asked; rows depend on the seed and the question and on nothing that happened
before, so the file is the same as if nothing had been interrupted.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from hive_mind.embed.base import Embedder
from hive_mind.errors import HiveError, InvalidInput
from hive_mind.evals.answers.answering import Answerer, open_answerer
from hive_mind.evals.answers.judging import GroundingJudge, fact_judge
from hive_mind.evals.answers.scoring import lacks_verdict
from hive_mind.evals.answers.spending import FILE as TOKENS
from hive_mind.evals.answers.spending import RunBudget
from hive_mind.evals.arms.base import Means, OpenArm, Progress
from hive_mind.evals.arms.keeping import candidate_of, worded
from hive_mind.evals.datasets import Dataset, Scope
from hive_mind.evals.experiments.values import Cell, Experiment
from hive_mind.evals.rows import CellReport, Learned, Row
from hive_mind.evals.running.data import asked_of, row_id
from hive_mind.evals.running.folder import CellFolder, Pen, RunFolder, as_json
from hive_mind.evals.running.question import Asking, put
from hive_mind.evals.running.reading import NOTES
from hive_mind.evals.running.vector_cache import CachedEmbedder, Vectors
from hive_mind.measure.cohesion import cohesion
from hive_mind.memory.intake import statement
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_embedder

UNANSWERED = "questions the answerer gave no answer to, the first one because: "
UNJUDGED = f"answers the judge gave no verdict on; the cell's {NOTES} says why"


def together(learned: Sequence[Learned]) -> Learned:
    """Costs add up; a lag and an agent's memory are the largest. A value not measured everywhere is unknown for all."""
    found = {}
    for name in Learned.__struct_fields__:
        values = [getattr(one, name) for one in learned]
        combined = max if name in ("replica_lag_s", "memory_per_agent_bytes") else sum
        found[name] = combined(values) if values and None not in values else None
    return Learned(**found | {"facts": found["facts"] or 0})


@dataclass(frozen=True, slots=True)
class CellOrder:
    """A process's input to run a cell."""

    cell: Cell
    experiment: Experiment
    folder: Path
    settings: Settings
    vectors: Vectors
    keep: Path | None = None


@dataclass(frozen=True, slots=True)
class _Parts:
    """The open parts a cell is made with."""

    means: Means
    embedder: Embedder
    answerer: Answerer | None
    judge: GroundingJudge | None


async def run_cell(order: CellOrder, progress: Progress) -> CellReport:
    """Run it and write its report. Raises `HiveError` where it can't be run; the report of that is the caller's."""
    folder = RunFolder(order.folder).cell(order.cell.id)
    dataset = await asked_of(order.cell.data, order.cell.seed, order.experiment, order.settings)
    async with _opened(order, progress) as parts:
        learned = await _ask_all(order, dataset, parts, folder, progress)
        rows = folder.answered()
        _refuse_nothing_but_errors(rows)
        figures = await _figures(dataset, parts.embedder, order)
        report = msgspec.structs.replace(_report(order, dataset, parts, rows), learned=learned, figures=figures)
    folder.finish(report)
    return report


def failed_report(order: CellOrder, why: str) -> CellReport:
    """The report of a cell that could not be run."""
    return CellReport(order.cell.id, as_json(order.cell), "failed", why, embedding=order.vectors.model)


@asynccontextmanager
async def _opened(order: CellOrder, progress: Progress) -> AsyncIterator[_Parts]:
    async with AsyncExitStack() as stack:

        async def open_real() -> Embedder:
            return await open_embedder(order.settings)

        embedder: Embedder = await open_embedder(replace(order.settings, embed="none"))
        if order.vectors.dimension:
            embedder = CachedEmbedder(order.vectors, open_real)
        stack.push_async_callback(embedder.close)
        answerer = await open_answerer(order.experiment.answerer, order.settings, _budget(order))
        if answerer:
            stack.push_async_callback(answerer.close)
        judge = await fact_judge(order.experiment.judge, order.settings, _budget(order))
        if judge:
            stack.push_async_callback(judge.close)
        yield _Parts(Means(order.settings, embedder, progress, order.keep), embedder, answerer, judge)


def _budget(order: CellOrder) -> RunBudget:
    return RunBudget(order.settings.token_budget, order.folder / TOKENS)


async def _ask_all(order: CellOrder, dataset: Dataset, parts: _Parts, folder: CellFolder, progress: Progress) -> Learned:
    """Ask the unasked questions. Everything is learned again: the cost of learning is part of the report."""
    before: Sequence[str] = [row.question for row in folder.answered()]
    learned: list[Learned] = []
    with folder.pen() as pen:
        for scope in dataset.scopes:
            from hive_mind.evals.arms.opening import open_arm

            arm = await open_arm(order.cell, scope, parts.means)
            try:
                learned.append(arm.learned)
                before = await _ask_scope(_asking(order, scope, arm, parts), dataset, scope, before, pen, progress)
            finally:
                await arm.close()
    return together(learned)


def _asking(order: CellOrder, scope: Scope, arm: OpenArm, parts: _Parts) -> Asking:
    kinds = {document.id: document.kind for document in scope.documents}
    embedder = parts.embedder if order.vectors.dimension else None
    return Asking(arm, order.cell.arm.kind, order.experiment.limit, kinds, embedder, parts.answerer, parts.judge)


async def _ask_scope(
    asking: Asking, dataset: Dataset, scope: Scope, before: Sequence[str], pen: Pen, progress: Progress
) -> Sequence[str]:
    """Ask a scope's questions, but for those that were asked before; the rest of these for the next scope."""
    for number, question in enumerate(scope.questions, start=1):
        id = row_id(dataset, scope, question)
        if before:
            if before[0] != id:
                raise InvalidInput(
                    f"the rows of this cell are of other questions ({before[0]} where {id} is due); give another --out"
                )
            before = before[1:]
            continue
        row, timing = await put(asking, question, id)
        pen.write(msgspec.structs.replace(row, group=dataset.groups.get(id, "")), timing)
        progress(f"{scope.name}: questions", number, len(scope.questions))
    return before


def _refuse_nothing_but_errors(rows: Sequence[Row]) -> None:
    """Raises `HiveError` where no question had a result: then the arm does not work, and its reason is that of the first."""
    if rows and all(row.error for row in rows):
        raise HiveError(f"none of {len(rows)} questions had a result, the first one because: {rows[0].error}")


def _report(order: CellOrder, dataset: Dataset, parts: _Parts, rows: Sequence[Row]) -> CellReport:
    left_out = {reason: count for reason, count in dataset.left_out.items() if count}
    if unanswered := [row.unanswered for row in rows if row.unanswered]:
        left_out[f"{UNANSWERED}{unanswered[0]}"] = len(unanswered)
    if unjudged := sum(lacks_verdict(row.metrics) for row in rows):
        left_out[UNJUDGED] = unjudged
    return CellReport(
        order.cell.id,
        as_json(order.cell),
        "done",
        documents=dataset.documents,
        questions=len(rows),
        left_out=left_out,
        embedding=order.vectors.model,
        answerer=parts.answerer.name if parts.answerer else "",
        judge=parts.judge.name if parts.judge else "",
    )


async def _figures(dataset: Dataset, embedder: Embedder, order: CellOrder) -> dict[str, float | None]:
    """Of the whole cell: whether topics lie together in the space of the vectors, where documents have topics."""
    documents = worded(document for scope in dataset.scopes for document in scope.documents)
    if not order.vectors.dimension or not any(document.topic for document in documents):
        return {"cohesion": None}
    vectors = await embedder.embed_passages([statement(candidate_of(document)) for document in documents])
    rng = np.random.default_rng(order.cell.seed)
    return {"cohesion": cohesion(vectors, [document.topic for document in documents], rng)}
