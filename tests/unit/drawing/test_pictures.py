"""A figure as a file: light and dark, the reader's own font, tooltips at their marks, and the same bytes each time."""

import re
import xml.etree.ElementTree as ET

import matplotlib as mpl
import pytest

from hive_mind.drawing import COLOURS, SERIES, as_file, canvas, entitle
from tests.contrast import contrast

SVG = "{http://www.w3.org/2000/svg}"


def picture(kind: str = "svg", title: str = "A title") -> bytes:
    with canvas() as figure:
        axes = figure.subplots()
        entitle(axes, title, "what is shown")
        axes.plot([0, 0.5, 1], [0, 0.5, 1], "o", color=SERIES[1][1].light, gid="others")
        axes.plot([0.2, 0.4], [0.2, 0.4], "s", color=SERIES[0][1].light, gid="marks")
        return as_file(figure, kind, title, "told", {"marks": ["first", "second <2>"]})


def test_each_mark_has_its_own_tooltip() -> None:
    found = ET.fromstring(picture())  # noqa: S314 - our own
    titles = {group.get("id"): [one.text for one in group.iter(f"{SVG}title")] for group in found.iter(f"{SVG}g")}

    assert (titles["marks"], titles["others"]) == (["first", "second <2>"], [])


def test_every_colour_has_a_dark_one_and_both_can_be_told_from_their_ground() -> None:
    text = picture().decode()
    rules = dict(re.findall(r'\[style\*="fill: (#\w+)"\]\{fill:(#\w+)!important\}', text))
    body = text.partition("</style>")[2]
    used = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", body))

    assert set(re.findall(r"#[0-9a-f]{6}\b", body)) == used
    assert used == set(rules) >= {SERIES[0][1].light, SERIES[1][1].light}
    colours = [*COLOURS.values(), *(colour for _, colour in SERIES)]
    assert set(rules.items()) <= {(one.light, one.dark) for one in colours}
    assert all(
        contrast(one.light, COLOURS["ground"].light) >= 3 and contrast(one.dark, COLOURS["ground"].dark) >= 3 for _, one in SERIES
    )


def test_the_file_needs_nothing_but_itself() -> None:
    text = picture().decode()
    assert text.count("http") == 2  # the names of SVG and XLink
    assert ("system-ui, sans-serif" in text, "DejaVu" in text) == (True, False)


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_same_figure_gives_the_same_bytes_whatever_matplotlib_was_told(kind: str) -> None:
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "path"}):
        other = picture(kind)

    assert picture(kind) == other


def test_long_words_take_no_room_from_what_is_drawn() -> None:
    def axis(svg: bytes) -> list[str]:
        return re.findall(r'<use [^>]*x="([\d.]+)"', svg.decode())

    assert axis(picture(title="A title " * 40)) == axis(picture())
