"""Tasks nobody waits for: if one fails in a way it should not, somebody hears of it."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

_log = logging.getLogger(__name__)


def begin(work: Coroutine[Any, Any, None], name: str, on_failure: Callable[[str], None]) -> "asyncio.Task[None]":
    """A task that logs what ends it, and tells `on_failure`."""
    task = asyncio.create_task(work, name=name)

    def ended(done: "asyncio.Task[None]") -> None:
        if not done.cancelled() and (error := done.exception()) is not None:
            _log.error("%s has stopped: %s", name, error, exc_info=error)
            on_failure(f"{name} has stopped: {error}")

    task.add_done_callback(ended)
    return task
