"""Every regular expression takes time in proportion to the text: a page of spaces or digits must not stop a worker.

Each is fed with what its own syntax tree repeats, and with near-matches of it. Steps of the matcher are counted, not seconds.

To count them all takes a minute. Those that were counted once stand in `counted_expressions.txt`, which
`python -m tests.laws.test_linear_expressions` writes anew; `make test` counts what is new, and `make test-all` every one.
"""

import hashlib
import random
import re
from collections.abc import Sequence
from math import log2
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from hive_mind.measure import results
from hive_mind.model import fact
from tests.expressions import Expression, expressions, made_of_values
from tests.matcher import Matcher, TooManySteps, matchers

# Up to three doublings of what the first rounds do not show to be in proportion.
_CHARS = (256, 512, 1024, 2048)
_EXPONENT_MAX = 1.3
_EXPONENT_SURE = 1.01
# A repetition with a bound of some hundred characters costs as many steps from each place.
_STEPS_PER_CHAR_MAX = 600
_FIRST_ROUNDS = (6, 12, 24)
# The dearest of what looks so.
_DOUBTFUL_MAX = 3
_ALPHABET = " \t\na1A.,:;-_'\"()[]<>@/=#*|!?&$%+é一ß’\\"
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
_CHARACTERS = (_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN)
# No text holds it by chance, so what is repeated before it nearly matches.
_END = "\x00"


class Pumps:
    """Texts that an expression nearly matches: what may be repeated in it, again and again, behind what has to come first."""

    def __init__(self, matcher: Matcher, seed: int) -> None:
        self._chance, self._matcher = random.Random(seed), matcher
        letters = "".join(sorted({chr(value) for kind, value in _items(matcher.tree) if kind is _constants.LITERAL}))
        self._alphabet = matcher.classes(_ALPHABET + letters)

    def drawn(self) -> list[tuple[str, str, str]]:
        """What comes first, what is repeated, and what ends it so that the rest may not match."""
        texts = dict.fromkeys(("", character, _END) for character in self._alphabet)
        for before, items in [pair for _ in range(2) for pair in self._repeated(self._matcher.tree, "")]:
            end = self._not_in(items)
            bodies = [self._sample(items)]
            if len(items) == 1 and items[0][0] in _CHARACTERS:
                kinds = self._matcher.admitted(items[0], self._alphabet)
                bodies = self._chance.sample(kinds, min(3, len(kinds)))
                bodies += ["".join(self._chance.sample(kinds, 2)) for _ in range(2) if len(kinds) > 1]
                # Blanks are what most neighbours of a repeat take too.
                bodies += [" "] if " " in kinds else []
            texts |= {(before[-80:], body[:60], end): None for body in bodies}
            texts |= {("", (before + body)[-60:], _END): None for body in bodies[:2]}
        texts |= {("", "".join(self._chance.choices(self._alphabet, k=2)), _END): None for _ in range(10)}
        return [text for text in texts if text[1]]

    def _not_in(self, items: Any) -> str:
        """A character that none of these items matches."""
        held = {
            character
            for item in items
            if item[0] in _CHARACTERS
            for character in self._matcher.admitted(item, _END + self._alphabet)
        }
        return next((character for character in (_END, *self._alphabet) if character not in held), _END) if held else _END

    def _repeated(self, items: Any, before: str) -> list[tuple[str, Any]]:
        pairs: list[tuple[str, Any]] = []
        for kind, value in items:
            if kind in _REPEATS and value[1] >= 8:
                pairs.append((before, list(value[2])))
            for inner in _inside(kind, value):
                pairs += self._repeated(inner, before)
            before += self._sample([(kind, value)])
        return pairs

    def _sample(self, items: Any) -> str:
        return "".join(self._sampled(kind, value) for kind, value in items)

    def _sampled(self, kind: Any, value: Any) -> str:
        if kind in _CHARACTERS:
            alphabet = self._alphabet if kind is not _constants.LITERAL else chr(value)
            return self._chance.choice(self._matcher.admitted((kind, value), alphabet) or "a")
        if kind in _REPEATS:
            least, most, inner = value
            return "".join(self._sample(inner) for _ in range(max(least, min(most, self._chance.randint(0, 1)))))
        if kind is _constants.BRANCH:
            return self._sample(self._chance.choice(value[1]))
        return "".join(map(self._sample, _inside(kind, value))) if kind in _PARTS else ""


