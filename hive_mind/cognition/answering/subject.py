"""Subjects: whether a fact is about the one that a question names, and not about a namesake or somebody else.

"Slender Chestnut" shares a word with "Slender Bellows" and is another project. A fact that says "it" is about what was named just
before it. What somebody says to Ana ("Ana, I sold my boat") is about the one who says it.
"""

import re
from functools import lru_cache

from hive_mind.memory.entities import entities
from hive_mind.model.fact import Fact
from hive_mind.ranking.tokens import terms_in, tokenize
from hive_mind.regex import regex

Name = frozenset[str]
"""The terms of one name."""

_PRONOUN = regex(r"\b(?:it|its|they|them|their|he|him|his|she|hers?)\b", re.IGNORECASE)
# Codes and addresses; and days, which name nobody.
_NO_NAME = regex(r"[\d@:/]|(?:mon|tues|wednes|thurs|fri|satur|sun)days?$", re.IGNORECASE)
_SPEAKER = regex(r"^[^\W\d_][\w .'-]{0,40}: ")
_MINE = regex(r"\b(?:I|me|my|mine|we|our|us)\b")
_YOURS = regex(r"\byou", re.IGNORECASE)
# "Hey Ana!", "Thanks, Ana.", "Ana, …"
_ADDRESSED = regex(
    r"(?:^|[,.!?] |\b(?:[Hh]ey|[Hh]i|[Hh]ello|[Tt]hanks|[Tt]hank you|[Ww]ow|[Yy]eah|[Cc]ongrats) )[A-Z][\w'-]{0,40}(?=[,.!?]|$)"
)
_NOBODY: Name = frozenset()


def names_in(text: str) -> tuple[Name, ...]:
    """The names of a text, each as its terms; codes, addresses and days are none."""
    return tuple(filter(None, (terms_in(name) for name in entities(text) if not _NO_NAME.search(name))))


def named_before(fact: Fact) -> str:
    """What stands before a fact, without who said that."""
    return _SPEAKER.sub("", fact.before)


def refers(fact: Fact) -> bool:
    """Whether a fact may be about what was named just before it: it says "it" or "she" and names nothing ahead of that."""
    if not fact.before:
        return False
    said = fact.content.removeprefix(f"{fact.speaker}: ")
    pronoun = _PRONOUN.search(said)
    return pronoun is not None and not _names_of(said[: pronoun.start()])


def told_of(name: Name, fact: Fact, told: frozenset[str]) -> Name:
    """What of a name a fact has, whose terms are `told`; nothing where it names another, or is only said to one of that name."""
    if _is_only_addressed(name, fact):
        return _NOBODY
    if name <= told or len(name) == 1:
        return name & told
    others = [other for other in _names_of(_named(fact)) if not other <= name and not other.isdisjoint(name)]
    return (name & told) - _NOBODY.union(*others)


def _is_only_addressed(name: Name, fact: Fact) -> bool:
    """Whether a speaker tells somebody of that name about themselves: "Ana, I sold my boat"."""
    if not fact.speaker or not name.isdisjoint(tokenize(fact.speaker)):
        return False
    said = fact.content.removeprefix(f"{fact.speaker}: ")
    if _MINE.search(said) is None or _YOURS.search(said) is not None:
        return False
    return not name.isdisjoint(tokenize(said)) and name.isdisjoint(tokenize(_ADDRESSED.sub(" ", said)))


def _named(fact: Fact) -> str:
    return "\n".join((fact.speaker, fact.content.removeprefix(f"{fact.speaker}: "), *fact.entities))


@lru_cache(maxsize=256)
def _names_of(text: str) -> tuple[Name, ...]:
    return names_in(text)
