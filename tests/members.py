"""Members of one hive over a network in virtual time: it loses, repeats, delays and splits, and processes die and come back."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random
from typing import Any, Protocol

from hive_mind.hive.effects import Done, Effect, Event, Leave, Now, Persist, Put, Received, SearchLocal, Send, Tick
from hive_mind.hive.member import Member
from hive_mind.hive.membership import Membership, MembershipSettings
from hive_mind.hive.node import HiveNode
from hive_mind.hive.policy import UNSEALED
from hive_mind.hive.replication import GossipSettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology import Topology
from hive_mind.hive.topology.log import pack
from hive_mind.model.messages import AnnouncedTopology, MembershipMessage, Message, SearchReply, SearchRequest
from tests.hives import keyring

STEP_MS = 50
BEAT_MS = 1_000
LIVELY = HiveSettings(gossip=GossipSettings(period_ms=2_000))


def announced(topology: Topology, follows: int = 0, by: str = "") -> AnnouncedTopology:
    """A topology as somebody tells of it who has no seal."""
    return AnnouncedTopology(pack(topology), by, follows)


class Process(Protocol):
    """What runs on a machine: a `Member`, or in its place only what beats."""

    membership: Membership

    def start(self, kept: Iterable[Put], now: Now) -> list[Effect]: ...
    def handle(self, event: Event, now: Now) -> list[Effect]: ...
    def search(self, _request: SearchRequest, _now: Now) -> SearchReply | None: ...
    def wake_at_ms(self, now: Now) -> int: ...


class OnlyMembership:
    """Beats and nothing else."""

    def __init__(self, membership: Membership) -> None:
        self.membership = membership

    def start(self, kept: Iterable[Put], now: Now) -> list[Effect]:
        return self.membership.start(kept, now)

    def handle(self, event: Event, now: Now) -> list[Effect]:
        match event:
            case Received(sender, message) if isinstance(message, MembershipMessage):
                return self.membership.receive(sender, message, now)
            case Tick():
                return self.membership.tick(now)
            case Leave():
                return self.membership.leave(now)
        return []

    def search(self, _request: SearchRequest, _now: Now) -> SearchReply | None:
        return None

    def wake_at_ms(self, now: Now) -> int:
        return self.membership.wake_at_ms(now)


@dataclass
class Machine:
    """A process that runs or not, and its journal."""

    wants_in: bool
    topology: Topology | None
    group: str = ""
    kept: dict[tuple[str, bytes], bytes] = field(default_factory=dict)
    process: Any = None
    boots: int = 0
    offset_ms: int = 0


class Network:
    """Machines by name. Everything left to chance comes from one seed."""

    def __init__(
        self,
        topology: Topology,
        seed: int = 0,
        *,
        settings: MembershipSettings | None = None,
        only_beats: bool = False,
        is_sealed: bool = False,
    ) -> None:
        self.chance = Random(seed)
        self.now_ms, self.loss, self.repeats, self.delay_ms = 0, 0.0, 0.0, 20
        self.machines: dict[str, Machine] = {}
        self.is_cut: Callable[[str, str], bool] = lambda *_: False
        self.answers: dict[str, Any] = {}
        self.epochs: dict[int, bytes] = {}
        """Every topology that anybody knew, by its epoch."""
        self.highest: dict[str, int] = {}
        self.sent: list[tuple[str, str, Message]] = []
        self._settings = settings or MembershipSettings()
        self._only_beats, self._is_sealed = only_beats, is_sealed
        self._under_way: list[tuple[int, int, str, str, Message]] = []
        self._count = 0
        for name in topology.nodes:
            self.add(name, topology)

    def add(self, name: str, topology: Topology | None = None, *, wants_in: bool = True, group: str = "") -> None:
        self.machines[name] = Machine(wants_in, topology, group, offset_ms=self.chance.randrange(1_000_000))
        self.boot(name)

    def boot(self, name: str) -> None:
        machine = self.machines[name]
        machine.boots += 1
        incarnation = self.chance.randbytes(8)
        membership = Membership(
            name,
            incarnation,
            machine.topology,
            self._settings,
            Random(self.chance.getrandbits(64)),
            joins=machine.group if machine.wants_in else None,
            seal=keyring(name) if self._is_sealed else UNSEALED,
        )
        machine.process = OnlyMembership(membership) if self._only_beats else Member(self._node_of(name), membership, Random(1))
        kept = [Put(table, key, value) for (table, key), value in machine.kept.items()]
        self._perform(name, machine.process.start(kept, self._now(name)))

    def kill(self, name: str) -> None:
        self.machines[name].process = None

    def running(self) -> dict[str, Any]:
        return {name: machine.process for name, machine in self.machines.items() if machine.process is not None}

    def membership(self, name: str) -> Membership:
        found: Membership = self.machines[name].process.membership
        return found

    def member(self, name: str) -> Member:
        found: Member = self.machines[name].process
        return found

    def now(self, name: str) -> Now:
        return self._now(name)

    def tell(self, name: str, event: Event) -> None:
        self._perform(name, self.machines[name].process.handle(event, self._now(name)))

    def leave(self, name: str) -> None:
        self.tell(name, Leave())

    def run(self, ms: int, each: Callable[[], None] = lambda: None) -> None:
        """Let time pass; `each` is called after every step."""
        end_ms = self.now_ms + ms
        while self.now_ms < end_ms:
            self.now_ms += STEP_MS
            while self._under_way and self._under_way[0][0] <= self.now_ms:
                _, _, sender, to, message = heappop(self._under_way)
                if to in self.running() and not self.is_cut(sender, to):
                    self.tell(to, Received(sender, message))
            for name, process in self.running().items():
                now = self._now(name)
                if process.wake_at_ms(now) <= now.mono_ms:
                    self.tell(name, Tick())
            each()

    def beats(self, count: float, each: Callable[[], None] = lambda: None) -> None:
        self.run(int(count * BEAT_MS), each)

    def until(self, holds: Callable[[], bool], beats_max: int) -> bool:
        """Let time pass until something holds; whether it came to that."""
        for _ in range(beats_max):
            if holds():
                return True
            self.beats(1)
        return holds()

    def topologies(self) -> dict[str, bytes]:
        """What every running process takes for the topology."""
        known = {name: process.membership.topology for name, process in self.running().items()}
        return {name: b"" if topology is None else pack(topology) for name, topology in known.items()}

    def agrees_on(self, names: Iterable[str]) -> bool:
        """Whether all that run know the same topology, of just these members."""
        (name, *_), packed = self.running(), set(self.topologies().values())
        topology = self.membership(name).topology
        return len(packed) == 1 and topology is not None and topology.nodes == tuple(sorted(names))

    def _now(self, name: str) -> Now:
        """Nobody's monotonic clock begins where another's does."""
        return Now(1_700_000_000_000 + self.now_ms, self.machines[name].offset_ms + self.now_ms)

    def _node_of(self, name: str) -> Callable[[Topology, bool], HiveNode]:
        chance = Random(self.chance.getrandbits(64))
        return lambda topology, is_founding: HiveNode(name, topology, chance=chance, settings=LIVELY, is_founding=is_founding)

    def _perform(self, name: str, effects: Iterable[Effect]) -> None:
        kept = self.machines[name].kept
        for effect in effects:
            match effect:
                case Persist(records):
                    for record in records:
                        if isinstance(record, Put):
                            kept[record.table, record.key] = record.value
                        else:
                            kept.pop((record.table, record.key), None)
                case Send(to, message):
                    others = [other for other in self.machines if other != name]
                    self._post(name, others if to == ("*",) else to, message)
                case SearchLocal(request, reply_to):
                    reply = self.machines[name].process.search(request, self._now(name))
                    if reply is not None and reply_to == name:
                        self.tell(name, Received(name, reply))
                    elif reply is not None:
                        self._post(name, (reply_to,), reply)
                case Done(request, outcome):
                    self.answers[request] = outcome
        self._note(name)

    def _post(self, sender: str, to: Iterable[str], message: Message) -> None:
        for one in to:
            self.sent.append((sender, one, message))
            for _ in range(1 + (self.chance.random() < self.repeats)):
                if self.chance.random() >= self.loss and not self.is_cut(sender, one):
                    at_ms = self.now_ms + int(self.chance.expovariate(1 / self.delay_ms))
                    self._count += 1
                    heappush(self._under_way, (at_ms, self._count, sender, one, message))

    def _note(self, name: str) -> None:
        """Laws of every moment: an epoch names one topology, and nobody goes back, not even over a restart."""
        if self.machines[name].process is None or (topology := self.membership(name).topology) is None:
            return
        packed = pack(topology)
        assert self.epochs.setdefault(topology.epoch, packed) == packed
        assert topology.epoch >= self.highest.get(name, 0)
        self.highest[name] = topology.epoch
