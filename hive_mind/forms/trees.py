"""JSON with comments, and YAML, as trees. Made for files of strangers: nothing in them is ever executed.

JSON may have // and /* */ comments; else its own rules hold, and a message for each mistake says what to write instead. It is
scanned here because Python's reader knows no comments, forgets where values stood, takes NaN, and lets the last of two equal keys
win.

YAML is stricter than its standard, so that one file has one meaning: a key stands once in its mapping, `010` is no eight, tags
are refused. PyYAML's errors are reworded for the person who wrote the file.

Size, depth and number of values are bounded, those that aliases stand for included, so a small file can't become a large value.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from json import JSONDecodeError, JSONDecoder
from math import isinf
from typing import Any, NoReturn

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from hive_mind.errors import Problem
from hive_mind.forms import Form, Path, TooMuch, Tree, spelled
from hive_mind.regex import regex

_SPACE = regex(r"(?:[ \t\n\r]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NUMBER = regex(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
# Anything that somebody may have meant as one word or number.
_WORD = regex(r"""[^\s,:{}\[\]"'/]+""")
# Half of a pair of UTF-16, which no file and no terminal takes.
_HALF = regex("[\ud800-\udfff]")
_UNPAIRED = "contains an unpaired surrogate; write the whole character"
_DECODER = JSONDecoder()
_LITERALS = {"true": True, "false": False, "null": None}
_NO_NUMBERS = frozenset(("nan", "+nan", "-nan", "inf", "infinity", "+inf", "-inf", "+infinity", "-infinity"))
_MEANT = {"True": "true", "TRUE": "true", "yes": "true", "False": "false", "FALSE": "false", "no": "false", "None": "null"}
_DIGITS_MAX = 18
_SHOWN = 40


def json_tree(text: str, form: Form[Any]) -> tuple[Tree | None, tuple[Problem, ...]]:
    """The one value in a text, with what is wrong with it; no tree where nothing can be made of it."""
    scanner = _Scanner(text, form)
    try:
        return scanner.whole(), tuple(scanner.problems)
    except TooMuch as much:
        return None, (*scanner.problems, Problem(form.name, much.line, much.what))


