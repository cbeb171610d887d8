"""The world of one run: machines, a network between them, their clients, and a trace of everything that happened.

Everything left to chance comes from streams of one seed, one per purpose: so that another fault does not change what agents do.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b

from hive_mind.bus import Envelope
from hive_mind.hive import Chance
from hive_mind.hive.effects import (
    Acknowledge,
    Effect,
    Event,
    Outcome,
    Persist,
    Promote,
    Put,
    Rearrange,
    Received,
    Record,
    Retract,
)
from hive_mind.hive.node import HiveNode
from hive_mind.hive.policy import UNSEALED
from hive_mind.hive.policy.registry_service import REGISTRY
from hive_mind.hive.replication.partition_replica import ASSERTIONS
from hive_mind.hive.topology import Topology
from hive_mind.model.messages import Message, SearchRequest
from hive_mind.sim import Request, Weather
from hive_mind.sim import node_of as new_node_of
from hive_mind.sim.history import History, Operation, node_of, note_promoted, places_of
from hive_mind.sim.keys import BEAT_MS, Mail, Office
from hive_mind.sim.liars import Liar, LyingNode
from hive_mind.sim.machine import Fate, Machine, MachineWorld, Network, Packet, Schedule

NewChance = Callable[[str], Chance]
"""A stream of chance by its name; the same name gives the same stream."""

# The signs of a defect in a node, seen from outside. Anything else (a KeyboardInterrupt, no memory) is not the node's.
DEFECTS = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Violation:
    """Which invariant does not hold, and what was seen."""

    invariant: str
    what: str


class World(MachineWorld):
    """Machines that get events, and virtual time. Stops at the first violation."""

    def __init__(self, topology: Topology, weather: Weather, new_chance: NewChance, *, liar: str = "") -> None:
        self.schedule, self.history = Schedule(), History()
        self.weather, self.topology, self.liar = weather, topology, liar
        self.restored: set[str] = set()
        """Machines whose disks were set back."""
        self.victim, self.rekeyed_ms = "", 0
        """The machine whose key was stolen, if any was, and when it got another."""
        self.genuine: set[tuple[str, bytes, bytes]] = set()
        """Assertions and entries that honest nodes wrote, as their journals have them."""
        self.violation: Violation | None = None
        self.on_answer: Callable[[Operation], None] = lambda _: None
        self.on_handled: Callable[[Machine, Event, Sequence[Effect]], None] = lambda *_: None
        self.boundaries = 0
        """How many there were at which power can go: between two effects, before and after each event."""
        self.cut_at = -1
        """At which of them it goes in any case."""
        self.machines: dict[str, Machine] = {}
        self._founders = frozenset(topology.nodes)
        self._new_chance, self._chance = new_chance, new_chance("world")
        self.network = Network(self.schedule, new_chance("network"), weather, self._deliver)
        self.mail = Mail(Office(new_chance("office"))) if weather.is_signed or liar else None
        self._trace = blake2b(digest_size=8)
        self._cut_in = self._boundaries_until_cut()
        self._is_calm = False
        if self.mail is not None:
            for name in topology.nodes:
                self.mail.office.issue(name)
        for name in topology.nodes:
            self.add(name)

    def add(self, name: str) -> Machine:
        """A new machine; it starts at once."""
        if self.mail is not None and name not in self._founders:
            self.mail.office.issue(name)
        machine = self.machines[name] = Machine(name, self.schedule, self._new_chance(f"machine {name}"), self)
        self.attempt(machine.start)
        if self.mail is not None:
            self._beat(machine)
        return machine

    def honest(self) -> list[Machine]:
        return [machine for machine in self.machines.values() if machine.node is not None and machine.name != self.liar]

    def request(self, machine: Machine, event: Request) -> Operation:
        operation = self.history.begin(event, machine.name, machine.boots, self.schedule.now_ms)
        if not isinstance(event, Promote):
            operation.dots = places_of(machine, event)
        self.attempt(lambda: machine.handle(event))
        return operation

    def rearrange(self, topology: Topology, late: Collection[str] = (), late_ms: int = 0) -> None:
        """Another topology holds: everybody hears of it, each in its own time, some only much later."""
        self.topology = topology
        for machine in list(self.machines.values()):
            after_ms = (late_ms if machine.name in late else 0) + self._chance.expovariate(1 / 5_000)
            self.schedule.after(after_ms, partial(self._rearrange, machine, topology))

    def post(self, author: str, to: str, envelope: Envelope) -> None:
        """Put on its way what somebody says who is no machine of the hive."""
        self.network.send(author, to, envelope.message, envelope)

    def calm_down(self) -> None:
        """No more faults: everything runs and everybody reaches everybody. Clocks stay as they are."""
        self._is_calm, self._cut_in = True, -1
        self.network.heal()
        for machine in self.machines.values():
            self.attempt(machine.start)
            self.attempt(machine.wake_up)
            self._rearrange(machine, self.topology)

    def run(self, span_ms: int) -> None:
        self.attempt(lambda: self.schedule.run(span_ms, lambda: self.violation is not None))

    def attempt(self, do: Callable[[], object]) -> None:
        """Do something with nodes; one that raises is a violation."""
        try:
            do()
        except DEFECTS as defect:
            self.violate("no node raises", f"{type(defect).__name__}: {defect} {_place(defect)}")

    def was_held_up(self, machine: Machine, since_ms: int) -> bool:
        return max(machine.stalled_ms, self.schedule.skipped_ms) >= since_ms

    def violate(self, invariant: str, wrong: str) -> None:
        """Note a violation; the first one counts."""
        if self.violation is None:
            self.violation = Violation(invariant, wrong)

    def note(self, event: str) -> None:
        self._trace.update(f"{self.schedule.now_ms} {event}\n".encode())

    @property
    def digest(self) -> str:
        """The same for two runs in which the same happened at the same times."""
        return self._trace.hexdigest()

    def new_node(self, name: str) -> HiveNode:
        boots = self.machines[name].boots
        chance = self._new_chance(f"node {name} {boots}")
        is_founding = name in self._founders
        kind = LyingNode if name == self.liar else HiveNode
        seal = UNSEALED if self.mail is None else self.mail.started(name)
        node = new_node_of(kind, name, self.topology, chance, seal, is_founding=is_founding)
        self._expect_leavers(node)
        if isinstance(node, LyingNode):
            node.liar = Liar(name, self._new_chance(f"liar {boots}"))
        return node

    def handled(self, machine: Machine, event: Event, effects: Sequence[Effect]) -> None:
        """Trace it, and look at once at what can only be seen now."""
        self.on_handled(machine, event, effects)
        if isinstance(event, Received):
            self.note(f"{machine.name} {event.sender} {type(event.message).__name__} {len(effects)}")
            self._check_order(event, effects)
            return
        self.note(f"{machine.name} {type(event).__name__} {len(effects)}")
        if isinstance(event, (Promote, Retract)) and (operation := self.history.find(event.request)) is not None:
            operation.ahead_ms = node_of(machine).clock.last.ms - machine.true_ms
            if isinstance(event, Promote):
                note_promoted(machine, event, operation)
        if self.mail is not None and machine.name != self.liar:
            records = (record for effect in effects if isinstance(effect, Persist) for record in effect.records)
            put_records = (record for record in records if isinstance(record, Put) and record.table in (ASSERTIONS, REGISTRY))
            self.genuine.update((record.table, record.key, record.value) for record in put_records)

    def pass_boundary(self) -> bool:
        """Count one more moment at which the power may go; whether it goes now."""
        self.boundaries += 1
        self._cut_in -= 1
        if self._cut_in == 0:
            self._cut_in = self._boundaries_until_cut()
            return True
        return self.boundaries == self.cut_at

    def crashed(self, machine: Machine) -> None:
        """Clients of a machine learn nothing more; it comes back."""
        self.note(f"{machine.name} crashed")
        self.history.crashed(machine.name)
        self.schedule.after(self._chance.uniform(1_000, 60_000), machine.start)

    def write(self, records: Sequence[Record], cause: Machine) -> bool:
        takes_time = self.weather.sync_ms and not self._is_calm
        return cause.save(records, self._chance.expovariate(1 / self.weather.sync_ms) if takes_time else 0.0)

    def send(self, to: tuple[str, ...], message: Message, cause: Machine) -> None:
        envelope = None if self.mail is None else self.mail.envelope(cause.name, to, message)
        for name in to:
            self.network.send(cause.name, name, message, envelope)

    def search(self, request: SearchRequest, reply_to: str, cause: Machine) -> None:
        if cause.node is None or (reply := cause.node.search(request, cause.now)) is None:
            return
        if reply_to == cause.name:
            boot = cause.boots
            self.schedule.after(0, lambda: cause.boots == boot and cause.handle(Received(cause.name, reply)))
        else:
            self.send((reply_to,), reply, cause)

    def acknowledge(self, delivery: str) -> None:
        self.network.acknowledge(delivery)

    def done(self, request: str, outcome: Outcome, cause: Machine) -> None:
        operation = self.history.end(request, outcome, self.schedule.now_ms)
        self.note(f"{cause.name} answers {request}")
        if operation is None:
            self.violate("I7 a request is answered once", f"{cause.name} answered {request} again, or nobody asked")
        else:
            self.on_answer(operation)

    def _boundaries_until_cut(self) -> int:
        share = self.weather.crash_boundary_share
        return 1 + int(self._chance.expovariate(share)) if share else -1

    def _deliver(self, packet: Packet) -> Fate:
        machine = self.machines.get(packet.to)
        if machine is None:
            return Fate.AWAY
        sender = packet.sender
        if (envelope := packet.envelope) is not None and self.mail is not None and machine.node is not None:
            if not self.mail.receive(machine.name, envelope, machine.now.wall_ms):
                self.network.acknowledge(packet.delivery)
                return Fate.TAKEN
            sender = envelope.sender
        is_there = machine.handle(Received(sender, packet.message, packet.delivery))
        return Fate.TAKEN if is_there else Fate.AWAY

    def _beat(self, machine: Machine) -> None:
        """Send all, again and again, the keys of all."""
        if self.mail is not None and machine.node is not None and machine.stalled_ms <= self.schedule.now_ms:
            names = tuple(name for name in self.machines if name != machine.name)
            envelope = self.mail.beat(machine.name, names)
            for name in names:
                self.network.send(machine.name, name, envelope.message, envelope)
        self.schedule.after(BEAT_MS, lambda: self._beat(machine))

    def _check_order(self, event: Received, effects: Sequence[Effect]) -> None:
        """An acknowledged event is not repeated: so it must be durable before."""
        if not event.delivery:
            return
        places = [n for n, effect in enumerate(effects) if isinstance(effect, Acknowledge) and effect.delivery == event.delivery]
        persists = [n for n, effect in enumerate(effects) if isinstance(effect, Persist)]
        if places and persists and places[0] < persists[-1]:
            self.violate("I7b acknowledged after it is durable", f"{type(event.message).__name__} was acknowledged first")

    def _rearrange(self, machine: Machine, topology: Topology) -> None:
        """Tell a machine of a topology, and whether it has heard of the one before."""
        if machine.node is not None:
            self._expect_leavers(machine.node)
            machine.handle(Rearrange(topology, machine.node.topology.epoch + 1 >= topology.epoch))

    def _expect_leavers(self, node: HiveNode) -> None:
        """As the membership does: one that has left may have something to hand over, also where nobody knew it as a member."""
        node.partitions.expect(self.machines.keys() - self.topology.nodes)


def _place(defect: BaseException) -> str:
    trace = defect.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"({trace.tb_frame.f_code.co_filename.rpartition('hive_mind/')[2]}:{trace.tb_lineno})"
