"""Front matter: the block of keys at the top of a file, as site generators and note programs write it.

YAML between dashes, TOML between pluses, JSON in braces, and the fields of reStructuredText. Its keys are statements about what
the file is titled. YAML that a parser refuses is read line by line, as people read it; what is no list of keys is none.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any

from hive_mind.regex import regex

_FENCES = {"---": ("---", "..."), "+++": ("+++",)}
_LINES_MAX, _CHARS_MAX = 200, 24_000
# Anchors can make a few lines as large as one likes.
_STATEMENTS_MAX, _DEPTH_MAX = 500, 8
_KEY = regex(r"(?P<key>[^\W\d][\w .-]{0,60}?)\s{0,4}[:=](?:\s+(?P<value>.*))?")
_ITEM = regex(r"-\s+(?P<value>\S.*)")
_FIELD = regex(r":(?P<key>[^\W\d][\w -]{0,40}):\s+(?P<value>\S.*)")
_FIELDS_MIN = 2
_NAMES = "title name service project component subject titel titre título titolo nombre nom nome id slug".split()
_MARKS = "\"'[]{}>| "


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Statements of the form "key: value", the `title` they are about, or "", and how many lines of the text they take."""

    statements: tuple[str, ...]
    title: str
    lines: int


def front_matter(lines: Sequence[str]) -> FrontMatter | None:
    """The keys at the top of a text; None where it begins otherwise."""
    first = lines[0].rstrip() if lines else ""
    if ends := _FENCES.get(first):
        last = next((place for place, line in enumerate(lines[1 : _LINES_MAX + 1], 1) if line.rstrip() in ends), 0)
        fields, count = _parsed(lines[1:last], is_toml=first == "+++"), last + 1
    elif first.startswith("{"):
        fields, count = _of_json(lines)
    else:
        matches = [match for line in takewhile(_FIELD.fullmatch, lines[:_LINES_MAX]) if (match := _FIELD.fullmatch(line))]
        fields, count = {match["key"]: match["value"] for match in matches}, len(matches)
        if count < _FIELDS_MIN:
            return None
    statements = tuple(islice(_statements(fields, ()), _STATEMENTS_MAX))
    folded_values = {str(key).casefold(): value for key, value in fields.items() if isinstance(value, str)}
    title = next((value for name in _NAMES if (value := " ".join(folded_values.get(name, "").split()))), "")
    return FrontMatter(statements, title, count) if statements else None


def _statements(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Each value behind its keys; those of a list in one, and its entries, where they have keys, by the first of their values."""
    if len(path) > _DEPTH_MAX:
        return
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _statements(below, (*path, _text(key)))
    elif isinstance(value, list) and any(isinstance(entry, Mapping | list) for entry in value):
        for entry in value:
            first = next(iter(entry.values()), "") if isinstance(entry, Mapping) else ""
            yield from _statements(entry, (*path, _text(first)) if first and not isinstance(first, Mapping | list) else path)
    elif text := ", ".join(filter(None, map(_text, value))) if isinstance(value, list) else _text(value):
        yield ": ".join((*path, text))


def _text(value: object) -> str:
    return "" if value is None else " ".join(str(value).split())


def _parsed(lines: Sequence[str], *, is_toml: bool) -> Mapping[str, Any]:
    text = "\n".join(lines)
    if len(text) > _CHARS_MAX:
        return {}
    # Most texts have none.
    import yaml

    try:
        fields = tomllib.loads(text) if is_toml else yaml.BaseLoader(text).get_single_data()
    except (yaml.YAMLError, ValueError, RecursionError):
        return _by_line(lines)
    return fields if isinstance(fields, dict) and all(isinstance(key, str) for key in fields) else {}


def _of_json(lines: Sequence[str]) -> tuple[Mapping[str, Any], int]:
    """The object at the top, and how many lines it takes."""
    text = "\n".join(lines[:_LINES_MAX])[:_CHARS_MAX]
    try:
        fields, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return {}, 0
    ends_line = text[end : end + 1] in ("", "\n")
    return (fields, text.count("\n", 0, end) + 1) if isinstance(fields, dict) and ends_line else ({}, 0)


def _by_line(lines: Sequence[str]) -> Mapping[str, Any]:
    """The keys that begin a line, each with what goes on with it; none where a line is neither."""
    fields: dict[str, list[str]] = {}
    values: list[str] | None = None
    for line in lines:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        item = _ITEM.fullmatch(text)
        if (match := _KEY.fullmatch(text)) and not line[0].isspace():
            values = fields.setdefault(match["key"], [])
            values.append((match["value"] or "").strip(_MARKS))
        elif values is None or not (line[0].isspace() or item):
            return {}
        else:
            values.append((item["value"] if item else text).strip(_MARKS))
    return {key: ", ".join(filter(None, parts)) for key, parts in fields.items()}
