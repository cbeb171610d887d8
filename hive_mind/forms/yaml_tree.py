"""YAML as a tree. Made for files of strangers: nothing in them is ever executed.

Stricter than YAML, so that one file has one meaning: a key stands once in its mapping, `010` is no eight, tags are refused. Size,
depth and number of values are bounded, those that aliases stand for included, so a small file can't become a large value.
PyYAML's errors are reworded for the person who wrote the file.
"""

from collections.abc import Iterator
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from hive_mind.errors import Problem
from hive_mind.forms.form import Form, Path, TooMuch, Tree, spelled
from hive_mind.regex import regex

_INT = regex(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_FLOAT = regex(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]{0,30})(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,4})?")
_UNBOUNDED = regex(r"[-+]?\.(?:inf|Inf|INF|nan|NaN|NAN)")
_TRUE = frozenset("true True TRUE yes Yes YES on On ON".split())
_FALSE = frozenset("false False FALSE no No NO off Off OFF".split())
_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_OWN_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map"))
_MERGE = "<<"

_WORDS = (
    ("'\\t'", "a tab; use spaces"),
    ("single document", "a second document begins (---); keep one in a file"),
    ("undefined alias", "an alias (*name) without its anchor (&name) before it; text that begins with * must be in quotes"),
    ("duplicate anchor", "the same anchor (&name) twice; give one of them another name"),
    ("mapping values are not allowed", "a colon where none can be; put text with a colon in quotes, or look at the indentation"),
    ("expected ':'", "a key without its colon, or text that is not indented enough"),
    ("unexpected end of stream", "something in quotes or brackets has no end"),
    ("expected <block end>", "does not line up with the lines above; look at the indentation, and at quotes inside quotes"),
    ("cannot start any token", "text that begins with one of @ ` % must be in quotes"),
    ("expected alphabetic or numeric", "* and & need a name after them; text that begins with one must be in quotes"),
    ("expected ',' or", "an unclosed bracket, a missing comma, or text with a colon that is not in quotes"),
    ("unknown escape", 'unknown escape sequence after \\ in "…"; use single quotes, or write \\\\'),
)


def yaml_tree(text: str, form: Form[Any]) -> tuple[Tree | None, tuple[Problem, ...]]:
    """The one document in a text, with what is wrong with it; no tree where nothing can be made of it."""
    try:
        node = _composed(text, form)
    except yaml.YAMLError as error:
        return None, (in_our_words(error, text, form.name),)
    except TooMuch as much:
        return None, (Problem(form.name, much.line, much.what),)
    if node is None or (isinstance(node, ScalarNode) and node.value in _NULL):
        return None, (Problem(form.name, 1, f"it is empty; {form.begin}"),)
    planting = _Planting(form)
    try:
        return planting.tree(node, (), node.start_mark.line + 1), tuple(planting.problems)
    except TooMuch as much:
        return None, (*planting.problems, Problem(form.name, much.line, much.what))


class _Loader(yaml.BaseLoader):
    """Composes nodes and gives no meaning to any of them. Its depth is bounded, so it can't exhaust Python's stack."""

    def __init__(self, text: str, form: Form[Any]) -> None:
        super().__init__(text)
        self._form = form
        self._depth = self._count = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        line = self.peek_event().start_mark.line + 1  # type: ignore[no-untyped-call]
        self._depth, self._count = self._depth + 1, self._count + 1
        self._form.bound(line, self._depth, self._count)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def _composed(text: str, form: Form[Any]) -> Node | None:
    loader = _Loader(text, form)
    try:
        return loader.get_single_node()
    finally:
        loader.dispose()


