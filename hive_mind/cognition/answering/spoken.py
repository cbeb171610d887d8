"""Spoken: in a dialogue "I" is who speaks and "you" is somebody else, so what Ana says to Ben about himself is not about Ana.

Both speak about the same things and name each other, so words and names alone take one for the other. Pronouns tell whom a
sentence is about: one with "your" and no "my" is about another than its speaker, and in "Ana, I sold my boat" Ana only listens.
"""

from collections.abc import Sequence
from dataclasses import replace

from hive_mind.cognition.answering.subject import Name
from hive_mind.model.fact import Fact
from hive_mind.ranking.tokens import terms_in
from hive_mind.regex import regex

_SPEAKER = regex(r"^(?P<speaker>[^\W\d_][\w .'-]{0,40}): ")
_SENTENCE_ENDS = regex(r"(?<=[.!?])\s+")
_MINE = regex(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|[Oo]ur|[Oo]urs|[Uu]s)\b")
_YOURS = regex(r"\b[Yy](?:ou|ours?|ourself|ourselves)\b")
# "Hey Ana!", "Thanks, Ana.", "Ana, …", "Woohoo Ana!"
_ADDRESSED = regex(
    r"(?:^(?:[A-Z]\w{1,20} )?|[,.!?] |\b(?:[Hh]ey|[Hh]i|[Hh]ello|[Tt]hanks|[Tt]hank you|[Ww]ow|[Yy]eah|[Cc]ongrats) )"
    r"[A-Z][\w'-]{0,40}(?=[,.!?]|$)"
)


def as_told_of(named: Sequence[Name], fact: Fact) -> Fact | None:
    """A fact without the sentences of a dialogue that are about somebody else than those named; None where none is left."""
    if not named or not fact.speaker:
        return fact
    said = fact.content.removeprefix(f"{fact.speaker}: ")
    kept = _about(named, fact.speaker, said)
    if not kept:
        return None
    # What stands before it says so itself.
    before = _SPEAKER.match(fact.before)
    context = f"{before[0]}{_about(named, before['speaker'], fact.before[before.end() :])}" if before else fact.before
    if (kept, context) == (said, fact.before):
        return fact
    return replace(fact, content=f"{fact.content.removesuffix(said)}{kept}", before=context)


def _about(named: Sequence[Name], speaker: str, said: str) -> str:
    """What of an utterance may be about one of those named."""
    speaks = any(not name.isdisjoint(terms_in(speaker)) for name in named)
    if not speaks and not all(_only_listens(name, said) for name in named):
        return said
    return " ".join(part for part in _SENTENCE_ENDS.split(said) if _may_be(part, speaks=speaks))


def _only_listens(name: Name, said: str) -> bool:
    """Whether somebody of that name is spoken to and not about."""
    return not name.isdisjoint(terms_in(said)) and name.isdisjoint(terms_in(_ADDRESSED.sub(" ", said)))


def _may_be(sentence: str, *, speaks: bool) -> bool:
    """Whether a sentence may be about the one who speaks, or about the one who listens."""
    is_mine, is_yours = _MINE.search(sentence) is not None, _YOURS.search(sentence) is not None
    return is_mine in (is_yours, speaks)
