"""Mining: rules that people's decisions follow already, proposed to a person who may approve them.

Patterns come from templates: a call or dotted name in a text, the type of an error, the kind of goal, a word of a fact. Their
values are written by `repr` and each condition is compiled, so no text that was judged can become code. One is proposed where
enough decisions match it, they are alike, and chance does not explain it. Rules that would accept are never proposed.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from hive_mind.errors import ConditionError
from hive_mind.goals.condition import Condition
from hive_mind.judge import DECISIONS_MIN
from hive_mind.judge.judgment import FACT, JudgmentAction, Precedent
from hive_mind.judge.rules import LEARNED, EvaluationRule
from hive_mind.regex import regex

_CALL_OR_NAME = regex(r"[A-Za-z_]\w{0,40}+(?:\.[A-Za-z_]\w{0,40}+){1,4}|[A-Za-z_][\w.]{0,60}+\(")
_ERROR_TYPE = regex(r"\b[A-Z]\w{2,40}(?:Error|Exception|Timeout|Warning)\b")
_WORD = regex(r"[\w.-]{1,40}")
# Of prose, words that are long enough to be about something.
_PROSE = regex(r"[^\W\d_]{4,40}")
# Of a longer text only the beginning is looked through for patterns.
_CHARS_MAX, _PATTERNS_MAX = 20_000, 500
# A person reads five; the rest are more of the same.
_SHOWN_MAX = 5
# As likely as ten heads in a row: without other decisions to compare with, ten alike are just enough.
_CHANCE_MAX = 0.5**10
_PRIORITY, _PRIORITY_MORE, _COVERAGE_FULL = 100, 50, 10


@dataclass(frozen=True, slots=True)
class RuleProposal:
    """A rule learned from people's decisions, for a person to approve."""

    trigger_pattern: str
    human_action: JudgmentAction
    confidence: float
    """The share of the matching decisions that were this one."""
    coverage: int
    """How many decisions it would have spared."""
    proposed_rule: EvaluationRule
    examples: tuple[str, ...] = ()
    """Cases that it matches."""
    near_misses: tuple[str, ...] = ()
    """Cases that look alike and that it does not match."""


class _Pattern(NamedTuple):
    """A condition, and the word it is about. `breadth`: of two that match the same, the narrower says more about the cause."""

    breadth: int
    condition: str
    word: str


class _Found(NamedTuple):
    pattern: _Pattern
    action: JudgmentAction
    matched: frozenset[int]
    agreed: int


def mine(precedents: Sequence[Precedent], at_least: int = DECISIONS_MIN, consistency: float = 1.0) -> list[RuleProposal]:
    """Rules that `at_least` decisions or more follow, with this consistency; those that spare most first.

    A pattern is left out whose decisions the better ones before it cover, all but fewer than `at_least`.
    """
    proposals: list[RuleProposal] = []
    # A decision about a fact says nothing about the output of a run.
    for of_facts in (True, False):
        precedents_of_kind = [precedent for precedent in precedents if (precedent.kind == FACT) is of_facts]
        tried = (
            _tried(pattern, precedents_of_kind, at_least, consistency)
            for pattern in _frequent(precedents_of_kind, at_least, consistency)
        )
        matches = [match for match in tried if match and match.action is not JudgmentAction.ACCEPT]
        for best in _best(matches, at_least):
            proposals.append(_proposal(best, precedents_of_kind, {proposal.proposed_rule.id for proposal in proposals}))
    return proposals


def _patterns(precedent: Precedent) -> Iterator[_Pattern]:
    yield _Pattern(2, f"goal.kind == {precedent.kind!r}", precedent.kind)
    for key, value in precedent.result.items():
        if not isinstance(value, str):
            continue
        value_text = f"result.get({key!r}, '')"
        text = value[:_CHARS_MAX]
        words = _ERROR_TYPE.findall(text) if "error" in key else _CALL_OR_NAME.findall(text)
        for word in dict.fromkeys(words[:_PATTERNS_MAX]):
            yield _Pattern(0, f"{word!r} in {value_text}", word)
        # In an output a call or a name says more than a word.
        breadth = 0 if precedent.kind == FACT else 1
        for word in dict.fromkeys(_PROSE.findall(text.lower())[:_PATTERNS_MAX]):
            yield _Pattern(breadth, f"{word!r} in {value_text}.lower()", word)
        if _WORD.fullmatch(value):
            yield _Pattern(1, f"{value_text} == {value!r}", value)


