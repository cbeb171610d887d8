"""A data set asked of a fleet: dealt to its agents, shared, asked by each agent in turn, with what that cost in messages.

The gate is open, so that every topology holds the same facts; what is compared is where they lie and how they are found.
"""

from dataclasses import dataclass, replace
from typing import get_args

from hive_mind.embed.base import Embedder
from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets import Dataset, Scope
from hive_mind.evals.dealing import deal_by, names_of
from hive_mind.evals.retrieval import Asked, Cost, Progress, ask, keep
from hive_mind.memory.promotion import PromotionSettings
from hive_mind.model import wire
from hive_mind.model.messages import Message, SearchReply, SearchRequest
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.fleet import TOPOLOGIES, Fleet, FleetPlan, TopologyName, open_fleet
from hive_mind.runtime.runner import RunnerSettings
from hive_mind.runtime.settings import Settings

_ASKED = get_args(SearchRequest) + get_args(SearchReply)

# Where nobody was stopped nobody is silent, so a machine that is busy for a second must not look like a part of the hive that is.
_PATIENT = RunnerSettings(ask_deadline_ms=60_000, fetch_deadline_ms=60_000)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """A topology under test. `down` nodes are stopped after everything was learned; `deal` says who learns what."""

    topology: TopologyName = "single"
    agents: int = 1
    deal: str = "round-robin"
    down: int = 0
    group_size: int = 5
    replicas: int = 3
    ranking: RankingSettings | None = None

    def plan(self) -> FleetPlan:
        """The fleet. Raises `InvalidInput` for a topology that does not exist."""
        if self.topology not in TOPOLOGIES:
            raise InvalidInput(f"there is no topology {self.topology!r}; known: {', '.join(TOPOLOGIES)}")
        return FleetPlan(
            self.topology,
            names_of(self.agents),
            group_size=self.group_size,
            replicas=self.replicas,
            gate=PromotionSettings(is_open=True),
            runner=RunnerSettings() if self.down else _PATIENT,
            ranking=self.ranking or RankingSettings(),
        )


@dataclass(slots=True)
class Scales:
    """Weighs questions and replies while it is on: encoding them costs more than sending them, and would be measured as time."""

    is_on: bool = False
    messages: int = 0
    bytes: int = 0

    def weigh(self, message: Message) -> int:
        """The bytes of a message, as they would travel."""
        if not self.is_on or not isinstance(message, _ASKED):
            return 0
        size = len(wire.encode(message))
        self.messages += 1
        self.bytes += size
        return size


async def ask_fleet(
    dataset: Dataset,
    arrangement: Arrangement,
    settings: Settings,
    embedder: Embedder,
    method: str,
    limit: int,
    progress: Progress | None = None,
) -> list[Asked]:
    """Every question of a data set, each scope in a fleet of its own, in RAM."""
    asked: list[Asked] = []
    for scope in dataset.scopes:
        scales = Scales()
        async with await open_fleet(arrangement.plan(), replace(settings, store="memory"), embedder, scales.weigh) as fleet:
            asked += await _ask_scope(fleet, scope, arrangement, scales, method, limit, progress)
    return asked


async def _ask_scope(
    fleet: Fleet,
    scope: Scope,
    arrangement: Arrangement,
    scales: Scales,
    method: str,
    limit: int,
    progress: Progress | None,
) -> list[Asked]:
    documents: dict[str, list[str]] = {}
    dealt = deal_by(arrangement.deal)(scope.documents, len(fleet.memories))
    for number, (memory, some) in enumerate(zip(fleet.memories.values(), dealt, strict=True), start=1):
        for fact, names in (await keep(memory, replace(scope, documents=tuple(some)), None)).items():
            documents.setdefault(fact, []).extend(names)
        if progress:
            progress(f"{scope.name}: agents taught", number, len(dealt))
    await fleet.settled()
    askers = await _without(fleet, arrangement.down)
    asked: list[Asked] = []
    for number, question in enumerate(scope.questions):
        agent = askers[number % len(askers)]
        asked.append(await ask(fleet.memory(agent), question, documents, method, limit, Meter(fleet, agent, scales)))
        if progress:
            progress(f"{scope.name}: questions", number + 1, len(scope.questions))
    return asked


async def _without(fleet: Fleet, down: int) -> list[str]:
    """Stop nodes, the last ones; the agents that can still ask."""
    stopped = list(fleet.nodes)[len(fleet.nodes) - down :] if down else []
    if len(stopped) == len(fleet.nodes) and stopped:
        raise InvalidInput(f"with {down} of {len(fleet.nodes)} nodes down nobody is left to ask")
    for name in stopped:
        await fleet.stop(name)
    return [agent for agent in fleet.memories if fleet.plan.node_of(agent) not in stopped]


class Meter:
    """What one question of one agent cost the hive."""

    def __init__(self, fleet: Fleet, agent: str, scales: Scales) -> None:
        self._fleet, self._agent, self._scales = fleet, agent, scales

    def begin(self) -> None:
        """Weigh from now on."""
        self._scales.is_on, self._scales.messages, self._scales.bytes = True, 0, 0

    def end(self) -> Cost:
        """What it was since."""
        self._scales.is_on = False
        completeness = getattr(self._fleet.memory(self._agent), "completeness", 1.0)
        return Cost(self._scales.messages, self._scales.bytes, completeness)
