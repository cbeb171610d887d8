"""The report in a real browser: on a phone and on a desk, by day and by night, and with the network watched."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hive_mind.drawing import COLOURS
from hive_mind.evals.experiments import Arm, Fault
from hive_mind.evals.report import write_report
from tests.acceptance.chromium import Tab, browser
from tests.contrast import contrast
from tests.unit.evals.report.invented import experiment, write_run

PHONE, DESK = 390, 1280
ARMS = (
    Arm("single"),
    *(Arm("federated", 10, 5), Arm("sharded", 10), Arm("sharded", 1000, place="simulator")),
    Arm("routed", 10, fan_out=3, deal="session"),
)
LONG = "Averylongnamewithoutasingleplacetobreakit" * 3

# Elements that stick out to the right, where they are not in something that scrolls. A phone makes its window as wide as
# what sticks out, so the width is told.
STICK_OUT = """[...document.querySelectorAll('body *')]
    .filter(e => !e.closest('.scroll, pre, .skip, svg') && e.getBoundingClientRect().right > WIDTH + 1)
    .map(e => e.tagName + '#' + e.id + '.' + e.className)"""
PLOTS = """[...document.querySelectorAll('figure svg')].map(e => ({
    width: e.getBoundingClientRect().width, height: e.getBoundingClientRect().height,
    told: e.getAttribute('aria-labelledby').split(' ').map(id => document.getElementById(id).textContent).join(' '),
    letters: Math.min(...[...e.querySelectorAll('text')].map(t => t.getBoundingClientRect().height)),
    outside: [...e.querySelectorAll('text')].filter(t => t.getBoundingClientRect().right > e.getBoundingClientRect().right + 2)
        .map(t => t.textContent)}))"""
COLOURS_SEEN = """(selector => [...document.querySelectorAll(selector)].map(e => [
    getComputedStyle(e).getPropertyValue(e instanceof SVGElement ? 'fill' : 'color'),
    getComputedStyle(document.documentElement).backgroundColor]))"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    wanted = experiment("Letters", LONG, arms=ARMS, faults=[Fault(), Fault(loss=0.1)])
    return write_report(write_run(tmp_path_factory.mktemp("run"), wanted, failed={"routed": f"{LONG} <b>"}))


def seen(report: Path, home: Path, *, width: int, dark: bool = False, expressions: tuple[str, ...]) -> tuple[Tab, list[Any]]:
    async def look() -> tuple[Tab, list[Any]]:
        async with browser(home) as tab:
            await tab.open(report.as_uri(), width=width, dark=dark)
            return tab, [await tab.evaluate(expression) for expression in expressions]

    return asyncio.run(look())


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_nothing_overflows_sideways_and_nothing_is_loaded(report, tmp_path, width):
    sizes = "[document.documentElement.scrollWidth, innerWidth]"
    opened = "document.querySelectorAll('details').forEach(e => e.open = true)"

    tab, (_, (wide, screen), outside) = seen(
        report, tmp_path, width=width, expressions=(opened, sizes, STICK_OUT.replace("WIDTH", str(width)))
    )

    assert wide <= screen == width
    assert outside == []
    assert tab.requests == [report.as_uri()]
    assert tab.complaints == []


def test_what_these_tests_look_for_is_seen_where_it_is_wrong(report, tmp_path):
    page = report.read_text("utf-8")
    policy = page[page.index("<meta http-equiv") : page.index('<meta name="referrer"')]
    wrong = '<main id="main"><p style="width: 900px">wide</p><img src="http://127.0.0.1:9/seen.png" alt="">'
    broken = report.with_name("broken.html")
    broken.write_text(page.replace(policy, "").replace('<main id="main">', wrong), "utf-8")

    tab, (outside,) = seen(broken, tmp_path, width=PHONE, expressions=(STICK_OUT.replace("WIDTH", str(PHONE)),))

    assert "P#." in outside
    assert "http://127.0.0.1:9/seen.png" in tab.requests


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_every_drawing_has_a_size_words_and_letters_that_can_be_read(report, tmp_path, width):
    _, (plots,) = seen(report, tmp_path, width=width, expressions=(PLOTS,))

    assert len(plots) >= 10
    for plot in plots:
        assert plot["width"] > 0.8 * min(width, 460)
        assert 100 < plot["height"] < 1500
        assert len(plot["told"]) > 40
        assert plot["letters"] >= 9
        assert plot["outside"] == []


def test_tables_scroll_inside_themselves_and_can_be_reached_by_keyboard(report, tmp_path):
    expression = "[...document.querySelectorAll('.scroll')].map(e => [e.scrollWidth > e.clientWidth, e.tabIndex, e.ariaLabel])"
    _, (tables,) = seen(report, tmp_path, width=PHONE, expressions=(expression,))
    assert any(scrolls for scrolls, _, _ in tables)
    assert all(place == 0 and label for _, place, label in tables)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_words_on_the_page_and_in_drawings_can_be_read(report, tmp_path, dark):
    wanted = tuple(f"{COLOURS_SEEN}({selector!r})" for selector in ("p", "td", "a", "figcaption", "svg text", ".bad"))
    _, found = seen(report, tmp_path, width=PHONE, dark=dark, expressions=wanted)

    assert hexadecimal(found[0][0][1]) == (COLOURS["ground"].dark if dark else COLOURS["ground"].light)
    for pairs in found:
        assert pairs
        assert min(contrast(hexadecimal(words), hexadecimal(behind)) for words, behind in pairs) >= 4.5


def hexadecimal(colour: str) -> str:
    """ "rgb(1, 2, 3)" as "#010203"."""
    return "#" + "".join(f"{int(part):02x}" for part in colour.removeprefix("rgb(").rstrip(")").split(","))