def _frequent(precedents: Sequence[Precedent], at_least: int, consistency: float) -> Iterator[_Pattern]:
    counts: dict[_Pattern, Counter[JudgmentAction]] = defaultdict(Counter)
    for precedent in precedents:
        for pattern in set(_patterns(precedent)):
            counts[pattern][precedent.person] += 1
    for pattern, persons in counts.items():
        # Where no exception is allowed, two decisions about one word end it before its condition is tried on everything.
        if persons.total() >= at_least and (consistency < 1.0 or len(persons) == 1):
            yield pattern


def _best(matches: Iterable[_Found], at_least: int) -> Iterator[_Found]:
    """The finding that spares most first, then those that spare enough besides."""
    covered: set[int] = set()
    for match in sorted(
        matches, key=lambda each: (-each.agreed, each.pattern.breadth, len(each.pattern.condition), each.pattern)
    ):
        if len(match.matched - covered) >= at_least:
            covered |= match.matched
            yield match


def _tried(pattern: _Pattern, precedents: Sequence[Precedent], at_least: int, consistency: float) -> _Found | None:
    """The matches of the condition itself, which may be more than those of the word it was made of."""
    try:
        condition = Condition(pattern.condition)
        matched = frozenset(
            number
            for number, precedent in enumerate(precedents)
            if condition.holds(result=precedent.result, output=precedent.result, goal={"kind": precedent.kind})
        )
    except ConditionError:
        return None
    if len(matched) < at_least:
        return None
    action, agreed = Counter(precedents[number].person for number in matched).most_common(1)[0]
    actions = [precedent.person for number, precedent in enumerate(precedents) if number not in matched]
    # How often it would be decided so anyway; two made-up decisions keep it from 0 and 1.
    usual = (actions.count(action) + 1) / (len(actions) + 2)
    if agreed < at_least or agreed < consistency * len(matched) or usual**agreed > _CHANCE_MAX:
        return None
    return _Found(pattern, action, matched, agreed)


def _proposal(match: _Found, precedents: Sequence[Precedent], ids_taken: set[str]) -> RuleProposal:
    pattern, action = match.pattern, match.action
    confidence = match.agreed / len(match.matched)
    further = round(_PRIORITY_MORE * confidence * min(1.0, match.agreed / _COVERAGE_FULL))
    metadata: dict[str, object] = {"source": LEARNED, "examples": match.agreed}
    word = f"{pattern.word})" if pattern.word.endswith("(") else pattern.word
    unmatched = (precedent for number, precedent in enumerate(precedents) if number not in match.matched)
    agreed = (precedents[number] for number in match.matched)
    reasons = Counter(precedent.because for precedent in agreed if precedent.because)
    rule = EvaluationRule(
        id=_id(pattern, ids_taken),
        description=f"Auto-generated: {word} {_outcome(match, precedents)}",
        condition=pattern.condition,
        action=action,
        priority=_PRIORITY + further,
        feedback=reasons.most_common(1)[0][0] if reasons else "",
        mode="shadow",
        on=FACT if precedents[0].kind == FACT else "output",
        metadata=metadata,
    )
    return RuleProposal(
        trigger_pattern=pattern.condition,
        human_action=action,
        confidence=confidence,
        coverage=match.agreed,
        proposed_rule=rule,
        examples=_cases(precedents[number] for number in sorted(match.matched)),
        near_misses=_cases(precedent for precedent in unmatched if _is_near(pattern, precedent)),
    )


def _id(pattern: _Pattern, ids_taken: set[str]) -> str:
    word = re.sub(r"[^a-z0-9]+", "_", pattern.word.lower()).strip("_")[:60] or "pattern"
    name = f"learned_no_{word}"
    return next(id for id in (name, *(f"{name}_{number}" for number in range(2, len(ids_taken) + 3))) if id not in ids_taken)


def _outcome(match: _Found, precedents: Sequence[Precedent]) -> str:
    kinds = {precedents[number].kind for number in match.matched}
    match match.action:
        case JudgmentAction.RETRY:
            return "stays home, as people decided" if kinds == {"fact"} else "has to be tried again"
        case JudgmentAction.REPLAN:
            return "needs another plan"
    return f"requires {kinds.pop()} review" if len(kinds) == 1 else "requires review"


def _is_near(pattern: _Pattern, precedent: Precedent) -> bool:
    """Whether it has the same word, written or used in another way."""
    word = pattern.word.strip("(").lower()
    return any(isinstance(value, str) and word in value.lower() for value in precedent.result.values())


def _cases(precedents: Iterable[Precedent]) -> tuple[str, ...]:
    return tuple(precedent.case for precedent in islice(precedents, _SHOWN_MAX))
