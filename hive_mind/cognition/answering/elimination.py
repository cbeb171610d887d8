"""Elimination: the few facts about a thing that hold what is asked of it, where no wording tells which of them is meant.

"Tariq Ilves has the last word on Steel Python" shares no word but the name with "Who leads Steel Python?". Where memory has many
facts about Steel Python, and of these only one or two name a person, the answer is among them. So it takes a name that is
asked about in full, enough facts about it, and a form of answer that few texts hold: a person, a day, a span, an instruction.
"""

import re
from collections.abc import Callable, Sequence

from hive_mind.cognition.answering.aliases import is_of_person
from hive_mind.cognition.answering.answer_forms import COLOURS, MONTHS, holds_distinctive
from hive_mind.cognition.answering.counterparts import about_what_is_named
from hive_mind.cognition.answering.question_terms import QuestionTerms, asked_of
from hive_mind.cognition.answering.subject import Name, name_in_fact, named_before, only_about, refers
from hive_mind.cognition.answering.wordings import phrase_terms, phrases_of
from hive_mind.memory.entities import entities
from hive_mind.model.fact import Fact
from hive_mind.model.figures import NUMERAL
from hive_mind.model.query import Hit
from hive_mind.ornament import ornament
from hive_mind.ranking.tokens import terms_in
from hive_mind.regex import regex

# With fewer facts about it, that one alone holds a name or a day says little; more than a few are a list.
_ABOUT_MIN, _HOLDING_MAX = 6, 4

_DAY = (
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?\.?\s(?:{MONTHS})\b|\b(?:{MONTHS})\s\d{{1,4}}\b|\b\d{{4}}-\d\d-\d\d\b|"
    r"\b\d{1,2}[./]\d{1,2}[./]\d{4}\b"
)
_CLOCK = r"\b\d{1,2}:\d\d\b|\b\d{1,2}\s?[ap]\.?m\b|\bo['’]clock\b"
_WEEKDAY = r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
_SPAN = rf"(?:\d|\b(?:{NUMERAL}))\s?(?:ms|s|min|h|(?:second|minute|hour|day|week|month|year)s?)\b"
_OFTEN = rf"{_SPAN}|\b(?:every|each|once|twice|hourly|daily|weekly|monthly|yearly)\b"
# "To wake it up, …", "When it gurgles, …", "Press …", "You bleed it with …", "… until it beeps".
_INSTRUCTION = (
    r"^(?:to|when|whenever|who(?:so)?ever|if|first|press|push|pull|hold|turn|open|close|run|use|set|scan|click|type|put|take|call|go)\b|"
    r"\b(?:you|we) (?!are\b|were\b|have\b|had\b|will\b|would\b)[a-z]+\b.{1,80}\b(?:with|by|then|until|twice|first)\b|"
    r"\b(?:then|until)\b|[?:] (?:press|push|pull|hold|turn|open|close|run|use|set|scan|click|type|put|take|call)\b"
)
# "out in Eastlow", "in room 4.479"
_PLACE = regex(r"\b(?:in|at|near|behind|to) (?:the )?(?P<place>(?:room|hall|floor|shelf|bay|pier|desk) \w*\d[\w.-]*|[A-Z][\w-]+)")
_PLACED = regex(r"\b(?:location|place|site|address|venue|town|city)\b", re.IGNORECASE)


def _pattern(pattern: str) -> re.Pattern[str]:
    return regex(pattern, re.IGNORECASE)


def _holds(pattern: str) -> Callable[[str, QuestionTerms, Fact], bool]:
    compiled = _pattern(pattern)
    return lambda message, _, __: compiled.search(message) is not None


def _names_another(message: str, terms: QuestionTerms, fact: Fact) -> bool:
    """Whether it names somebody, or a firm, in two words, besides the thing and who speaks."""
    beside = terms.names | terms.words | terms_in(fact.speaker)
    return any(is_of_person(name) and beside.isdisjoint(terms_in(name)) for name in entities(message))


