"""The invariants, as checks of a world whose nodes had time to agree. Each says what it saw; the first one that fails counts.

I15: a node that leaves a partition believes of no holder that it has everything unless it has, whatever that one says.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations

import msgspec

from hive_mind.hive.effects import Delete, Effect, Event, Persist, Received
from hive_mind.hive.policy.registry_service import REGISTRY, record_of
from hive_mind.hive.replication.partition_replica import ASSERTIONS, PartitionReplica
from hive_mind.model.evidence import Dot, Sealed, actor_of
from hive_mind.model.evidence import dot as dot_of
from hive_mind.model.messages import SyncState
from hive_mind.sim import HOUR_MS
from hive_mind.sim.history import Operation, ReplicaView, Voice, assertions_of, node_of, shares_of, state_of, voiced
from hive_mind.sim.keys import names_of
from hive_mind.sim.machine import Machine
from hive_mind.sim.promises import Promises, members
from hive_mind.sim.world import Violation, World

DAY_MS = 24 * HOUR_MS


def difference(world: World) -> str:
    states = {machine.name: state_of(machine) for machine in members(world)}
    first = next(iter(states))
    for name, state in states.items():
        if state.registry != states[first].registry:
            odd = sorted((e.key, e.by) for e in state.registry ^ states[first].registry)
            return f"registries of {first} and {name} differ by {len(odd)} entries: {odd[:3]}"
    return next(_partition_differences(world, states), "")


def unfinished(world: World) -> str:
    """The work left before all is well, "" for none. Nobody can finish with a liar work that needs its word."""
    for machine in members(world):
        node = node_of(machine)
        if not node.time.is_synced:
            return f"{machine.name} does not know the time"
        if len(node.outbox):
            return f"{machine.name} has {len(node.outbox)} batches that somebody has not confirmed"
        if not world.liar and (
            lacking := [p for p, share in shares_of(machine).items() if share.is_holder and not share.is_complete]
        ):
            return f"{machine.name} still waits for {', '.join(lacking)}"
    # A node that has left may be the only holder of something, and only so stays until others have it.
    for machine in world.honest():
        leaving = node_of(machine).partitions.leaving
        if left := sorted(name for name in leaving if _still_owes(world, machine, name)):
            return f"{machine.name} still hands over {', '.join(left)}"
    return _unknown_key(world) or _unasked(world)


def _unknown_key(world: World) -> str:
    """A member whose answers are still refused: keys are read anew at each start, and those of others come with their beats."""
    if (mail := world.mail) is None:
        return ""
    pairs = permutations([machine.name for machine in members(world)], 2)
    unknown = next(((name, peer) for name, peer in pairs if not mail.knows(name, peer)), None)
    return "{} does not know the key of {}".format(*unknown) if unknown else ""


def _still_owes(world: World, machine: Machine, partition: str) -> bool:
    """Whether a leaver has not done with a partition; with a liar about, whether honest holders lack what it has.

    A liar may have told these that it was seen and is gone. They get it again from a holder, when they hear from each other.
    """
    if not world.liar:
        return not _has_only_lingering(world, machine, partition)
    replica, holders = shares_of(machine)[partition], world.topology.holders(partition)
    theirs = [shares_of(member)[partition].members for member in members(world) if member.name in holders]
    assertions = [replica.sealed(dot) for dot in replica.members.live if any(dot not in members.live for members in theirs)]
    return any(assertion is not None and not _lingers(assertion) for assertion in assertions)


def _has_only_lingering(world: World, machine: Machine, partition: str) -> bool:
    """Whether what keeps a machine from being done with a partition has run out at its holders, which have seen it."""
    replica = shares_of(machine)[partition]
    theirs = [shares_of(world.machines[name])[partition].members for name in world.topology.holders(partition)]
    odd = [dot for dot in replica.members.live if any(dot not in members.live for members in theirs)]
    assertions = [assertion for dot in odd if (assertion := replica.sealed(dot)) is not None]
    return bool(odd) and all(map(_lingers, assertions)) and all(members.has_seen(dot) for dot in odd for members in theirs)


def _lingers(assertion: Sealed) -> bool:
    """Whether everybody counts its time by itself, from when it came."""
    return bool(assertion.assertion.ttl_ms and not assertion.assertion.expires_ms)


def _unasked(world: World) -> str:
    """Which author has not yet looked whether a holder still has what it wrote, and that has not."""
    for machine, holder in permutations(members(world), 2):
        # An incomplete node confirms nothing, and with a liar about may never be.
        shares = [(name, shares_of(machine)[name], shares_of(holder)[name]) for name in _to_ask(machine, holder)]
        if names := [name for name, replica, share in shares if share.is_complete and _has_other_words(replica, share)]:
            return f"{machine.name} has not heard from {holder.name} whether it has {', '.join(names)}"
    return ""


def _to_ask(machine: Machine, holder: Machine) -> list[str]:
    """Partitions about which an author has still to hear from a holder: also those that it hands over."""
    node = node_of(machine)
    unconfirmed = node.repair.authorship.unconfirmed(holder.name, node_of(holder).incarnation, machine.now.mono_ms)
    return [*unconfirmed, *(name for name, to in node.partitions.leaving.items() if holder.name in to)]


def _has_other_words(author: PartitionReplica, holder: PartitionReplica) -> bool:
    """Whether of what an author wrote other things are live at a holder. Otherwise there is nothing to hear."""
    actors = {head.actor for head in author.own_heads()}
    return {dot for dot in author.members.live if actor_of(dot) in actors} != {
        dot for dot in holder.members.live if actor_of(dot) in actors
    }


def is_only_lingering(world: World) -> bool:
    """Whether members differ only by what each of them counts the time of by itself: it then goes at different times."""
    live: dict[tuple[str, bytes], bool] = {}
    states = {machine.name: state_of(machine) for machine in members(world)}
    for machine in members(world):
        for partition, assertion in assertions_of(machine):
            live[partition, assertion.dot] = _lingers(assertion)
    odd = False
    for partition in {name for state in states.values() for name in state.live}:
        live_sets = [state.live[partition] for state in states.values() if partition in state.live]
        for dot in frozenset().union(*live_sets) - live_sets[0].intersection(*live_sets):
            odd = True
            if not live[partition, dot]:
                return False
    return odd


def _partition_differences(world: World, states: dict[str, ReplicaView]) -> Iterator[str]:
    partitions = sorted({name for state in states.values() for name in state.live})
    for partition in partitions:
        holders = [name for name in world.topology.holders(partition) if name in states]
        for name in holders:
            if partition not in states[name].live:
                yield f"{name} does not hold {partition}"
            elif states[name].live[partition] != states[holders[0]].live[partition]:
                lives, dots = states[name].live[partition], states[holders[0]].live[partition]
                yield f"{partition}: {name} has {len(lives - dots)} dots more and {len(dots - lives)} fewer than {holders[0]}"
            elif world.mail is None and not _have_seen_the_same(world, partition, name, holders[0]):
                # Where somebody may lie, what was seen is taken over only with proofs, and costs no more than bytes.
                yield f"{partition}: {name} and {holders[0]} hold the same, and have not seen the same"


def _have_seen_the_same(world: World, partition: str, name_a: str, name_b: str) -> bool:
    """Whether what only one of them has seen is proved to be gone at the other.

    A node that was set back and then took back what it had written tells by the proof alone that it was there.
    """
    replica, partition_replica = (shares_of(world.machines[name])[partition] for name in (name_a, name_b))
    if replica.members.context == partition_replica.members.context:
        return True
    return not _unproved(replica, partition_replica) and not _unproved(partition_replica, replica)


def _unproved(share: PartitionReplica, replica: PartitionReplica) -> list[Dot]:
    """The dots that another has seen, and this one has neither seen nor a proof of that they are gone."""
    context, theirs = share.members.context, replica.members.context
    up_to = [dot_of(actor, n) for actor, last in theirs.up_to.items() for n in range(context.up_to.get(actor, 0) + 1, last + 1)]
    return [dot for dot in context.unseen([*up_to, *theirs.beyond]) if share.proof(dot) is None]


def agreement(world: World) -> float:
    """The share of all that anybody holds and all its holders should, which they do."""
    have = should = 0
    states = [state_of(machine) for machine in members(world)]
    for partition in {name for state in states for name in state.live}:
        live_sets = [state.live[partition] for state in states if partition in state.live]
        have += sum(map(len, live_sets))
        should += len(frozenset().union(*live_sets)) * len(live_sets)
    return have / should if should else 1.0


def promises_of(world: World) -> Promises:
    return Promises(world.history.operations, forgetful=world.restored, stolen={world.victim: world.rekeyed_ms})


def settled(world: World, *, is_late: bool = False) -> Iterator[Violation]:
    """I1, I3, I5, I9, I13, I14: what must hold once members agree. `is_late`: a day later, when everybody has asked everybody."""
    promises = promises_of(world)
    yield from _kept(world, promises)
    yield from _taken_back(world, promises, is_late=is_late)
    yield from _sane(world)
    yield from _compact(world)
    yield from _authentic(world)


def unretracted(world: World) -> Iterator[Violation]:
    """I3 at any time: a node that said it took something back does not have it again, whatever the others still send."""
    for (partition, dot), operation in promises_of(world).dead():
        share = shares_of(world.machines[operation.node]).get(partition)
        if operation.node not in world.restored and share is not None and share.sealed(dot) is not None:
            wrong = f"what {operation.event.request} took back is live again on {operation.node} itself"
            yield Violation("I3 a retract stays a retract", wrong)


def expired(world: World) -> Iterator[Violation]:
    """I8, after a day and more: whatever had a day or less to live is collected.

    By holders: one that only hands something on counts its time from when it came, and nobody asks it.
    """
    for machine in members(world):
        shares = shares_of(machine)
        for partition, assertion in assertions_of(machine):
            if shares[partition].is_holder and 0 < assertion.assertion.ttl_ms <= DAY_MS:
                yield Violation("I8 what expired is collected", f"{voiced(assertion)} is live in {partition} of {machine.name}")


def _kept(world: World, promises: Promises) -> Iterator[Violation]:
    live = {machine.name: _voices(machine) for machine in members(world)}
    for promise in promises.live(world.schedule.now_ms):
        for partition in promise.partitions:
            for name in world.topology.holders(partition):
                if name in live and (partition, promise.voice) not in live[name]:
                    wrong = f"{promise.voice} of {promise.operation.event.request} is not live in {partition} of {name}"
                    yield Violation("I1 what was acknowledged is kept", wrong)


def _taken_back(world: World, promises: Promises, *, is_late: bool) -> Iterator[Violation]:
    redacted = promises.redacted()
    dead = dict(promises.dead())
    for machine in members(world):
        for partition, assertion in assertions_of(machine):
            operation = dead.get((partition, assertion.dot))
            if operation is not None and (is_late or _must_know(world, machine, partition, operation)):
                wrong = f"{voiced(assertion)}, retracted by {operation.event.request}, is live on {machine.name}"
                yield Violation("I3 a retract stays a retract", wrong)
            if assertion.assertion.fact_id in redacted:
                yield Violation("I3 redacted is for ever", f"{voiced(assertion)} is live on {machine.name}")


def _must_know(world: World, machine: Machine, partition: str, operation: Operation) -> bool:
    """Holders must, and a node that did this and was not set back since. One that was may ask them only hours later."""
    is_holder = shares_of(machine)[partition].is_holder
    return is_holder or (machine.name == operation.node and machine.name not in world.restored)


def _sane(world: World) -> Iterator[Violation]:
    for machine in members(world):
        policy = node_of(machine).policy.at(machine.now)
        for _, assertion in assertions_of(machine):
            if not 0.0 <= assertion.assertion.confidence <= 1.0:
                yield Violation("I5 confidence is from 0 to 1", f"{assertion.assertion.confidence} on {machine.name}")
            if not 0.0 <= policy.trust(assertion.assertion.agent) <= 2.0:
                yield Violation("I5 trust is from 0 to 2", f"{assertion.assertion.agent} on {machine.name}")


def _compact(world: World) -> Iterator[Violation]:
    """I9, where no disk was set back and nobody lies: both may leave gaps for ever. A waiting proof explains a gap."""
    for machine in members(world) if not (world.liar or world.restored) else ():
        for partition, share in shares_of(machine).items():
            if not share.is_holder:
                continue
            context = share.members.context
            for dot in context.beyond:
                # An assertion taken back before it came leaves one until its proof is forgotten.
                first = dot_of(actor_of(dot), context.next_counter(actor_of(dot)))
                if any(
                    replica.proof(first) for member in members(world) if (replica := shares_of(member).get(partition)) is not None
                ):
                    continue
                head = share.heads.get(actor_of(dot))
                yield Violation("I9 contexts are compact", f"{partition} on {machine.name}: a gap of {head and head.node}")


def _authentic(world: World) -> Iterator[Violation]:
    """I13, I14. A liar may say what it likes in its own name and in those of its agents."""
    liar_names = names_of(world.liar) if world.liar else ()
    for machine in members(world):
        for partition, assertion in assertions_of(machine):
            if assertion.assertion.tenant != "default":
                yield Violation("I13 tenants are apart", f"{assertion.assertion.tenant} on {machine.name}")
            record = (ASSERTIONS, partition.encode() + b"\0" + assertion.dot, msgspec.msgpack.encode(assertion))
            if world.mail is not None and assertion.assertion.agent not in liar_names and record not in world.genuine:
                yield Violation("I14 nothing forged is live", f"{voiced(assertion)} on {machine.name}")
        for entry in node_of(machine).registry.entries() if world.mail is not None else ():
            put = record_of(entry)
            if entry.by not in liar_names and (REGISTRY, put.key, put.value) not in world.genuine:
                yield Violation("I14 nothing forged counts", f"{entry.key} by {entry.by} on {machine.name}")


def _voices(machine: Machine) -> set[tuple[str, Voice]]:
    return {(partition, voiced(assertion)) for partition, assertion in assertions_of(machine)}


class LettingGo:
    """Of one world: remembers the machines that each one waits for."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._waiting: dict[str, dict[str, frozenset[str]]] = {}

    def look(self, machine: Machine, event: Event, effects: Sequence[Effect]) -> None:
        if node_of(machine).partitions.leaving or self._waiting.get(machine.name):
            for violation in self._violations(machine, event, effects):
                self._world.violate(violation.invariant, violation.what)

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
        other_machine = self._world.machines[holder]
        if other_machine.node is None or holder in self._world.restored:
            return
        # A node that has let go of everything, and wrote none of it, keeps no share.
        replica, partition_replica = (shares_of(each).get(partition) for each in (machine, other_machine))
        for dot in {*_dropped(partition, effects), *(replica.members.live if replica is not None else ())}:
            if partition_replica is None or not partition_replica.members.has_seen(dot):
                wrong = f"{machine.name} believes that {holder} has all of {partition}, and it has not {dot.hex()}"
                yield Violation("I15 nobody lets go of what others have not got", wrong)


def _dropped(partition: str, effects: Sequence[Effect]) -> Iterator[Dot]:
    """Assertions that this machine has just let go of."""
    for record in (record for effect in effects if isinstance(effect, Persist) for record in effect.records):
        name, _, dot = record.key.partition(b"\0")
        if isinstance(record, Delete) and record.table == ASSERTIONS and name == partition.encode():
            yield dot
