"""Simulated machines, the network between them, and virtual time: what is due next happens next, and only waiting takes any of
it.

A machine is a node, its disk and its clock. It can lose power between any two effects; its disk is a journal of batches, of which
the last may not have reached it when the power goes. Messages are late, overtake each other, come twice or not at all, and
sometimes nobody gets across. With a broker a message that arrived there is repeated until it is acknowledged; five times, then it
is put aside.
"""

from collections.abc import Callable, Collection, Sequence
from enum import Enum, auto
from heapq import heappop, heappush
from typing import Protocol

import msgspec

from hive_mind.bus import Envelope
from hive_mind.hive import Chance
from hive_mind.hive.effects import Effect, Event, Now, Put, Record, Tick, keep
from hive_mind.hive.node import HiveNode
from hive_mind.hive.performer import Performer, Ports
from hive_mind.model.messages import Message
from hive_mind.sim import CALM, Weather


class Schedule:
    """Actions by the millisecond at which they are due; those of the same one in the order in which they were put down."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.events = 0
        self.skipped_ms = -1
        """When the last leap ended."""
        self._due: list[tuple[int, int, Callable[[], object]]] = []
        self._count = 0

    def after(self, delay_ms: float, do: Callable[[], object]) -> None:
        self._count += 1
        heappush(self._due, (self.now_ms + max(0, int(delay_ms)), self._count, do))

    def run(self, span_ms: int, is_over: Callable[[], bool]) -> None:
        """Let time pass, until the end of the span or until it `is_over`."""
        end_ms, due = self.now_ms + span_ms, self._due
        while due and due[0][0] <= end_ms and not is_over():
            due_ms, _, do = heappop(due)
            if due_ms > self.now_ms:
                self.now_ms = due_ms
            self.events += 1
            do()
        if not is_over():
            self.now_ms = max(self.now_ms, end_ms)

    def skip(self, span_ms: int) -> None:
        """Nobody gets to do anything for a while, as when all machines sleep: whatever is due meanwhile happens late."""
        self.now_ms += span_ms
        self.skipped_ms = self.now_ms


_TRIES_MAX = 5
_AGAIN_MS = 10_000


class Packet(msgspec.Struct, frozen=True):
    """A message under way. `delivery` is "" where nobody waits for an acknowledgement; `envelope` None where nobody signs."""

    sender: str
    to: str
    message: Message
    delivery: str = ""
    envelope: Envelope | None = None


class Fate(Enum):
    """The fate of a packet at its receiver."""

    TAKEN = auto()
    AWAY = auto()
    """Nobody was there."""


class Network:
    """Carries packets to `deliver`, which says whether the receiver was there."""

    def __init__(self, schedule: Schedule, chance: Chance, weather: Weather, deliver: Callable[[Packet], Fate]) -> None:
        self._schedule, self._chance, self._deliver = schedule, chance, deliver
        self.weather = weather
        self.sent = self.lost = self.put_aside = 0
        self._side: frozenset[str] = frozenset()
        self._only: dict[str, frozenset[str]] = {}
        self._waiting: set[str] = set()
        self._count = 0

    def send(self, sender: str, to: str, message: Message, envelope: Envelope | None = None) -> None:
        self.sent += 1
        if self._chance.random() < self.weather.loss:
            self.lost += 1
            return
        packet = Packet(sender, to, message, self._registered() if self.weather.is_brokered else "", envelope)
        for _ in range(2 if self._chance.random() < self.weather.duplication else 1):
            self._schedule.after(self._chance.expovariate(1 / self.weather.delay_ms), lambda: self._arrive(packet, 1))

    def acknowledge(self, delivery: str) -> None:
        self._waiting.discard(delivery)

    def divide(self, side: Collection[str]) -> None:
        self._side = frozenset(side)

    def heal(self) -> None:
        self._side = frozenset()
        self._only.clear()
        self.weather = CALM

    def eclipse(self, name: str, senders: Collection[str]) -> None:
        """Let a node hear nobody but these, until `shine`."""
        self._only[name] = frozenset(senders)

    def shine(self, name: str) -> None:
        self._only.pop(name, None)

    def join(self) -> None:
        self._side = frozenset()

    @property
    def is_divided(self) -> bool:
        return bool(self._side)

    def reaches(self, a: str, b: str) -> bool:
        return (a in self._side) == (b in self._side) and a in self._only.get(b, (a,))

    def _registered(self) -> str:
        self._count += 1
        delivery = f"d{self._count}"
        self._waiting.add(delivery)
        return delivery

    def _arrive(self, packet: Packet, tries: int) -> None:
        gets_there = self.reaches(packet.sender, packet.to)
        if not packet.delivery:
            if gets_there:
                self._deliver(packet)
            return
        # An acknowledged copy may arrive once more (a broker's own duplicate); an acknowledged repetition does not.
        if tries > 1 and packet.delivery not in self._waiting:
            return
        fate = self._deliver(packet) if gets_there else Fate.AWAY
        if packet.delivery in self._waiting:
            self._repeat(packet, tries + (fate is Fate.TAKEN))

    def _repeat(self, packet: Packet, tries: int) -> None:
        if tries > _TRIES_MAX:
            self._waiting.discard(packet.delivery)
            self.put_aside += 1
            return
        self._schedule.after(_AGAIN_MS * self._chance.uniform(0.5, 1.5), lambda: self._arrive(packet, max(2, tries)))


START_MS = 1_700_000_000_000
"""The true time when a simulation begins, UTC: any will do that no clock error turns negative."""


class PowerCut(Exception):
    """The machine is gone in the middle of what it did."""


class MachineWorld(Ports["Machine"], Protocol):
    """The world around a machine, as it needs it."""

    def new_node(self, name: str) -> HiveNode:
        """The program, started anew."""

    def handled(self, machine: "Machine", event: Event, effects: Sequence[Effect]) -> None:
        """Look at what the node made of an event."""

    def pass_boundary(self) -> bool:
        """Whether the power goes at this boundary between two effects."""

    def crashed(self, machine: "Machine") -> None:
        """Told after each crash."""


class Machine(Performer["Machine"]):
    """A node that can get events, crash, stall and start again from its disk."""

    def __init__(self, name: str, schedule: Schedule, chance: Chance, world: MachineWorld) -> None:
        super().__init__(world)
        self.name, self.disk = name, Disk()
        self.node: HiveNode | None = None
        self.clock_error_ms = 0
        self.boots = 0
        self.stalled_ms = -1
        """Until when it stalled last."""
        self._schedule, self._chance, self._world = schedule, chance, world
        self._booted_ms = 0
        self._events_held: list[Event] = []
        self._tick_ms = -1

    @property
    def now(self) -> Now:
        true_ms = self._schedule.now_ms
        return Now(START_MS + true_ms + self.clock_error_ms, true_ms - self._booted_ms)

    @property
    def true_ms(self) -> int:
        """The time on its wall clock if it were right."""
        return START_MS + self._schedule.now_ms

    def start(self) -> None:
        """Boot, unless it runs: load the journal and begin."""
        if self.node is not None:
            return
        self.boots += 1
        if self._chance.random() < 0.5:
            self._booted_ms = self._schedule.now_ms - self._chance.randrange(1_000_000)
        self.node = self._world.new_node(self.name)
        try:
            self._follow(None, self.node.start(self.disk.load(), self.now))
        except PowerCut:
            self.crash(loses_tail=True)

    def handle(self, event: Event) -> bool:
        """Have the node handle an event, later if it is stalled; False if it is down."""
        if self.node is None:
            return False
        if self.stalled_ms > self._schedule.now_ms:
            self._events_held.append(event)
            return True
        try:
            self._boundary()
            self._follow(event, self.node.handle(event, self.now))
        except PowerCut:
            self.crash(loses_tail=True)
        return True

    def stall(self, span_ms: int) -> None:
        """Do nothing for a while, then everything that came meanwhile at once: a paused process, a sleeping laptop."""
        self.stalled_ms = self._schedule.now_ms + span_ms
        boot = self.boots
        self._schedule.after(span_ms, lambda: self.wake_up() if boot == self.boots else None)

    def wake_up(self) -> None:
        """End a stall: handle everything that came meanwhile."""
        events, self._events_held = self._events_held, []
        self.stalled_ms = min(self.stalled_ms, self._schedule.now_ms)
        for event in events:
            self.handle(event)

    def crash(self, *, loses_tail: bool) -> None:
        self.node = None
        self.stop()
        self._events_held.clear()
        self.stalled_ms, self._tick_ms = -1, -1
        self.disk.crash(self._chance, loses_tail=loses_tail)
        self._world.crashed(self)

    def flush(self) -> None:
        """Have everything durable that the node wanted durable so far."""
        self._write_waiting()
        self.disk.sync()

    def save(self, records: Sequence[Record], sync_ms: float) -> bool:
        """Write records to the disk, which takes some time; whether it is over."""
        self.disk.write(records)
        if not sync_ms:
            self._boundary()
            self.disk.sync()
            return True
        self._write_waiting()
        boot = self.boots
        self._schedule.after(sync_ms, lambda: self._synced(boot))
        return False

    def _write_waiting(self) -> None:
        """One sync for all that is waiting: each stays a batch of its own, so any prefix of them can survive."""
        for records in self.records_waiting():
            self.disk.write(records)

    def _synced(self, boot: int) -> None:
        if self.node is None or boot != self.boots:
            return
        try:
            self._boundary()
            self.disk.sync()
            self.written()
        except PowerCut:
            self.crash(loses_tail=True)

    def _follow(self, event: Event | None, effects: Sequence[Effect]) -> None:
        if event is not None:
            self._world.handled(self, event, effects)
        self.take(effects, self)
        self._plan_tick()

    def _carry_out(self, effect: Effect, cause: "Machine") -> None:
        self._boundary()
        super()._carry_out(effect, cause)

    def _boundary(self) -> None:
        if self._world.pass_boundary():
            raise PowerCut

    def _plan_tick(self) -> None:
        if self.node is None:
            return
        due_ms = self.node.wake_at_ms(self.now) + self._booted_ms
        if self._tick_ms < 0 or due_ms < self._tick_ms:
            # At least a millisecond, so that a node that is always due can't stop time.
            self._tick_ms, boot = max(due_ms, self._schedule.now_ms + 1), self.boots
            planned_ms = self._tick_ms
            self._schedule.after(planned_ms - self._schedule.now_ms, lambda: self._tick(boot, planned_ms))

    def _tick(self, boot: int, planned_ms: int) -> None:
        if boot == self.boots and planned_ms == self._tick_ms and self.node is not None:
            self._tick_ms = -1
            self.handle(Tick())


class Disk:
    """Batches in the order they were written. One is whole or not there; of those after the last `sync` any prefix survives."""

    def __init__(self) -> None:
        self._batches: list[Sequence[Record]] = []
        self._synced = 0

    def write(self, records: Sequence[Record]) -> None:
        """Append a batch. Not durable yet."""
        self._batches.append(records)

    def sync(self) -> None:
        """Everything written so far is durable from now on."""
        self._synced = len(self._batches)

    def crash(self, chance: Chance, *, loses_tail: bool) -> None:
        """The power goes: with `loses_tail` any part of the tail is lost, otherwise the machine had it written in time."""
        if loses_tail:
            del self._batches[chance.randrange(self._synced, len(self._batches) + 1) :]
        self.sync()

    def restore(self, chance: Chance) -> bool:
        """Put an older backup in its place; False where there is nothing older."""
        if len(self._batches) < 2:
            return False
        del self._batches[chance.randrange(1, len(self._batches)) :]
        self.sync()
        return True

    def load(self) -> list[Put]:
        """The contents that a journal would load: the last value of each key, in the order of tables and keys."""
        records: dict[tuple[str, bytes], Put] = {}
        for batch in self._batches:
            keep(records, batch)
        return [records[key] for key in sorted(records)]
