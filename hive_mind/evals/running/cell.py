"""One cell from start to end: learn, ask, score, write down. Runs in a process of its own and talks to nobody but its folder.

Interrupted, it learns again and asks what was not asked; rows depend on the seed and the question and on nothing that happened
before, so the file is the same as if nothing had been interrupted.

One question put to one arm, scored, and written as a row: with nothing in it that a clock or the machine decides.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from hive_mind.embed import Embedder
from hive_mind.errors import HiveError, InvalidInput
from hive_mind.evals.answering import FILE as TOKENS
from hive_mind.evals.answering import Answerer, GivenAnswer, ModelJudge, RunBudget, fact_judge, open_answerer, since
from hive_mind.evals.arms import (
    Means,
    OpenArm,
    Progress,
    by_texts,
    candidate_of,
    firsts_of,
    memory_arm,
    newness_of,
    search_in,
    texts_found,
    trained_fleet,
    worded,
)
from hive_mind.evals.arms.node_per_agent import refuse
from hive_mind.evals.datasets import Dataset, LabelledQuestion, Scope
from hive_mind.evals.experiments import ArmKind, Cell, CellReport, Experiment, Learned, Row, Timing
from hive_mind.evals.metrics import GROUNDED, Figures, answered_figures, lacks_verdict, score, shown_scores
from hive_mind.evals.running import NOTES, asked_of, row_id
from hive_mind.evals.running.folder import CellFolder, Pen, as_json
from hive_mind.evals.running.vector_cache import CachedEmbedder, Vectors
from hive_mind.hive.topology.spec import SINGLE, SPECS
from hive_mind.llm.base import Usage
from hive_mind.measure.results import cohesion
from hive_mind.memory.intake import statement
from hive_mind.model.gathered import SearchResult
from hive_mind.model.query import Hit
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_embedder
from hive_mind.tracing import span

_ELSEWHERE = {"simulator": "simulated", "redis": "processes_arm"}


async def open_arm(cell: Cell, scope: Scope, means: Means) -> OpenArm:
    """The arm, which has learned the scope. Raises `InvalidInput` for a cell that can't be."""
    if (module := _ELSEWHERE.get(cell.arm.place)) is not None:
        # Brokers and simulators are loaded only where they are wanted.
        opened: OpenArm = await import_module(f"hive_mind.evals.arms.{module}").open_arm(cell, scope, means)
        return opened
    refuse(cell, means)
    search = search_in(cell.retrieval.mode, newness_of(scope.documents))
    if cell.arm.kind in SPECS:
        return await trained_fleet.open_arm(cell, scope, means, search)
    if cell.arm.kind == SINGLE:
        return await memory_arm.open_arm(cell, scope, means, search)
    match cell.arm.kind:
        case "running":
            return await memory_arm.open_running(cell, scope, means, search)
        case "routed":
            return await trained_fleet.open_routed(cell, scope, means, search)
        case "seed-federated":
            return await trained_fleet.open_seed_federated(cell, scope, means)
        case "bm25":
            return memory_arm.bm25(scope, means.progress)
        case "random":
            return memory_arm.chance(scope, cell.seed)
        case _:
            return memory_arm.full_context(scope)


# More digits than a reader needs, and fewer than the order of a sum can change.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Asking:
    """The arm to ask and the use of its results. `kinds` are the kinds of source by document."""

    arm: OpenArm
    kind: ArmKind
    limit: int
    kinds: Mapping[str, str]
    embedder: Embedder | None = None
    answerer: Answerer | None = None
    judge: ModelJudge | None = None


