"""JSON and YAML as a person would read them aloud: one line for each value, with all keys above it.

"port: 5432" says nothing without its parents, so it becomes "service.database.port: 5432". The field that tells the entries of a
list apart (their name or id) stands in the path, and so does the name of a document; a list of plain values is one line, and
comments of YAML stay where they were.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import islice

import yaml

from hive_mind.regex import regex

# YAML is read in some seconds for each megabyte; what is larger is data for programs.
_CHARS_MAX = 2 << 20
# Anchors can make a small file as large as one likes.
_VALUES_MAX = 50_000
# With a key for each value. To make nodes of what was read takes ten times as long as to read it.
_NODES_MAX = 2 * _VALUES_MAX
_DEPTH_MAX = 50
_NAMES, _TITLES = ("name", "id", "key", "title"), ("name", "title")
_NAME_CHARS_MAX = 60
_PAIR = regex(r"(?<!\\)\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_COMMENT = regex(r"^\s*#++\s?+(?P<text>.*\w.*)$")
_COMMENT_BEHIND = regex(r"^[\s,\]}]*\s#\s*+(?P<text>.*\w.*)$")

Line = tuple[int, str]


class _TooMuchError(Exception):
    """More values, or deeper ones, than anybody writes by hand."""


def nested_text(text: str) -> str | None:
    """The lines of a JSON or YAML document, the text itself where it is neither or holds no keys, None where it is too large."""
    if len(text) > _CHARS_MAX:
        return None
    source = _as_yaml(text) if text.lstrip()[:1] in ("{", "[") else text
    lines = source.splitlines()
    try:
        # More than anybody writes by hand is refused as soon as so much is read.
        nodes = (event for event in yaml.parse(source, _LOADER) if isinstance(event, yaml.NodeEvent))
        if next(islice(nodes, _NODES_MAX, None), None) is not None:
            raise _TooMuchError
        found = [line for root in yaml.compose_all(source, _LOADER) if root for line in _Walk(lines).lines_of(root)]
    except _TooMuchError:
        return None
    except (yaml.YAMLError, RecursionError, UnicodeError):
        return text
    if not any(": " in line for _, line in found):
        return text
    comments = [(number, comment["text"].strip()) for number, line in enumerate(lines) if (comment := _COMMENT.match(line))]
    return "\n\n".join(line for _, line in sorted([*found, *comments], key=lambda line: line[0]))


def _as_yaml(text: str) -> str:
    """JSON as YAML takes it: without tabs between values, and with a character beyond the first 65,536 as one."""
    return _PAIR.sub(lambda pair: str(json.loads(f'"{pair[0]}"')), text.replace("\t", "  "))


# The one in C is ten times as fast, where it was built.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Walk:
    """Through one document; counts what it gives."""

    def __init__(self, source: list[str]) -> None:
        self._source = source
        self._given = 0

    def lines_of(self, root: yaml.Node) -> Iterator[Line]:
        """Each value of a document. Where that has a name, all but the name itself are of that."""
        name = _name_of(root, _TITLES)
        for key, value in root.value if name else ():
            yield from self.lines(value, _plain(key) if _plain(value) == name else _below(name, _plain(key)), 1)
        if not name:
            yield from self.lines(root, "", 0)

    def lines(self, node: yaml.Node, path: str, depth: int) -> Iterator[Line]:
        """Each value below a node, with the number of its line."""
        self._given += 1
        if depth > _DEPTH_MAX or self._given > _VALUES_MAX:
            raise _TooMuchError
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                yield from self.lines(value, _below(path, _plain(key)), depth + 1)
        elif isinstance(node, yaml.SequenceNode) and not all(isinstance(one, yaml.ScalarNode) for one in node.value):
            for number, one in enumerate(node.value, 1):
                yield from self.lines(one, _below(path, _name_of(one) or str(number)), depth + 1)
        elif text := _value_text(node):
            line = f"{path}: {text}" if path else text
            yield node.start_mark.line, line + self._comment_behind(node)

    def _comment_behind(self, node: yaml.Node) -> str:
        end = node.end_mark
        line = self._source[end.line] if end.line < len(self._source) else ""
        match = _COMMENT_BEHIND.match(line[end.column :]) if end.line == node.start_mark.line else None
        return f" ({match['text'].strip()})" if match else ""


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _value_text(node: yaml.Node) -> str:
    return ", ".join(filter(None, map(_plain, node.value))) if isinstance(node, yaml.SequenceNode) else _plain(node)


def _plain(node: yaml.Node) -> str:
    return " ".join(str(node.value).split()) if isinstance(node, yaml.ScalarNode) else "?"


def _name_of(node: yaml.Node, keys: Sequence[str] = _NAMES) -> str:
    """The name of a list's entry, or of a document; "" where it has none."""
    fields = {_plain(key): _plain(value) for key, value in node.value} if isinstance(node, yaml.MappingNode) else {}
    named = next((fields[name] for name in keys if fields.get(name, "?") != "?"), "")
    return named if len(named) <= _NAME_CHARS_MAX else ""
