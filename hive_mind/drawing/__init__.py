"""Colours of pages and drawings, in light and dark, with their shapes; and how a drawing becomes a file or a part of a page.

Drawings are made in the light colours. On a page each of those becomes a variable of the style sheet. A file has rules that
replace them where dark is preferred; a viewer that knows no such rules shows the light ones. Series also differ in shape, for
colour-blind readers and for paper. The same data gives the same bytes: the user's matplotlib settings have no say, no date is
written, and ids come from names. matplotlib, of the extra `plots`, is loaded by the first canvas.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any

from hive_mind.counted import in_one_line
from hive_mind.hive.topology.spec import NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Colour:
    """One role in light and in dark."""

    light: str
    dark: str


GROUND = Colour("#ffffff", "#10151b")
TEXT = Colour("#1c2127", "#e6edf3")

# For "single" and the topologies, in their order. The last of each are for topologies to come.
_TOPOLOGIES = (
    ("*", Colour("#1c2128", "#e6edf4")),
    ("o", Colour("#0072b2", "#56b4e9")),
    ("s", Colour("#007a5a", "#35c79b")),
    ("^", Colour("#c25400", "#f0914a")),
    ("p", Colour("#9c2f55", "#f07aa0")),
    ("d", Colour("#3d6b1f", "#9ccc65")),
)

SERIES = tuple((marker, _TOPOLOGIES[place][1]) for marker, place in zip("osDv", (1, 3, 4, 2), strict=True))
"""For what is drawn side by side and is no topology."""

COLOURS: dict[str, Colour] = {
    "ground": GROUND,
    "text": TEXT,
    "faint": Colour("#57606b", "#9aa4af"),
    "line": Colour("#d5dae0", "#313a44"),
    "band": Colour("#f2f4f7", "#1a212a"),
    "link": Colour("#0a5ea8", "#6cb6ff"),
    "good": Colour("#0b6b3a", "#4cc38a"),
    "bad": Colour("#b3261e", "#ff8f86"),
    **{name: colour for name, (_, colour) in zip(NAMES, _TOPOLOGIES, strict=False)},
    "running": Colour("#3d6b8e", "#86b7de"),
    "seed-federated": Colour("#a8487f", "#e08bbd"),
    "routed": Colour("#7a6a00", "#d8c34a"),
    "bm25": Colour("#5b5fc7", "#a3a7ff"),
    "random": Colour("#6e7781", "#8f99a3"),
    "full-context": Colour("#8a4b2a", "#d19a78"),
}
"""No two are equal in light: a drawing's colour says which role it has."""

MARKERS: dict[str, str] = {
    **{name: marker for name, (marker, _) in zip(NAMES, _TOPOLOGIES, strict=False)},
    "running": "p",
    "seed-federated": "X",
    "routed": "D",
    "bm25": "P",
    "random": "v",
    "full-context": "h",
}


def declarations(*, dark: bool) -> str:
    return "".join(f"--{name}:{colour.dark if dark else colour.light};" for name, colour in COLOURS.items())


def dark_rules(drawing: str) -> str:
    """The rules of a style sheet for a drawing's light colours where dark ones are preferred."""
    used = [colour for colour in dict.fromkeys((*COLOURS.values(), *(colour for _, colour in SERIES))) if colour.light in drawing]
    rule = '[style*="{what}: {light}"]{{{what}:{dark}!important}}'
    return "".join(
        rule.format(what=property_name, light=colour.light, dark=colour.dark)
        for colour in used
        for property_name in ("fill", "stroke")
    )


