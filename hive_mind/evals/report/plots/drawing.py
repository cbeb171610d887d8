"""How every drawing looks, and how it becomes a PNG and a piece of the page. The same data gives the same bytes.

Nothing of the user's matplotlib settings has a say, no date is written, and ids come from the drawing's name.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from io import BytesIO, StringIO
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hive_mind.evals.report.markup import plain
from hive_mind.evals.report.material import Plot
from hive_mind.evals.report.palette import COLOURS, GROUND, MARKERS, TEXT, as_variables

# Inches. Narrow, so that on a phone its words are still as large as those around it.
WIDTH = 5.0
HEIGHT = 3.0
_LEGEND_LINE = 0.21
_PNG_DPI = 200
_FILLS = {"in-process": "full", "redis": "bottom", "simulator": "none"}
_LINES = {"in-process": "-", "redis": "--", "simulator": ":"}
# Characters of a legend of which two stand side by side.
_SHORT = 29
_STYLE: dict[Any, Any] = {
    "axes.edgecolor": COLOURS["faint"].light,
    "axes.facecolor": GROUND.light,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelcolor": TEXT.light,
    "axes.labelsize": 10,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": GROUND.light,
    "font.size": 10,
    "grid.color": COLOURS["line"].light,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "legend.labelcolor": TEXT.light,
    "svg.fonttype": "none",
    "svg.hashsalt": "hive-mind",
    "text.color": TEXT.light,
    "text.parse_math": False,
    "xtick.color": COLOURS["faint"].light,
    "xtick.labelcolor": TEXT.light,
    "ytick.color": COLOURS["faint"].light,
    "ytick.labelcolor": TEXT.light,
}


@contextmanager
def canvas(height: float = HEIGHT) -> Iterator[tuple[Figure, Axes]]:
    """A figure with one pair of axes, in the style of the page."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        yield figure, figure.add_subplot()


def finished(figure: Figure, name: str, title: str, told: str) -> Plot:
    """Both forms of a figure."""
    lay_out(figure)
    png, svg = BytesIO(), StringIO()
    words = {"Title": plain(title), "Description": plain(told), "Software": None}
    figure.savefig(png, format="png", dpi=_PNG_DPI, metadata=words)
    figure.savefig(svg, format="svg", transparent=True, metadata={"Date": None})
    return Plot(name, title, told, png.getvalue(), _for_the_page(svg.getvalue(), name, title, told))


def key(figure: Figure, entries: Sequence[tuple[str, str, str]]) -> None:
    """A legend under the figure: the words, the role, and where it ran."""
    marks = [Line2D([], [], label=plain(words), **line_style(role, place)) for words, role, place in entries]
    if marks:
        columns = 2 if max(len(words) for words, _, _ in entries) <= _SHORT else 1
        figure.set_figheight(figure.get_figheight() + _LEGEND_LINE * -(-len(marks) // columns))
        figure.legend(handles=marks, loc="outside lower left", ncols=columns, handlelength=2.2, columnspacing=1.4)


def lay_out(figure: Figure) -> None:
    """Give everything its place, once: each way of saving would do it again."""
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()
        figure.set_layout_engine("none")


def line_style(role: str, place: str = "in-process") -> dict[str, Any]:
    """Colour, shape and line of a role: full where it ran in process, half over Redis, hollow in the simulator."""
    colour, marker = COLOURS[role].light, MARKERS[role]
    shape = {"marker": marker, "markersize": 11 if marker == "*" else 7, "fillstyle": _FILLS[place], "markerfacecoloralt": "none"}
    return {"color": colour, "linestyle": _LINES[place], "linewidth": 1.6, **shape}


def _for_the_page(svg: str, name: str, title: str, told: str) -> str:
    """The drawing alone: colours that follow the page, the page's own font, ids nobody else has, words for screen readers."""
    body = svg[svg.index("<svg") :].strip()
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r"""(font: [^;"']*?px) [^;"]*""", r"\1 system-ui, sans-serif", body)
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', body)
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", body)
    box = re.search(r'viewBox="([^"]+)"', body)
    opening = f'<svg class="plot" role="img" viewBox="{box[1] if box else ""}" aria-labelledby="{name}-title {name}-told">'
    words = f'<title id="{name}-title">{escape(plain(title))}</title><desc id="{name}-told">{escape(plain(told))}</desc>'
    return as_variables(opening + words + body[body.index(">") + 1 :])
