"""SQL filters of subscriptions: the subset of SQL-92 that Service Bus takes, but for functions and parameters.

`filter_of(text)` reads the text once and gives a function over the properties of a message. It is true only when the condition is
true: not when it is unknown, which is what a property that is not there makes of most conditions. Everything that is wrong with a
filter is said by `InvalidInput`, with the place.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from hive_mind.devbroker.servicebus.sql_values import (
    COMPARISONS,
    all_of,
    any_of,
    calculated,
    compared,
    is_like,
    negated,
    pattern_of,
)
from hive_mind.errors import InvalidInput

# The service's own limit on the text of a rule.
LENGTH_MAX = 1024

Kind = Literal["word", "name", "text", "number", "sign", "end"]

_TOKEN = re.compile(
    r"""(?P<text>N?'(?:[^']|'')*')
      | (?P<number>0[xX][0-9a-fA-F]+ | (?:\d+(?:\.\d*)? | \.\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>\[(?:[^\]]|\]\])+\] | "(?:[^"]|"")+")
      | (?P<word>[^\W\d]\w*)
      | (?P<sign><=|>=|<>|!=|[=<>(),.+\-*/%])""",
    re.VERBOSE,
)
_SPACE = re.compile(r"\s*")

# Brackets, NOTs and signs inside each other. People write three or four; a stack has an end.
DEPTH_MAX = 32

# By lower-case name: names of system properties are the same in any case. `subject` is the younger name of `label`.
SYSTEM_NAMES = {
    "contenttype": "content_type",
    "correlationid": "correlation_id",
    "label": "subject",
    "messageid": "message_id",
    "replyto": "reply_to",
    "replytosessionid": "reply_to_session_id",
    "sessionid": "session_id",
    "subject": "subject",
    "to": "to",
}
_KEYWORDS = frozenset("and or not in like escape is null exists true false".split())


@dataclass(frozen=True, slots=True)
class Token:
    """`text` is as written, but for quoted ones, which come without their quotes. `place` counts from 1."""

    kind: Kind
    text: str
    place: int


def tokens_of(text: str) -> list[Token]:
    """The tokens of a filter, with an "end" behind them."""
    if len(text) > LENGTH_MAX:
        raise InvalidInput(f"a SQL filter has at most {LENGTH_MAX} characters; this one has {len(text)}")
    return [*_tokens(text), Token("end", "", len(text) + 1)]


def _tokens(text: str) -> Iterator[Token]:
    at = _end_of_space(text, 0)
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise InvalidInput(f"SQL filter: {text[at]!r} at character {at + 1} can't be read; texts stand in 'single quotes'")
        kind: Kind = match.lastgroup  # type: ignore[assignment]
        yield Token(kind, _unquoted(kind, match.group()), at + 1)
        at = _end_of_space(text, match.end())


def _end_of_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _unquoted(kind: Kind, text: str) -> str:
    if kind == "text":
        return text.removeprefix("N")[1:-1].replace("''", "'")
    if kind == "name":
        closing = text[-1]
        return text[1:-1].replace(closing * 2, closing)
    return text


@dataclass(frozen=True, slots=True)
class Properties:
    """The properties that filters look at. System properties go by the names on the right of `SYSTEM_NAMES`."""

    system: Mapping[str, object]
    application: Mapping[str, object]


Filter = Callable[[Properties], bool]
_Term = Callable[[Properties], object]


def filter_of(text: str) -> Filter:
    """The filter `text` describes. Raises `InvalidInput` with the place where it is wrong."""
    condition = _Parser(tokens_of(text)).whole()
    return lambda properties: condition(properties) is True


class _Parser:
    """From OR, which binds least, down to single values; one method per level."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0

    def whole(self) -> _Term:
        term = self._or()
        if self._next.kind != "end":
            raise self._wrong("expected the end, or AND or OR")
        return term

    def _or(self) -> _Term:
        terms = [self._and()]
        while self._take("or"):
            terms.append(self._and())
        return terms[0] if len(terms) == 1 else lambda properties: any_of(term(properties) for term in terms)

    def _and(self) -> _Term:
        terms = [self._not()]
        while self._take("and"):
            terms.append(self._not())
        return terms[0] if len(terms) == 1 else lambda properties: all_of(term(properties) for term in terms)

    def _not(self) -> _Term:
        if self._take("not"):
            return _inverted(self._deeper(self._not))
        return self._exists() if self._take("exists") else self._comparison()

    def _exists(self) -> _Term:
        self._need("(")
        is_system, name = self._property()
        self._need(")")
        if is_system:
            return lambda properties: properties.system.get(name) is not None
        return lambda properties: name in properties.application

    def _comparison(self) -> _Term:
        left = self._sum()
        if self._take("is"):
            is_not = self._take("not")
            self._need("null")
            return lambda properties: (left(properties) is None) is not is_not
        if self._next.kind == "sign" and self._next.text in COMPARISONS:
            sign = self._advance().text
            right = self._sum()
            return lambda properties: compared(sign, left(properties), right(properties))
        return self._membership(left)

    def _membership(self, left: _Term) -> _Term:
        is_not = self._take("not")
        if self._take("in"):
            term = self._in(left)
        elif self._take("like"):
            term = self._like(left)
        elif is_not:
            raise self._wrong("expected IN or LIKE")
        else:
            return left
        return _inverted(term) if is_not else term

    def _in(self, left: _Term) -> _Term:
        self._need("(")
        choices = [self._sum()]
        while self._take(","):
            choices.append(self._sum())
        self._need(")")
        return lambda properties: any_of(compared("=", left(properties), choice(properties)) for choice in choices)

    def _like(self, left: _Term) -> _Term:
        text = self._text("LIKE takes a text in 'single quotes'")
        pattern = pattern_of(text, self._text("ESCAPE takes one character in 'single quotes'") if self._take("escape") else "")

        def like(properties: Properties) -> bool | None:
            value = left(properties)
            return is_like(value, pattern) if isinstance(value, str) else None

        return like

    def _sum(self) -> _Term:
        return self._chain(("+", "-"), self._product)

    def _product(self) -> _Term:
        return self._chain(("*", "/", "%"), self._signed)

    def _chain(self, signs: tuple[str, ...], operand: Callable[[], _Term]) -> _Term:
        first, rest = operand(), list[tuple[str, _Term]]()
        while self._next.kind == "sign" and self._next.text in signs:
            rest.append((self._advance().text, operand()))
        if not rest:
            return first

        def chain(properties: Properties) -> object:
            value = first(properties)
            for sign, term in rest:
                value = calculated(sign, value, term(properties))
            return value

        return chain

    def _signed(self) -> _Term:
        if self._take("-"):
            term = self._deeper(self._signed)
            return lambda properties: calculated("-", 0, term(properties))
        return self._deeper(self._signed) if self._take("+") else self._value()

    def _value(self) -> _Term:
        if self._take("("):
            term = self._deeper(self._or)
            self._need(")")
            return term
        token = self._next
        if token.kind in ("text", "number"):
            return _constant(self._advance())
        if token.kind == "word" and token.text.lower() in ("true", "false", "null"):
            value = {"true": True, "false": False, "null": None}[self._advance().text.lower()]
            return lambda _: value
        is_system, name = self._property()
        if is_system:
            return lambda properties: properties.system.get(name)
        return lambda properties: properties.application.get(name)

    def _property(self) -> tuple[bool, str]:
        """Whether it is a system property, and its name."""
        first = self._name()
        is_scoped = first.kind == "word" and self._take(".")
        scope, name = (first.text.lower(), self._name().text) if is_scoped else ("user", first.text)
        if self._next.text == "(" and self._next.kind == "sign":
            raise self._wrong(f"the function {name} is not supported")
        if scope == "user":
            return False, name
        if scope != "sys":
            raise self._wrong(f"{first.text} is not a scope; use sys or user, and put names with dots in [brackets]")
        if name.lower() not in SYSTEM_NAMES:
            raise self._wrong(f"there is no system property {name}; known: {', '.join(sorted(SYSTEM_NAMES))}")
        return True, SYSTEM_NAMES[name.lower()]

    def _name(self) -> Token:
        token = self._next
        if token.kind == "name" or (token.kind == "word" and token.text.lower() not in _KEYWORDS):
            return self._advance()
        raise self._wrong("expected a value or the name of a property")

    def _text(self, wish: str) -> str:
        if self._next.kind != "text":
            raise self._wrong(wish)
        return self._advance().text

    def _deeper(self, parse: Callable[[], _Term]) -> _Term:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise self._wrong(f"more than {DEPTH_MAX} levels inside each other")
        term = parse()
        self._depth -= 1
        return term

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _advance(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, expected: str) -> bool:
        token = self._next
        is_it = token.kind in ("word", "sign") and token.text.lower() == expected
        self._at += is_it
        return is_it

    def _need(self, expected: str) -> None:
        if not self._take(expected):
            raise self._wrong(f"expected {expected.upper()}")

    def _wrong(self, what: str) -> InvalidInput:
        place = f"{self._next.text!r} at character {self._next.place}" if self._next.kind != "end" else "its end"
        return InvalidInput(f"SQL filter, at {place}: {what}")


def _constant(token: Token) -> _Term:
    value: object = token.text
    if token.kind == "number":
        value = int(token.text, 0) if token.text.lower().startswith("0x") else _number(token.text)
    return lambda _: value


def _number(text: str) -> float:
    return int(text) if text.isdigit() else float(text)


def _inverted(term: _Term) -> _Term:
    return lambda properties: negated(term(properties))
