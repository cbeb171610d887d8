"""Common parts of a report's drawings: a part of the page and a file each, and how the place shows that an arm ran in."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hive_mind.drawing.palette import COLOURS, MARKERS
from hive_mind.drawing.pictures import as_part, as_png
from hive_mind.evals.report.material import Plot
from hive_mind.printable import in_one_line

_LEGEND_LINE = 0.21
_FILLS = {"in-process": "full", "redis": "bottom", "simulator": "none"}
_LINES = {"in-process": "-", "redis": "--", "simulator": ":"}
# Characters of a legend of which two stand side by side.
_SHORT = 29


def finished(figure: Figure, name: str, title: str, caption: str) -> Plot:
    return Plot(name, title, caption, as_png(figure, title, caption), as_part(figure, name, title, caption))


def key(figure: Figure, entries: Sequence[tuple[str, str, str]]) -> None:
    """A legend under the figure: the words, the role, and where it ran."""
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
