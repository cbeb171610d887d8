"""What answers of workers mean, those of nobody and of somebody else too."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from hive_mind.errors import BackendTimeout, BackendUnavailable, HiveError, InvalidInput
from hive_mind.runtime import asking
from hive_mind.runtime.asking import ProcessAgent, ProcessBegins, ProcessGone, called, status_of
from hive_mind.runtime.replies import AgentFailed
from hive_mind.runtime.workers import Contact


@asynccontextmanager
async def told(body: bytes, code: str = "200 OK", length: int = -1) -> AsyncIterator[tuple[Contact, bytearray]]:
    """While somebody answers everything with this, of which he says that it has a `length`; the last is what he was asked."""
    heard, answering = bytearray(), set[asyncio.Task[None] | None]()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answering.add(asyncio.current_task())
        # On a busy machine somebody has given up before it has asked.
        with suppress(asyncio.IncompleteReadError):
            heard.extend(await reader.readuntil(b"\r\n\r\n"))
        if body != b"silence":
            writer.write(
                f"HTTP/1.1 {code}\r\nContent-Length: {len(body) if length < 0 else length}\r\nConnection: close\r\n\r\n".encode()
                + body
            )
        else:
            await reader.read()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield Contact("town-0", 4242, 0.0, server.sockets[0].getsockname()[1], "t0ken", "c"), heard
    finally:
        server.close()
        await asyncio.gather(*(task for task in answering if task))


async def call(contact: Contact) -> object:
    return await called(contact, "ada", "stats", {}, silence_s=30.0)


async def test_an_agent_is_asked_by_its_name_with_the_token_of_its_worker() -> None:
    async with told(b'{"id":0,"ok":{"facts":7}}') as (contact, heard):
        assert await call(contact) == {"facts": 7}
    assert heard.startswith(b"POST /v1/agents/ada HTTP/1.0\r\n")
    assert b"Authorization: Bearer t0ken\r\n" in heard


@pytest.mark.parametrize(
    ("kind", "code", "error", "why"),
    [
        ("InvalidInput", "400 Bad Request", InvalidInput, "no such luck"),
        ("BackendTimeout", "504 Gateway Timeout", BackendTimeout, "no such luck"),
        ("BackendUnavailable", "503 Service Unavailable", BackendUnavailable, "no such luck"),
        ("DatabaseUnreadable", "503 Service Unavailable", AgentFailed, "no such luck"),
        ("ConfigError", "401 Unauthorized", BackendUnavailable, "another process listens"),
    ],
)
async def test_what_a_worker_refuses_is_refused_here_and_who_does_not_know_the_token_is_somebody_else(
    kind: str, code: str, error: type[HiveError], why: str
) -> None:
    async with told(f'{{"error":"no such luck","kind":"{kind}"}}'.encode(), code) as (contact, _):
        with pytest.raises(error, match=why):
            await call(contact)


@pytest.mark.parametrize("body", [b"", b"[]", b"7", b"<html>", b"\xff", b"{"])
async def test_who_answers_nonsense_is_no_worker(body: bytes) -> None:
    async with told(body) as (contact, _):
        with pytest.raises(BackendUnavailable):
            await call(contact)
    async with told(body) as (contact, _):
        with pytest.raises(BackendUnavailable):
            await status_of(contact, 30.0)


async def test_who_says_nothing_is_waited_for_as_long_as_was_said() -> None:
    async with told(b"silence") as (contact, _):
        with pytest.raises(BackendTimeout, match=r"no answer in 0\.1 s"):
            await status_of(contact, 0.1)


async def test_where_nobody_listens_it_is_said() -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    with pytest.raises(BackendUnavailable, match="can't be reached"):
        await status_of(Contact("town-0", 4242, 0.0, port, "t", "c"), 30.0)


class Gone(ProcessAgent):
    """Of which nobody knows how it is reached, and which takes five seconds to find that out."""

    may_revive = True
    tries, clock_s = 0, 0.0

    async def contact_of(self, agent: str) -> Contact:
        self.tries, self.clock_s = self.tries + 1, self.clock_s + 5.0
        raise ProcessGone(agent, "it is not running")


class Beginning(ProcessAgent):
    """Which can't be reached yet at the first two looks."""

    looks = 0

    async def contact_of(self, agent: str) -> Contact:
        self.looks += 1
        if self.looks < 3:
            raise ProcessBegins(agent, "it has only just begun")
        return await super().contact_of(agent)


async def test_a_process_that_is_being_started_is_waited_for_whatever_is_asked() -> None:
    for request in ("learn", "ask"):
        async with told(b'{"ok":{"added":1}}') as (contact, _):
            beginning = Beginning("town", "ada", contact)
            assert (await beginning.call(request), beginning.looks) == ({"added": 1}, 3)


async def test_a_process_that_stays_away_is_waited_for_as_long_however_long_each_look_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone = Gone("town", "ada", None)
    monkeypatch.setattr(asking, "monotonic", lambda: gone.clock_s)
    monkeypatch.setattr(asking, "_PAUSE_S", 0.0)

    with pytest.raises(ProcessGone, match="it is not running"):
        await gone.call("ask", question="?")

    assert gone.tries == 7
