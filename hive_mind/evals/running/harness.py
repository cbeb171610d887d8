"""A whole run: everything is checked first, then embedded once, then cell after cell in two processes, then put together.

A cell that fails is finished too, with its reason, and the others go on. A run that is stopped or killed goes on where it was
when it is started again into the same folder. Progress goes to `RunListener`; printing it is left to the caller.

`eval retrieval` is a case of it: one data set and one way to rank, no answerer, a line for each arm of the scorecard. The others
are compared with a single memory, so there always is one.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Literal

import msgspec

from hive_mind.errors import BackendUnavailable, HiveError, InvalidInput
from hive_mind.evals import JOBS
from hive_mind.evals.arms import BY_WORDS, deal_by, mode_of
from hive_mind.evals.datasets import Dataset
from hive_mind.evals.datasets.load import load_dataset
from hive_mind.evals.experiments import (
    ALONE,
    RUNNING,
    Arm,
    Cell,
    CellReport,
    Chosen,
    DataSource,
    Experiment,
    Fault,
    Retrieval,
    cells_of,
    nodes_of,
    plain_arm,
    takes,
)
from hive_mind.evals.metrics import identical
from hive_mind.evals.running import asked_of, data_key, fingerprint, read_run, unknown_ids
from hive_mind.evals.running.cell import CellOrder, run_cell
from hive_mind.evals.running.folder import CellFolder, as_json, environment_of, open_run, refuse_other_things
from hive_mind.evals.running.vector_cache import Vectors, fill
from hive_mind.evals.running.workers import Job, JobProgress, JobResult, ReportProgress, run_jobs
from hive_mind.evals.scorecard import NOT_GIVEN, CellCard, scorecard_of
from hive_mind.hive.topology.spec import is_shared
from hive_mind.measure import Estimate
from hive_mind.model.query import LIMIT, METHOD
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import model_modules
from hive_mind.safe_files import PassingFolder

# Seconds on two cores, measured on the standard experiment; only their ratios count. A process, a document, a question.
_BEGINS, _LEARNS, _ASKS = 2.0, 0.002, 0.01
# Extra cost of a question for each node that has to be asked.
_NODE = 0.15

# Every cell opens an arm.
_ARMS = "hive_mind.evals.running.cell"


def weight_of(cell: Cell, documents: int, questions: int) -> float:
    """Expected cost of a cell, in seconds of a machine like ours."""
    arm = cell.arm
    nodes = 1 if arm.kind in ALONE else (arm.groups or arm.agents)
    far = {"in-process": 1.0, "simulator": 1.5, "redis": 3.0}[arm.place]
    return _BEGINS + far * (documents * _LEARNS + questions * _ASKS * (1 + _NODE * min(nodes, 100)))


_log = logging.getLogger(__name__)

WITHOUT_MODEL = "no embedding model, so everything ranks by words alone (lexical); hive-mind doctor says how to have one"

Data = Mapping[tuple[DataSource, int], Dataset]


RunListener = Callable[[int, int, str], None]
"""Gets the number of finished cells, of all cells, and what is under way."""


@dataclass(frozen=True, slots=True)
class RunOrder:
    """A run's input, place and means.

    `cache` is the folder of vectors, `arguments` the command line as given, `absent` the data sets that were left out already.
    `needs_model`: nothing ranks by words for want of a model.
    """

    experiment: Experiment
    folder: Path
    settings: Settings
    cache: Path
    jobs: int = JOBS
    arguments: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    needs_model: bool = False


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run went. `cells` are in the experiment's order."""

    folder: Path
    cells: tuple[CellReport, ...]

    @property
    def failed(self) -> tuple[CellReport, ...]:
        return tuple(cell for cell in self.cells if cell.status == "failed")


