"""One node's part in the membership, and others whose beats it hears."""

from random import Random

from hive_mind.hive.effects import Now
from hive_mind.hive.membership import Membership, MembershipSettings
from hive_mind.hive.topology import Flat, Topology
from hive_mind.hive.topology.log import digest_of, pack
from hive_mind.model.messages import Heartbeat

SETTINGS = MembershipSettings()
ABC = Flat(("a", "b", "c"))
ABCD = Flat(("a", "b", "c", "d"), 1 << 16)


def now(ms: int) -> Now:
    return Now(0, ms)


def membership(name: str = "a", topology: Topology | None = ABC, **more) -> Membership:
    settings, boot = more.pop("settings", SETTINGS), more.pop("boot", name.encode() * 8)
    made = Membership(name, boot, topology, settings, Random(1), **more)
    made.start([], now(0))
    return made


class Others:
    """Beats of others, numbered as they come."""

    def __init__(self, one: Membership) -> None:
        self.one, self.numbers = one, {}

    def beat(self, ms: int, *names: str, boot: bytes = b"", **fields):
        """They beat; what the node does about the last of them."""
        effects = []
        for name in names:
            incarnation = boot or name.encode() * 8
            number = self.numbers[name, incarnation] = self.numbers.get((name, incarnation), 0) + 1
            topology = self.one.topology
            known = {} if topology is None else {"epoch": topology.epoch, "digest": digest_of(pack(topology))}
            effects = self.one.receive(name, Heartbeat(incarnation, number, **({"epoch": 0} | known | fields)), now(ms))
        return effects

    def live(self, until_ms: int, *names: str, since_ms: int = 0, **fields):
        """They beat every second and the node ticks: everything it sends and keeps."""
        effects = []
        for ms in range(since_ms, until_ms, 500):
            if ms % 1_000 == 0:
                effects += self.beat(ms, *names, **fields)
            effects += self.one.tick(now(ms))
        return effects
