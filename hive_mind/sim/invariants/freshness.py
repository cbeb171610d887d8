"""I10 and I11: once all is well, what is written now wins everywhere, and bears a time that is about now.

A stamp from the far future that is believed anywhere would win for ever.
"""

from collections.abc import Callable, Iterator

import msgspec

from hive_mind.hive.effects import Write
from hive_mind.sim.faults import MINUTE_MS
from hive_mind.sim.invariants.checks import members
from hive_mind.sim.invariants.views import node_of
from hive_mind.sim.machine import START_MS
from hive_mind.sim.workload import MODERATOR, agents_of
from hive_mind.sim.world import Violation, World

_TRUST = "1.25"
_RATING = '{"good":7,"bad":3,"at_ms":0}'
# A drift, and as much as hive time may be off.
_AHEAD_MS = 5 * MINUTE_MS


def check_fresh(world: World, settle: Callable[[], None]) -> Iterator[Violation]:
    """Write at every member, let them agree, and look whether everybody reads it."""
    writes = dict(_writes(world))
    settle()
    latest_ms = START_MS + world.schedule.now_ms + _AHEAD_MS
    for machine in members(world):
        registry = node_of(machine).registry
        for key, value in writes.items():
            value_read = registry.get(key)
            if value_read != msgspec.json.decode(value):
                yield Violation(
                    "I10 what is written now wins everywhere", f"{key} is {value_read} on {machine.name}, not {value}"
                )
        for entry in registry.entries():
            if entry.key in writes and entry.stamp.ms > latest_ms:
                ahead_ms = entry.stamp.ms - START_MS - world.schedule.now_ms
                yield Violation("I11 logical time is about true time", f"{entry.key} of {entry.by} is {ahead_ms} ms ahead")


def _writes(world: World) -> Iterator[tuple[str, str]]:
    subject, *machines = sorted(members(world), key=lambda machine: machine.name)
    world.request(subject, Write(world.history.next_request(), ((f"trust/{agents_of(subject.name)[0]}", _TRUST),), MODERATOR))
    yield f"trust/{agents_of(subject.name)[0]}", _TRUST
    for machine in machines:
        rater = agents_of(machine.name)[0]
        key = f"rating/{rater}/{agents_of(subject.name)[1]}"
        world.request(machine, Write(world.history.next_request(), ((key, _RATING),), rater))
        yield key, _RATING
