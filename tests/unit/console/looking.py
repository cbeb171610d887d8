"""A worker of four agents with the console over it, and a browser that was let in."""

import asyncio
import html
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from yarl import URL

from hive_mind.console import PREFIX
from hive_mind.console.app import console
from hive_mind.console.seen import FleetOverHttp
from hive_mind.console.visit import Decisions
from hive_mind.runtime.workers import Contact
from hive_mind.runtime.workers.health import serve_worker
from hive_mind.runtime.workers.worker import Worker
from tests.unit.runtime.worker_builders import PATIENCE_S, config, running
from tests.waiting import until

TOKEN = "a-token-of-ours"  # noqa: S105 - for these tests alone


class Browser:
    """Asks for pages. `known` has the session's cookie; without it, nobody is signed in."""

    def __init__(self, worker: Worker, session: aiohttp.ClientSession, root: URL, decisions: Path) -> None:
        self.worker, self._session, self.root, self.decisions = worker, session, root, decisions

    async def link(self, token: str = TOKEN, **asked: str) -> tuple[int, str]:
        async with self._session.post(self.root / "link", json=asked, headers={"Authorization": f"Bearer {token}"}) as reply:
            return reply.status, await reply.text()

    async def enter(self) -> None:
        path = msgspec.json.decode((await self.link())[1])["path"]
        status, _, _ = await self.get(str(path).removeprefix(PREFIX + "/"))
        assert status == 200

    async def get(self, path: str, **given: Any) -> tuple[int, str, Any]:
        """Status, text and headers."""
        url = self.root / "" if not path else URL(f"{self.root}/{path}", encoded="%" in path)
        async with self._session.get(url, **given) as reply:
            return reply.status, await reply.text(), reply.headers

    async def post(self, path: str, form: dict[str, str], **given: Any) -> tuple[int, str]:
        async with self._session.post(URL(f"{self.root}/{path}"), data=form, **given) as reply:
            return reply.status, await reply.text()

    async def csrf(self, path: str) -> str:
        """What the forms of a page send along."""
        return (await self.get(path))[1].split('name="csrf" value="')[1].split('"')[0]

    async def until_page(self, path: str, shows: str) -> None:
        """Return when a page shows this."""
        async with asyncio.timeout(PATIENCE_S):
            while shows not in html.unescape((await self.get(path))[1]):  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def follow(self, path: str) -> aiohttp.ClientResponse:
        """What a page is told as it comes."""
        return await self._session.get(URL(f"{self.root}/{path}"))

    async def first_event(self, path: str) -> Any:
        """What a page that is followed says first."""
        async with self._session.get(URL(f"{self.root}/{path}")) as reply:
            while not (line := await reply.content.readline()).startswith(b"data: "):
                assert line
            return msgspec.json.decode(line.removeprefix(b"data: "))


@asynccontextmanager
async def looking(folder: Path, *, enters: bool = True, **fields: Any) -> AsyncIterator[Browser]:
    given = config(folder, **fields)
    run, noted = Path(given.run), folder / "decisions.jsonl"
    run.mkdir(parents=True, exist_ok=True)
    async with running(given) as worker, aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        below = {PREFIX: console(FleetOverHttp(run), TOKEN, Decisions(noted), name=given.fleet)}
        server = await serve_worker(worker, "127.0.0.1", 0, TOKEN, below)
        contact = Contact(given.process, 1, 0.0, server.port, TOKEN, "")
        (run / f"{given.process}.json").write_bytes(msgspec.json.encode(contact))
        try:
            await until(lambda: worker.status().is_ready)
            browser = Browser(worker, session, URL(f"http://127.0.0.1:{server.port}{PREFIX}"), noted)
            if enters:
                await browser.enter()
            yield browser
        finally:
            await server.close()