# Inches. Narrow, so that on a phone its words are still as large as those around it.
WIDTH = 5.0
HEIGHT = 3.0
_PNG_DPI = 200
_LEGEND_LINE = 0.21
_FILLS = {"in-process": "full", "redis": "bottom", "simulator": "none"}
_LINES = {"in-process": "-", "redis": "--", "simulator": ":"}
# Characters of a legend of which two stand side by side.
_SHORT = 29
_NAMESPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
_STYLE: dict[Any, Any] = {
    "axes.edgecolor": COLOURS["faint"].light,
    "axes.facecolor": GROUND.light,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelcolor": TEXT.light,
    "axes.labelsize": 10,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.hspace": 0.06,
    "figure.constrained_layout.wspace": 0.05,
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
def canvas(height: float = HEIGHT, width: float = WIDTH) -> Iterator["Figure"]:
    """An empty figure. Everything drawn and saved inside the block is in our style."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        yield Figure(figsize=(width, height), layout="constrained")


def entitle(axes: "Axes", title: str, caption: str) -> None:
    """A title above the axes, and below it in small what is shown."""
    # It keeps the place free in height alone: axes that made room for long words would end with no width.
    axes.set_title(" ", pad=26)
    placed: dict[str, Any] = {"xy": (0, 1), "xycoords": "axes fraction", "textcoords": "offset points"}
    above = axes.annotate(title, xytext=(0, 24), fontsize=11.5, fontweight="bold", **placed)
    below = axes.annotate(caption, xytext=(0, 8), fontsize=9, color=COLOURS["faint"].light, **placed)
    for annotation in (above, below):
        annotation.set_in_layout(False)


def key(figure: "Figure", entries: Sequence[tuple[str, str, str]]) -> None:
    """A legend under the figure: the words, the role, and where it ran."""
    from matplotlib.lines import Line2D

    marks = [Line2D([], [], label=in_one_line(words), **line_style(role, place)) for words, role, place in entries]
    if marks:
        columns = 2 if max(len(words) for words, _, _ in entries) <= _SHORT else 1
        figure.set_figheight(figure.get_figheight() + _LEGEND_LINE * -(-len(marks) // columns))
        figure.legend(handles=marks, loc="outside lower left", ncols=columns, handlelength=2.2, columnspacing=1.4)


def line_style(role: str, place: str = "in-process") -> dict[str, Any]:
    """Colour, shape and line of a role: full where it ran in process, half over Redis, hollow in the simulator."""
    colour, marker = COLOURS[role].light, MARKERS[role]
    shape = {"marker": marker, "markersize": 11 if marker == "*" else 7, "fillstyle": _FILLS[place], "markerfacecoloralt": "none"}
    return {"color": colour, "linestyle": _LINES[place], "linewidth": 1.6, **shape}


def lay_out(figure: "Figure") -> None:
    """Give everything its place, once: each way of saving would do it again."""
    from matplotlib.layout_engine import PlaceHolderLayoutEngine

    # Once set to "none", matplotlib keeps a placeholder there.
    if not isinstance(figure.get_layout_engine(), PlaceHolderLayoutEngine | None):
        figure.draw_without_rendering()
        figure.set_layout_engine("none")


def as_file(figure: "Figure", kind: str, title: str, caption: str, hints: Mapping[str, Sequence[str]] | None = None) -> bytes:
    """A figure as PNG, or as SVG in light and dark that needs nothing else.

    `hints`: by an artist's `gid`, a tooltip for each of its marks.
    """
    if kind == "png":
        return as_png(figure, title, caption)
    box, body = _drawn(figure, transparent=False)
    for gid, titles in (hints or {}).items():
        body = _hinted(body, gid, titles)
    width, height = box.split()[2:]
    opening = f'<svg {_NAMESPACES} viewBox="{box}" width="{width}pt" height="{height}pt" role="img">'
    words = f"<title>{_clean(title)}</title><desc>{_clean(caption)}</desc>"
    style = f"<style>*{{stroke-linejoin:round}}@media (prefers-color-scheme:dark){{{dark_rules(body)}}}</style>"
    return f"{opening}{words}{style}{body}\n".encode()


def as_png(figure: "Figure", title: str, caption: str) -> bytes:
    lay_out(figure)
    file = BytesIO()
    words = {"Title": in_one_line(title), "Description": in_one_line(caption), "Software": None}
    figure.savefig(file, format="png", dpi=_PNG_DPI, metadata=words)
    return file.getvalue()


def as_part(figure: "Figure", name: str, title: str, caption: str) -> str:
    """SVG for a page: colours that follow the page, ids nobody else has, words for screen readers."""
    box, body = _drawn(figure, transparent=True)
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', body)
    body = re.sub(r"url\(#([^()]+)\)", rf"url(#{name}-\1)", body)
    opening = f'<svg class="plot" role="img" viewBox="{box}" aria-labelledby="{name}-title {name}-told">'
    words = f'<title id="{name}-title">{_clean(title)}</title><desc id="{name}-told">{_clean(caption)}</desc>'
    drawing = opening + words + body
    # Variables of the style sheet in place of the light colours.
    for colour_name, colour in COLOURS.items():
        drawing = drawing.replace(colour.light, f"var(--{colour_name})")
    return drawing


def _hinted(body: str, gid: str, hints: Sequence[str]) -> str:
    before, group, after = body.partition(f'<g id="{gid}">')
    titles = (f"><title>{_clean(hint)}</title></use>" for hint in hints)
    return before + group + re.sub(r"(<use [^<>]*)/>", lambda use: use[1] + next(titles), after, count=len(hints))


def _drawn(figure: "Figure", *, transparent: bool) -> tuple[str, str]:
    """The view box, and all that follows the opening tag, in the font of the system."""
    lay_out(figure)
    file = StringIO()
    figure.savefig(file, format="svg", transparent=transparent, metadata={"Date": None})
    opening, _, body = file.getvalue().partition("<svg ")[2].partition(">")
    body = re.sub(r"<metadata>(?:(?!<metadata>).)*?</metadata>|<style(?:(?!<style).)*?</style>", "", body, flags=re.DOTALL)
    # Some versions of matplotlib write one property for all of a font, others one for each part.
    body = re.sub(r"""(font: [^:;"']*?px|font-family:) [^;"]*""", r"\1 system-ui, sans-serif", body)
    box = re.search(r'viewBox="([^"]+)"', opening)
    return box[1] if box else "", body.strip()


def _clean(words: str) -> str:
    return escape(in_one_line(words))
