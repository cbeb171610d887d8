"""The console in a real browser: on a phone and on a desk, by keyboard alone, and with facts that try to run."""

import asyncio
import html
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from hive_mind.runtime.workers.config import AgentConfig
from tests.acceptance.chromium import Tab, browser
from tests.acceptance.test_report_in_a_browser import DESK, PHONE, STICK_OUT
from tests.sampled import thorough
from tests.unit.console.looking import Browser, looking
from tests.unit.runtime.worker_builders import NAMES

PUMP = "The pump in hall 3 is red."
LONG = "Averylongnamewithoutasingleplacetobreakit" * 3
EVIL = (
    "<script>window.ran = 1</script>",
    '"onload="window.ran = 2" autofocus onfocus="window.ran = 3',
    "<img src=x onerror='window.ran = 4'>",
    "<svg/onload=window.ran=5><a href='javascript:window.ran=6'>go</a>",
    "{{ 7 * 7 }}</title><iframe srcdoc='<script>parent.ran = 7</script>'>",
)
ASKS = {"id": "asks", "entry": "ask", "nodes": [{"id": "ask", "kind": "person", "outputs": ["word"], "prompt": EVIL[0]}]}
ASKED = "What colour is the pump in hall 3?"
# Words of a table, as long as words are, of which a part stands on the next line.
BROKEN = """(() => {
    const broken = [], texts = document.createTreeWalker(document, NodeFilter.SHOW_TEXT)
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
        if (!text.parentElement.closest('td, th')) continue
        for (const word of text.data.matchAll(/(?<![^\\s])[A-Za-z]{2,14}(?![^\\s])/g)) {
            const range = document.createRange()
            range.setStart(text, word.index)
            range.setEnd(text, word.index + word[0].length)
            if (new Set([...range.getClientRects()].map(one => Math.round(one.top))).size > 1) broken.push(word[0])
        }
    }
    return broken
})()"""
# Keeps the chart that a page makes, and how many moments it was made of.
KEPT_CHART = """(made => Object.defineProperty(window, 'uPlot', { get: () => made, set: uPlot => {
    made = function (options, data, place) {
        window.moments = data[0].length
        return window.chart = new uPlot(options, data, place)
    }
} }))()"""
FOCUSED = "(e => [e.tagName, e.id, e.name || '', getComputedStyle(e).outlineStyle])(document.activeElement)"


@asynccontextmanager
async def shown(tmp_path: Path) -> AsyncIterator[tuple[Browser, Tab, list[str]]]:
    """A browser that was let in, and every page of a worker that holds what others wrote."""
    agents = (AgentConfig("ada", worker=ASKS), *(AgentConfig(name) for name in NAMES[1:]))
    async with (
        looking(tmp_path / "town", enters=False, topology="sharded", agents=agents) as console,
        browser(tmp_path / "chromium") as tab,
    ):
        call = console.worker.call
        kept = await call("ada", "store", content=PUMP, source="tour", concept="pump")
        await call("ben", "store", content="The pump in hall 3 is blue.", source=LONG, concept="pump")
        await call("ada", "store", content=f"Held {LONG}", confidence=0.01)
        evil = [
            await call("ada", "store", content=f"Pump {one}", source=one, concept=one, labels=(one,), said_at="2024")
            for one in EVIL
        ]
        await call("ada", "learn", text=f"The valve {' '.join(EVIL)} is shut.", source="javascript:window.ran=8", title=EVIL[0])
        await call("ada", "run", run="r", inputs={"about": EVIL[1]})
        await call("ada", "tell", to="*", kind=EVIL[0], text=EVIL[1])
        link = msgspec.json.decode((await console.link())[1])["path"]
        await tab.open(f"{console.root.origin()}{link}", width=DESK)
        asked = f"agent=ada&q={ASKED}"
        paths = [
            "",
            f"ask?{asked}",
            f"ask/why-not?{asked}&expected=blue pump",
            "facts?agent=ada",
            "queues?agent=ada",
            "facts/none",
            *("runs?agent=ada", "runs/r?agent=ada", "messages?agent=ada", "messages?agent=ben", "evaluations"),
        ]
        paths += [f"facts/{one['fact_id']}?agent=ada" for one in (kept, *evil[:2])]
        paths += [f"{path}?agent={one}&q={one}" for path in ("", "ask", "facts") for one in EVIL[:2]]
        yield console, tab, paths


