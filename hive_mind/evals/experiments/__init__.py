"""The subjects of an evaluation and its records: arms, the cells that experiments make, and the rows that cells become.
Experiments that come along are YAML files beside this; `hive-mind eval list` shows them.

`reading` reads an experiment from a file, `arms/` brings arms to life. Its cells are everything multiplied with everything, once,
in an order that never changes. Baselines are added where an experiment leaves them out, so that no figure stands alone, unless it
says that it has none. A fault that an arm can't have (nodes down where there is one, lost messages outside the simulator) makes
no cell.

A row stands for a question, its times apart from it, and there is a report per cell. Rows hold nothing that a clock or the
machine decides, so the same seed writes the same bytes; `Timing` holds those values. Every figure of a report is computed from
rows, timings and cell reports, and from nothing else.
"""

from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.hive.topology.sharded import REPLICAS
from hive_mind.hive.topology.spec import SINGLE, SPECS, TopologyName, has_node_per, readers, reads
from hive_mind.model.query import LIMIT
from hive_mind.ranking.pipeline import RankingSettings

ArmKind = Literal[TopologyName, "running", "seed-federated", "routed", "bm25", "random", "full-context"]
Place = Literal["in-process", "redis", "simulator"]
Mode = Literal["hybrid", "semantic", "lexical", "recent", "rrf", "weighted", "seed-federated"]
"""How to rank, as document 003 names it; "recent" is newest first, and relevance breaks ties. The last three are what the source
documents propose instead, built from a memory's own results: here to be measured, not to be used."""

TURNS_MAX = 1_000_000
"""Of a generated data set."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to hold learned facts and to find them again.

    `kind` is a topology, document 004's federated ranking ("seed-federated"), a hive with a coordinator that asks only the
    `fan_out` agents nearest by centroid ("routed"), the agent of a `memory` data set, asked in the process where it runs
    ("running"), or a baseline that is always there. `agents` learn, dealt by `deal`; `groups` is their number in a federated
    arm. `place` is where it really ran, and every report says it.
    """

    kind: ArmKind = "single"
    agents: int = 1
    groups: int = 0
    replicas: int = REPLICAS
    deal: str = "round-robin"
    fan_out: int = 0
    place: Place = "in-process"


@dataclass(frozen=True, slots=True)
class Fault:
    """Faults while questions are asked: nodes stopped after all was learned, messages lost, members that are slow.

    `down` is a number of nodes; `loss` a share of messages in [0, 1]; `slow` a number of members that answer `slow_ms` late.
    Loss and slowness are simulated: only the arms of the simulator take them.
    """

    down: int = 0
    loss: float = 0.0
    slow: int = 0
    slow_ms: int = 0


@dataclass(frozen=True, slots=True)
class Retrieval:
    """How every arm of a cell ranks: one mode and one set of settings, whatever the topology. `name` is for reports."""

    name: str = "hybrid"
    mode: Mode = "hybrid"
    ranking: RankingSettings | None = None


