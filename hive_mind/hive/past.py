"""The topology that holds and the last ones before it, so that who missed some of them can go the same way.

Where facts are follows from who held them before. A node that came to the present topology without knowing what lay between could
not tell whom it has to hear before it has everything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import msgspec

from hive_mind.errors import WireError
from hive_mind.hive.arrangement import TOPOLOGY_BYTES_MAX, digest_of, pack, unpack
from hive_mind.hive.topology import Topology
from hive_mind.model.messages import Arrangement

# Who missed more has been away for long, and can only be told that by somebody who has everything.
STEPS_MAX = 8

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[bytes, ...]).decode


class Step(NamedTuple):
    """A topology that came to hold, and whether nothing lay between the one before and this one."""

    topology: Topology
    is_next: bool


@dataclass(frozen=True)
class Past:
    """Packed topologies by their epochs, oldest first; each was made from the one before it."""

    topology: Topology | None
    """The one that holds; None where none is known."""
    steps: tuple[tuple[int, bytes], ...] = ()

    @staticmethod
    def beginning(topology: Topology | None) -> "Past":
        """Nothing is known but this one."""
        return Past(topology, () if topology is None else ((topology.epoch, pack(topology)),))

    @staticmethod
    def of(data: bytes) -> "Past":
        """What `packed` gave. Raises `WireError`."""
        try:
            steps = tuple((unpack(one).epoch, one) for one in _decode(data))
        except ValueError as error:
            raise WireError(f"no topologies: {error}") from error
        return Past(unpack(steps[-1][1]), steps) if steps else Past(None)

    @property
    def epoch(self) -> int:
        """0 where none is known."""
        return 0 if self.topology is None else self.topology.epoch

    @cached_property
    def digest(self) -> bytes:
        """Of the topology that holds."""
        return digest_of(self.steps[-1][1]) if self.steps else b""

    @cached_property
    def members(self) -> frozenset[str]:
        """All nodes of the topology that holds."""
        return frozenset(() if self.topology is None else self.topology.nodes)

    def packed(self) -> bytes:
        """To be kept."""
        return _encode([one for _, one in self.steps])

    def followed_by(self, topology: Topology, *, is_next: bool) -> "Past":
        """After another one came to hold. What led to one that was not the next is not known."""
        before = self.steps if is_next else ()
        return Past(topology, (*before, (topology.epoch, pack(topology)))[-STEPS_MAX:])

    def since(self, epoch: int) -> Arrangement:
        """What is to be told to somebody who knows the topology of this epoch."""
        known = [number for number, _ in self.steps]
        if epoch not in known:
            return Arrangement(self.epoch, (self.steps[-1][1],))
        later = tuple(one for _, one in self.steps[known.index(epoch) + 1 :])
        is_short = sum(map(len, later)) <= TOPOLOGY_BYTES_MAX
        return Arrangement(self.epoch, later if is_short else later[-1:], epoch if is_short else 0)


def steps_of(told: Arrangement) -> Sequence[Topology]:
    """The topologies somebody tells of. Raises `WireError` where they don't lead to what it says."""
    if not 1 <= len(told.steps) <= STEPS_MAX:
        raise WireError(f"between 1 and {STEPS_MAX} topologies lead to another, not {len(told.steps)}")
    topologies = [unpack(one) for one in told.steps]
    epochs = [topology.epoch for topology in topologies]
    if epochs[-1] != told.epoch or any(b <= a for a, b in zip([told.follows, *epochs], epochs, strict=False)):
        raise WireError(f"topologies of the epochs {epochs} do not lead from {told.follows} to {told.epoch}")
    return topologies
