"""I15: who leaves a partition believes of no holder that it has everything unless it has, whatever that one says."""

from collections.abc import Iterator, Sequence

from hive_mind.hive.effects import Delete, Effect, Event, Persist, Received
from hive_mind.hive.replication.partition_replica import ASSERTIONS
from hive_mind.model.evidence import Dot
from hive_mind.model.messages import SyncState
from hive_mind.sim.invariants.views import node_of, shares_of
from hive_mind.sim.machine import Machine
from hive_mind.sim.world import Violation, World


class LettingGo:
    """Of one world: remembers for whom each machine waits."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._waiting: dict[str, dict[str, frozenset[str]]] = {}

    def look(self, machine: Machine, event: Event, effects: Sequence[Effect]) -> None:
        """At what a machine has just handled."""
        if node_of(machine).partitions.leaving or self._waiting.get(machine.name):
            for found in self._violations(machine, event, effects):
                self._world.violate(found.invariant, found.what)

    def _violations(self, machine: Machine, event: Event, effects: Sequence[Effect]) -> Iterator[Violation]:
        """Look who is waited for no more. Not where keys are revoked: of what they said nobody has anything any more."""
        before = self._waiting.get(machine.name, {})
        now = {name: frozenset(to) for name, to in node_of(machine).partitions.leaving.items()}
        self._waiting[machine.name] = now
        is_answer = isinstance(event, Received) and isinstance(event.message, SyncState)
        if not isinstance(event, Received) or not is_answer or machine.name == self._world.liar or self._world.victim:
            return
        for partition, waiting in before.items():
            if event.sender in waiting - now.get(partition, frozenset()):
                yield from self._lacking(machine, partition, event.sender, effects)

    def _lacking(self, machine: Machine, partition: str, holder: str, effects: Sequence[Effect]) -> Iterator[Violation]:
        other = self._world.machines[holder]
        if other.node is None or holder in self._world.restored:
            return
        # Who has let go of everything, and wrote none of it, keeps no share.
        here, there = (shares_of(one).get(partition) for one in (machine, other))
        for dot in {*_dropped(partition, effects), *(here.members.live if here is not None else ())}:
            if there is None or not there.members.has_seen(dot):
                what = f"{machine.name} believes that {holder} has all of {partition}, and it has not {dot.hex()}"
                yield Violation("I15 nobody lets go of what others have not got", what)


def _dropped(partition: str, effects: Sequence[Effect]) -> Iterator[Dot]:
    """Assertions that this machine has just let go of."""
    for record in (record for effect in effects if isinstance(effect, Persist) for record in effect.records):
        name, _, dot = record.key.partition(b"\0")
        if isinstance(record, Delete) and record.table == ASSERTIONS and name == partition.encode():
            yield dot
