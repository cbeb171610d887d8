"""`eval retrieval` as a case of `eval run`: one data set and one way to rank, a single memory and topologies, no answerer.

The request becomes an experiment that the harness runs, and the scorecard of that gives a line for each arm. The others are
compared with a single memory, so there always is one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal

import msgspec

from hive_mind.errors import HiveError, InvalidInput
from hive_mind.evals.arms import deal_by
from hive_mind.evals.arms.methods import mode_of
from hive_mind.evals.datasets.load import load_dataset
from hive_mind.evals.experiments import Arm, Chosen, DataSource, Experiment, Fault, Retrieval, nodes_of, plain_arm, takes
from hive_mind.evals.metrics import identical
from hive_mind.evals.running import read_run
from hive_mind.evals.running.harness import RunListener, RunOrder, run
from hive_mind.evals.scorecard import NOT_GIVEN, CellCard, scorecard_of
from hive_mind.hive.topology.spec import is_shared
from hive_mind.measure import Estimate
from hive_mind.model.query import LIMIT, METHOD
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.settings import Settings
from hive_mind.safe_files import PassingFolder

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