def default_folder(name: str) -> Path:
    return Path("runs") / f"{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def run(order: RunOrder, report: RunListener) -> RunResult:
    """Run an experiment. Raises `InvalidInput` before anything is done; cells that fail are part of the result."""
    # Every cell would fail of it, one after the other.
    roles = [name for name in ("answerer", "judge") if getattr(order.experiment, name) == "model"]
    if roles and not order.settings.llm:
        raise InvalidInput(
            f"{order.experiment.name} has {' and '.join(f'{name}: model' for name in roles)}, and no language model is named: "
            "set HIVE_MIND_LLM, or give --no-synthesis or --no-judge"
        )
    refuse_other_things(order.folder)
    cells_of(order.experiment)
    experiment, data = _with_data(order.experiment, order.settings)
    report(0, 0, "preparing")
    vectors = _vectors(experiment, order, report)
    if not vectors.dimension and _needs_vectors(experiment):
        if order.needs_model:
            raise InvalidInput(f"mode {experiment.retrieval[0].mode} needs an embedding model: see hive-mind doctor")
        _log.warning(WITHOUT_MODEL)
        experiment = _by_words_alone(experiment)
    cells = cells_of(experiment)
    # The means behind rows, which a run has to go on with.
    asks = "model" in (experiment.answerer, experiment.judge)
    means = {
        "embedding": vectors.model,
        "vector_index": order.settings.ann if vectors.dimension else "",
        "language_model": order.settings.llm if asks else "",
    }
    fingerprints = {data_key(*key): fingerprint(dataset) for key, dataset in data.items() if key[0] in experiment.data}
    # Not there, or without a question.
    absent = [*order.absent, *(source.name for source in order.experiment.data if source not in experiment.data)]
    open_run(order.folder, experiment, environment_of(order.arguments, means, fingerprints, absent))
    orders = {cell.id: CellOrder(cell, experiment, order.folder, order.settings, vectors) for cell in cells}
    sizes = {cell.id: (data[cell.data, cell.seed].documents, data[cell.data, cell.seed].questions) for cell in cells}
    # The longest first, so that no long one begins when everything else is done.
    ordered = sorted(cells, key=lambda cell: -weight_of(cell, *sizes[cell.id]))
    _run_cells([orders[cell.id] for cell in ordered], order.folder, order.jobs, report)
    return RunResult(order.folder, tuple(_report_of(order.folder, cell) for cell in cells))


def work_on_cell(order: CellOrder, progress: ReportProgress) -> CellReport:
    """A cell, in a process of its own; it is found there by this name."""
    folder = CellFolder.of(order.folder, order.cell.id)
    with folder.held(), noted(folder.notes):
        return asyncio.run(run_cell(order, progress))


def work_on_vectors(given: tuple[Experiment, RunOrder], progress: ReportProgress) -> Vectors:
    """All vectors, in a process of its own: a model stays in memory for as long as its process lives."""
    return asyncio.run(_filled(*given, progress))


async def _filled(experiment: Experiment, order: RunOrder, progress: ReportProgress) -> Vectors:
    data = [await asked_of(source, seed, experiment, order.settings) for source in experiment.data for seed in experiment.seeds]
    return await fill(order.cache, data, order.settings, progress)


def _with_data(experiment: Experiment, settings: Settings) -> tuple[Experiment, Data]:
    """The experiment without data sets of which nothing is asked, and the others. Raises `InvalidInput` where none is left."""
    data = {
        (source, seed): asyncio.run(asked_of(source, seed, experiment, settings))
        for source in experiment.data
        for seed in experiment.seeds
    }
    sources = tuple(source for source in experiment.data if all(data[source, seed].questions for seed in experiment.seeds))
    left = ", ".join(source.name for source in experiment.data if source not in sources)
    if not sources and experiment.subset:
        raise InvalidInput(f"--subset {','.join(experiment.subset)} names no question of {left}: look at the ids in their files")
    if not sources:
        remedy = "give other data, or questions to `hive-mind eval run --questions`"
        raise InvalidInput(f"there is nothing to ask: no question with a known answer in {left}; {remedy}")
    if left:
        _log.warning("left out, because none of the questions asked is theirs: %s", left)
    if unknown := unknown_ids(experiment.subset, data.values()):
        _log.warning("no question has the id %s, which --subset names", " or ".join(unknown))
    return replace(experiment, data=sources), data


def _needs_vectors(experiment: Experiment) -> bool:
    """Whether anything is ranked by meaning here: an agent that runs has a model of its own."""
    kinds = {arm.kind for arm in (*experiment.arms, *(arm for chosen in experiment.chosen for arm in chosen.arms))}
    return kinds != {RUNNING} and any(retrieval.mode not in BY_WORDS for retrieval in experiment.retrieval)


