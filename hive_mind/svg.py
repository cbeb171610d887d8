"""A chart as SVG, written by hand: axes with readable labels, lines, marks. One file that needs nothing else, in light and dark.

Colours are classes, so that a viewer who prefers dark gets other ones; shapes differ too, for those who see no colours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

# Told apart by people with any of the usual colour blindnesses (Okabe and Ito 2008), darker for light ground.
_LIGHT = ("#0072b2", "#d55e00", "#007a5a", "#a8487f")
_DARK = ("#56b4e9", "#f0914a", "#35c79b", "#e08bbd")
SERIES_MAX = len(_LIGHT)

_STYLE = """text{{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif;font-size:13px;fill:{text}}}
.title{{font-size:15px;font-weight:600}} .faint{{fill:{faint}}} .small{{font-size:12px}}
.ground{{fill:{ground}}} .grid{{stroke:{grid};fill:none}} .axis{{stroke:{faint};fill:none}}
.relevant{{fill:{relevant};stroke:{ground}}} .distractor{{fill:{distractor};stroke:{ground}}} .other{{fill:none;stroke:{faint}}}
.band{{fill:{text};fill-opacity:.14}} .ideal{{stroke:{faint};fill:none;stroke-dasharray:5 4;stroke-width:1.5}}
.median{{stroke:{text};fill:none;stroke-width:1.5}}
"""
_LIGHT_GROUND = {
    "text": "#1f2328",
    "faint": "#59636e",
    "ground": "#ffffff",
    "grid": "#e3e7eb",
    "relevant": "#007a5a",
    "distractor": "#c8102e",
}
_DARK_GROUND = {
    "text": "#e6edf3",
    "faint": "#9198a1",
    "ground": "#0d1117",
    "grid": "#2a313a",
    "relevant": "#35c79b",
    "distractor": "#ff6b6b",
}


@dataclass(frozen=True, slots=True)
class Frame:
    """A rectangle of the picture, and which values its edges stand for."""

    left: float
    top: float
    width: float
    height: float
    x_range: tuple[float, float]
    y_range: tuple[float, float]

    def x(self, value: float) -> float:
        """Where a value lies across."""
        low, high = self.x_range
        return self.left + self.width * (value - low) / (high - low)

    def y(self, value: float) -> float:
        """Where a value lies upwards."""
        low, high = self.y_range
        return self.top + self.height * (high - value) / (high - low)

    def axes(self, title: str, across: str, upwards: str, xs: Sequence[float], ys: Sequence[float]) -> list[str]:
        """Title, grid and labels. `xs` and `ys` are where labels stand."""
        bottom, right = self.top + self.height, self.left + self.width
        parts = [text(self.left - 44, self.top - 34, title, "title"), text(self.left - 44, self.top - 14, upwards, "faint small")]
        for value in ys:
            parts.append(f'<path class="grid" d="M{self.left:.1f} {self.y(value):.1f}H{right:.1f}"/>')
            parts.append(text(self.left - 8, self.y(value) + 4, f"{value:g}", "small", "end"))
        parts += [text(self.x(value), bottom + 18, f"{value:g}", "small", "middle") for value in xs]
        parts.append(f'<path class="axis" d="M{self.left:.1f} {bottom:.1f}H{right:.1f}"/>')
        return [*parts, text((self.left + right) / 2, bottom + 38, across, "faint small", "middle")]

    def line(self, points: Sequence[tuple[float, float]], css: str) -> str:
        joined = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        return f'<polyline class="{css}" points="{joined}"/>'

    def area(self, points: Sequence[tuple[float, float]], css: str) -> str:
        """What lies between a line there and another one back."""
        return self.line(points, css).replace("<polyline", "<polygon")

    def bar(self, middle: float, width: float, height: float) -> str:
        """A column from the bottom up to a value."""
        left, right = self.x(middle - width / 2), self.x(middle + width / 2)
        top, bottom = self.y(height), self.top + self.height
        return f'<rect class="band" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"/>'


def document(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    """The whole file."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        f"<title>{clean(title)}</title>",
        f"<style>{_style(_LIGHT_GROUND, _LIGHT)}@media (prefers-color-scheme:dark){{{_style(_DARK_GROUND, _DARK)}}}</style>",
        f'<rect class="ground" width="{width}" height="{height}"/>',
    )
    return "\n".join([*head, *parts, "</svg>", ""])


def text(x: float, y: float, words: str, css: str = "", anchor: str = "start") -> str:
    """Words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">{clean(words)}</text>'


def mark(shape: int, x: float, y: float, size: float, css: str, told: str = "") -> str:
    """A circle, square, triangle or diamond around a place. `told` is its tooltip."""
    hint = f"<title>{clean(told)}</title>" if told else ""
    if shape % SERIES_MAX == 0:
        return f'<circle class="{css}" cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}">{hint}</circle>'
    corners = {
        1: ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
        2: ((0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)),
        3: ((0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)),
    }[shape % SERIES_MAX]
    joined = " ".join(f"{x + size * across:.1f},{y + size * down:.1f}" for across, down in corners)
    return f'<polygon class="{css}" points="{joined}">{hint}</polygon>'


def clean(words: str) -> str:
    """Words as they may stand in XML, in one line."""
    return escape("".join(one if one.isprintable() else " " for one in words))


def _style(ground: dict[str, str], series: Sequence[str]) -> str:
    lines = [
        f".line{number}{{stroke:{colour};fill:none;stroke-width:2.5}} "
        f".mark{number}{{fill:{colour};fill-opacity:.8;stroke:{ground['ground']}}} "
        f".area{number}{{fill:{colour};fill-opacity:.12}}"
        for number, colour in enumerate(series)
    ]
    return _STYLE.format(**ground) + "\n".join(lines)
