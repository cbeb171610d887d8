"""Directed scenarios: a small world in which exactly one thing goes wrong. Each returns what broke, "" if nothing did.

They catch what random storms meet too rarely; the same scenario must hold for production code and fail with the bug put back.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import msgspec

from hive_mind.hive.effects import Now, Promote, Promotion, Received, Retract, Write
from hive_mind.hive.policy import sealed, sealed_head
from hive_mind.hive.topology import ALL, Flat, Topology
from hive_mind.model.evidence import Assertion, Head, Stamp, actor_id, dot
from hive_mind.model.messages import Changes, ClockSample, Replicate, SyncState
from hive_mind.sim import CALM, FACT_IDS, HOUR_MS, MINUTE_MS, MODERATOR, STATEMENTS, Weather, agents_of
from hive_mind.sim.history import Operation, assertions_of, node_of, voiced
from hive_mind.sim.intruders import THIEF
from hive_mind.sim.keys import seal_of
from hive_mind.sim.promises import members
from hive_mind.sim.world import World

THREE = Flat(("n0", "n1", "n2"))


def world_of(topology: Topology = THREE, weather: Weather = CALM, seed: int = 1) -> World:
    return World(topology, weather, lambda purpose: Random(f"{seed} {purpose}"))


def promoted(world: World, node: str, statement: int = 0, ttl_ms: int = 0, agent: int = 0) -> Operation:
    name = agents_of(node)[agent]
    event = Promote(world.history.next_request(), (Promotion(STATEMENTS[statement], name, name, 0.8, ttl_ms),))
    return world.request(world.machines[node], event)


def retracted(world: World, node: str, statement: int = 0) -> Operation:
    event = Retract(world.history.next_request(), (FACT_IDS[statement],), agents_of(node)[0])
    return world.request(world.machines[node], event)


def written(world: World, node: str, key: str, value: str, by: str = MODERATOR) -> Operation:
    return world.request(world.machines[node], Write(world.history.next_request(), ((key, value),), by))


def live_on(world: World, node: str, statement: int = 0) -> set[str]:
    """The agents that vouch for a statement on a node."""
    found = (voiced(given) for _, given in assertions_of(world.machines[node]))
    return {voice.agent for voice in found if voice.fact_id == FACT_IDS[statement]}


def a_clock_an_hour_behind_shortens_no_life() -> str:
    """The author has no trusted clock yet; its assertion must live for all of its twenty minutes by everybody's time."""
    world = world_of()
    world.run(MINUTE_MS)
    late = world.machines["n0"]
    late.crash(loses_tail=False)
    late.clock_error_ms = -HOUR_MS
    late.start()
    world.network.divide(["n0"])
    operation = promoted(world, "n0", ttl_ms=20 * MINUTE_MS)
    world.network.join()
    world.run(5 * MINUTE_MS)
    for machine in members(world):
        policy = node_of(machine).policy.at(machine.now)
        shown = [given for _, given in assertions_of(machine) if policy.is_visible(given)]
        if not operation.ended_ms or not shown:
            return f"after five minutes of twenty it is gone on {machine.name}"
    return ""


def the_later_of_two_writes_counts() -> str:
    """n0 is fifty seconds ahead and writes first; n1 reads that, and writes afterwards."""
    world = world_of(Flat(("n0", "n1", "n2", "n3", "n4")))
    world.machines["n0"].clock_error_ms = 50_000
    written(world, "n0", "trust/ann", "0.5")
    world.run(500)
    written(world, "n1", "trust/ann", "1.5")
    world.run(5 * MINUTE_MS)
    read = {machine.name: node_of(machine).registry.get("trust/ann") for machine in members(world)}
    return "" if set(read.values()) == {1.5} else f"somebody still reads what was written first: {read}"


def a_reply_to_an_earlier_boot_is_dropped() -> str:
    """What a peer said to a node before its disk was set back says nothing about what the node has now."""
    world = world_of()
    world.run(MINUTE_MS)
    machine = world.machines["n0"]
    earlier = node_of(machine).incarnation
    machine.crash(loses_tail=False)
    machine.start()
    node, peer = node_of(machine), node_of(world.machines["n1"])
    now: Now = machine.now
    stale = SyncState(
        b"s" * 16, peer.incarnation, earlier, ClockSample(now.wall_ms, now.mono_ms, now.mono_ms), (ALL,), complete=(ALL,)
    )
    node.partitions.shares[ALL].is_complete = False
    node.partitions.sources[ALL] = ("n1",)
    node.handle(Received("n1", stale), now)
    return "it believes to have everything" if node.partitions.shares[ALL].is_complete else ""


