"""A hive of four whose members seal what they say; one of them is to be attacked, with all it has ever been sent on record."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random
from typing import Any

import msgspec

from hive_mind.bus import EVERYONE, BusCapabilities, BusHealth, Envelope, EventBus, Inbox, Subscription
from hive_mind.hive.effects import Effect, Event, Now, Put, Received
from hive_mind.hive.member import Member
from hive_mind.hive.membership import MEMBERSHIP, Membership, MembershipSettings
from hive_mind.hive.node import HiveNode
from hive_mind.hive.policy import UNSEALED, Seal
from hive_mind.hive.policy.node_policy import PolicySettings
from hive_mind.hive.replication import GossipSettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology.sharded import Sharded, first_placement
from hive_mind.journal.memory import MemoryJournal
from hive_mind.runtime.members.member import AppMessageLog
from hive_mind.runtime.node import RunnerSettings, system_clock
from hive_mind.runtime.node.runner import NodeRunner
from tests.hives import MODERATOR, keyring, probe, promotion
from tests.waiting import until

NODES = ("n0", "n1", "n2", "n3")
VICTIM = NODES[-1]
_TOPOLOGY = Sharded(first_placement(NODES, 2, 16))
_SETTINGS = HiveSettings(standing=PolicySettings(moderators=(MODERATOR,)), gossip=GossipSettings(period_ms=200, first_ms=50))
# Nobody is suspected and nobody leaves: who is a member is not what this is about.
_MEMBERSHIP = MembershipSettings(beat_ms=200, suspect_after_ms=3_600_000)


class Tapped:
    """A bus that remembers what one node was sent."""

    def __init__(self, bus: EventBus, name: str) -> None:
        self.bus, self.seen = bus, list[Envelope]()
        self._name = name

    @property
    def capabilities(self) -> BusCapabilities:
        return self.bus.capabilities

    @property
    def health(self) -> BusHealth:
        return self.bus.health

    async def publish(self, envelopes: Sequence[Envelope], *, timeout_s: float = 10.0) -> None:
        self.seen += [
            one for one in envelopes if self._name in one.target or (one.target == EVERYONE and one.sender != self._name)
        ]
        await self.bus.publish(envelopes, timeout_s=timeout_s)

    async def subscribe(self, subscription: Subscription, on_ready: Callable[[], None]) -> Inbox:
        return await self.bus.subscribe(subscription, on_ready)


class Counted:
    """A node, and how many messages it was given by the bus."""

    def __init__(self, node: Member) -> None:
        self._node, self.received = node, 0
        self.name, self.start, self.search = node.name, node.start, node.search
        self.index_some, self.prepare, self.wake_at_ms = node.index_some, node.prepare, node.wake_at_ms

    def handle(self, event: Event, now: Now) -> list[Effect]:
        self.received += isinstance(event, Received) and bool(event.delivery)
        return self._node.handle(event, now)


class Attacked:
    """One member: everything of it a test looks at."""

    def __init__(self, hive: str, name: str, bus: Tapped, seed: int, *, kept: Sequence[Put] = (), is_sealed: bool = True) -> None:
        self.bus = bus
        chance = Random(f"{seed} {name} {len(kept)}")
        seal: Seal = keyring(name, f"agent of {name}", *([MODERATOR] if name == NODES[0] else [])) if is_sealed else UNSEALED
        self.membership = Membership(name, chance.randbytes(8), _TOPOLOGY, _MEMBERSHIP, chance, joins="", seal=seal, hive=hive)
        self.member = Member(
            lambda topology, founding: HiveNode(
                name, topology, chance=chance, settings=_SETTINGS, seal=seal, is_founding=founding
            ),
            self.membership,
            chance,
        )
        self.app_messages = self.member.app_messages
        self.log = AppMessageLog(lambda: self.app_messages.kept)
        self.app_messages.deliver_to(self.log.write)
        self.journal, self.counted = MemoryJournal(kept), Counted(self.member)
        self.runner = NodeRunner(self.counted, self.journal, bus, settings=RunnerSettings(hive), knows=NODES.__contains__)

    def believes(self) -> tuple[Any, ...]:
        """What must not change: everything live, everybody's standing, who is a member, and who holds what."""
        node = self.member.node
        encode = msgspec.msgpack.Encoder().encode
        live = {
            name: sorted((given.dot, encode(given)) for given in share.all_sealed())
            for name, share in node.partitions.shares.items()
            if len(share)
        }
        return live, sorted(encode(entry) for entry in node.registry.entries()), self.membership.topology

    async def believes_of_members(self) -> tuple[Any, ...]:
        """Who lives, wants in or wants out, and which topologies are kept; without for how long nobody was heard."""
        seen = [replace(state, silent_ms=None) for state in self.membership.view(system_clock())]
        return seen, [record for record in await self.journal.load() if record.table == MEMBERSHIP]

    @property
    def is_busy(self) -> bool:
        return bool(self.runner.is_busy or len(self.member.node.outbox) or self.app_messages.unconfirmed)


@asynccontextmanager
async def lived(hive: str, bus: EventBus, seed: int, *, is_sealed: bool = True) -> AsyncIterator[tuple[Attacked, list[Envelope]]]:
    """A member of a hive that has lived for a while and whose other members are gone, and what it was sent meanwhile."""
    tapped = Tapped(bus, VICTIM)
    members = {name: Attacked(hive, name, tapped, seed, is_sealed=is_sealed) for name in NODES}
    try:
        # The one to be attacked first: so it was sent everything that is on record.
        for name in reversed(NODES):
            await members[name].runner.start()
        await _live(members, tapped)
        for name in NODES[:-1]:
            await members[name].runner.close()
        await until(lambda: not members[VICTIM].runner.is_busy)
        yield members[VICTIM], list(tapped.seen)
    finally:
        for one in members.values():
            await one.runner.close(drain_s=0)


async def _live(members: Mapping[str, Attacked], tapped: Tapped) -> None:
    """Every kind of message is said."""
    for number in range(3):
        for name, one in members.items():
            agent = f"agent of {name}"
            said = [promotion(f"Hall {number} {part} of {name} is green.", agent=agent) for part in "abcde"]
            held = await one.runner.promote(said)
            await one.runner.tell(("*",), "greeting", f"hello {number}".encode())
            await one.runner.retract([held[0].fact_id], agent)
            await one.runner.ask(probe("green hall"))
            await one.runner.fetch([(held[1].fact_id, ""), (held[2].fact_id, VICTIM)])
            await one.runner.facts(limit=5)
    await members[NODES[0]].runner.write([(f"trust/agent of {NODES[1]}", "0.5")], MODERATOR)
    await until(lambda: not any(one.is_busy for one in members.values()))
    # Some rounds of anti-entropy.
    await until(lambda: sum(one.type in ("sync", "state") for one in tapped.seen) >= 6)
