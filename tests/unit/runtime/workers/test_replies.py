"""Notices of a desk go to a webhook, signed and marked; a link in one takes one decision, by POST, once, while it is of use."""

import hmac
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from hive_mind.clocks import wall_clock_ms
from hive_mind.runtime.workers.config import AgentConfig, NotifyConfig
from tests.unit.runtime.worker_builders import NAMES
from tests.unit.runtime.workers.test_health import KNOWN, Caller, calling
from tests.waiting import until

ASK = {"id": "ask", "entry": "ask", "nodes": [{"id": "ask", "kind": "person", "prompt": "Sail?", "outputs": ["word"]}]}
SECRET = "hush"  # noqa: S105 - for these tests alone


class Webhook:
    """Refuses as many requests as it is told to, and keeps the others."""

    def __init__(self, refusals: int = 0) -> None:
        self.refusals, self.got, self.url = refusals, list[tuple[dict[str, str], bytes]](), ""

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        if self.refusals:
            self.refusals -= 1
            return web.Response(status=503)
        self.got.append(({name.lower(): value for name, value in request.headers.items()}, body))
        return web.Response()

    @property
    def notices(self) -> list[Any]:
        return [json.loads(body) for _, body in self.got]


@asynccontextmanager
async def webhook(refusals: int = 0) -> AsyncIterator[Webhook]:
    hook, app = Webhook(refusals), web.Application()
    app.add_routes([web.post("/", hook.take)])
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        hook.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
        yield hook
    finally:
        await runner.cleanup()


@asynccontextmanager
async def asking(folder: Path, hook: Webhook, **notify: Any) -> AsyncIterator[Caller]:
    """A worker whose agent ada runs `ASK`."""
    agents = (AgentConfig("ada", worker=ASK), *(AgentConfig(name) for name in NAMES if name != "ada"))
    config = NotifyConfig(url=hook.url, link="https://hive.example/", **notify)
    async with calling(folder, agents=agents, notify=config) as caller:
        yield caller


async def begun(caller: Caller, hook: Webhook, run: str = "r") -> dict[str, str]:
    """The links of the notice about a run, as paths."""
    sent = len(hook.got)
    await caller.post("/v1/agents/ada", {"do": "run", "run": run})
    await until(lambda: len(hook.got) > sent)
    return {how: link.removeprefix("https://hive.example") for how, link in hook.notices[-1]["replies"].items()}


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVE_MIND_HOOK_SECRET", SECRET)


async def test_a_notice_is_tried_again_signed_marked_and_sent_once_for_each_item(tmp_path: Path) -> None:
    async with webhook(refusals=1) as hook:
        async with asking(tmp_path, hook) as caller:
            await begun(caller, hook)
            await begun(caller, hook, "s")
        async with asking(tmp_path, hook) as caller:
            await begun(caller, hook, "t")
        headers, body = hook.got[0]
        notices = hook.notices
    assert headers["x-hub-signature-256"] == f"sha256={hmac.new(SECRET.encode(), body, 'sha256').hexdigest()}"
    assert headers["hive-mind-notice"] == headers["idempotency-key"] == notices[0]["id"]
    assert [one["run"] for one in notices] == ["r", "s", "t"], "none again after a restart"
    assert (notices[0]["title"], notices[0]["agent"], sorted(notices[0]["replies"])) == ("Sail?", "ada", ["answer", "reject"])
    assert "the answer is the value of word" in notices[0]["context"]["on yes"]


async def test_a_link_shows_by_get_and_decides_by_post_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with webhook() as hook, asking(tmp_path, hook) as caller:
        links = await begun(caller, hook)
        for _ in range(2):
            status, text = await caller.text(links["answer"], headers={"Host": "hive.example"})
            assert (status, "Sail?" in text, '<form method="post">' in text) == (200, True, True)
        assert str((await caller.post("/v1/agents/ada", {"do": "run_shown", "run": "r"}))[1]["ok"]["status"]) == "parked", (
            "a look decides nothing"
        )
        as_json = {"Accept": "application/json"}
        assert (await caller.post(links["answer"], {"text": "yes"}, as_json))[0] == 400, "nobody says who decides"
        assert (await caller.post(links["answer"], {"by": "ines"}, as_json))[0] == 400, "there is no answer"
        code, done = await caller.post(links["answer"], {"by": "ines", "text": "yes", "because": "fair wind"}, as_json)
        assert (code, done["decision"]) == (200, "answer")
        assert (await caller.post(links["answer"], {"by": "eve", "text": "no"}, as_json))[0] == 410
        assert (await caller.post(links["reject"], {"by": "eve"}, as_json))[0] == 410
        assert (await caller.text(links["answer"]))[0] == 410
        for _ in range(1_000):
            _, shown = await caller.post("/v1/agents/ada", {"do": "run_shown", "run": "r"})
            if shown["ok"]["status"] == "accepted":
                break
        assert shown["ok"]["outputs"] == {"word": "yes"}
        token = links["answer"].rpartition("/")[2]
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and token.encode() in path.read_bytes()]
    assert (kept, token in caplog.text, token.rpartition(".")[2] in caplog.text) == ([], False, False)


async def test_a_link_that_expired_is_not_ours_or_is_older_than_a_reopening_is_refused(tmp_path: Path) -> None:
    as_json = {"Accept": "application/json"}
    async with webhook() as hook, asking(tmp_path, hook, hours=1e-9) as caller:
        links = await begun(caller, hook)
        assert (await caller.post(links["answer"], {"by": "ines", "text": "yes"}, as_json))[0] == 410
    async with webhook() as hook, asking(tmp_path / "other", hook) as caller:
        links = await begun(caller, hook)
        agent, _, token = links["answer"].rpartition("/")
        item, how, former, expires, seal = token.split(".")
        assert int(expires) > wall_clock_ms()
        forged = [
            f"{item}.reject.{former}.{expires}.{seal}",
            f"{item}.{how}.{former}.{int(expires) + 1}.{seal}",
            f"{'0' * len(item)}.{how}.{former}.{expires}.{seal}",
            f"{item}.{how}.1.{expires}.{seal}",
            "x",
            seal,
            token[:-1],
        ]
        for one in forged:
            assert (await caller.post(f"{agent}/{one}", {"by": "eve", "text": "no"}, as_json))[0] == 403, one
        assert (await caller.post(links["answer"].replace("/ada/", "/ben/"), {"by": "eve", "text": "no"}, as_json))[0] == 403
        assert (await caller.post("/v1/agents/ada", {"do": "inbox"}, {}))[0] == 401, "a link opens nothing else"
        assert (await caller.post("/v1/agents/ada", {"do": "inbox"}, KNOWN))[1]["ok"]["count"] == 1
        runs = caller.worker._agents["ada"].runs
        assert runs is not None
        async with runs.desk() as desk:
            assert desk is not None
            (view,) = await desk.open()
            await caller.post(
                "/v1/agents/ada", {"do": "decide", "title": view.item.id, "kind": "answer", "source": "ines", "text": "yes"}
            )
            assert await desk.reopen(view.item.id, "ines")
        assert (await caller.post(links["answer"], {"by": "ines", "text": "yes"}, as_json))[0] == 410