async def put(asking: Asking, question: LabelledQuestion, id: str) -> tuple[Row, Timing]:
    """Ask it: what was found, answered where there is an answerer, and scored. An error with one question becomes a row with it.

    The span has the row's id.
    """
    labels: dict[str, Any] = {"asked": question.text, "category": question.category, "intent": question.intent}
    labels["source_bias"] = question.source_bias
    try:
        with span("eval_question", {"hive.eval.row": id}):
            outcome = await asking.arm.ask(question, asking.limit)
    except HiveError as error:
        return Row(id, error=str(error), **labels), Timing(id, 0.0, 0.0)
    hits, cost = outcome.hits[: asking.limit], outcome.cost
    spenders = [spender for spender in (asking.answerer, asking.judge) if spender]
    before = [spender.spent for spender in spenders]
    answer, unanswered = await _answered(asking, question, outcome.hits)
    # The first document of each text, best first.
    document_ids = texts_found(hits, asking.arm.documents)[: asking.limit]
    figures = await _question_figures(asking, question, document_ids, hits, answer)
    if asking.judge:
        verdict = None if answer is None else await asking.judge.is_grounded(question, answer, outcome.hits)
        figures |= {GROUNDED: None if verdict is None else float(verdict)}
    row = Row(
        id,
        found=list(document_ids),
        facts=[hit.fact.id for hit in hits],
        scores=[round(score, _DIGITS) for score in shown_scores(hits)],
        metrics={name: None if value is None else round(value, _DIGITS) for name, value in figures.items()},
        answer=answer.text if answer else "",
        unanswered=unanswered,
        messages=cost.messages,
        bytes=cost.bytes,
        fan_out=cost.fan_out,
        completeness=round(cost.completeness, _DIGITS),
        **labels,
        **_paid(spenders, before),
    )
    return row, Timing(id, round(1e3 * outcome.cpu_s, 4), round(1e3 * outcome.wall_s, 4))


def _paid(spenders: Sequence[Answerer | ModelJudge], before: Sequence[Usage]) -> dict[str, Any]:
    """The tokens that answering and judging took, whether or not anything came of it. Money only where all of it has a price."""
    used = [since(usage, spender.spent) for usage, spender in zip(before, spenders, strict=True)]
    paid = [spender.usd(usage) for spender, usage in zip(spenders, used, strict=True) if usage.tokens]
    costs = [usd for usd in paid if usd is not None]
    return {
        "tokens_in": sum(usage.input_tokens for usage in used),
        "tokens_out": sum(usage.output_tokens for usage in used),
        "usd": sum(costs) if costs and len(costs) == len(paid) else None,
    }


async def _answered(asking: Asking, question: LabelledQuestion, hits: Sequence[Hit]) -> tuple[GivenAnswer | None, str]:
    """No answer where nobody answers, nor where the model did not; then with the reason."""
    if asking.answerer is None:
        return None, ""
    try:
        return await asking.answerer.answer(question, SearchResult(hits, searched=len(asking.arm.documents))), ""
    except HiveError as error:
        return None, str(error)


async def _question_figures(
    asking: Asking, question: LabelledQuestion, document_ids: Sequence[str], hits: Sequence[Hit], answer: GivenAnswer | None
) -> Figures:
    documents = asking.arm.documents
    kinds = [asking.kinds.get(documents[hit.fact.id][0], "") if documents.get(hit.fact.id) else "" for hit in hits]
    vectors = None
    if asking.embedder is not None and hits:
        vectors = await asking.embedder.embed_passages([hit.fact.content for hit in hits])
    by_text = by_texts(question, firsts_of(documents))
    figures = score(by_text, document_ids, hits, kinds, vectors, answer, asking.limit)
    if asking.kind != "full-context":
        return figures
    # Everything is no ranking: only what was answered from it can be measured.
    return dict.fromkeys(figures) | answered_figures(question, answer)


UNANSWERED = "questions the answerer gave no answer to, the first one because: "
UNJUDGED = f"answers the judge gave no verdict on; the cell's {NOTES} says why"


def together(costs: Sequence[Learned]) -> Learned:
    """Costs add up; a lag and an agent's memory are the largest. A value not measured everywhere is unknown for all."""
    sums = {}
    for name in Learned.__struct_fields__:
        values = [getattr(cost, name) for cost in costs]
        combined = max if name in ("replica_lag_s", "memory_per_agent_bytes") else sum
        sums[name] = combined(values) if values and None not in values else None
    return Learned(**sums | {"facts": sums["facts"] or 0})


@dataclass(frozen=True, slots=True)
class CellOrder:
    """A process's input to run a cell."""

    cell: Cell
    experiment: Experiment
    folder: Path
    settings: Settings
    vectors: Vectors


_Opened = tuple[Means, Answerer | None, ModelJudge | None]