class _Planting:
    """Turns nodes into a tree; an alias is a value of its own each time."""

    def __init__(self, form: Form[Any]) -> None:
        self._form = form
        self.problems: list[Problem] = []
        self._count = self._reached = 0
        self._open: set[int] = set()

    def tree(self, node: Node, path: Path, line: int) -> Tree:
        self._count += 1
        # The target of an alias has the lines of its anchor; how far we are in the file says where it is used.
        self._reached = max(self._reached, line)
        self._form.bound(self._reached, len(path), self._count)
        if node.tag not in _OWN_TAGS:
            self._report(path, line, f"tags such as {_short(node.tag)} are not read here; leave it out")
            return Tree(None, line)
        if isinstance(node, ScalarNode):
            return Tree(_meant(node), line, node.value)
        if id(node) in self._open:
            place = spelled(path, self._form.name)
            raise TooMuch(self._reached, f"{place} is an alias of what it is part of and would never end; write it out")
        self._open.add(id(node))
        is_mapping = isinstance(node, MappingNode)
        tree = self._mapping(node.value, path, line) if is_mapping else self._sequence(node.value, path, line)
        self._open.remove(id(node))
        return tree

    def _sequence(self, nodes: list[Node], path: Path, line: int) -> Tree:
        parts: dict[str | int, Tree] = {n: self.tree(node, (*path, n), node.start_mark.line + 1) for n, node in enumerate(nodes)}
        return Tree([part.value for part in parts.values()], line, parts=parts)

    def _mapping(self, pairs: list[tuple[Node, Node]], path: Path, line: int) -> Tree:
        parts: dict[str | int, Tree] = {}
        for key, value in self._entries(pairs, path):
            at = key.start_mark.line + 1
            if key.value in parts:
                before = parts[key.value].line
                self._report((*path, key.value), at, f"occurs twice in its section, first in line {before}; keep one of them")
            else:
                parts[key.value] = self.tree(value, (*path, key.value), at)
        parts = self._merged(pairs, path) | parts
        return Tree({key: part.value for key, part in parts.items()}, line, parts=parts)

    def _entries(self, pairs: list[tuple[Node, Node]], path: Path) -> Iterator[tuple[ScalarNode, Node]]:
        for key, value in pairs:
            if not isinstance(key, ScalarNode):
                self._report(path, key.start_mark.line + 1, "a key is a list or mapping; it must be a name")
            elif key.value != _MERGE or key.style:
                yield key, value

    def _merged(self, pairs: list[tuple[Node, Node]], path: Path) -> dict[str | int, Tree]:
        """The pairs that `<<: *alias` brings in; of several the first wins, and those written out win over all."""
        parts: dict[str | int, Tree] = {}
        for key, value in pairs:
            if isinstance(key, ScalarNode) and key.value == _MERGE and not key.style:
                for node in value.value if isinstance(value, SequenceNode) else [value]:
                    parts = self._brought_in(node, path, key.start_mark.line + 1) | parts
        return parts

    def _brought_in(self, node: Node, path: Path, line: int) -> dict[str | int, Tree]:
        if isinstance(node, MappingNode):
            return self.tree(node, path, line).parts
        self._report(path, line, "<< merges mappings only: <<: *name")
        return {}

    def _report(self, path: Path, line: int, message: str) -> None:
        self.problems.append(Problem(spelled(path, self._form.name), line, message))


def _meant(node: ScalarNode) -> object:
    """The value of a plain word or number; in quotes it is text."""
    text: str = node.value
    if node.style:
        return text
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INT.fullmatch(text):
        return int(text)
    return float(text.replace(".inf", "inf").replace(".nan", "nan")) if _is_float(text) else text


def _is_float(text: str) -> bool:
    return bool(_FLOAT.fullmatch(text) or _UNBOUNDED.fullmatch(text))


def _short(tag: str) -> str:
    return tag.replace("tag:yaml.org,2002:", "!!")[:60]


def in_our_words(error: yaml.YAMLError, text: str, file_kind: str) -> Problem:
    """Where it is and what to do. `whole` is what such a file is called."""
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return Problem(file_kind, line, "a control character, which YAML does not take; remove it")
    if not isinstance(error, yaml.MarkedYAMLError):
        return Problem(file_kind, 0, f"this is not YAML: {error}")
    line = _line(error)
    if _is_indented_with_tab(text, line):
        return Problem(file_kind, line, "a tab; use spaces")
    problem_text = f"{error.context or ''} {error.problem or ''}"
    for theirs, ours in _WORDS:
        if theirs in problem_text:
            return Problem(file_kind, line, ours.replace("keep one ", f"keep one {file_kind} "))
    return Problem(file_kind, line, f"this is not YAML: {problem_text.strip()}")


def _line(error: yaml.MarkedYAMLError) -> int:
    """Where the trouble begins: what has no end is found out at the end of the file."""
    mark = error.problem_mark or error.context_mark
    if error.context_mark and error.problem and "end of stream" in error.problem:
        mark = error.context_mark
    return int(mark.line) + 1 if mark else 0


def _is_indented_with_tab(text: str, line: int) -> bool:
    lines = text.splitlines()
    line_text = lines[line - 1] if 0 < line <= len(lines) else ""
    return "\t" in line_text[: len(line_text) - len(line_text.lstrip())]
