"""The subjects of an evaluation: arms, and the cells that arms, data sets, ways to retrieve, seeds and faults make together.

Values only. `reading` reads them from a file, `matrix` multiplies them, `arms/` brings them to life.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from hive_mind.hive.topology.placement import REPLICAS
from hive_mind.hive.topology.spec import TopologyName
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