@pytest.mark.parametrize("width", [PHONE, thorough(DESK)])
async def test_no_page_overflows_loads_from_elsewhere_or_runs_what_others_wrote(tmp_path, width):
    async with shown(tmp_path) as (console, tab, paths):
        for path in paths:
            await tab.open(f"{console.root}/{path}", width=width)
            await asyncio.sleep(0)
            wide, screen = await tab.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert wide <= screen == width, path
            assert width == PHONE or await tab.evaluate(BROKEN) == [], path
            assert await tab.evaluate(STICK_OUT.replace("WIDTH", str(width))) == [], path
            assert await tab.evaluate("window.ran === undefined && document.querySelectorAll('iframe, main img').length === 0"), (
                path
            )
            assert [url for url in tab.requests if not url.startswith(f"{console.root.origin()}/ui/")] == [], path
            refused = [text for text in tab.complaints if "Failed to load resource" not in text]
            assert refused == [], path


async def test_every_control_is_reached_and_seen_by_keyboard(tmp_path):
    async with shown(tmp_path) as (console, tab, paths):
        for path in paths[:14]:
            await tab.open(f"{console.root}/{path}", width=DESK)
            wanted = await tab.evaluate(
                "[...document.querySelectorAll('a[href], button, summary, textarea, select, input:not([type=hidden])')]"
                ".filter(e => e.checkVisibility()).length"
            )
            seen = []
            for _ in range(wanted):
                await press(tab, "Tab", 9)
                seen.append(
                    await tab.evaluate(f"[...{FOCUSED}, [...document.querySelectorAll('*')].indexOf(document.activeElement)]")
                )
            assert len({one[4] for one in seen}) == wanted, (path, seen)
            assert [one for one in seen if one[3] == "none"] == [], path


async def test_without_a_mouse_a_question_is_asked_a_source_opened_trouble_seen_and_the_fleet_followed(tmp_path):
    async with shown(tmp_path) as (console, tab, _):
        await tab.open(f"{console.root}/ask?agent=ada", width=PHONE)
        await press(tab, "/", 191, text="/")
        assert (await tab.evaluate(FOCUSED))[2] == "q"
        await tab.call("Input.insertText", text=ASKED)
        await press(tab, "Enter", 13, text="\r")
        await holds(tab, f"document.querySelector('#answer')?.textContent.includes({msgspec.json.encode(PUMP).decode()})")
        assert "q=What" in await tab.evaluate("location.search")
        await tab.evaluate("document.querySelector('#answer li a').focus()")
        await press(tab, "Enter", 13, text="\r")
        await holds(tab, "document.querySelector('h1')?.textContent === 'Fact'")
        assert html.escape(PUMP) in await tab.evaluate("document.querySelector('main').innerHTML")

        # Of nobody, which goes wrong behind the form.
        await tab.open(f"{console.root}/ask?agent=nobody", width=PHONE)
        await tab.evaluate("document.querySelector('[name=q]').focus()")
        await tab.call("Input.insertText", text=ASKED)
        await press(tab, "Enter", 13, text="\r")
        await holds(tab, "document.querySelector('[role=alert]')?.textContent.includes('nobody')")

        await tab.call("Page.enable")
        await tab.call("Page.addScriptToEvaluateOnNewDocument", source=KEPT_CHART)
        await tab.open(f"{console.root}/", width=DESK)
        await holds(tab, "document.querySelector('#chart canvas') !== null")
        moments, first, last = await tab.evaluate("[moments, chart.scales.x.min, chart.scales.x.max]")
        # An hour: a chart that is made before its data shows another year.
        assert (moments > 0, abs(first - time.time()) < 3600, abs(last - time.time()) < 3600) == (True, True, True)
        await tab.evaluate("document.getElementById('agent-ben').focus()")
        await console.worker.call("cleo", "store", content="The gate is shut.")
        row = "document.getElementById('agent-cleo').closest('tr').querySelector('[data-label=Facts]').textContent.trim()"
        await holds(tab, f"{row} === '1'")
        assert (await tab.evaluate(FOCUSED))[1] == "agent-ben"

        # The other tests rest on this, should a value ever reach a page as markup.
        added = "(t => { const e = document.createElement('div'); e.innerHTML = t; document.body.append(e); })"
        await tab.evaluate(f"{added}({msgspec.json.encode(EVIL[2]).decode()})")
        await tab.evaluate(
            "(e => { e.textContent = 'window.ran = 9'; document.body.append(e); })(document.createElement('script'))"
        )
        assert await tab.evaluate("window.ran === undefined")
        await tab.evaluate("new Promise(done => setTimeout(done, 0))")
        assert any("Content Security Policy" in text for text in tab.complaints)


async def press(tab: Tab, key: str, code: int, text: str = "") -> None:
    given = {"key": key, "code": key, "windowsVirtualKeyCode": code, "nativeVirtualKeyCode": code}
    await tab.call("Input.dispatchKeyEvent", type="keyDown", **given, **({"text": text} if text else {}))
    await tab.call("Input.dispatchKeyEvent", type="keyUp", **given)


async def holds(tab: Tab, expression: str) -> None:
    """Return when it does."""
    async with asyncio.timeout(30):
        while not await tab.evaluate(expression):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