def _by_words_alone(experiment: Experiment) -> Experiment:
    """The part measurable without a model: every way to rank that needs vectors becomes one that does not."""
    distinct: dict[str, Retrieval] = {}
    for retrieval in experiment.retrieval:
        if retrieval.mode not in ("recent", *BY_WORDS):
            retrieval = replace(retrieval, mode="lexical", name="lexical")
        distinct.setdefault(retrieval.name, retrieval)
    return replace(experiment, retrieval=tuple(distinct.values()))


def _vectors(experiment: Experiment, order: RunOrder, report: RunListener) -> Vectors:
    nothing = Vectors(order.cache)
    if not _needs_vectors(experiment) or order.settings.embed == "none":
        return nothing
    for news in run_jobs([Job("vectors", work_on_vectors, (experiment, order), model_modules(order.settings))], 1):
        match news:
            case JobProgress(_, what, done, total):
                report(done, total, what)
            case JobResult(_, Vectors() as vectors):
                return vectors
            case JobResult(_, _, why):
                raise BackendUnavailable("embedding", f"{why}; run the same command again")
    return nothing


def _run_cells(orders: Sequence[CellOrder], folder: Path, jobs: int, report: RunListener) -> None:
    waiting: dict[str, CellOrder] = {}
    for order in orders:
        cell = CellFolder.of(folder, order.cell.id)
        report_before = cell.report()
        if report_before is not None and report_before.status == "failed":
            # It is tried once more: its needs may be met now.
            cell.again()
        elif report_before is not None:
            continue
        waiting[order.cell.id] = order
    done = len(orders) - len(waiting)
    todo = [Job(id, work_on_cell, order, (_ARMS, *model_modules(order.settings))) for id, order in waiting.items()]
    for news in run_jobs(todo, jobs):
        match news:
            case JobProgress(name, phase):
                report(done, len(orders), f"{name}: {phase}")
            case JobResult(name):
                done += 1
                report(done, len(orders), _settle(news, waiting[name], folder))


def _settle(ended: JobResult, order: CellOrder, folder: Path) -> str:
    """A cell that could not be run is finished with its reason."""
    if not ended.why:
        return f"{ended.name} is done"
    cell = CellFolder.of(folder, ended.name)
    if ended.trace:
        cell.path.mkdir(parents=True, exist_ok=True)
        (cell.path / "defect.txt").write_text(ended.trace, "utf-8")
    cell.finish(CellReport(order.cell.id, as_json(order.cell), "failed", ended.why, embedding=order.vectors.model))
    return f"{ended.name} failed: {ended.why}"


def _report_of(folder: Path, cell: Cell) -> CellReport:
    report = CellFolder.of(folder, cell.id).report()
    assert report is not None, f"{cell.id} ended without a report"  # noqa: S101 - every job ends in one
    return report


