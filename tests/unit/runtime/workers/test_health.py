"""A worker over HTTP: who may ask, what is answered, and what errors look like."""

import asyncio
import hmac
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hive_mind.agents.runs.event_streams import beating
from hive_mind.api.request import REQUEST_BYTES_MAX
from hive_mind.errors import BackendError
from hive_mind.runs import TriggerConfig
from hive_mind.runtime.settings import HTTP_REQUESTS_MAX
from hive_mind.runtime.workers import AgentStatus, NodeStatus, WorkerStatus, health
from hive_mind.runtime.workers.config import AgentConfig, SeenConfig
from hive_mind.runtime.workers.health import reasons_not_ready, serve_worker
from hive_mind.runtime.workers.worker import Worker
from tests.unit.runtime.worker_builders import NAMES, config, play, running
from tests.waiting import until

TOKEN = "a-token-of-ours"  # noqa: S105 - for these tests alone
KNOWN = {"Authorization": f"Bearer {TOKEN}"}


class Caller:
    """Asks a worker that runs."""

    def __init__(self, worker: Worker, session: aiohttp.ClientSession, port: int) -> None:
        self.worker, self._session, self.port = worker, session, port

    async def get(self, path: str, **given: Any) -> tuple[int, Any]:
        async with self._session.get(f"http://127.0.0.1:{self.port}{path}", **given) as reply:
            return reply.status, await reply.json()

    async def post(self, path: str, body: Any, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        kind = {"data": BytesIO(body)} if isinstance(body, bytes) else {"json": body}
        url = f"http://127.0.0.1:{self.port}{path}"
        async with self._session.post(url, headers=KNOWN if headers is None else headers, **kind) as reply:
            return reply.status, await reply.json()

    def refused(self, path: str) -> Any:
        return self._session.post(f"http://127.0.0.1:{self.port}{path}", headers=KNOWN)

    async def text(self, path: str, **given: Any) -> tuple[int, str]:
        async with self._session.get(f"http://127.0.0.1:{self.port}{path}", **given) as reply:
            return reply.status, await reply.text()


@asynccontextmanager
async def calling(folder: Path, requests_max: int = HTTP_REQUESTS_MAX, **fields: Any) -> AsyncIterator[Caller]:
    async with running(config(folder, **fields)) as worker, aiohttp.ClientSession() as session:
        server = await serve_worker(worker, "127.0.0.1", 0, TOKEN, requests_max=requests_max)
        try:
            await until(lambda: worker.status().is_ready)
            yield Caller(worker, session, server.port)
        finally:
            await session.close()
            await server.close()


async def test_anybody_may_ask_whether_it_lives_and_is_ready(tmp_path: Path) -> None:
    async with calling(tmp_path) as call:
        assert await call.get("/healthz") == (200, {"phase": "ready", "error": ""})
        assert await call.get("/readyz") == (200, {"ready": True, "reasons": []})
        call.worker.drain()
        assert (await call.get("/healthz"))[0] == 200
        assert await call.get("/readyz") == (503, {"ready": False, "reasons": ["town is draining"]})


async def test_a_worker_that_has_failed_says_that_it_has_to_be_started_again(tmp_path: Path) -> None:
    async with calling(tmp_path) as call:
        call.worker._nodes["town"].runner.fail(OSError("disk full"))
        await until(lambda: call.worker.status().phase == "failed")
        status, told = await call.get("/healthz")
        assert (status, "disk full" in told["error"]) == (500, True)
        assert (await call.get("/readyz"))[0] == 503


def test_reasons_name_every_node_and_agent_that_is_of_no_use() -> None:
    status = WorkerStatus(
        process="p",
        pid=1,
        config="",
        hive="h",
        phase="starting",
        since_ms=0,
        nodes=(NodeStatus("n", error="the bus can't be reached"), NodeStatus("m"), NodeStatus("o", is_ready=True)),
        agents=tuple(AgentStatus(phase, phase=phase) for phase in ("starting", "failed", "learning", "ready", "asleep")),  # type: ignore[arg-type]
        error="waits",
    )

    assert reasons_not_ready(status) == [
        "p is starting: waits",
        "node n: the bus can't be reached",
        "node m: not a member yet",
        "agent starting: starting",
        "agent failed: failed",
    ]


async def test_what_a_node_refused_of_others_is_in_the_statistics_of_its_agents(tmp_path: Path) -> None:
    async with calling(tmp_path) as call:
        figures = call.worker._agents["ada"]._given.runner.figures
        figures.refused["asked"] += 1
        figures.unproven["other key"] += 2
        status, told = await call.post("/v1/agents/ada", {"do": "stats"}, KNOWN)
        shown = told["ok"]["figures"]
        assert (status, shown["refused"], shown["unproven"]) == (200, {"asked": 1}, {"other key": 2})


async def test_without_the_token_nothing_is_told(tmp_path: Path) -> None:
    async with calling(tmp_path) as call:
        for shown in ({}, *({"Authorization": given} for given in ("Bearer wrong", TOKEN, "Bearer \N{SNOWMAN}"))):
            for status, told in (
                await call.get("/v1/status", headers=shown),
                await call.post("/v1/agents/ada", {"do": "stats"}, shown),
                await call.post("/v1/leave", {}, shown),
                await call.get("/v1/members", headers=shown),
                await call.post("/v1/evict", {"member": "ada"}, shown),
                await call.get("/v1/nowhere", headers=shown),
            ):
                assert (status, TOKEN in str(told)) == (401, False), shown
                assert told["error"].startswith("a request needs the header")


async def test_requests_are_answered_as_over_pipes(tmp_path: Path) -> None:
    async with calling(tmp_path) as call:
        status, told = await call.post("/v1/agents/ada", {"id": 7, "do": "store", "content": "The gate is blue."})
        assert (status, told["id"], told["ok"]["sharing"]) == (200, 7, "shared")
        status, told = await call.post("/v1/agents/ben", {"do": "search", "query": "gate"})
        assert [hit["content"] for hit in told["ok"]["hits"]] == ["The gate is blue."]
        status, told = await call.get("/v1/status", headers=KNOWN)
        assert (status, told["phase"], len(told["agents"])) == (200, "ready", len(NAMES))
        status, told = await call.get("/v1/members", headers=KNOWN)
        assert (status, [one["is_in"] for one in told["ok"]]) == (200, [True] * len(told["ok"]))
        assert await call.post("/v1/leave", {"timeout_s": 5}) == (200, {"ok": {}})


async def test_what_can_not_be_done_is_told_as_json(tmp_path: Path) -> None:
    refused: list[tuple[str, Any, int, str]] = [
        ("/v1/agents/ada", b'{"do":', 400, "no request"),
        ("/v1/agents/ada", b"[1]", 400, "no request"),
        ("/v1/agents/ada", b"\xff", 400, "no request"),
        ("/v1/agents/ada", b"[" * 100_000, 400, "no request"),
        ("/v1/agents/ada", {"do": "__class__"}, 400, "there is no"),
        ("/v1/agents/ada", {"do": "ask", "agent": "ben"}, 400, "ask has no field 'agent'"),
        ("/v1/agents/ada", b" " * (REQUEST_BYTES_MAX + 1), 413, "at most 1,048,576 bytes"),
        ("/v1/leave", {"when": "now"}, 400, "no request"),
        ("/v1/evict", {}, 400, "no request"),
        ("/v1/evict", {"member": "zoe"}, 400, "zoe is not a member"),
        ("/v1/nowhere", {}, 404, "Not Found"),
        ("/healthz", {}, 405, "Method Not Allowed"),
    ]
    async with calling(tmp_path) as call:
        for path, body, status, why in refused:
            code, told = await call.post(path, body)
            assert (code, why in told["error"], bool(told["kind"])) == (status, True, True), (path, told)


@pytest.mark.parametrize("path", ["/v1/replies/ada/unknown", "/v1/agents/ada/ask", "/v1/hooks/ada/mail"])
async def test_a_body_that_is_not_what_its_head_says_is_its_senders_mistake(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HIVE_MIND_HOOK_SECRET", "s")
    form = "application/x-www-form-urlencoded"
    heads = [
        {"Content-Type": kind} for kind in ("multipart/form-data", "multipart/form-data; boundary=a", form, f"{form}; charset=x")
    ]
    async with calling(tmp_path) as call:
        for head in (*heads, {"Content-Type": "application/json", "Content-Encoding": "gzip"}):
            status, told = await call.post(path, b"a\xff=\xfe", {**KNOWN, "Accept": "application/json", **head})
            assert (status, bool(told["error"])) == (400, True), (head, told)
        assert (await call.get("/readyz"))[0] == 200
    assert not [record for record in caplog.records if record.exc_info and record.name.startswith("hive_mind")], caplog.text


async def test_a_page_whose_name_leads_to_loopback_is_told_nothing(tmp_path: Path) -> None:
    async with calling(tmp_path) as call:
        for path in ("/healthz", "/readyz", "/metrics", "/v1/status"):
            for host in ("rebound.example", f"rebound.example:{call.port}", "127.0.0.1.rebound.example", "[::1", "10.0.0.1"):
                status, told = await call.get(path, headers={**KNOWN, "Host": host})
                assert (status, set(told)) == (421, {"error", "kind"}), (path, host)
            for host in ("localhost", f"127.0.0.1:{call.port}", f"[::1]:{call.port}", "LOCALHOST"):
                status, _ = await call.text(path, headers={**KNOWN, "Host": host, "Origin": "http://rebound.example"})
                assert status == 200, (path, host)


async def test_who_listens_for_others_is_asked_by_any_name(tmp_path: Path) -> None:
    async with running(config(tmp_path)) as worker, aiohttp.ClientSession() as session:
        server = await serve_worker(worker, "0.0.0.0", 0, TOKEN)  # noqa: S104 - as in a container
        call = Caller(worker, session, server.port)
        try:
            assert (await call.get("/healthz", headers={"Host": "pump-0.pump.hives.svc"}))[0] == 200
        finally:
            await session.close()
            await server.close()


def test_a_caller_who_hangs_up_half_way_is_no_defect(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with calling(tmp_path) as call:
            _, writer = await asyncio.open_connection("127.0.0.1", call.port)
            told = f"POST /v1/agents/ada HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
            writer.write(f"{told}Content-Length: 100\r\n\r\n{{".encode())
            await writer.drain()
            assert (await call.get("/healthz"))[0] == 200
            writer.close()
            await writer.wait_closed()
            assert (await call.get("/healthz"))[0] == 200

    play(work())
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_a_defect_is_told_in_the_log_and_not_to_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("in the depths")

    async def work() -> None:
        async with calling(tmp_path) as call:
            monkeypatch.setattr(call.worker, "call", broken)
            status, told = await call.post("/v1/agents/ada", {"do": "stats"})
            assert status == 500
            assert "depths" not in str(told)
            assert "Traceback" not in str(told)

    play(work())
    assert any(record.exc_info and "depths" in str(record.exc_info[1]) for record in caplog.records)


async def test_figures_are_for_prometheus_and_can_be_switched_off(tmp_path: Path) -> None:
    async with calling(tmp_path) as call:
        status, text = await call.text("/metrics")
        assert status == 200
        assert 'hive_facts{node="town"} 0.0' in text
        assert 'hive_agent_up{agent="ada"} 1.0' in text
    async with calling(tmp_path, seen=SeenConfig(metrics=False)) as call:
        assert (await call.text("/metrics"))[0] == 404


async def test_what_a_caller_began_goes_on_when_it_hangs_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, goes_on, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(*_: object, **__: object) -> None:
        begun.set()
        await goes_on.wait()
        done.set()

    async with calling(tmp_path) as call:
        monkeypatch.setattr(call.worker, "call", slow)
        asking = asyncio.ensure_future(call.post("/v1/agents/ada", {"do": "stats"}))
        await begun.wait()
        asking.cancel()
        await asyncio.wait([asking])
        goes_on.set()
        async with asyncio.timeout(60):
            await done.wait()


async def test_more_requests_than_it_takes_are_refused_at_once_and_its_health_is_told_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on = asyncio.Event(), asyncio.Event()

    async def slow(*_: object, **__: object) -> str:
        begun.set()
        await goes_on.wait()
        return "done"

    async with calling(tmp_path, requests_max=1) as call, asyncio.timeout(60):
        monkeypatch.setattr(call.worker, "put", slow)
        first = asyncio.ensure_future(call.post("/v1/agents/ada/stats", {}))
        await begun.wait()
        refused = await call.post("/v1/agents/ada/stats", {})
        async with call.refused("/v1/agents/ada") as reply:
            assert (reply.status, reply.headers["Retry-After"]) == (503, "1")
        assert (await call.get("/healthz"))[0] == (await call.get("/v1/status", headers=KNOWN))[0] == 200
        goes_on.set()
        assert [await first, await call.post("/v1/agents/ada/stats", {})] == [(200, {"ok": "done"})] * 2
    told = "town: 1 request under way are as many as it takes; ask again"
    assert refused == (503, {"error": told, "kind": "BackendBusy", "retry_after_s": 1.0})


async def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    async with calling(tmp_path) as call:
        with pytest.raises(BackendError, match=f"port {call.port} on 127.0.0.1 can't be listened on"):
            await serve_worker(call.worker, "127.0.0.1", call.port, TOKEN)


def test_codes_tell_what_kind_of_error_it_was() -> None:
    from hive_mind.errors import BackendNotInstalled, BackendThrottled, BackendTimeout, BackendUnavailable, InvalidInput

    codes = {
        InvalidInput("x"): 400,
        BackendNotInstalled("metrics", "prometheus", "prometheus"): 501,
        BackendUnavailable("hive", "x"): 503,
        BackendTimeout("hive", "x"): 504,
        BackendError("hive", "x"): 502,
        BackendThrottled("llm", "x"): 503,
    }
    assert {error: health._code_of(error) for error in codes} == codes


async def test_a_hook_needs_the_token_or_a_signature_and_its_key_begins_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = {"id": "ask", "entry": "ask", "nodes": [{"id": "ask", "kind": "person", "outputs": ["word"]}], "inputs": ["about"]}
    ada = AgentConfig("ada", worker=worker, triggers=(TriggerConfig(hook="mail"),))
    monkeypatch.setenv("HIVE_MIND_HOOK_SECRET", "hush")
    body = b'{"about": "pumps"}'
    signed = {"X-Hub-Signature-256": f"sha256={hmac.new(b'hush', body, 'sha256').hexdigest()}", "Idempotency-Key": "k"}

    agents = (ada, *(AgentConfig(name) for name in NAMES if name != "ada"))
    async with calling(tmp_path, agents=agents) as caller:
        assert (await caller.post("/v1/hooks/ada/mail", body, {}))[0] == 401
        wrong = signed | {"X-Hub-Signature-256": "sha256=00"}
        assert (await caller.post("/v1/hooks/ada/mail", body, wrong))[0] == 401
        assert (await caller.post("/v1/agents/ada", body, signed))[0] == 401
        code, one = await caller.post("/v1/hooks/ada/mail", body, signed)
        assert code == 200
        assert await caller.post("/v1/hooks/ada/mail", body, signed) == (200, one)
        code, other = await caller.post("/v1/hooks/ada/mail", body, KNOWN)
        assert code == 200
        assert other != one
        assert (await caller.post("/v1/hooks/ada/news", body, signed))[0] == 400
        assert (await caller.post("/v1/hooks/ben/mail", body, signed))[0] == 400
        assert (await caller.post("/v1/hooks/ada/mail", b"[]", KNOWN))[0] == 400
        code, shown = await caller.post("/v1/agents/ada", {"do": "run_shown", "run": one["ok"]["run"]})
        assert shown["ok"]["inputs"] == {"about": "pumps"}


async def test_what_happens_in_runs_is_told_as_it_happens_and_goes_on_behind_the_last_event(tmp_path: Path) -> None:
    worker = {"id": "ask", "entry": "ask", "nodes": [{"id": "ask", "kind": "person", "outputs": ["word"]}]}

    async def read(caller: Caller, until_kind: str, **headers: str) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = []
        url = f"http://127.0.0.1:{caller.port}/v1/agents/ada/events"
        async with aiohttp.ClientSession() as session, session.get(url, headers=KNOWN | headers) as reply:
            assert reply.headers["Content-Type"] == "text/event-stream"
            number = 0
            async for line in reply.content:
                name, _, value = line.decode().strip().partition(": ")
                number = int(value) if name == "id" else number
                if name == "event":
                    found.append((number, value))
                if name == "event" and value == until_kind:
                    return found
        raise AssertionError("it ended")

    agents = (AgentConfig("ada", worker=worker), *(AgentConfig(name) for name in NAMES if name != "ada"))
    async with calling(tmp_path, agents=agents) as caller:
        reading = asyncio.create_task(read(caller, "run.parked"))
        assert (await caller.post("/v1/agents/ada", {"do": "run", "run": "r"}))[0] == 200
        first = await asyncio.wait_for(reading, 60)
        assert [kind for _, kind in first][:2] == ["run.started", "run.entered"]
        assert "item.opened" in [kind for _, kind in first]
        assert (await caller.post("/v1/agents/ada", {"do": "run_cancelled", "run": "r"}))[0] == 200
        rest = await asyncio.wait_for(read(caller, "run.ended", **{"Last-Event-ID": str(first[-1][0])}), 20)
        assert rest[0][0] > first[-1][0]
        assert (await caller.get("/v1/agents/ada/events"))[0] == 401
        assert (await caller.get("/v1/agents/ada/events?since=x", headers=KNOWN))[0] == 400
        assert (await caller.get("/v1/agents/eve/events", headers=KNOWN))[0] == 400


async def test_a_listener_to_whom_nothing_is_told_hears_that_there_is_nothing_new() -> None:
    async def silent() -> AsyncIterator[bytes]:
        await asyncio.sleep(0.05)
        yield b"one"

    assert [one async for one in beating(silent(), 0.02)][-1] == b"one"
    assert None in [one async for one in beating(silent(), 0.02)]


async def test_it_answers_while_a_long_text_is_read(tmp_path: Path) -> None:
    # Questions become no fact, so all of the time goes into reading.
    text = "Is the pump of the harbour red, and how many kilos does it weigh?\n\n" * 2_000
    async with calling(tmp_path) as call:
        answers = await _answers_during(call, call.post("/v1/agents/ada/learn", {"text": text, "source": "notes.md"}))
    assert answers >= 10


async def test_it_answers_while_a_question_is_answered_from_long_facts(tmp_path: Path) -> None:
    async with calling(tmp_path) as call:
        for number in range(3):
            fact = f"The pump house {number} measured: " + f"{number},2 kg " * 1_500
            assert (await call.post("/v1/agents/ada/store", {"content": fact}))[0] == 200
        answers = await _answers_during(call, call.post("/v1/agents/ada/ask", {"question": "What did the pump house measure?"}))
    assert answers >= 5


async def _answers_during(call: Caller, request: Coroutine[Any, Any, tuple[int, Any]]) -> int:
    """How often it says that it lives until the request is answered."""
    task, answers = asyncio.create_task(request), 0
    while not task.done():
        assert (await call.get("/healthz"))[0] == 200
        answers += 1
    status, told = await task
    assert status == 200, told
    return answers