@dataclass(frozen=True, slots=True)
class DataSource:
    """Where a data set comes from. `format`: auto, locomo, longmemeval, beir, jsonl, generated, demo, memory.

    A generated one has `turns`, `agents` and the cell's seed instead of a `path`; `memory` is the name of an agent of this home,
    with its facts as the documents: those of the whole hive, where it runs in one. `questions` is a file in document 003's format
    that replaces the set's own questions.
    """

    name: str
    format: str = "auto"
    path: Path | None = None
    part: str = ""
    is_pooled: bool = True
    turns: int = 0
    agents: int = 0
    memory: str = ""
    questions: Path | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement: everything that is fixed while questions are asked. Equal values have equal `id`s: file names."""

    id: str
    data: DataSource
    arm: Arm
    retrieval: Retrieval
    seed: int
    fault: Fault = field(default=Fault())


@dataclass(frozen=True, slots=True)
class Chosen:
    """Arms that are not multiplied with everything: only with these data sets, by name, and these faults; empty: with all."""

    arms: tuple[Arm, ...]
    data: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Experiment:
    """The factors to multiply. `limit` is k. `answerer` is "none", "quoting" or "model"; `judge` is "none" or "model".

    `subset` are question ids, empty for all; `per_category` is how many questions of each category are asked, 0 for all.
    `chosen` are arms beside `arms` that name their own factors.
    """

    name: str
    data: tuple[DataSource, ...]
    arms: tuple[Arm, ...]
    retrieval: tuple[Retrieval, ...] = (Retrieval(),)
    seeds: tuple[int, ...] = (1,)
    faults: tuple[Fault, ...] = (Fault(),)
    limit: int = LIMIT
    answerer: Literal["none", "quoting", "model"] = "quoting"
    judge: Literal["none", "model"] = "none"
    subset: tuple[str, ...] = ()
    per_category: int = 0
    chosen: tuple[Chosen, ...] = ()
    has_baselines: bool = True


RUNNING: ArmKind = "running"
BASELINES: tuple[ArmKind, ...] = ("bm25", "random", "full-context")
TOPOLOGIES: tuple[ArmKind, ...] = tuple(spec.name for spec in SPECS.values())
GROUPED: tuple[ArmKind, ...] = (*readers("groups"), "seed-federated")
ALONE: tuple[ArmKind, ...] = (SINGLE, RUNNING, *BASELINES)
"""Kinds that hold everything in one place: agents and how they are dealt mean nothing to them."""


def cells_of(experiment: Experiment) -> tuple[Cell, ...]:
    """All cells, data set by data set. Raises `InvalidInput` where two would have the same name."""
    # Everything as context is only something to a model that reads it.
    kinds = BASELINES if experiment.answerer == "model" else BASELINES[:2]
    baselines = map(Arm, kinds if experiment.has_baselines else ())
    everywhere = Chosen(tuple(dict.fromkeys((*experiment.arms, *baselines))))
    chosen_arms = [(chosen, plain_arm(arm)) for chosen in (everywhere, *experiment.chosen) for arm in chosen.arms]
    cells: dict[str, Cell] = {}
    for data, seed, (chosen, arm) in product(experiment.data, experiment.seeds, chosen_arms):
        if chosen.data and data.name not in chosen.data:
            continue
        # A baseline ranks in its own way, whatever the others do: once is enough.
        ways = experiment.retrieval[:1] if arm.kind in BASELINES else experiment.retrieval
        faults = [fault for fault in chosen.faults or experiment.faults if takes(arm, fault)]
        for cell in (cell_of(data, arm, retrieval, seed, fault) for retrieval, fault in product(ways, faults)):
            if cells.setdefault(cell.id, cell) != cell:
                raise InvalidInput(f"two cells of {experiment.name} would be called {cell.id}; rename a data set or a retrieval")
    return tuple(cells.values())


def cell_of(data: DataSource, arm: Arm, retrieval: Retrieval, seed: int, fault: Fault = Fault()) -> Cell:
    return Cell(_id(data, arm, retrieval, seed, fault), data, arm, retrieval, seed, fault)


def takes(arm: Arm, fault: Fault) -> bool:
    """Whether this can be wrong with such an arm, and leaves somebody to ask."""
    if fault == Fault():
        return True
    if (fault.loss or fault.slow) and arm.place != "simulator":
        return False
    return arm.kind in TOPOLOGIES and fault.down < nodes_of(arm) and fault.slow <= arm.agents


def nodes_of(arm: Arm) -> int:
    """How many nodes can be stopped. In one process a flat hive is one node, and a federated one a node per group."""
    if arm.place != "in-process" or has_node_per(arm.kind, "agent"):
        return arm.agents
    return arm.groups if has_node_per(arm.kind, "group") else 1


def plain_arm(arm: Arm) -> Arm:
    """The arm without what means nothing to its kind, so that equal arms are equal values."""
    if arm.kind in ALONE:
        return Arm(arm.kind, place=arm.place)
    return replace(
        arm,
        groups=arm.groups if arm.kind in GROUPED else 0,
        replicas=arm.replicas if reads(arm.kind, "replicas") else Arm().replicas,
        fan_out=arm.fan_out if arm.kind == "routed" else 0,
    )


def _id(data: DataSource, arm: Arm, retrieval: Retrieval, seed: int, fault: Fault) -> str:
    parts = [data.name, arm.kind]
    if arm.kind not in ALONE:
        parts += [str(arm.agents), arm.deal]
    if arm.kind not in BASELINES:
        parts.append(retrieval.name)
    unusual = {
        f"g{arm.groups}": arm.groups,
        f"fan{arm.fan_out}": arm.fan_out,
        f"r{arm.replicas}": arm.replicas != Arm().replicas,
        f"down{fault.down}": fault.down,
        f"loss{fault.loss:g}": fault.loss,
        f"slow{fault.slow}x{fault.slow_ms}ms": fault.slow,
        "sim" if arm.place == "simulator" else arm.place: arm.place != "in-process",
    }
    return "-".join((*parts, f"s{seed}", *(word for word, is_so in unusual.items() if is_so)))


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question asked of one cell.

    `found` are document ids, best first, at most k, of equal texts the first; `facts` the facts' ids, by which arms are compared;
    `scores` are in [0, 1].
    `metrics` are values in their own ranges, null where undefined. `error` says why a question has no result, where it has none.
    """

    question: str
    found: list[str] = []
    facts: list[str] = []
    scores: list[float] = []
    metrics: dict[str, float | None] = {}
    asked: str = ""
    """The question in words."""
    group: str = ""
    """Its group, such as a conversation: questions of a group are alike. "" where the data has no groups."""
    category: str = ""
    intent: str = ""
    source_bias: str = ""
    answer: str = ""
    messages: int = 0
    bytes: int = 0
    fan_out: int = 0
    """Nodes that were asked."""
    completeness: float = 1.0
    tokens_in: int = 0
    tokens_out: int = 0
    """Of the answer and of its judge, calls that failed included."""
    usd: float | None = None
    """Of the same; None where there are tokens without a known price."""
    error: str = ""
    unanswered: str = ""
    """Why the answerer gave no answer to what was found."""


class Timing(msgspec.Struct, frozen=True):
    """Times of one question, in milliseconds: of the asking process's CPU (all members', in process), and of the wall clock."""

    question: str
    cpu_ms: float
    wall_ms: float


class Learned(msgspec.Struct, frozen=True, omit_defaults=True):
    """Cost of learning until every fact was in its place. None: not measured in this place.

    Messages are those that learning causes; messages by timetable (`weighing`) are not among them.
    """

    facts: int = 0
    messages: int | None = None
    bytes: int | None = None
    replica_lag_s: float | None = None
    """From the last fact kept to the last replica written."""
    cpu_s: float | None = None
    wall_s: float | None = None
    memory_per_agent_bytes: int | None = None
    """In this process what learning added; of processes of their own all that they take, Python and libraries included."""


class CellReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a cell went. A failed one is in the report with its reason; `cell` is the cell's values as plain JSON."""

    id: str
    cell: dict[str, Any]
    status: Literal["done", "failed"]
    why: str = ""
    documents: int = 0
    questions: int = 0
    left_out: dict[str, int] = {}
    embedding: str = ""
    answerer: str = ""
    judge: str = ""
    learned: Learned = Learned()
    figures: dict[str, float | None] = {}
    """Of the whole cell, not of a question, such as embedding cohesion."""
