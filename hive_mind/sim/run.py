"""One run: a storm, then calm, then checks. The same seed gives the same run, to the last message."""

from collections.abc import Iterator
from dataclasses import dataclass

from hive_mind.hive.chance import Chance
from hive_mind.sim.faults import HOUR_MS, MINUTE_MS, drawn
from hive_mind.sim.hives import GOSSIP_MS, NODES, first_topology
from hive_mind.sim.invariants.checks import (
    LettingGo,
    agreement,
    difference,
    expired,
    is_only_lingering,
    promises_of,
    settled,
    unfinished,
    unretracted,
)
from hive_mind.sim.invariants.freshness import check_fresh
from hive_mind.sim.invariants.promises import check_moderated
from hive_mind.sim.invariants.visible import check_answer, check_unanswered, check_visible
from hive_mind.sim.siege.intruders import Siege
from hive_mind.sim.storm import Storm
from hive_mind.sim.workload import MODERATORS_NODE, Workload
from hive_mind.sim.world import NewChance, Violation, World

OPERATIONS = 100

# A healed hive of this size agrees within a few rounds; its outboxes take a minute. More is a defect.
_ROUNDS_MAX = 40
_ROUNDS_STEP = 2
_ROUNDS_PATIENT = 10
# The shortest time to live and the grace: until then one that rebooted may keep what the others let go.
_LINGERING_MS = 40 * MINUTE_MS
_AGE_MS = 26 * HOUR_MS
_SAMPLES_MS = 30_000


@dataclass(frozen=True, slots=True)
class SimulationPlan:
    """The simulation to run. `nodes` 0: as many as suit the topology."""

    topology: str
    seed: int
    faults: frozenset[str]
    operations: int = OPERATIONS
    nodes: int = 0


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """The result. `samples`: minutes of virtual time, and the share of all held assertions that all their holders held."""

    plan: SimulationPlan
    violation: Violation | None
    events: int
    virtual_ms: int
    messages: int
    boundaries: int
    digest: str
    rounds: int
    samples: tuple[tuple[float, float], ...]


class Run:
    """A plan being carried out."""

    def __init__(self, plan: SimulationPlan, new_chance: NewChance) -> None:
        def stream(purpose: str) -> Chance:
            return new_chance(f"{plan.seed} {plan.topology} {purpose}")

        chance = stream("plan")
        topology = first_topology(plan.topology, plan.nodes or NODES[plan.topology], chance)
        weather = drawn(plan.faults, stream("weather"))
        liar = chance.choice([name for name in topology.nodes if name != MODERATORS_NODE])
        self.plan, self.rounds = plan, 0
        self.world = World(topology, weather, stream, liar=liar if weather.has_liar else "")
        self.world.on_answer = lambda operation: self._first(check_answer(operation))
        self.world.on_handled = LettingGo(self.world).look
        self._siege = Siege(self.world, stream, stream("siege"))
        self._storm = Storm(self.world, stream("storm"), Workload(stream("workload")), plan.operations)
        self._samples: list[tuple[float, float]] = []

    def report(self) -> SimulationReport:
        """Carry it out and say what came of it."""
        self.world.attempt(self._carry_out)
        world = self.world
        world.note(repr(sorted(difference(world))) if not world.violation else world.violation.invariant)
        network = world.network
        return SimulationReport(
            self.plan,
            world.violation,
            world.schedule.events,
            world.schedule.now_ms,
            network.sent,
            world.boundaries,
            world.digest,
            self.rounds,
            tuple(self._samples),
        )

    def _carry_out(self) -> None:
        phases = (self._rage, self._heal, self._judge, self._refresh, self._age)
        for phase in phases:
            if self.world.violation is None:
                phase()

    def _rage(self) -> None:
        self._storm.begin()
        self._siege.begin()
        while not self._storm.is_over and self.world.violation is None:
            self.world.run(_SAMPLES_MS)
            self._sample()
            self._first(check_unanswered(self.world))
            self._first(unretracted(self.world))

    def _heal(self) -> None:
        self._siege.end()
        self.world.calm_down()
        self._settle()

    def _settle(self) -> None:
        """Until members agree, or should have."""
        for _ in range(0, _ROUNDS_MAX, _ROUNDS_STEP):
            self.world.run(_ROUNDS_STEP * GOSSIP_MS)
            self.rounds += _ROUNDS_STEP
            self._sample()
            if self.world.violation is not None or not _disagreement(self.world):
                return
            if self.rounds % _ROUNDS_PATIENT == 0 and (not difference(self.world) or is_only_lingering(self.world)):
                self.world.schedule.skip(_LINGERING_MS)
        if found := _disagreement(self.world):
            self.world.violate("I2 members agree once healed", found)

    def _judge(self) -> None:
        self._first(check_unanswered(self.world))
        self._first(settled(self.world))
        self._first(check_visible(self.world, promises_of(self.world), self.world.run))

    def _refresh(self) -> None:
        self._first(check_fresh(self.world, self._settle))

    def _age(self) -> None:
        """A day and two hours pass, in which everybody sleeps; then what lived for a day or less is gone."""
        self.world.schedule.skip(_AGE_MS)
        self._settle()
        self._first(expired(self.world))
        # With a liar among them, a node that is to hand over to it may never be rid of what it had: nobody searches there.
        self._first(settled(self.world, is_late=not self.world.liar))
        self._first(check_moderated(self.world))

    def _first(self, violations: Iterator[Violation]) -> None:
        if self.world.violation is None and (found := next(violations, None)) is not None:
            self.world.violate(found.invariant, found.what)

    def _sample(self) -> None:
        self._samples.append((round(self.world.schedule.now_ms / MINUTE_MS, 2), round(agreement(self.world), 4)))


def _disagreement(world: World) -> str:
    return difference(world) or unfinished(world)


def run(plan: SimulationPlan, new_chance: NewChance) -> SimulationReport:
    """Run one seed. `new_chance` makes a stream of chance of a text: `random.Random` does."""
    return Run(plan, new_chance).report()
