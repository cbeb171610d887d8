"""I3 for moderators: what was said before a moderator took it back is live nowhere in the end, also what its node never had.

Every doubt is in the nodes' favour: a voice that spoke again later, or may have, stays; so does what the author's node stamped
ahead of the time in a boot that is over, as nobody knows any more when that was said.
"""

from collections.abc import Iterator

from hive_mind.hive.effects import Retract
from hive_mind.sim.history import Operation, Voice, voice_of
from hive_mind.sim.invariants.promises import TIME_SLACK_MS, took_back
from hive_mind.sim.invariants.views import assertions_of, shares_of, voiced
from hive_mind.sim.workload import MODERATOR
from hive_mind.sim.world import Violation, World


def check_moderated(world: World) -> Iterator[Violation]:
    """Look at all holders, a day later."""
    gone = dict(_gone(world))
    for machine in world.honest():
        shares = shares_of(machine) if machine.name in world.topology.nodes else {}
        for partition, given in assertions_of(machine) if shares else ():
            request = gone.get(voiced(given))
            if request is not None and shares[partition].is_holder:
                what = f"{voiced(given)}, said before a moderator's {request}, is live in {partition} of {machine.name}"
                yield Violation("I3 what a moderator took back is gone", what)


def _gone(world: World) -> Iterator[tuple[Voice, str]]:
    """Voices that must be silent, and the request that silenced them."""
    said: dict[Voice, list[Operation]] = {}
    for operation, promotion in world.history.promises():
        said.setdefault(voice_of(promotion), []).append(operation)
    by_fact: dict[str, list[Operation]] = {}
    for operation, fact_id in _taken_back(world):
        by_fact.setdefault(fact_id, []).append(operation)
    for voice, words in said.items():
        for by in by_fact.get(voice.fact_id, ()):
            if all(_is_before(world, word, by) for word in words):
                yield voice, by.event.request


def _taken_back(world: World) -> Iterator[tuple[Operation, str]]:
    """What a moderator took back on a node that knew how late it was, and has not forgotten it."""
    for operation in world.history.operations:
        event = operation.event
        is_known = operation.ahead_ms >= -TIME_SLACK_MS // 2 and operation.node not in world.restored
        if (
            is_known
            and operation.is_acknowledged
            and isinstance(event, Retract)
            and event.by == MODERATOR
            and took_back(operation)
        ):
            yield from ((operation, fact_id) for fact_id in event.fact_ids)


def _is_before(world: World, word: Operation, by: Operation) -> bool:
    """Whether it surely was, and the nodes can tell: by the stamps, or by the author's node, which has run ever since."""
    if word.surely_over_ms + TIME_SLACK_MS > by.started_ms:
        return False
    if word.ahead_ms <= TIME_SLACK_MS // 2:
        return True
    return word.node in world.topology.nodes and world.machines[word.node].boots == word.boot
