"""The scorecard of a run: every figure of every cell, computed from its rows, timings and report, and from nothing else.

Table, report, comparison and gate draw from it. A cell that failed, or was never finished, is in it with its reason and without
figures: means over the questions it happened to answer would flatter it.
"""

from pathlib import Path
from typing import Any, Literal

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.evals.experiments.values import Arm, Fault, Mode
from hive_mind.measure.differences import JUDGED_MIN, Difference
from hive_mind.measure.intervals import Estimate, Middle

FILE = "scorecard.json"


class AgainstSingle(msgspec.Struct, frozen=True):
    """Beside one memory that has everything. `identical_top_k`: share of questions with its facts, in its order."""

    reference: str
    """The id of the cell it is compared with."""
    identical_top_k: Estimate | None
    metrics: dict[str, Difference] = {}


class Learning(msgspec.Struct, frozen=True):
    """Cost of learning. None: not measured in this place."""

    facts: int = 0
    messages_per_fact: float | None = None
    bytes_per_fact: float | None = None
    replica_lag_s: float | None = None
    cpu_s: float | None = None
    wall_s: float | None = None
    memory_per_agent_bytes: int | None = None


class System(msgspec.Struct, frozen=True):
    """Cost of answering, per question unless the name says otherwise. `usd` is None where no price is known."""

    messages: Estimate
    bytes: Estimate
    fan_out: Estimate
    completeness: Estimate
    cpu_ms: Middle
    wall_ms: Middle
    tokens_in_total: int = 0
    tokens_out_total: int = 0
    usd_total: float | None = None
    usd: float | None = None
    learning: Learning = Learning()


class DataPart(msgspec.Struct, frozen=True):
    """Which data a cell asked. Other fields of the experiment's data source are in `experiment`."""

    name: str
    format: str = "auto"
    part: str = ""
    is_pooled: bool = True


class RetrievalPart(msgspec.Struct, frozen=True):
    """How a cell ranked."""

    name: str = "hybrid"
    mode: Mode = "hybrid"


class CellCard(msgspec.Struct, frozen=True):
    """All figures of a cell. Only `status` "done" has any; `why` says why another one has none.

    `by` breaks the metrics out: "category", "intent" or "source" → value → metric. `errors` are questions without a result by
    their reason; they are part of `questions` and of no mean. `groups` counts the groups that questions come in, such as
    conversations: then intervals are drawn by group; 0 where there are none. `figures` are of the whole cell, such as cohesion.
    """

    id: str
    data: DataPart
    arm: Arm
    retrieval: RetrievalPart
    seed: int
    fault: Fault
    status: Literal["done", "failed", "unfinished"]
    why: str = ""
    documents: int = 0
    questions: int = 0
    groups: int = 0
    errors: dict[str, int] = {}
    left_out: dict[str, int] = {}
    embedding: str = ""
    answerer: str = ""
    judge: str = ""
    metrics: dict[str, Estimate] = {}
    by: dict[str, dict[str, dict[str, Estimate]]] = {}
    figures: dict[str, float | None] = {}
    system: System | None = None
    against_single: AgainstSingle | None = None
    stopped: list[str] = []
    """The nodes that the seed chose to stop; others would leave another part of the hive."""
    held: float | None = None
    """The share of the hive that the rest holds; None where none was stopped."""

    @property
    def has_too_few_questions(self) -> bool:
        """Whether it was asked fewer than can be judged by."""
        return self.questions < JUDGED_MIN


class Scorecard(msgspec.Struct, frozen=True):
    """A whole run. `experiment` and `environment` are those files of its folder, as plain JSON; `limit` is k."""

    name: str
    limit: int
    experiment: dict[str, Any]
    environment: dict[str, Any]
    cells: list[CellCard]

    @property
    def done(self) -> list[CellCard]:
        return [cell for cell in self.cells if cell.status == "done"]

    @property
    def without_figures(self) -> list[CellCard]:
        return [cell for cell in self.cells if cell.status != "done"]


def read_scorecard(folder: Path) -> Scorecard:
    """The scorecard as it was written. Raises `InvalidInput` if it is missing or can't be read."""
    path = folder / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Scorecard)
    except FileNotFoundError:
        raise InvalidInput(f"{path} is not there: make it with hive-mind eval report {folder}") from None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} can't be read ({error}): make it anew with hive-mind eval report {folder}") from error
