"""One search, done twice: once for what it finds and costs, once for how long it takes."""

import time
from collections.abc import Awaitable, Callable, Sequence

from hive_mind.evals.arms.base import Cost, Outcome
from hive_mind.model.query import Hit


async def outcome_of(search: Callable[[], Awaitable[Sequence[Hit]]], cost: Callable[[], Cost] = Cost) -> Outcome:
    """What is found, by `cost` at what price, and the time of the second search.

    The first embeds the question, which costs a hundred times the search and is not what is compared, and fills caches.
    """
    hits = await search()
    paid = cost()
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    await search()
    return Outcome(tuple(hits), paid, time.process_time() - cpu_s, time.perf_counter() - wall_s)