def a_backup_gives_out_no_dot_twice() -> str:
    """A node writes, is set back to before, boots, and writes something else before it hears of anybody."""
    world = world_of()
    world.run(10_000)
    machine = world.machines["n0"]
    backup = list(machine.disk._batches)
    machine.crash(loses_tail=False)
    machine.start()
    promoted(world, "n0", 0)
    world.run(20_000)
    machine.crash(loses_tail=False)
    machine.disk._batches = backup
    machine.disk.sync()
    machine.start()
    promoted(world, "n0", 1)
    world.run(2 * MINUTE_MS)
    lacking = [one.name for one in members(world) for statement in (0, 1) if not live_on(world, one.name, statement)]
    return f"{lacking[0]} lacks a fact" if lacking else ""


def a_backup_hears_of_everything_again() -> str:
    """Ten facts, long confirmed by all; then one disk is set back to before them."""
    world = world_of()
    machine = world.machines["n1"]
    backup = list(machine.disk._batches)
    for statement in range(10):
        promoted(world, "n0", statement)
    world.run(5 * MINUTE_MS)
    machine.crash(loses_tail=False)
    machine.disk._batches = backup
    machine.disk.sync()
    machine.start()
    world.run(5 * MINUTE_MS)
    lacking = [statement for statement in range(10) if not live_on(world, "n1", statement)]
    return f"{len(lacking)} of 10 facts never come back" if lacking else ""


def a_crash_anywhere_loses_nothing_acknowledged() -> str:
    """One promotion and its replication, with the power cut at each boundary there is, one after the other."""
    boundaries = _one_fact(-1).boundaries
    for cut_at in range(1, boundaries + 1):
        world = _one_fact(cut_at)
        (operation,) = world.history.operations
        if operation.ended_ms is not None and (lacking := [one.name for one in members(world) if not live_on(world, one.name)]):
            return f"power cut at boundary {cut_at} of {boundaries}: acknowledged, and not on {lacking[0]}"
    return ""


def _one_fact(cut_at: int) -> World:
    """Peers are away when the fact is told, and come back when its author may already have crashed."""
    world = world_of(Flat(("n0", "n1")), replace(CALM, loses_tails=True))
    world.cut_at = cut_at
    world.network.divide(["n0"])
    world.schedule.after(3_000, lambda: promoted(world, "n0"))
    world.run(4_000)
    world.network.join()
    world.run(4 * MINUTE_MS)
    return world


def a_revoked_key_stays_revoked_through_a_restart() -> str:
    """n1 has heard that the key of n2 was revoked, starts again where it hears nobody but the thief, and hears the thief."""
    world = world_of(weather=replace(CALM, is_signed=True))
    assert world.mail is not None
    world.run(10_000)
    thief = world.mail.office.signing("n2")
    world.mail.office.revoke("n2")
    world.mail.office.issue("n2")
    world.machines["n2"].crash(loses_tail=False)
    world.machines["n2"].start()
    world.run(5 * MINUTE_MS)
    machine = world.machines["n1"]
    machine.crash(loses_tail=False)
    world.network.eclipse("n1", {THIEF})
    machine.start()
    agent = agents_of("n2")[0]
    said = Assertion(FACT_IDS[0], agent, agent, 1.0, Stamp(machine.true_ms, 0, b"thief"), STATEMENTS[0])
    given = sealed(seal_of(thief.keyring), ALL, dot(actor_id("n2", b"thief"), 1), said)
    head = sealed_head(seal_of(thief.keyring), ALL, Head("n2", b"thief", 1))
    bare = world.mail.bare("n2", ("n1",), Replicate("batch", (Changes(ALL, (given,), (), (head,)),)))
    signed = msgspec.structs.replace(thief.signed(bare), vouched=(thief.keyring.certificate,))
    world.post(THIEF, "n1", signed)
    world.run(10_000)
    return "n1 believes the thief again" if live_on(world, "n1") else ""


SCENARIOS: tuple[Callable[[], str], ...] = (
    a_clock_an_hour_behind_shortens_no_life,
    the_later_of_two_writes_counts,
    a_reply_to_an_earlier_boot_is_dropped,
    a_backup_gives_out_no_dot_twice,
    a_backup_hears_of_everything_again,
    a_crash_anywhere_loses_nothing_acknowledged,
    a_revoked_key_stays_revoked_through_a_restart,
)