@contextmanager
def noted(file: Path) -> Iterator[None]:
    """While this is open, warnings of ours go to the file, which is made with the first, and nowhere else.

    With members that are gone on purpose there is one per question. On the terminal they would hide which cell is done.
    """
    ours = logging.getLogger("hive_mind")
    handler = logging.FileHandler(file, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    handler.setLevel(logging.WARNING)
    goes_on, ours.propagate = ours.propagate, False
    ours.addHandler(handler)
    try:
        yield
    finally:
        ours.removeHandler(handler)
        ours.propagate = goes_on
        handler.close()


ScopeName = Literal["per-conversation", "pooled"]


@dataclass(frozen=True, slots=True)
class RetrievalRun:
    """The measurement to make. `cache` is a folder of vectors that are reused: nothing is embedded twice.

    `arms` are single or topologies, of which `down` nodes are stopped once everything is learned.
    """

    dataset: str
    data: Path
    method: str = METHOD
    scope: ScopeName = "per-conversation"
    name: str = ""
    limit: int = LIMIT
    cache: Path | None = None
    arms: tuple[Arm, ...] = (Arm(),)
    down: int = 0
    ranking: RankingSettings | None = None
    """How memories and hives rank; None: by themselves."""


class RetrievalLine(msgspec.Struct, frozen=True):
    """Results of an arm. Metrics are macro means in [0, 1] over the questions with a relevant document."""

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
    stopped: list[str]
    """The nodes that were stopped, as the seed chose them."""
    held: float | None
    """The share of the hive on nodes that run; None where none was stopped."""


def evaluate(
    request: RetrievalRun, settings: Settings, report: RunListener, out: Path | None = None, arguments: tuple[str, ...] = ()
) -> list[RetrievalLine]:
    """A line for each arm. `out` is the folder of the run; without one nothing is kept.

    Raises `InvalidInput` for data or a method that can't be used or a missing embedding model, `HiveError` for an arm that fails.
    """
    experiment = experiment_of(request)
    with PassingFolder() as passing:
        folder, vectors = out or passing.path / "run", request.cache or passing.path / "vectors"
        order = RunOrder(experiment, folder, settings, vectors, arguments=arguments, needs_model=True)
        for failed in run(order, report).failed:
            raise HiveError(failed.why)
        return list(_lines(request, folder))


def experiment_of(request: RetrievalRun) -> Experiment:
    """The experiment that it is. Raises `InvalidInput`."""
    mode, fault = mode_of(request.method), Fault(request.down)
    shared = tuple(arm for arm in request.arms if is_shared(arm.kind))
    for arm in shared:
        deal_by(arm.deal)
        if not takes(arm, fault):
            raise InvalidInput(f"with {request.down} of {nodes_of(arm)} nodes down no node is left to ask; stop fewer")
    # As for `eval run`, --data may also be the folder of all sets.
    inner = request.data / request.name
    path, part = (inner, "") if request.name and inner.is_dir() else (request.data, request.name)
    name = load_dataset(path, part, request.dataset).name
    return Experiment(
        "retrieval",
        (DataSource(name, request.dataset, path.absolute(), part, request.scope == "pooled"),),
        (Arm(),),
        (Retrieval(mode, mode, request.ranking),),
        limit=request.limit,
        answerer="none",
        chosen=(Chosen(shared, faults=(fault,)),) if shared else (),
        has_baselines=False,
    )


def _lines(request: RetrievalRun, folder: Path) -> Iterator[RetrievalLine]:
    cards, measured = {card.id: card for card in scorecard_of(folder).cells}, read_run(folder)
    cells = {measured.planned[cell.id].arm: cell for cell in measured.cells}
    for arm in request.arms:
        cell = cells[plain_arm(arm)]
        same = identical(cell.rows, cells[Arm()].rows, min(request.limit, 10))
        yield _line(request, cards[cell.id], [value for value in same if value is not None])


def _line(request: RetrievalRun, card: CellCard, same: list[float]) -> RetrievalLine:
    names = [f"{metric}@{request.limit}" for metric in ("recall", "mrr", "ndcg")]
    recall, system = card.metrics.get(names[0]), card.system
    counted = recall.n if recall else 0
    estimates = {name: card.metrics.get(name) for name in names}
    parts = {value if value != NOT_GIVEN else "all": of for value, of in card.by.get("category", {"all": card.metrics}).items()}
    return RetrievalLine(
        dataset=card.data.name,
        scope=request.scope,
        method=request.method,
        topology=card.arm.kind,
        agents=card.arm.agents,
        deal=card.arm.deal if is_shared(card.arm.kind) else "",
        documents=card.documents,
        questions=counted,
        left_out=sum(card.left_out.values()) + card.questions - counted,
        left_out_reasons=card.left_out | {f"questions without a result: {why}": count for why, count in card.errors.items()},
        metrics={name: _mean(estimate) for name, estimate in estimates.items()},
        intervals={
            name: [round(estimate.low, 4), round(estimate.high, 4)] if estimate else None for name, estimate in estimates.items()
        },
        groups=card.groups,
        by_category={value: {name: _mean(of.get(name)) for name in names} for value, of in parts.items()},
        cpu_ms_per_query=round(system.cpu_ms.median, 4) if system else None,
        messages_per_query=_mean(system.messages) if system else None,
        bytes_per_query=_mean(system.bytes) if system else None,
        completeness=_mean(system.completeness) if system else None,
        embedding=card.embedding,
        identical_top10=round(fmean(same), 4) if same else None,
        stopped=card.stopped,
        held=None if card.held is None else round(card.held, 4),
    )


def _mean(estimate: Estimate | None) -> float | None:
    return round(estimate.mean, 4) if estimate else None
