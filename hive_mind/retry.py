"""Trying again: how often and after how long, for calls whose failure says that the same call may succeed later.

Waiting and chance are handed in, so a test waits for nothing and a seed repeats a run. Permission to retry is decided by
`BackendError.retryable`; everything else passes through at once. So does a time-out: a server that is late may still be at work
on the first call, and each further one would queue behind it.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from hive_mind.errors import BackendError, BackendThrottled, BackendTimeout

_log = logging.getLogger(__name__)

# Of a longer pause a person wants to know the reason.
_NOTICEABLE_S = 5.0

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """`attempts_max`: more survives longer trouble and costs more when it does not end; 1 never tries again.

    `delay_first_s` doubles with every attempt up to `delay_max_s`. `wait_max_s`: a server that asks for more than this is taken
    at its word and the error is raised, so that nobody waits for an hour in silence.
    """

    attempts_max: int = 4
    delay_first_s: float = 0.5
    delay_max_s: float = 20.0
    wait_max_s: float = 60.0


def delay_s(attempt: int, settings: RetrySettings, *, rng: random.Random, retry_after_s: float | None = None) -> float:
    """Seconds to wait after the given failed attempt, counted from 1; never less than the server asked for.

    A random share of the ceiling keeps a fleet that failed together from coming back together.
    """
    ceiling = min(settings.delay_max_s, settings.delay_first_s * 2.0 ** min(attempt - 1, 60))
    return (retry_after_s or 0.0) + ceiling * rng.uniform(0.5, 1.0)


async def retried(
    call: Callable[[], Awaitable[T]],
    settings: RetrySettings,
    *,
    rng: random.Random,
    sleep: Sleep = asyncio.sleep,
    only: type[BackendError] = BackendError,
) -> T:
    """The result of the first attempt that succeeds. Raises the last error of the attempts, or one that can't be retried.

    `only`: errors of other kinds are not retried either.
    """
    for attempt in range(1, settings.attempts_max):
        try:
            return await call()
        except only as error:
            wanted_s = error.retry_after_s if isinstance(error, BackendThrottled) else None
            is_late = isinstance(error, BackendTimeout)
            if is_late or not error.retryable or (wanted_s or 0.0) > settings.wait_max_s:
                raise
            pause_s = delay_s(attempt, settings, rng=rng, retry_after_s=wanted_s)
            if pause_s >= _NOTICEABLE_S:
                _log.info("%s; tried again in %.0f s", error, pause_s)
            await sleep(pause_s)
    return await call()
