"""A simulated network: messages are late, overtake each other, come twice or not at all, and sometimes nobody gets across.

With a broker a message that arrived there is repeated until it is acknowledged; five times, then it is put aside.
"""

from collections.abc import Callable, Collection
from enum import Enum, auto

import msgspec

from hive_mind.bus.base import Envelope
from hive_mind.hive.chance import Chance
from hive_mind.model.messages import Message
from hive_mind.sim.faults import CALM, Weather
from hive_mind.sim.schedule import Schedule

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
        """The broker forgets a packet."""
        self._waiting.discard(delivery)

    def divide(self, side: Collection[str]) -> None:
        """Cut these nodes off from the others."""
        self._side = frozenset(side)

    def heal(self) -> None:
        """Everybody reaches everybody, quickly and without loss."""
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
        """Whether some can't reach others."""
        return bool(self._side)

    def reaches(self, a: str, b: str) -> bool:
        """Whether messages get from one to the other at all."""
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
