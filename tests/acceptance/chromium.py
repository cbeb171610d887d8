"""A real browser without a window, spoken to over its own protocol: loads a file and says what it looks like.

The program is found on the machine; `make test` installs it where it may.
"""

import asyncio
import base64
import itertools
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NoReturn

import aiohttp
import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# A machine that does much else takes its time to start a browser.
_PATIENCE_S = 60.0
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-port=0"),
)


# The page that was asked made room for the next one, by a click for instance: it has no value to give.
_LEFT = "Inspected target navigated or closed"


class Tab:
    """One page of the browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.events: list[dict[str, Any]] = []

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Do something and wait for its result; what happens meanwhile is in `events`."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            answer = await self._next()
            if answer.get("id") == number:
                if _LEFT in str(answer.get("error")):
                    return {"result": {}}
                assert "error" not in answer, answer
                found: dict[str, Any] = answer["result"]
                return found

    async def open(self, url: str, *, width: int, dark: bool = False) -> None:
        """Load an address as a screen of this width shows it, and wait until it is there."""
        await self.call("Page.enable")
        await self.call("Network.enable")
        await self.call("Log.enable")
        await self.call("Runtime.enable")
        is_phone = width < 600
        await self.call("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=is_phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        await self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            await self._next()

    async def evaluate(self, expression: str) -> Any:
        """The value of an expression on the page."""
        answer = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def picture(self, *, full: bool = True) -> bytes:
        """What is seen, as PNG."""
        answer = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=full)
        return base64.b64decode(answer["data"])

    @property
    def requests(self) -> list[str]:
        """Addresses that were asked for since the page was opened, its own among them."""
        return [event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"]

    @property
    def complaints(self) -> list[str]:
        """What the browser wrote to its console."""
        logged = [event["params"]["entry"]["text"] for event in self.events if event["method"] == "Log.entryAdded"]
        thrown = [str(event["params"]) for event in self.events if event["method"] == "Runtime.exceptionThrown"]
        return logged + thrown

    async def _next(self) -> dict[str, Any]:
        message: dict[str, Any] = await asyncio.wait_for(self._socket.receive_json(), _PATIENCE_S)
        if "method" in message:
            self.events.append(message)
        return message


@asynccontextmanager
async def browser(home: Path) -> AsyncIterator[Tab]:
    """A browser with a home of its own and one empty page. Skips the test where there is none."""
    process = await asyncio.create_subprocess_exec(
        chromium_program(), *_FLAGS, f"--user-data-dir={home}", stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with aiohttp.ClientSession() as session:
            host = await asyncio.wait_for(_listening(process), _PATIENCE_S)
            async with session.put(f"http://{host}/json/new?about:blank") as answer:
                address = (await answer.json())["webSocketDebuggerUrl"]
            async with session.ws_connect(address, max_msg_size=0) as socket:
                yield Tab(socket)
    finally:
        process.kill()
        await process.communicate()


def chromium_program() -> str:
    """Where the browser is."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    return found or _do_without("there is no chromium here: apt-get install chromium")


async def _listening(process: asyncio.subprocess.Process) -> str:
    """Host and port, which it writes down as soon as it listens."""
    assert process.stderr is not None
    told = []
    while line := (await process.stderr.readline()).decode(errors="replace"):
        told.append(line)
        if line.startswith("DevTools listening on ws://"):
            return line.removeprefix("DevTools listening on ws://").partition("/")[0]
    pytest.fail(f"the browser ended: {''.join(told[-5:])}")


def _do_without(why: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)
