"""Where a worker listens: as a site of aiohttp, but that it keeps few connections of strangers open (`strangers`)."""

import asyncio
from collections.abc import Callable
from typing import cast

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

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
