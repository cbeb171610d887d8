"""Tasks beside the runs of an agent: kept up while they fail, and stopped together."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from hive_mind.errors import HiveError

_log = logging.getLogger(__name__)

AGAIN_S = 5.0


async def kept_up(work: Callable[[], Awaitable[object]], trouble: str) -> None:
    """Until it ends by itself; what failed is logged as this `trouble` and begun again."""
    while True:
        try:
            await work()
            break
        except* HiveError as failed:
            _log.error("%s, tried again: %s", trouble, failed.exceptions[0])
        await asyncio.sleep(AGAIN_S)


async def stopped(tasks: Collection["asyncio.Task[Any]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
