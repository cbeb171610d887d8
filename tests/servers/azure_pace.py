"""Azure's SDKs look every 50 ms whether a link is open, some ten times for each: here they look more often.

Tests open thousands of links to a broker on this machine, and waited more for that than for all else together. Nothing but this
pause is shorter; what is waited for before something is tried again, or is given up, stays as it is. And each connection reads
the public certificates anew, also one without TLS, which takes 20 ms of CPU: here a process reads them once.
"""

import asyncio
import time
from contextlib import suppress
from functools import cache
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
_TRANSPORTS = ("azure.eventhub._pyamqp.aio._transport_async", "azure.servicebus._pyamqp.aio._transport_async")


class _Hasty:
    """A module of which `sleep` is shorter where it would take just the time of such a pause."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def sleep(self, seconds: float, *rest: Any) -> Any:
        return self._module.sleep(_OURS_S if seconds == _THEIRS_S else seconds, *rest)


@cache
def hasten() -> None:
    """For this process, once and for all, as far as the SDKs are installed."""
    for name in _MODULES:
        with suppress(ModuleNotFoundError):
            module = import_module(name)
            for used in (asyncio, time):
                if getattr(module, used.__name__, None) is used:
                    setattr(module, used.__name__, _Hasty(used))
    for name in _TRANSPORTS:
        with suppress(ModuleNotFoundError):
            _read_certificates_once(import_module(name).AsyncTransportMixin)


def _read_certificates_once(transport: Any) -> None:
    import certifi

    theirs, public = transport._build_ssl_opts, {"ca_certs": certifi.where()}
    ours = cache(lambda: theirs(None, public))
    transport._build_ssl_opts = lambda self, options: ours() if options == public else theirs(self, options)
