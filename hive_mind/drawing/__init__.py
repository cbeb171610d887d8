"""Colours of pages and drawings, in light and dark, and which shape goes with them. `pictures` needs matplotlib, this does not.

Drawings are made in the light colours. On a page each of those becomes a variable of the style sheet. A file has rules that
replace them where dark is preferred; a viewer that knows no such rules shows the light ones. Series also differ in shape, for
colour-blind readers and for paper.
"""

from dataclasses import dataclass

from hive_mind.hive.topology.spec import NAMES


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


def as_variables(drawing: str) -> str:
    """A drawing with variables in place of the light colours."""
    for name, colour in COLOURS.items():
        drawing = drawing.replace(colour.light, f"var(--{name})")
    return drawing


def dark_rules(drawing: str) -> str:
    """The rules of a style sheet for a drawing's light colours where dark ones are preferred."""
    used = [colour for colour in dict.fromkeys((*COLOURS.values(), *(colour for _, colour in SERIES))) if colour.light in drawing]
    rule = '[style*="{what}: {light}"]{{{what}:{dark}!important}}'
    return "".join(
        rule.format(what=property_name, light=colour.light, dark=colour.dark)
        for colour in used
        for property_name in ("fill", "stroke")
    )
