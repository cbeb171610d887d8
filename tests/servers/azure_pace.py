"""Azure's SDKs look every 50 ms whether a link is open, some ten times for each: here they look more often.

Tests open thousands of links to a broker on this machine, and waited more for that than for all else together. Nothing but this
pause is shorter; what is waited for before something is tried again, or is given up, stays as it is.
"""

import asyncio
import time
from contextlib import suppress
from importlib import import_module
from typing import Any

_THEIRS_S, _OURS_S = 0.05, 0.002
_MODULES = (
    "azure.eventhub._client_base",
    "azure.eventhub._pyamqp.client",
    "azure.servicebus._servicebus_receiver",
    "azure.servicebus._servicebus_sender",
    "azure.servicebus._pyamqp.client",
    "azure.servicebus.aio._servicebus_receiver_async",
    "azure.servicebus.aio._servicebus_sender_async",
    "azure.servicebus._pyamqp.aio._client_async",
)


class _Hasty:
    """A module of which `sleep` is shorter where it would take just the time of such a pause."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def sleep(self, seconds: float, *rest: Any) -> Any:
        return self._module.sleep(_OURS_S if seconds == _THEIRS_S else seconds, *rest)


def hasten() -> None:
    """For this process, once and for all, as far as the SDKs are installed."""
    for name in _MODULES:
        with suppress(ModuleNotFoundError):
            module = import_module(name)
            for used in (asyncio, time):
                if getattr(module, used.__name__, None) is used:
                    setattr(module, used.__name__, _Hasty(used))
