"""The remains that a hive can be founded again from, when members lost their homes, or their knowledge of each other is damaged.

Founding it again is a move to its own topology: see `planning.resettling` and `relocation`. Here is only the state before.
"""

from pathlib import Path

import msgspec

from hive_mind.control.state import FleetState
from hive_mind.errors import InvalidInput
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology.spec import is_shared


class Remains(msgspec.Struct, frozen=True):
    """The journals that are there, of which nodes; what they hold together; and what none of them has, by node."""

    hive: str
    journals: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    facts: int = 0
    lost: dict[str, int] = {}
    """Writes that are known to have been made."""


async def remains(home: Path, state: FleetState) -> Remains:
    """As it is now, also while nodes run. Raises `InvalidInput` where nothing is shared or left, else as reading does."""
    from hive_mind.runtime.members.generations import snapshot_of

    hive = state.last_hive
    if hive is None or state.hive is None or not is_shared(state.hive.topology):
        raise InvalidInput("its agents share nothing, so there is no hive to found again: every agent has its own memory")
    snapshot = await snapshot_of(home, hive, state.nodes, HiveSettings(), while_open=True)
    if not snapshot.own:
        raise InvalidInput(
            f"{home / 'hives' / hive.id} has no journal: bring one back, or apply the manifest to begin with nothing"
        )
    facts = len({claim.assertion.fact_id for claim in snapshot.vouched})
    missing = tuple(node for node in state.nodes if node not in snapshot.own)
    return Remains(hive.id, tuple(sorted(snapshot.own)), missing, facts, dict(snapshot.lost))