async def run_cell(order: CellOrder, progress: Progress) -> CellReport:
    """Run it and write its report. Raises `HiveError` where it can't be run; the report of that is the caller's."""
    folder = CellFolder.of(order.folder, order.cell.id)
    dataset = await asked_of(order.cell.data, order.cell.seed, order.experiment, order.settings)
    async with _opened(order, progress) as opened:
        means, answerer, judge = opened
        cost = await _ask_all(order, dataset, opened, folder)
        rows = folder.answered()
        # Raises `HiveError` where no question had a result: then the arm does not work, and its reason is that of the first.
        if rows and all(row.error for row in rows):
            raise HiveError(f"none of {len(rows)} questions had a result, the first one because: {rows[0].error}")
        report = CellReport(
            order.cell.id,
            as_json(order.cell),
            "done",
            documents=dataset.documents,
            questions=len(rows),
            left_out=_left_out(dataset, rows),
            embedding=order.vectors.model,
            answerer=answerer.name if answerer else "",
            judge=judge.name if judge else "",
            learned=cost,
            figures=await _figures(dataset, means.embedder, order),
        )
    folder.finish(report)
    return report


@asynccontextmanager
async def _opened(order: CellOrder, progress: Progress) -> AsyncIterator[_Opened]:
    async with AsyncExitStack() as stack:

        async def open_real() -> Embedder:
            return await open_embedder(order.settings)

        embedder: Embedder = await open_embedder(replace(order.settings, embed="none"))
        if order.vectors.dimension:
            embedder = CachedEmbedder(order.vectors, open_real)
        stack.push_async_callback(embedder.close)
        budgets = [RunBudget(order.settings.token_budget, order.folder / TOKENS) for _ in range(2)]
        if answerer := await open_answerer(order.experiment.answerer, order.settings, budgets[0]):
            stack.push_async_callback(answerer.close)
        if judge := await fact_judge(order.experiment.judge, order.settings, budgets[1]):
            stack.push_async_callback(judge.close)
        yield Means(order.settings, embedder, progress), answerer, judge


async def _ask_all(order: CellOrder, dataset: Dataset, opened: _Opened, folder: CellFolder) -> Learned:
    """Ask the unasked questions. Everything is learned again: the cost of learning is part of the report."""

    before: Sequence[str] = [row.question for row in folder.answered()]
    means, answerer, judge = opened
    embedder = means.embedder if order.vectors.dimension else None
    costs: list[Learned] = []
    with folder.pen() as pen:
        for scope in dataset.scopes:
            kinds = {document.id: document.kind for document in scope.documents}
            arm = await open_arm(order.cell, scope, means)
            try:
                costs.append(arm.learned)
                asking = Asking(arm, order.cell.arm.kind, order.experiment.limit, kinds, embedder, answerer, judge)
                before = await _ask_scope(asking, dataset, scope, before, pen, means.progress)
            finally:
                await arm.close()
    return together(costs)


async def _ask_scope(
    asking: Asking, dataset: Dataset, scope: Scope, before: Sequence[str], pen: Pen, progress: Progress | None
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
        pen(msgspec.structs.replace(row, group=dataset.groups.get(id, "")), timing)
        if progress:
            progress(f"{scope.name}: questions", number, len(scope.questions))
    return before


def _left_out(dataset: Dataset, rows: Sequence[Row]) -> dict[str, int]:
    left_out = {reason: count for reason, count in dataset.left_out.items() if count}
    if unanswered := [row.unanswered for row in rows if row.unanswered]:
        left_out[f"{UNANSWERED}{unanswered[0]}"] = len(unanswered)
    if unjudged := sum(lacks_verdict(row.metrics) for row in rows):
        left_out[UNJUDGED] = unjudged
    return left_out


async def _figures(dataset: Dataset, embedder: Embedder, order: CellOrder) -> dict[str, float | None]:
    """Of the whole cell: whether topics lie together in the space of the vectors, where documents have topics."""
    documents = worded(document for scope in dataset.scopes for document in scope.documents)
    if not order.vectors.dimension or not any(document.topic for document in documents):
        return {"cohesion": None}
    vectors = await embedder.embed_passages([statement(candidate_of(document)) for document in documents])
    rng = np.random.default_rng(order.cell.seed)
    return {"cohesion": cohesion(vectors, [document.topic for document in documents], rng)}
