"""Focus: what a question asks about its topic: the rent in "What is the rent of the flat?", and not the flat.

A fact about the flat that says nothing of rent is on topic but not an answer. A kind of thing that a question asks for ("which
language") may be missing from a fact that has its verb ("written"). The focus is found by the form of the question, without a
grammar; a question of an unknown form has no focus.
"""

import re

from hive_mind.cognition.answering.intent import QUESTION_CHARS_MAX
from hive_mind.model.ids import HAN
from hive_mind.ranking.tokens import tokenize
from hive_mind.regex import regex
from hive_mind.remembered import remembered

_ARTICLE = r"(?:(?:the|a|an|your|our|my|its|their|his|her|this|that)\s+)?"
_BE = r"(?:['’]s|\s+(?:is|are|was|were))"
_NOUNS = r"(?P<noun>[\w-]+(?:\s+[\w-]+){0,2}?)"
_AUXILIARY = r"(?:is|are|was|were|does|do|did|can|could|may|might|must|should|will|would)"
_BEFORE = (
    "of for in at on from to with by per under over behind between about against into during after before since until without "
    "through via because when if as than"
)
_PREPOSITIONS = frozenset(_BEFORE.split())
_OF = rf"\s+(?:{'|'.join(_PREPOSITIONS)})\b"

# "What is the rent of the flat?", "Wie hoch ist die Pacht für …"
_NOUN_OF = regex(rf"^(?:what|which){_BE}\s+{_ARTICLE}{_NOUNS}{_OF}", re.IGNORECASE)
# "What is the museum's phone number?"
_NOUN_OWNED = regex(rf"^(?:what|which){_BE}\s+.{{1,60}}?['’]s?\s+{_NOUNS}\s*[?]?$", re.IGNORECASE)
# "Which battery type do the boards take?"
_NOUN_ASKED = regex(rf"^(?:\w+\s+)?(?:what|which)\s+{_NOUNS}\s+(?P<rest>{_AUXILIARY}\s+.+)$", re.IGNORECASE)
# "Which vendor made the servers?"
_NOUN_LIGHTLY = regex(
    rf"^(?:what|which)\s+{_NOUNS}\s+(?:has|have|had|gave|gives?|takes?|took|uses?|used|gets?|got)\b", re.IGNORECASE
)
# "Which company owns the van?"
_NOUN_DOES = regex(r"^(?:what|which)\s+\w+\s+(?P<verb>[a-z]+(?:s|ed))\s", re.IGNORECASE)
# "When was the lift built?", "Why did the machine break?"
_PREDICATE = regex(rf"^(?:when|why|where|what|since when|until when|how)\s+(?P<rest>{_AUXILIARY}\s+.+)$", re.IGNORECASE)
# "Wann wurde das Bad gebaut?", "Welche Farbe hat der Golf?"
_GERMAN_DONE = regex(
    r"^(?:wann|warum|wo|wie|womit|wodurch)\s.*\s(?P<done>(?:\w{0,6}ge\w{2,}(?:t|en)|\w+iert|(?:be|ver|er|ent|zer)\w+(?:t|en)))$",
    re.IGNORECASE,
)
_GERMAN_ASKED = regex(
    r"^(?:\w+\s+)?welche[rnms]?\s+(?P<noun>\w+)\s+(?:hat|haben|ist|sind|war|braucht|gibt|wird|darf|kann)\b", re.IGNORECASE
)
# "朝食は何時から": what stands before は.
_JAPANESE_TOPIC = regex(f"(?<![\u30a1-\u30fa\u30fc{HAN}])(?P<noun>[\u30a1-\u30fa\u30fc{HAN}]{{2,}}+)は")
_KINDS = frozenset(tokenize("kind kinds type types sort sorts number name names amount version day date time year month"))
_LIGHT_VERBS = frozenset(
    """
    go goes come get take need use find put give keep have has had be do done want live tell tells show shows fit fits like
    cost costs mean happen work used needed taken found given kept said got becom become kostet tried try tries told
    """.split()
)
# They say how or when, and not what.
_ADVERBS = frozenset(
    """
    there ever never now first last next meanwhile no not back again still already always usually today wrongly soon called named
    recently currently besides apart together likely ago up feel felt say said think
    """.split()
)
_PARTICLES = frozenset("off out down away".split())
_PRONOUNS = frozenset("i we you they he she it one people this that these those".split())


@remembered(64)
def focus_of(question: str) -> frozenset[str]:
    """The terms one of which a fact has to tell, in whatever words; empty where any fact about the topic may do."""
    one_line = " ".join(question[:QUESTION_CHARS_MAX].split()).rstrip("?!. ")
    if topic := _JAPANESE_TOPIC.search(one_line):
        return _terms([topic["noun"]])
    if deed := _GERMAN_DONE.match(one_line):
        return _terms([deed["done"]])
    if match := _GERMAN_ASKED.match(one_line):
        return _terms([match["noun"]])
    if owned := _NOUN_OF.match(one_line) or _NOUN_OWNED.match(one_line):
        return _terms(owned["noun"].split()[-1:]) - _KINDS
    if match := _NOUN_ASKED.match(one_line):
        predicate = _predicate(match["rest"])
        return predicate or _terms(match["noun"].split()) - _KINDS
    if match := _NOUN_LIGHTLY.match(one_line):
        return _terms(match["noun"].split()) - _KINDS
    if does := _NOUN_DOES.match(one_line):
        return _terms([does["verb"]]) if does["verb"].casefold() not in _LIGHT_VERBS else frozenset()
    if stated := _PREDICATE.match(one_line):
        return _predicate(stated["rest"])
    return frozenset()


def _predicate(rest: str) -> frozenset[str]:
    """The deed, of "does the ferry leave from Corrin": the last word before a preposition, where it is no subject."""
    _, *words = rest.split()
    has_pronoun = bool(words) and words[0].casefold() in _PRONOUNS
    end = next(
        (number for number, word in enumerate(words) if number > 1 - has_pronoun and word.casefold() in _PREPOSITIONS), len(words)
    )
    verbs = (
        words[1:2]
        if has_pronoun
        else [word for word in words[1:end] if word[0].islower() and word.casefold() not in _ADVERBS][-1:]
    )
    is_subject = not has_pronoun and len([word for word in words[:end] if tokenize(word) and word.casefold() not in _ADVERBS]) < 2
    if not verbs or is_subject or verbs[0].casefold() in _LIGHT_VERBS or _goes_off(words, verbs[0]):
        return frozenset()
    return _terms(verbs)


def _goes_off(words: list[str], verb: str) -> bool:
    """Whether what looks like a verb belongs to one that says little: "off" in "go off"."""
    before = words[words.index(verb) - 1] if verb.casefold() in _PARTICLES and words[0] != verb else ""
    return before.casefold() in _LIGHT_VERBS


def _terms(words: list[str]) -> frozenset[str]:
    return frozenset(tokenize(" ".join(words)))
