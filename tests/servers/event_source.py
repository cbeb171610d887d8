"""A server of events on this machine: it numbers them, sends again what comes behind `Last-Event-ID`, and breaks off as told."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from aiohttp import web


@dataclass
class EventSource:
    """`sent` are (id, kind, data). After `each` events a connection ends; where there is nothing new, it ends at once."""

    sent: Sequence[tuple[str, str, str]]
    token: str = ""
    each: int = 2
    status: int = 200
    asked_behind: list[str] = field(default_factory=list)
    url: str = ""

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/events", self._events)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/events?key=s3cret"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _events(self, request: web.Request) -> web.StreamResponse:
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.Response(status=401)
        if self.status != 200:
            return web.Response(status=self.status)
        behind = request.headers.get("Last-Event-ID", "")
        self.asked_behind.append(behind)
        ids = [id for id, _, _ in self.sent]
        start = ids.index(behind) + 1 if behind in ids else 0
        body = "".join(f"id: {id}\nevent: {kind}\ndata: {data}\n\n" for id, kind, data in self.sent[start : start + self.each])
        return web.Response(text=": hello\n\n" + body, content_type="text/event-stream")
