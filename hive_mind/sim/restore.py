"""What a backup put back undoes: only what other machines have durably is still promised, the rest is in doubt."""

from hive_mind.hive.effects import Promote, Retract, Write
from hive_mind.hive.policy.rights import clamped
from hive_mind.model.evidence import actor_of
from hive_mind.sim.history import Operation
from hive_mind.sim.invariants.views import Place, shares_of
from hive_mind.sim.machine import Machine
from hive_mind.sim.world import World


def note_restored(world: World, machine: Machine) -> None:
    """Put in doubt what the others who should have it don't have. Call it before a machine's disk is set back."""
    others = [other for other in world.honest() if other is not machine]
    for other in others:
        other.flush()
    world.restored.add(machine.name)
    # Also what something newer took the place of: the newer one may be lost with it.
    places = {place for operation in world.history.operations for place in operation.dots if _has_seen(machine, place)}
    lost = {place for place in places if not any(_keeps(world, other, place) for other in others)}
    for operation in world.history.operations:
        if operation.is_acknowledged and not _is_known(world, operation, machine, others, lost):
            operation.is_unsure = True
            operation.dots = {place for place in operation.dots if _is_gone(world, place, others)}


def _keeps(world: World, machine: Machine, place: Place) -> bool:
    """Whether a machine brings it to the holders again: one of them, or its author as long as that is a member.

    A node that was handing it over may have finished, and nobody listens to a node that has left.
    """
    if machine.name not in world.topology.nodes or not _has_seen(machine, place):
        return False
    authors = (head.actor for head in shares_of(machine)[place[0]].own_heads())
    return machine.name in world.topology.holders(place[0]) or actor_of(place[1]) in authors


def _is_known(world: World, operation: Operation, machine: Machine, others: list[Machine], lost: set[Place]) -> bool:
    """Whether somebody else has everything an operation did."""
    event = operation.event
    if isinstance(event, Promote):
        return not operation.dots & lost
    if operation.node != machine.name:
        return True
    if isinstance(event, Retract):
        return all(_is_gone(world, place, others) for place in operation.dots)
    if isinstance(event, Write):
        return all(any(_has_entry(other, key, value) for other in others) for key, value in event.entries)
    return True


def _has_seen(machine: Machine, place: Place) -> bool:
    share = shares_of(machine).get(place[0])
    return share is not None and share.members.has_seen(place[1])


def _is_gone(world: World, place: Place, others: list[Machine]) -> bool:
    """Whether somebody who brings it to the holders again knows that a dot was taken back."""
    keepers = (other for other in others if _keeps(world, other, place))
    return any(shares_of(keeper)[place[0]].sealed(place[1]) is None for keeper in keepers)


def _has_entry(machine: Machine, key: str, value: str) -> bool:
    entries = machine.node.registry.entries() if machine.node is not None else ()
    return any((entry.key, entry.value) == (key, clamped(key, value)) for entry in entries)
