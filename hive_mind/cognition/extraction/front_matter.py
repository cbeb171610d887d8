"""Front matter: the block of keys at the top of a file, as site generators and note programs write it.

Its keys are statements about what the file is titled. The lines are read as people write them; what is no list of keys is none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hive_mind.regex import regex

_FENCES = {"---": ("---", "..."), "+++": ("+++",)}
_LINES_MAX = 200
_KEY = regex(r"(?P<key>[^\W\d][\w .-]{0,60}?)\s{0,4}[:=](?:\s+(?P<value>.*))?")
_ITEM = regex(r"-\s+(?P<value>\S.*)")
_NAMES = ("title", "name", "service", "project", "component", "subject", "id", "slug")
_MARKS = "\"'[]{}>| "


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Statements of the form "key: value", the `title` they are about, or "", and how many lines of the text they take."""

    statements: tuple[str, ...]
    title: str
    lines: int


def front_matter(lines: Sequence[str]) -> FrontMatter | None:
    """The keys at the top of a text; None where it begins otherwise."""
    ends = _FENCES.get(lines[0].rstrip()) if lines else None
    if ends is None:
        return None
    last = next((place for place, line in enumerate(lines[1 : _LINES_MAX + 1], 1) if line.rstrip() in ends), 0)
    fields: list[tuple[str, list[str]]] = []
    for line in lines[1:last]:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = _KEY.fullmatch(text) if not line[0].isspace() else None
        if match is not None:
            fields.append((match["key"], [match["value"] or ""]))
        elif fields and (line[0].isspace() or _ITEM.fullmatch(text)):
            item = _ITEM.fullmatch(text)
            fields[-1][1].append(item["value"] if item else text)
        else:
            return None
    values = {key: ", ".join(filter(None, (part.strip(_MARKS) for part in parts))) for key, parts in fields}
    folded_values = {key.casefold(): value for key, value in values.items()}
    title = next((folded_values[name] for name in _NAMES if folded_values.get(name)), "")
    return FrontMatter(tuple(f"{key}: {value}" for key, value in values.items() if value), title, last + 1) if values else None