_PARTS = (_constants.SUBPATTERN, _constants.ATOMIC_GROUP)


def _inside(kind: Any, value: Any) -> list[Any]:
    """The parts of an item of a syntax tree."""
    if kind in _REPEATS:
        return [value[2]]
    if kind is _constants.BRANCH:
        return list(value[1])
    if kind is _constants.SUBPATTERN:
        return [value[3]]
    if kind in (_constants.ASSERT, _constants.ASSERT_NOT):
        return [value[1]]
    if kind is _constants.GROUPREF_EXISTS:
        return [part for part in value[1:] if part]
    return [value] if kind is _constants.ATOMIC_GROUP else []


def _items(items: Any) -> list[Any]:
    return [deep for item in items for deep in (item, *(inner for part in _inside(*item) for inner in _items(part)))]


def dear(pattern: str, flags: int, how: str, seed: int = 1) -> str:
    """The text for which an expression costs more than in proportion, as its repr with the figures; "" where there is none."""
    return next(filter(None, (_dear(matcher, how, seed) for matcher in matchers(pattern, flags))), "")


def _dear(matcher: Matcher, how: str, seed: int) -> str:
    doubtful: list[tuple[float, str, str, str]] = []
    for before, body, end in Pumps(matcher, seed).drawn():
        first = [_steps(matcher, how, before + body * rounds + end) for rounds in _FIRST_ROUNDS]
        if first[2] - first[1] > 2.2 * (first[1] - first[0]):
            doubtful.append((first[2] / len(body), before, body, end))
    for _, before, body, end in sorted(doubtful, reverse=True)[:_DOUBTFUL_MAX]:
        counts: list[int] = []
        for size in _CHARS:
            counts.append(_steps(matcher, how, (before + body * (size // len(body) + 1))[:size] + end))
            growth = log2(counts[-1] / counts[-2]) if len(counts) > 1 else None
            if counts[-1] > _STEPS_PER_CHAR_MAX * size:
                break
            # A square that shows in the last doubling shows a little in the first one.
            if growth is not None and growth <= _EXPONENT_SURE:
                break
        if counts[-1] > _STEPS_PER_CHAR_MAX * _CHARS[len(counts) - 1] or (growth is not None and growth > _EXPONENT_MAX):
            return f"{before!r} + {body!r} * n + {end!r}: {counts} steps"
    return ""


def _steps(matcher: Matcher, how: str, text: str) -> int:
    """One more than is allowed stands for whatever is."""
    try:
        steps, spans = matcher.run(text, how, _STEPS_PER_CHAR_MAX * len(text) + 1)
    except TooManySteps:
        return _STEPS_PER_CHAR_MAX * len(text) + 1
    compiled = matcher.compiled
    first = None if how == "search" else getattr(compiled, how)(text)
    assert spans == ([match.span() for match in compiled.finditer(text)] if how == "search" else [first.span()] if first else [])
    return steps


# Made of what a caller gives, and short: of names, keywords or numbers that are escaped, without a repetition that has no end.
# Those that a module makes of its own tables when it is loaded are among `expressions`.
MADE = {
    "cognition/answering/aliases.py:_replaced",
    "cognition/answering/answer_forms.py:_pattern",
    "cognition/answering/things.py:may_define",
    "cognition/answering/measures.py:_pattern",
    "cognition/iso.py:compiled",
    "control/manifests/expansion.py:platform_findings",
    "control/planning/allocation.py:_is_named",
    "measure/results.py:_pattern",
    "memory/gate/sensitive.py:_form_of",
    "memory/gate/instructions.py:_rule",
    "model/fact.py:_as_words",
    "ranking/tokens.py:_signed_run",
    "regex.py:__getattr__",
    "retrieval/starting.py:_take_config",
    "retrieval/tuning/loop.py:check_name",
    "retrieval/tuning/loop.py:step_name",
    "runtime/texts/table.py:with_tables",
}


@pytest.fixture(scope="module")
def all_expressions() -> tuple[Expression, ...]:
    return expressions()


# More than a few of them take longer than all other tests of this file.
NEW_MAX = 40
COUNTED = Path(__file__).with_name("counted_expressions.txt")


def digest_of(expression: Expression) -> str:
    """Of all that its steps depend on."""
    return hashlib.sha256(
        f"{expression.how} {expression.flags} {expression.pattern}".encode("utf-8", "surrogatepass")
    ).hexdigest()[:16]


@pytest.mark.timeout(600)
def test_every_expression_takes_steps_in_proportion_to_the_text(all_expressions):
    assert len(all_expressions) > 400
    counted = frozenset(COUNTED.read_text("utf-8").split())
    new = [expression for expression in all_expressions if digest_of(expression) not in counted]
    assert costly(new, seed=1) == {}
    assert len(new) <= NEW_MAX, "count them once for all: python -m tests.laws.test_linear_expressions"


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(1, 8))
def test_whatever_is_drawn_of_an_expression_is_read_in_proportion(all_expressions, seed):
    assert costly(all_expressions, seed) == {}


def costly(some: Sequence[Expression], seed: int) -> dict[str, str]:
    dear_texts = {f"{one.where} ({one.how}) {one.pattern[:80]}": dear(one.pattern, one.flags, one.how, seed) for one in some}
    return {where: text for where, text in dear_texts.items() if text}


def test_an_expression_made_of_values_is_known():
    assert made_of_values() == MADE


@pytest.mark.parametrize(
    ("pattern", "flags"),
    [
        (results._pattern("12 bar at pump D4").pattern, 0),
        (fact._as_words("pump d4").pattern, 0),
        (r"(?<![\w-])pump[\W_]+house[\W_]+2(?![\w-])", re.IGNORECASE),
    ],
)
def test_an_expression_made_of_values_is_linear(pattern, flags):
    assert dear(pattern, flags, "search", seed=1) == ""


@pytest.mark.parametrize(
    ("pattern", "how"),
    [
        (r"\d+$", "search"),
        (r"<[^>]*>", "search"),
        (r"(?:a|aa)+b", "match"),
        (r"\[\s*-?\s*x", "match"),
        (r"\w*\d\w*[!$]", "fullmatch"),
        (r"(?=[\w-]*\d)[\w-]{3,}", "search"),
        (r"\?\s+(\w+: )?[^?]+$", "search"),
    ],
)
def test_one_that_is_not_is_seen(pattern, how):
    assert dear(pattern, 0, how, seed=1) != ""


@pytest.mark.parametrize(
    "pattern",
    [r"(?<!\d)\d+$", r"<[^<>]*>", r"\[\s*+(?:-\s*+)?x", r"(?:ab|cd){2,9}?(?P<x>e)?(?(x)f|g)", r"\b(a)\1(?i:B)|(?<=c)d*+|(?>e+)f"],
)
def test_the_matcher_that_counts_finds_what_python_finds(pattern):
    matcher, compiled = Matcher(_parser.parse(pattern)), re.compile(pattern)
    chance = random.Random(1)
    for _ in range(100):
        text = "".join(chance.choices("abcdefg1 -[]<>xB", k=20))
        for how in ("search", "match", "fullmatch"):
            first = compiled.match(text) if how == "match" else compiled.fullmatch(text)
            spans = [found.span() for found in compiled.finditer(text)] if how == "search" else [first.span()] if first else []
            assert matcher.run(text, how, 1_000_000)[1] == spans


if __name__ == "__main__":
    if dear_ones := costly(expressions(), seed=1):
        raise SystemExit(str(dear_ones))
    COUNTED.write_text("\n".join(sorted(map(digest_of, expressions()))) + "\n", "utf-8")
