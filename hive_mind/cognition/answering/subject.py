"""Subjects: whether a fact is about the one that a question names, and not about a namesake or somebody else.

"Slender Chestnut" shares a word with "Slender Bellows" and is another project. A fact that says "it" is about what was named just
before it. A remark to Ana ("Ana, I sold my boat") is about its speaker.

Spoken: in a dialogue "I" is who speaks and "you" is somebody else, so what Ana says to Ben about himself is not about Ana.

Both speak about the same things and name each other, so words and names alone take one for the other. Pronouns tell whom a
sentence is about: one with "your" and no "my" is about another than its speaker, and in "Ana, I sold my boat" Ana only listens.

Asked: what a fact asks, it doesn't state.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from hive_mind.cognition.extraction.sentences import sentences
from hive_mind.cognition.extraction.statements import is_question, is_request, is_statement
from hive_mind.memory.entities import entities
from hive_mind.model.fact import Fact
from hive_mind.ornament import ornament
from hive_mind.ranking.tokens import terms_in
from hive_mind.regex import regex
from hive_mind.remembered import remembered

Name = frozenset[str]
"""The terms of one name."""

_PRONOUN = regex(r"\b(?P<other>it|them|him)\b|\b(?:its|they|their|he|his|she|hers?)\b", re.IGNORECASE)
# Words that begin another clause.
_CLAUSE = regex(r"[,.;:!?–—]|\b(?:and|but|or|so|because|when|while|that|which|who|where|if)\b", re.IGNORECASE)
# Codes and addresses; and days, which name nobody.
_NO_NAME = regex(r"[\d@:/]|(?:mon|tues|wednes|thurs|fri|satur|sun)days?$", re.IGNORECASE)
_SPEAKER = regex(r"^(?P<speaker>[^\W\d_][\w .'-]{0,40}): ")
_NOBODY: Name = frozenset()

_SENTENCE_ENDS = regex(r"(?<=[.!?])\s+")
_MINE = regex(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|[Oo]ur|[Oo]urs|[Uu]s)\b")
_YOURS = regex(r"\b[Yy](?:ou|ours?|ourself|ourselves)\b")
# "Hey Ana!", "Thanks, Ana.", "Ana, …", "Woohoo Ana!"
_ADDRESSED = regex(
    r"(?:^(?:[A-Z]\w{1,20} )?|[,.!?] |\b(?:[Hh]ey|[Hh]i|[Hh]ello|[Tt]hanks|[Tt]hank you|[Ww]ow|[Yy]eah|[Cc]ongrats) )"
    r"[A-Z][\w'-]{0,40}(?=[,.!?]|$)"
)

# "Ola: Is there shade? Lina burns easily"
_ASKED_ON = regex(
    r"^[^\W\d_][\w .'-]{0,40}: (?=[^?]*+\?\s.)(?:[^?]*\b)?"
    r"(?:who|what|when|where|which|why|how|is|are|was|were|do|does|did|can|could|will|would|"
    r"should|has|have|any|wer|was|wann|wo|wie|warum|ist|sind|hat|haben|kann|können)\b[^?]*\?\s+(?P<rest>.+)$",
    re.DOTALL | re.IGNORECASE,
)
_LINKED = regex(r"^\[(?P<text>[^\]\n]{1,300})\]\([^)\n]{0,500}\)$")
_REPLIED = regex(r"\?\s+[^\W\d_][\w .'-]{0,40}: ")


@remembered(256)
def names_in(text: str) -> tuple[Name, ...]:
    """The names of a text, each as its terms; codes, addresses and days are none."""
    return tuple(filter(None, (terms_in(name) for name in entities(text) if not _NO_NAME.search(name))))


def named_before(fact: Fact) -> str:
    """The text before a fact, without its speaker."""
    return _SPEAKER.sub("", fact.before)


def refers(fact: Fact) -> bool:
    """Whether a fact may be about what was named just before it: it says "it" or "she" and names nothing ahead of that.

    A name in the same clause is not "it": "Ana runs it".
    """
    if not fact.before:
        return False
    message = fact.content.removeprefix(f"{fact.speaker}: ")
    pronoun = _PRONOUN.search(message)
    if pronoun is None:
        return False
    ahead = message[: pronoun.start()]
    if pronoun["other"]:
        ends = [end.start() for end in _CLAUSE.finditer(ahead)]
        ahead = ahead[: ends[-1]] if ends else ""
    return not names_in(ahead)


def name_in_fact(name: Name, fact: Fact, terms: frozenset[str]) -> Name:
    """The part of a name that a fact of these terms has; nothing of it where it names another."""
    if name <= terms or len(name) == 1:
        return name & terms
    names = names_in("\n".join((fact.speaker, fact.content.removeprefix(f"{fact.speaker}: "), *fact.entities, *fact.places)))
    others = [name_beside for name_beside in names if not name_beside <= name and not name_beside.isdisjoint(name)]
    return (name & terms) - _NOBODY.union(*others)


def only_about(names: Sequence[Name], fact: Fact) -> Fact | None:
    """A fact without the sentences of a dialogue that are about somebody else than those named; None where none is left."""
    if not names or not fact.speaker:
        return fact
    message = fact.content.removeprefix(f"{fact.speaker}: ")
    part = _about(names, fact.speaker, message)
    if not part:
        return None
    # The text before it says so itself.
    before = _SPEAKER.match(fact.before)
    context = f"{before[0]}{_about(names, before['speaker'], fact.before[before.end() :])}" if before else fact.before
    if (part, context) == (message, fact.before):
        return fact
    return replace(fact, content=f"{fact.content.removesuffix(message)}{part}", before=context)


def _about(names: Sequence[Name], speaker: str, message: str) -> str:
    """The part of an utterance that may be about one of those named."""
    speaks = any(not name.isdisjoint(terms_in(speaker)) for name in names)
    if not speaks and not all(_only_listens(name, message) for name in names):
        return message
    return " ".join(part for part in _SENTENCE_ENDS.split(message) if _may_be(part, speaks=speaks))


def _only_listens(name: Name, message: str) -> bool:
    """Whether somebody of that name is spoken to and not about."""
    return not name.isdisjoint(terms_in(message)) and name.isdisjoint(terms_in(_ADDRESSED.sub(" ", message)))


def _may_be(sentence: str, *, speaks: bool) -> bool:
    """Whether a sentence may be about the one who speaks, or about the one who listens."""
    is_mine, is_yours = _MINE.search(sentence) is not None, _YOURS.search(sentence) is not None
    return is_mine in (is_yours, speaks)


def stated(fact: Fact) -> str:
    """A fact without the question that is asked in it, unless somebody else replies to that."""
    match = _ASKED_ON.search(fact.content)
    return match["rest"] if match and not _REPLIED.search(fact.content) else fact.content


def question_replied_to(fact: Fact) -> str:
    """The question of somebody else right before a fact, which replies to it; "" for any other."""
    asker = _SPEAKER.match(fact.before)
    is_reply = fact.speaker and asker and asker["speaker"] != fact.speaker and is_question(fact.before)
    return named_before(fact) if is_reply else ""


def ends_asking(fact: Fact) -> bool:
    """Whether a fact ends in a question that nobody answers in it, is a link to an answer, or asks somebody to say something.

    The rules leave it out, whatever it says ahead of that: they count its words, and those are often words of the question.
    """
    asks = is_question(_message(fact)) or (bool(fact.speaker) and is_request(_message(fact)))
    return asks and not _REPLIED.search(fact.content)


@ornament(lambda *_: True)
def only_asks(fact: Fact) -> bool:
    """Whether a fact says nothing, or ends in such a question and states nothing ahead of that."""
    if not terms_in(_message(fact)):
        return True
    return ends_asking(fact) and not any(
        is_statement(sentence) and not (is_question(sentence) or is_request(sentence)) for sentence in sentences(_message(fact))
    )


_OF_ONESELF = regex(r"\b(?:I|I['’]\w{1,2})\b(?! (?:guess|think|hope|believe|heard|know|need|should|want)\b)|\b[Mm]y\b")


def tells_of_oneself(fact: Fact) -> bool:
    return _OF_ONESELF.search(_message(fact)) is not None


def said_in(fact: Fact) -> str:
    """Without its speaker, who is somebody it tells about only where it says "I" or "my"."""
    said = fact.content.removeprefix(f"{fact.speaker}: ")
    return f"{said} ({fact.speaker})" if tells_of_oneself(fact) else said


def _message(fact: Fact) -> str:
    return _LINKED.sub(r"\g<text>", fact.content.removeprefix(f"{fact.speaker}: "))
