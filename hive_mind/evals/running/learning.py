"""What it took to learn several scopes, taken together."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from hive_mind.evals.rows import Learned

N = TypeVar("N", int, float)


def together(learned: Sequence[Learned]) -> Learned:
    """Costs add up; a lag and an agent's memory are the largest. What was not measured everywhere is not known of all."""
    return Learned(
        facts=sum(one.facts for one in learned),
        messages=_of(sum, [one.messages for one in learned]),
        bytes=_of(sum, [one.bytes for one in learned]),
        replica_lag_s=_of(max, [one.replica_lag_s for one in learned]),
        cpu_s=_of(sum, [one.cpu_s for one in learned]),
        wall_s=_of(sum, [one.wall_s for one in learned]),
        memory_per_agent_bytes=_of(max, [one.memory_per_agent_bytes for one in learned]),
    )


def _of(combined: Callable[[list[N]], N], values: Sequence[N | None]) -> N | None:
    known = [value for value in values if value is not None]
    return combined(known) if known and len(known) == len(values) else None
