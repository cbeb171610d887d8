"""What a fact replaced and what replaced it, step by step."""

from collections.abc import Sequence
from contextlib import suppress

from hive_mind.errors import InvalidInput
from hive_mind.mcp.results import Why, why_of
from hive_mind.mcp.served import ServedAgent

# Of one fact in both directions; a reader sees that there is more by the ids.
_STEPS_MAX = 50


async def history_of(agent: ServedAgent, id: str) -> list[Why]:
    """All that are known, the one that holds now last. Raises `InvalidInput` for a fact that there is not."""
    here = why_of(await agent.call("why", fact_id=id))
    seen = {id}
    former = await _line(agent, here["replaces"], seen, is_back=True)
    newer = await _line(agent, [here["replaced_by"]], seen, is_back=False)
    return [*reversed(former), here, *newer]


async def _line(agent: ServedAgent, ids: Sequence[str], seen: set[str], *, is_back: bool) -> list[Why]:
    found, coming = list[Why](), list(ids)
    while coming and len(found) < _STEPS_MAX:
        id = coming.pop(0)
        if not id or id in seen:
            continue
        seen.add(id)
        # What a text replaced by no longer saying it leads nowhere.
        with suppress(InvalidInput):
            one = why_of(await agent.call("why", fact_id=id))
            found.append(one)
            coming += one["replaces"] if is_back else [one["replaced_by"]]
    return found