def _names_place(message: str, terms: QuestionTerms, fact: Fact) -> bool:
    """Whether it names a place, or the number of a room, besides the thing."""
    beside = terms.names | terms.words | terms_in(fact.speaker)
    places = [match["place"] for match in _PLACE.finditer(message)]
    if _PLACED.search(message):
        places += entities(message)
    return any(beside.isdisjoint(terms_in(place)) for place in places)


# Questions, and what few texts hold that may answer them; the first that a question is of.
_FORMS = (
    (
        _pattern(r"^(?:(?:and |so |but )?who(?:m|se)?|with whom)\b|\b(?:which|what) (?:company|firm|vendor|supplier)\b"),
        _names_another,
    ),
    (_pattern(r"\b(?:which|what)(?: is| was)?(?: the)?(?: [\w-]+)? (?:day|date)\b"), _holds(_DAY)),
    (_pattern(r"\b(?:at )?what time\b(?<!after what time)"), _holds(_CLOCK)),
    (_pattern(r"^(?:and |so |but )?when\b"), _holds(f"{_DAY}|{_CLOCK}|{_WEEKDAY}")),
    (_pattern(r"\bhow long\b|\bafter what time\b"), _holds(_SPAN)),
    (_pattern(r"\bhow (?:often|frequently)\b"), _holds(_OFTEN)),
    (
        _pattern(r"^(?:(?:and |so |but )?where|(?:in|at|on|to) (?:which|what) (?:town|city|village|site|place|room|store))\b"),
        _names_place,
    ),
    (_pattern(r"\b(?:what|which) (?:share|percentage|score)\b|\bhow well\b"), _holds(r"\d\s?(?:%|percent\b|per cent\b)")),
    (_pattern(r"\b(?:what|which) (?:colou?r|hue)\b"), _holds(rf"\b(?:{COLOURS})\b")),
    (
        _pattern(r"^how (?:do|does|is|are|can|should|to)\b|^what do (?:i|we|you) do when\b|\bprocedure for\b"),
        _holds(_INSTRUCTION),
    ),
)


@ornament(lambda *_: [])
def few_that_hold(question: str, hits: Sequence[Hit]) -> list[Hit]:
    """The only hits about the thing asked about that hold what is asked for; none where that tells nothing."""
    names = _names_in_full(question)
    if not names or sum(_share_named(names, hit.fact) == 1.0 for hit in hits) < _ABOUT_MIN:
        return []
    meant = about_what_is_named(question, hits)
    holding = [hit for hit in hits if hit.fact.id in meant and _may_be_eliminated(question, hit.fact)]
    return holding if len(holding) <= _HOLDING_MAX else []


@ornament(lambda *_: False)
def _may_be_eliminated(question: str, fact: Fact) -> bool:
    """Whether a fact is about the thing that a question names in full, and holds what few texts do and the question wants."""
    names = _names_in_full(question)
    return bool(names) and _holds_form(question, fact) and _share_named(names, fact) > 0.0


def _names_in_full(question: str) -> list[Name]:
    """The names of several words in a question, and its identifiers: of a thing that has one memory may hold much."""
    terms = asked_of(question)
    return [name for name in terms.named if len(name) > 1] + [frozenset({code}) for code in terms.identifiers]


def _share_named(names: Sequence[Name], fact: Fact) -> float:
    """How much of the names a fact has, itself or by what "it" means; 0 where one of them is missing."""
    terms = phrases_of(fact.content, fact.concept, " ".join(fact.entities))
    terms |= phrase_terms(named_before(fact)) if refers(fact) else frozenset()
    shares = [len(name_in_fact(name, fact, terms)) / len(name) for name in names]
    return sum(shares) / len(shares) if all(shares) and only_about(names, fact) is not None else 0.0


def _holds_form(question: str, fact: Fact) -> bool:
    message = fact.content.removeprefix(f"{fact.speaker}: ")
    form = next((holds for asked, holds in _FORMS if asked.search(question)), None)
    return form(message, asked_of(question), fact) if form else holds_distinctive(question, message)
