"""JSON with // and /* */ comments, as a tree. JSON's own rules hold: a message for each mistake says what to write instead.

Written here because Python's reader knows no comments, forgets where values stood, takes NaN, and lets the last of two equal keys
win. Size, depth and number of values are bounded.
"""

import re
from bisect import bisect_left
from collections.abc import Callable
from json import JSONDecodeError, JSONDecoder
from math import isinf
from typing import Any, NoReturn

from hive_mind.errors import Problem
from hive_mind.forms.form import Form, Path, TooMuch, Tree, spelled
from hive_mind.regex import regex

_SPACE = regex(r"(?:[ \t\n\r]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NUMBER = regex(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
# Anything that somebody may have meant as one word or number.
_WORD = regex(r"""[^\s,:{}\[\]"'/]+""")
# Half of a pair of UTF-16, which no file and no terminal takes.
_HALF = regex("[\ud800-\udfff]")
_UNPAIRED = "contains an unpaired surrogate; write the whole character"
_DECODER = JSONDecoder()
_WORDS = {"true": True, "false": False, "null": None}
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
                return self._text_value(path, line)
            case "'":
                self._stop("text must be in double quotes in JSON")
            case "" | "," | ":" | "}" | "]" | "/":
                self._stop("a value is missing here" if self._here() else "a bracket is never closed")
        return self._word(path, line)

    def _text_value(self, path: Path, line: int) -> Tree:
        text = self._string()
        if _HALF.search(text):
            self._report(path, line, _UNPAIRED)
            return Tree(None, line)
        return Tree(text, line, text)

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
        if word in _WORDS:
            return Tree(_WORDS[word], line, word)
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
