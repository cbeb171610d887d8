"""The parts that the runs of an agent share, and the names they are kept under."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.hybrid_judge import RunJudge
from hive_mind.agents.runs.run_files import RunFiles
from hive_mind.agents.runs.run_tools import NOTHING
from hive_mind.agents.runs.shared_values import FleetValues, SharedValues
from hive_mind.clocks import wall_clock_ms
from hive_mind.cognition.budget import usd_of
from hive_mind.credentials.base import Secret
from hive_mind.credentials.redaction import Redaction
from hive_mind.errors import InvalidInput
from hive_mind.ledger.base import Ledger
from hive_mind.llm.base import LanguageModel, Usage
from hive_mind.retry import RetrySettings
from hive_mind.runs.adapt import FILE
from hive_mind.runs.graphs.spec import WorkerSpec
from hive_mind.tools.base import Toolbox


@dataclass(frozen=True)
class RunParts:
    """`folder`: the agent's; None keeps no files.

    `toolbox_of` gives the tools of a run: some need its folder.
    """

    agent: str
    ledger: Ledger
    toolbox_of: Callable[[str, RunFiles], Toolbox]
    judge: RunJudge = field(default_factory=RunJudge)
    model: LanguageModel | None = None
    folder: Path | None = None
    retry: RetrySettings = field(default_factory=RetrySettings)
    credential: Callable[[str], Secret | None] = lambda _: None
    hidden: Redaction = NOTHING
    """Of credentials that a model's client or a server of tools has: either may say them."""
    fleet_values: FleetValues | None = None
    """None: the agent belongs to no hive."""
    clock_ms: Callable[[], int] = wall_clock_ms
    rng: random.Random = field(default_factory=random.Random)

    @property
    def desk(self) -> LedgerDesk:
        return LedgerDesk(self.ledger, clock_ms=self.clock_ms)

    def files(self, run: str, identity: str) -> RunFiles:
        """The folder of a run; a sub-agent has one of its own, and only reads what the agent remembers."""
        if self.folder is None:
            return RunFiles(None)
        is_main = "." not in run
        return RunFiles(self.folder / "runs" / run, self.folder / FILE, identity, may_remember=is_main)

    def shared(self, run: str, stream: str) -> SharedValues:
        return SharedValues(run, stream, self.ledger, self.clock_ms, self.fleet_values)


def check_price(spec: WorkerSpec, parts: RunParts) -> None:
    """Raises `InvalidInput` for a limit in dollars that nothing could be counted against."""
    if spec.limits.usd is None or parts.model is None or usd_of(parts.model.name, Usage(1, 1, 1)) is not None:
        return
    raise InvalidInput(
        f"limits.usd: no price is known for {parts.model.name}; limit tokens instead, or name it provider:model, "
        "with genai-prices installed (extra llm)"
    )
