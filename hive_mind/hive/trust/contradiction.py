"""Which facts can't be true beside each other. Nothing is ever deleted for it, only marked; `voting` weighs them.

Two statements conflict when they are about the same concept, one does not merely add to the other, and
  * they differ in a value only (a number, a date, one of two opposites), or one denies what the other says; or
  * their words overlap by more than 0.4 (004's rule) and each says something that the other does not.
Not when the words show that both may be true: they are about different things ("server 12 …", "server 13 …"; "ferry A", "ferry
B"), about different occasions (dates differ and something else too), both deny, or are questions. And a speaker of other
statements does not contradict itself, nor do two that speak of themselves.
"""

from collections.abc import Iterable

from hive_mind.hive.trust.wording import Wording, wording
from hive_mind.model.evidence import Statement
from hive_mind.model.ids import canonical
from hive_mind.ornament import ornament

OVERLAP_MIN = 0.4
"""004's threshold; more than this share of all their words must be in both."""
_CLOCK_TIME_CHARACTERS = len("2024-01-05T")


def conflicts(a: Statement, b: Statement) -> bool:
    """Whether the two can't both be true, as far as their words tell. Symmetric; false for a statement and itself."""
    if not a.concept or not b.concept or _concept(a) != _concept(b):
        return False
    one, other_wording = wording(a.content, a.speaker), wording(b.content, b.speaker)
    return one is not None and other_wording is not None and _exclude(a, one, b, other_wording)


def excluding(own: Statement, others: Iterable[tuple[str, Statement]]) -> list[str]:
    """Ids of those of the same concept that can't be true beside a statement: `conflicts`, without comparing concepts."""
    if (one := wording(own.content, own.speaker)) is None:
        return []
    found = ((id, statement, wording(statement.content, statement.speaker)) for id, statement in others)
    return [id for id, other, worded in found if worded is not None and _may(one, worded) and _exclude(own, one, other, worded)]


def _may(one: Wording, other_wording: Wording) -> bool:
    """Quickly: whether they can exclude each other at all, whatever else they say."""
    return one.frame == other_wording.frame or _overlap(one, other_wording) > OVERLAP_MIN


def _concept(statement: Statement) -> str:
    return canonical(statement.concept).casefold()


@ornament(lambda *_: False)
def _exclude(a: Statement, one: Wording, b: Statement, other_wording: Wording) -> bool:
    """`conflicts` for two statements of one concept."""
    if _are_rows_of_two(a.content, b.content):
        return False
    if (one.denies and other_wording.denies) or _are_moments(a, b):
        return False
    if a.speaker and b.speaker and a.speaker != b.speaker and (one.is_first_person or other_wording.is_first_person):
        return False
    if one.denies != other_wording.denies:
        return _is_denied(one, other_wording)
    return _differ_in_value(one, other_wording) if a.speaker and a.speaker == b.speaker else _differ(one, other_wording)


def _are_rows_of_two(one: str, other: str) -> bool:
    """Rows of a table about different things: the first column says what a row is about."""
    return one.startswith("|") and other.startswith("|") and _first_cell(one) != _first_cell(other)


def _first_cell(row: str) -> str:
    return row.lstrip("|").partition("|")[0].strip().casefold()


def _are_moments(a: Statement, b: Statement) -> bool:
    """Two readings or remarks at two times of day, or by one speaker on two days: things change in between."""
    if not a.said_at or not b.said_at or a.said_at == b.said_at:
        return False
    is_precise = min(len(a.said_at), len(b.said_at)) > _CLOCK_TIME_CHARACTERS
    return is_precise or bool(a.speaker and a.speaker == b.speaker)


def _differ(one: Wording, other_wording: Wording) -> bool:
    if one.frame == other_wording.frame:
        return _differ_in_value(one, other_wording)
    adds_only = one.words <= other_wording.words or other_wording.words <= one.words
    return not adds_only and _overlap(one, other_wording) > OVERLAP_MIN and _may_exclude(one, other_wording)


def _differ_in_value(one: Wording, other_wording: Wording) -> bool:
    return one.frame == other_wording.frame and one.values != other_wording.values and _may_exclude(one, other_wording)


def _is_denied(one: Wording, other_wording: Wording) -> bool:
    """One says no to what the other says, or to a part of it. "Not 9443" and "8443" agree."""
    is_part = one.words <= other_wording.words or other_wording.words <= one.words
    return is_part and _overlap(one, other_wording) > OVERLAP_MIN and _plainly(one.values) == _plainly(other_wording.values)


def _plainly(values: tuple[str, ...]) -> list[str]:
    """Without what a denial takes the place of: "always warm", "never warm"."""
    return [value for value in values if value not in {"always", "sometimes"}]


def _may_exclude(one: Wording, other_wording: Wording) -> bool:
    """Whether they speak of the same thing and occasion, so that their difference is one of opinion."""
    if one.is_identity and other_wording.is_identity and one.predicate == other_wording.predicate:
        return True
    if one.subject - other_wording.subject and other_wording.subject - one.subject:
        return False
    if one.predicate and one.predicate == other_wording.predicate:
        return False
    if not one.predicate and not other_wording.predicate and _have_words_of_their_own(one, other_wording):
        return False
    return not _are_occasions(one, other_wording)


def _have_words_of_their_own(one: Wording, other_wording: Wording) -> bool:
    """Both, besides other values: where no verb is known, such a word may be what the statement is about."""
    here, there = (set(wording.frame) for wording in (one, other_wording))
    return one.values != other_wording.values and bool(here - there) and bool(there - here)


def _are_occasions(one: Wording, other_wording: Wording) -> bool:
    """Both are dated, and differently, and that is not their only difference."""
    here, there = ({wording.values[place] for place in wording.dated} for wording in (one, other_wording))
    return bool(here and there) and here != there and one.words - here != other_wording.words - there


def _overlap(one: Wording, other_wording: Wording) -> float:
    return len(one.words & other_wording.words) / len(one.words | other_wording.words)
