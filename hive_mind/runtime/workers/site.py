"""Where a worker listens: as a site of aiohttp, but that it keeps few connections of strangers open (`strangers`).

And how bodies of requests are read there. Strangers may send any to the doors that need no token: one that can't be read is a
mistake of its sender's, no defect of ours; it is refused in a line, and no log shows where in a library it broke.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from hive_mind.errors import InvalidInput
from hive_mind.runtime.workers.strangers import BACKLOG, Strangers

STRANGERS = web.AppKey("strangers", Strangers)


class Site(web.BaseSite):
    """Of one application, at one address."""

    def __init__(self, runner: web.AppRunner, host: str, port: int, strangers: Strangers) -> None:
        super().__init__(runner)
        self._make, self._host, self._port, self._strangers = runner.server, host, port, strangers

    @property
    def name(self) -> str:
        return f"http://{self._host}:{self._port}"

    async def start(self) -> None:
        await super().start()
        self._server = await asyncio.get_running_loop().create_server(self._arrived, self._host, self._port, backlog=BACKLOG)

    def _arrived(self) -> asyncio.Protocol:
        protocol = cast("Callable[[], RequestHandler]", self._make)()
        self._strangers.arrived(protocol, protocol.force_close)
        return protocol


def admit(request: web.Request) -> None:
    """Its client has shown that it may ask."""
    if (strangers := request.config_dict.get(STRANGERS)) is not None:
        strangers.known(request.protocol)


async def body_of(request: web.Request) -> bytes:
    """Raises `InvalidInput` for one that is not encoded as its head says, and where the caller went away before its end."""
    with _refused():
        return await request.read()


async def form_of(request: web.Request) -> dict[str, str]:
    """The texts by name; files are left out. Raises `InvalidInput` also for what is no form."""
    with _refused():
        return {name: value for name, value in (await request.post()).items() if isinstance(value, str)}


@contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except ConnectionError as error:
        raise InvalidInput("no request: the caller went away") from error
    # Of forms: no boundary, an encoding that nobody knows, bytes that are not in it, parts without an end.
    except (web.RequestPayloadError, ValueError, LookupError, AssertionError) as error:
        raise InvalidInput("no request: the body is not what its head says: look at its type and its encoding") from error
