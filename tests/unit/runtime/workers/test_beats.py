"""A process that works on a request says so every few seconds, to clients that know it; one that says nothing is given up."""

import asyncio
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from hive_mind.errors import BackendTimeout, InvalidInput
from hive_mind.runtime.asking import ProcessGone, ProcessSilent, called
from hive_mind.runtime.worker_http import BEATS, ReplyReader, request_bytes
from hive_mind.runtime.workers import health
from tests.servers.children import Child
from tests.unit.runtime.test_asking import told
from tests.unit.runtime.workers.test_health import TOKEN, calling
from tests.waiting import until


async def pieces_of(port: int, request: bytes, release: asyncio.Event, after: int) -> bytes:
    """The body; the request is let go when so many bytes of it have come."""
    source, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    reader, body = ReplyReader(), b""
    while some := await source.read(1 << 16):
        body += reader.feed(some)
        if len(body) >= after:
            release.set()
    reader.end()
    writer.close()
    return body


@pytest.mark.parametrize("outcome", [{"facts": 7}, InvalidInput("no such luck"), BackendTimeout("model", "it is late")])
async def test_a_request_that_takes_long_has_a_blank_for_each_beat_in_front_of_its_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outcome: Any
) -> None:
    monkeypatch.setattr(health, "BEAT_S", 0.01)
    release = asyncio.Event()

    async def slow(*_: object, **__: object) -> Any:
        await release.wait()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async with calling(tmp_path) as call:
        monkeypatch.setattr(call.worker, "call", slow)
        body = await pieces_of(call.port, request_bytes("POST", "/v1/agents/ada", TOKEN, b'{"do":"stats"}'), release, 3)
        assert body.startswith(b"   ")
        reply = msgspec.json.decode(body)
        assert reply.get("ok") == (outcome if isinstance(outcome, dict) else None)
        assert reply.get("kind", "") == ("" if isinstance(outcome, dict) else type(outcome).__name__)


async def test_a_client_that_does_not_know_beats_gets_the_reply_alone_and_its_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "BEAT_S", 0.0)
    async with calling(tmp_path) as call:
        assert (await call.post("/v1/agents/ada", {"do": "dance"}))[0] == 400
        request = request_bytes("POST", "/v1/agents/ada", TOKEN, b'{"do":"stats"}').replace(BEATS.encode(), b"Something-Else")
        assert (await pieces_of(call.port, request, asyncio.Event(), 0)).startswith(b"{")


@pytest.fixture
def sleeper() -> Iterator[psutil.Process]:
    with Child([sys.executable, "-c", "import signal; signal.pause()"]) as child:
        yield psutil.Process(child.pid)
        child.kill()


async def test_one_that_is_silent_is_named_with_its_condition_and_what_to_do(sleeper: psutil.Process) -> None:
    texts = []
    async with told(b"silence") as (known, _):
        contact = msgspec.structs.replace(known, pid=sleeper.pid, started=sleeper.create_time())
        for what in ("there", "stopped", "gone"):
            if what == "stopped":
                sleeper.send_signal(signal.SIGSTOP)
                # It has to have its turn to be stopped.
                await until(lambda: sleeper.status() == psutil.STATUS_STOPPED, "it is stopped")
            elif what == "gone":
                sleeper.kill()
                await asyncio.to_thread(psutil.wait_procs, [sleeper])
            with pytest.raises(ProcessSilent) as error:
                await called(contact, "ada", "stats", {}, silence_s=0.05)
            texts.append(str(error.value))

    assert "busy or hung; wait for longer with --timeout" in texts[0]
    assert f"process {sleeper.pid} is stopped; kill -CONT {sleeper.pid}" in texts[1]
    assert "it has ended; hive-mind status says why" in texts[2]
    assert all(text.startswith("town-0: no answer in 0.05 s") for text in texts)


async def test_one_that_ends_in_the_middle_of_a_reply_has_not_answered() -> None:
    async with told(b'{"ok"', length=100) as (contact, _):
        with pytest.raises(ProcessGone, match="it ended before it had answered: hive-mind status"):
            await called(contact, "ada", "stats", {}, silence_s=30.0)
