"""Moving a fleet to the next generation of its hive: everybody stops, the journals are made anew, everybody starts.

The state names the new generation only when its journals are in place, and the former ones stay; an interrupted move begins
again from those.
"""

import asyncio
from collections.abc import Mapping

from hive_mind.control.applying import Applying
from hive_mind.control.issuing import movers_seal
from hive_mind.control.planning.desired import Desired
from hive_mind.control.platforms.base import Running
from hive_mind.control.surroundings import MoveFacts
from hive_mind.counted import counted
from hive_mind.hive.topology.spec import is_shared


async def relocate(
    wanted: Desired, running: Mapping[str, Running], applying: Applying, move: MoveFacts, *, allow_loss: bool
) -> None:
    """Raises `HiveError` where facts can't be moved; the fleet rests then, and nothing is lost."""
    from hive_mind.runtime.members.generations import Move

    remembered, report = applying.remembered, applying.report
    await applying.stop_all(running)
    if applying.problems:
        return
    old = remembered.state.last_hive
    if old is not None and is_shared(wanted.hive.topology):
        report(f"move facts from {old.id} ({old.topology}) to {wanted.hive.id} ({wanted.hive.topology})")
        like = next(iter(wanted.processes.values()))
        asked = Move(
            remembered.folder.home,
            old,
            remembered.state.nodes,
            wanted.hive,
            wanted.attached,
            like.tuning,
            replace=True,
            allow_loss=allow_loss,
            seal=await asyncio.to_thread(movers_seal, like),
        )
        moved = await move(asked)
        report(f"{counted(moved.facts, 'fact')} moved")
    remembered.intend(wanted, is_new_generation=True)
