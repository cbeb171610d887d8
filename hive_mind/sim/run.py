"""One run: a storm, then calm, then checks. The same seed gives the same run, to the last message.

In the storm clients work while the world around them does what the weather wants.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hive_mind.hive import Chance
from hive_mind.hive.effects import Promote, Retract, Write
from hive_mind.hive.policy.admission import clamped
from hive_mind.hive.topology import Topology
from hive_mind.model.evidence import actor_of
from hive_mind.sim import (
    GOSSIP_MS,
    HOUR_MS,
    MINUTE_MS,
    MODERATORS_NODE,
    NODES,
    YEAR_MS,
    Workload,
    agents_of,
    drawn,
    first_topology,
    joined,
    left,
)
from hive_mind.sim.checks import (
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
from hive_mind.sim.history import Operation, Place, shares_of
from hive_mind.sim.intruders import FORGER, THIEF, Siege
from hive_mind.sim.machine import Machine
from hive_mind.sim.promises import check_answer, check_fresh, check_moderated, check_unanswered, check_visible
from hive_mind.sim.world import NewChance, Violation, World

# A run of 100 operations so takes eight minutes of virtual time, besides stalls.
PAUSE_MS = 5_000

_JOINS_MAX = 2
_STALLS_MS = (10 * MINUTE_MS, 2 * HOUR_MS)
_STEPS_MS = (-30_000, 30_000)
_SPLITS_MS = (MINUTE_MS, 5 * MINUTE_MS)
_LEAPS_MS = (-HOUR_MS, HOUR_MS, 10 * YEAR_MS)


class Storm:
    """Draws operations and faults until there were enough operations."""

    def __init__(self, world: World, chance: Chance, workload: Workload, operations: int) -> None:
        self._world, self._chance, self._workload = world, chance, workload
        self._left = operations
        self._joins = 0
        self._has_left = self._was_restored = False
        self._wrong = ""
        self._agents = tuple(agent for name in world.topology.nodes for agent in agents_of(name))

    def begin(self) -> None:
        names = sorted(self._world.machines)
        self._wrong = self._chance.choice(names)
        self._world.machines[self._wrong].clock_error_ms = self._world.weather.clock_error_ms
        self._again()

    @property
    def is_over(self) -> bool:
        return self._left <= 0

    def _again(self) -> None:
        self._world.schedule.after(self._chance.expovariate(1 / PAUSE_MS), self._step)

    def _step(self) -> None:
        self._left -= 1
        world = self._world
        machine = self._chance.choice(sorted(world.machines.values(), key=lambda each: each.name))
        name = machine.name
        is_moderated = name == MODERATORS_NODE
        request = self._workload.next(world.history.next_request(), name, agents=self._agents, is_moderated=is_moderated)
        if machine.node is not None and name != world.liar and name in world.topology.nodes:
            world.request(machine, request)
        self._spoil()
        if not self.is_over:
            self._again()

    def _spoil(self) -> None:
        """Each fault draws whether it happens or not: one that is switched off leaves the others as they were."""
        world, weather, chance = self._world, self._world.weather, self._chance
        machine = chance.choice(sorted(world.machines.values(), key=lambda each: each.name))
        draws = [chance.random() for _ in range(8)]
        if draws[0] < weather.crash_share and machine.node is not None:
            machine.crash(loses_tail=weather.loses_tails)
        if draws[1] < weather.partition_share:
            network, names = self._world.network, sorted(self._world.machines)
            if network.is_divided:
                network.join()
            else:
                network.divide(self._chance.sample(names, self._chance.randrange(1, len(names))))
        if draws[2] < weather.stall_share:
            span_ms = int(self._chance.uniform(*_STALLS_MS))
            if self._chance.random() < 0.5:
                self._world.schedule.skip(span_ms)
            elif machine.node is not None:
                # The others go on exchanging meanwhile, which costs real time: so not two hours of it.
                machine.stall(min(span_ms, _STALLS_MS[0]))
        if draws[3] < weather.restore_share:
            self._restore(machine)
        if draws[4] < weather.clock_step_share:
            self._step_clock(machine)
        if draws[5] < weather.churn_share:
            self._join()
        if draws[6] < weather.churn_share / 2:
            self._leave(machine)
        if draws[7] < weather.eclipse_share:
            self._eclipse(machine)

    def _restore(self, machine: Machine) -> None:
        """Once a run: what was on one machine only is lost then, and a second time could take what the first one left."""
        if self._was_restored or machine.node is None or machine.name == self._world.liar:
            return
        self._was_restored = True
        # Put in doubt what the others who should have it don't have. Call it before a machine's disk is set back.
        world = self._world
        peers = [peer for peer in world.honest() if peer is not machine]
        for other_machine in peers:
            other_machine.flush()
        world.restored.add(machine.name)
        # Also what something newer took the place of: the newer one may be lost with it.
        places = {place for operation in world.history.operations for place in operation.dots if _has_seen(machine, place)}
        lost = {place for place in places if not any(_keeps(world, peer, place) for peer in peers)}
        for operation in world.history.operations:
            if operation.is_acknowledged and not _is_known(world, operation, machine, peers, lost):
                operation.is_unsure = True
                operation.dots = {place for place in operation.dots if _is_gone(world, place, peers)}
        machine.crash(loses_tail=False)
        machine.disk.restore(self._chance)

    def _step_clock(self, machine: Machine) -> None:
        machine.clock_error_ms += self._chance.choice(_STEPS_MS)
        if self._chance.random() < 0.3 and not self._world.liar and not self._world.weather.has_thief:
            # Only one clock is ever far wrong: most must be right, or nobody can tell.
            self._world.machines[self._wrong].clock_error_ms = self._chance.choice(_LEAPS_MS)

    def _join(self) -> None:
        if self._joins < _JOINS_MAX:
            name = f"n{len(self._world.machines)}"
            self._joins += 1
            self._rearrange(joined(self._world.topology, name))
            self._world.add(name)

    def _leave(self, machine: Machine) -> None:
        topology = self._world.topology
        is_needed = machine.name in (MODERATORS_NODE, self._world.liar, self._world.victim) or machine.name not in topology.nodes
        # With its last holder a partition ends: nothing to hand over to, and nothing to simulate.
        is_last = any(len(topology.holders(partition)) == 1 for partition in topology.held_by(machine.name))
        if not self._has_left and not is_needed and not is_last:
            self._has_left = True
            self._rearrange(left(self._world.topology, machine.name))

    def _rearrange(self, topology: Topology) -> None:
        """Mostly all hear of it soon; now and then some go on for minutes by the one before."""
        names = sorted(self._world.machines)
        late = self._chance.sample(names, len(names) // 2)
        is_split = self._chance.random() < self._world.weather.split_share
        self._world.rearrange(topology, late if is_split else (), int(self._chance.uniform(*_SPLITS_MS)))

    def _eclipse(self, machine: Machine) -> None:
        network, world = self._world.network, self._world
        network.eclipse(machine.name, {world.liar, FORGER, THIEF})
        world.schedule.after(self._chance.uniform(*_SPLITS_MS), lambda: network.shine(machine.name))


def _keeps(world: World, machine: Machine, place: Place) -> bool:
    """Whether a machine brings it to the holders again: one of them, or its author as long as that is a member.

    A node that was handing it over may have finished, and nobody listens to a node that has left.
    """
    if machine.name not in world.topology.nodes or not _has_seen(machine, place):
        return False
    authors = (head.actor for head in shares_of(machine)[place[0]].own_heads())
    return machine.name in world.topology.holders(place[0]) or actor_of(place[1]) in authors


def _is_known(world: World, operation: Operation, machine: Machine, machines: list[Machine], lost: set[Place]) -> bool:
    """Whether somebody else has everything an operation did."""
    event = operation.event
    if isinstance(event, Promote):
        return not operation.dots & lost
    if operation.node != machine.name:
        return True
    if isinstance(event, Retract):
        return all(_is_gone(world, place, machines) for place in operation.dots)
    if isinstance(event, Write):
        return all(any(_has_entry(other_machine, key, value) for other_machine in machines) for key, value in event.entries)
    return True


def _has_seen(machine: Machine, place: Place) -> bool:
    share = shares_of(machine).get(place[0])
    return share is not None and share.members.has_seen(place[1])


def _is_gone(world: World, place: Place, machines: list[Machine]) -> bool:
    """Whether somebody who brings it to the holders again knows that a dot was taken back."""
    keepers = (machine for machine in machines if _keeps(world, machine, place))
    return any(shares_of(keeper)[place[0]].sealed(place[1]) is None for keeper in keepers)


def _has_entry(machine: Machine, key: str, value: str) -> bool:
    entries = machine.node.registry.entries() if machine.node is not None else ()
    return any((entry.key, entry.value) == (key, clamped(key, value)) for entry in entries)


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
        if self.world.violation is None and (violation := next(violations, None)) is not None:
            self.world.violate(violation.invariant, violation.what)

    def _sample(self) -> None:
        self._samples.append((round(self.world.schedule.now_ms / MINUTE_MS, 2), round(agreement(self.world), 4)))


def _disagreement(world: World) -> str:
    return difference(world) or unfinished(world)


def run(plan: SimulationPlan, new_chance: NewChance) -> SimulationReport:
    """Run one seed. `new_chance` makes a stream of chance of a text: `random.Random` does."""
    return Run(plan, new_chance).report()
