"""Values into HTML. Everything a template shows is escaped; what a fact, a source or a log says is text and never markup.

Loaded with the first page: a worker that nobody looks at holds no templates.
"""

import time
from datetime import UTC, datetime
from functools import cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from hive_mind.counted import counted
from hive_mind.regex import regex

_TEMPLATES = Path(__file__).parent / "templates"
_DRIVE = regex(r"[A-Za-z]:\\")
# A root, a folder and a name are no longer than what would stand for them.
_PARTS_SHOWN = 3
_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


@cache
def environment() -> Environment:
    """The templates. A name that a template does not get is an error and not an empty place."""
    made_environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made_environment.filters |= {"counted": counted, "when": when, "since": since, "link": link, "share": share, "figure": figure}
    made_environment.filters["brief"] = brief
    return made_environment


def render(template: str, **values: object) -> str:
    return environment().get_template(template).render(**values)


def when(at_us: int) -> str:
    """A moment, in microseconds since 1970, as a person reads it; "" for 0."""
    return datetime.fromtimestamp(at_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M UTC") if at_us else ""


def since(at_ms: int) -> str:
    """For how long it has been so: "3 h"; "" where that is not known."""
    if not at_ms:
        return ""
    age_s = max(0.0, time.time() - at_ms / 1000)
    size, unit = next(((size, unit) for size, unit in _UNITS if age_s >= size), _UNITS[-1])
    return f"{int(age_s // size)} {unit}"


def link(source: str) -> str:
    """The address of a source that is one of the web; "" for all others, above all for what would run: `javascript:`."""
    try:
        parts = urlsplit(source)
    except ValueError:
        return ""
    return source if parts.scheme in ("http", "https") and parts.netloc else ""


def brief(source: str) -> str:
    """A source that is a whole path, by its last folder and its name: the rest is the same in every line. Others as they are."""
    path = PureWindowsPath(source) if _DRIVE.match(source) else PurePosixPath(source)
    return f"…/{path.parent.name}/{path.name}" if path.is_absolute() and len(path.parts) > _PARTS_SHOWN else source


def share(part: float) -> str:
    """0.5 as "50 %". Rounded down: what is not complete must not read as if it was."""
    return f"{int(part * 100 + 1e-9)} %"


def figure(number: float | None) -> str:
    """A score as it is compared by eye."""
    return "–" if number is None else f"{number:.3f}"
