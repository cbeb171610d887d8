"""Subjects: whether a fact is about the one that a question names, and not about a namesake or somebody else.

"Slender Chestnut" shares a word with "Slender Bellows" and is another project. A fact that says "it" is about what was named just
before it. What somebody says to Ana ("Ana, I sold my boat") is about the one who says it.
"""

import re
from functools import lru_cache

from hive_mind.memory.entities import entities
from hive_mind.model.fact import Fact
from hive_mind.ranking.tokens import terms_in
from hive_mind.regex import regex

Name = frozenset[str]
"""The terms of one name."""

_PRONOUN = regex(r"\b(?P<other>it|them|him)\b|\b(?:its|they|their|he|his|she|hers?)\b", re.IGNORECASE)
# What begins another clause.
_CLAUSE = regex(r"[,.;:!?–—]|\b(?:and|but|or|so|because|when|while|that|which|who|where|if)\b", re.IGNORECASE)
# Codes and addresses; and days, which name nobody.
_NO_NAME = regex(r"[\d@:/]|(?:mon|tues|wednes|thurs|fri|satur|sun)days?$", re.IGNORECASE)
_SPEAKER = regex(r"^[^\W\d_][\w .'-]{0,40}: ")
_NOBODY: Name = frozenset()


def names_in(text: str) -> tuple[Name, ...]:
    """The names of a text, each as its terms; codes, addresses and days are none."""
    return tuple(filter(None, (terms_in(name) for name in entities(text) if not _NO_NAME.search(name))))


def named_before(fact: Fact) -> str:
    """What stands before a fact, without who said that."""
    return _SPEAKER.sub("", fact.before)


def refers(fact: Fact) -> bool:
    """Whether a fact may be about what was named just before it: it says "it" or "she" and names nothing ahead of that.

    What is named in the same clause is not "it": "Ana runs it".
    """
    if not fact.before:
        return False
    said = fact.content.removeprefix(f"{fact.speaker}: ")
    pronoun = _PRONOUN.search(said)
    if pronoun is None:
        return False
    ahead = said[: pronoun.start()]
    return not _names_of(_ahead_of_clause(ahead) if pronoun["other"] else ahead)


def _ahead_of_clause(ahead: str) -> str:
    """What stands before the clause that a text ends in."""
    ends = [end.start() for end in _CLAUSE.finditer(ahead)]
    return ahead[: ends[-1]] if ends else ""


def told_of(name: Name, fact: Fact, told: frozenset[str]) -> Name:
    """What of a name a fact has, whose terms are `told`; nothing of it where it names another."""
    if name <= told or len(name) == 1:
        return name & told
    others = [other for other in _names_of(_named(fact)) if not other <= name and not other.isdisjoint(name)]
    return (name & told) - _NOBODY.union(*others)


def _named(fact: Fact) -> str:
    return "\n".join((fact.speaker, fact.content.removeprefix(f"{fact.speaker}: "), *fact.entities))


@lru_cache(maxsize=256)
def _names_of(text: str) -> tuple[Name, ...]:
    return names_in(text)