class _Scanner:
    def __init__(self, text: str, form: Form[Any]) -> None:
        self.problems: list[Problem] = []
        self._text, self._form = text, form
        self._ends = [match.start() for match in re.finditer("\n", text)]
        self._at = self._count = 0

    def whole(self) -> Tree | None:
        self._skip()
        if self._at == len(self._text):
            self._stop(f"it is empty; {self._form.begin}")
        tree = self._value((), self._line())
        self._skip()
        if self._at < len(self._text):
            self._stop(f"something follows after the end of the {self._form.name}; look at the brackets")
        return tree

    def _value(self, path: Path, line: int) -> Tree:
        self._count += 1
        self._form.bound(self._line(), len(path), self._count)
        match self._here():
            case "{":
                return self._object(path, line)
            case "[":
                return self._list(path, line)
            case '"':
                text = self._string()
                if _HALF.search(text):
                    self._report(path, line, _UNPAIRED)
                    return Tree(None, line)
                return Tree(text, line, text)
            case "'":
                self._stop("text must be in double quotes in JSON")
            case "" | "," | ":" | "}" | "]" | "/":
                self._stop("a value is missing here" if self._here() else "a bracket is never closed")
        return self._word(path, line)

    def _object(self, path: Path, line: int) -> Tree:
        parts: dict[str | int, Tree] = {}

        def entry() -> None:
            at = self._line()
            key = self._key()
            value = self._value((*path, key), at)
            if key in parts:
                message = f"occurs twice in its section, first in line {parts[key].line}; keep one of them"
                self._report((*path, key), at, message)
            else:
                parts[key] = value

        self._entries("}", entry)
        return Tree({key: part.value for key, part in parts.items()}, line, parts=parts)

    def _list(self, path: Path, line: int) -> Tree:
        parts: dict[str | int, Tree] = {}

        def entry() -> None:
            parts[len(parts)] = self._value((*path, len(parts)), self._line())

        self._entries("]", entry)
        return Tree([part.value for part in parts.values()], line, parts=parts)

    def _entries(self, end: str, entry: Callable[[], None]) -> None:
        """The entries between two brackets, with commas between."""
        opened = self._line()
        self._step()
        while self._here() != end:
            if not self._here():
                self._stop(f"the bracket of line {opened} is never closed; add {end}", opened)
            entry()
            self._skip()
            if self._here() == ",":
                self._step()
                if self._here() == end:
                    self._stop(f"a comma before {end}; remove it")
            elif self._here() and self._here() != end:
                self._stop(f"a comma or {end} is missing before this")
        self._at += 1

    def _key(self) -> str:
        if self._here() != '"':
            match = _WORD.match(self._text, self._at + (self._here() == "'"))
            self._stop(f'a key must be in double quotes: "{match[0][:_SHOWN]}"' if match else "a key in double quotes is missing")
        key = self._string()
        if _HALF.search(key):
            self._stop(_UNPAIRED)
        self._skip()
        if self._here() != ":":
            self._stop(f'a colon is missing after "{key[:_SHOWN]}"')
        self._step()
        return key

    def _string(self) -> str:
        try:
            text, self._at = _DECODER.raw_decode(self._text, self._at)
        except JSONDecodeError as error:
            self._stop(_of_text(error), self._line(error.pos))
        return str(text)

    def _word(self, path: Path, line: int) -> Tree:
        match = _WORD.match(self._text, self._at)
        word = match[0] if match else self._here()
        self._at += len(word)
        if word in _LITERALS:
            return Tree(_LITERALS[word], line, word)
        number = _NUMBER.fullmatch(word)
        value = _number(word, is_whole=not number[1] and not number[2]) if number else None
        if value is None:
            self._report(path, line, _no_word(word) if number is None else f"{word[:_SHOWN]} is too large a number")
        return Tree(value, line, word)

    def _here(self) -> str:
        return self._text[self._at : self._at + 1]

    def _step(self) -> None:
        self._at += 1
        self._skip()

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at
        if self._text.startswith("/*", self._at):
            self._stop("a comment that begins with /* is never closed; add */")
        if self._here().isspace():
            self._stop(f"{self._here()!a} is not white space in JSON; use spaces")

    def _line(self, at: int | None = None) -> int:
        return bisect_left(self._ends, self._at if at is None else at) + 1

    def _report(self, path: Path, line: int, message: str) -> None:
        self.problems.append(Problem(spelled(path, self._form.name), line, message))

    def _stop(self, message: str, line: int = 0) -> NoReturn:
        raise TooMuch(line or self._line(), message)


def _number(word: str, *, is_whole: bool) -> int | float | None:
    if is_whole:
        return int(word) if len(word.lstrip("-")) <= _DIGITS_MAX else None
    value = float(word)
    return None if isinf(value) else value


def _no_word(word: str) -> str:
    beginning = word[:_SHOWN]
    if word.lower() in _NO_NUMBERS:
        return f"{beginning} is not a number in JSON; write one"
    if word in _MEANT:
        return f"{beginning} is not JSON; write {_MEANT[word]}"
    if word[0] in "+-.0123456789":
        return f"{beginning} is not a number in JSON, such as 0.5, 60 or 1e-3"
    return f'text must be in double quotes: "{beginning}"'


def _of_text(error: JSONDecodeError) -> str:
    if "control character" in error.msg:
        return "text ends at the end of its line: a quote is missing, or write \\n for a new line"
    if "Unterminated" in error.msg:
        return "text that begins here has no end; add a quote"
    return "unknown escape sequence after \\; write \\\\"


_INT = regex(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_FLOAT = regex(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]{0,30})(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,4})?")
_UNBOUNDED = regex(r"[-+]?\.(?:inf|Inf|INF|nan|NaN|NAN)")
_TRUE = frozenset("true True TRUE yes Yes YES on On ON".split())
_FALSE = frozenset("false False FALSE no No NO off Off OFF".split())
_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_OWN_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map"))
_MERGE = "<<"

_WORDINGS = (
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
    for theirs, ours in _WORDINGS:
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
