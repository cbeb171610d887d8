"""The terms of a question: those that must be met, those that should be, and those that the answer may leave unsaid."""

import re
from dataclasses import dataclass

from hive_mind.cognition.answering.intent import Kind, intent_of
from hive_mind.cognition.answering.subject import Name
from hive_mind.cognition.answering.wordings import content_terms, is_german, is_had, phrase_terms, without_phrases
from hive_mind.cognition.dates.temporal import moments
from hive_mind.memory.entities import entities
from hive_mind.model.figures import figures_in
from hive_mind.ranking.tokens import terms_in, tokenize
from hive_mind.regex import regex
from hive_mind.remembered import remembered

# They say what kind of answer is wanted (see `intent`), not what it is about.
_FORM_WORDS = frozenset(
    tokenize(
        "before previous previously former formerly original originally initial initially current currently now latest today "
        "still list all every many much often long ever kind kinds type types different various tell know say please name "
        "version versions claim claims statement statements conflicting disagree overview brief summarise summarize story"
    )
)

# Texts give the value of a property and not its name: a pump is red, and nobody adds that red is a colour.
_NAMED = "town|city|village|country|company|firm|employee|IP|reference|ticket|case|room|desk|office|floor|building|store|site"
_PROPERTIES = f"colour|color|shape|material|place|state|status|{_NAMED}"
_FIGURES = "size|height|length|width|depth|weight|age|temperature|price|amount|number|time|date|day|month|year"
_KIND = regex(
    rf"\b(?:what|which)(?:['’]s| is| are| was| were)?(?: the)?(?: (?:current|new|present|old|former))? "
    rf"(?P<kind>{_PROPERTIES}|{_FIGURES})s?\b",
    re.IGNORECASE,
)
FIGURE_KINDS = frozenset(tokenize(_FIGURES.replace("|", " ")))

# Where somebody is says where they sit.
_WHERE = regex(r"^(?:and |so |but )?where\b.*\b(?P<place>sit|sits|sitting|seated|stand|stands|located|situated)\b", re.IGNORECASE)

# "Why" wants a cause, and a text need not call it one.
_WHY = regex(r"^(?:and |so |but )?why\b", re.IGNORECASE)
_IMPLIED = frozenset(tokenize("cause"))

_DIGIT = regex(r"\d")
# "lift 2", and not "2 lifts" or "at 2".
_NUMBERED = regex(
    r"\b(?!(?:at|in|on|of|to|by|than|the|is|are|was|were|and|or|from|for|over|under|above|below|about|after|before)\s)"
    r"[^\W\d_]{2,40}\s(\d{1,6})(?![\w.:,/-]*\d|\s?[^\W\d_])"
)
_WHO = r"^(?:and |so |but )?who(?:m|['’]s)?(?: is| are)?(?: allowed to| going to)?"
_SOMEBODY_IS = (
    rf"{_WHO}(?: is| are| was| were)? (?:.{{1,60}}['’]s |the |our |your |my |his |her |their )?(?P<role>[^\W\d_]{{3,40}})"
)
# "Who is the director of …", "the director's name".
_GERMAN_ROLE = (
    r"^(?:wer|wie) (?:ist|war|sind|heißt|hieß) (?:der|die|das|unsere?|euer|eure|mein|meine|ihr|ihre) (?P<german>[^\W\d_]{3,40})"
)
_ROLE = regex(
    rf"{_SOMEBODY_IS}(?= of\b| at\b| in\b|[?]?$)|\b(?P<named>[^\W\d_]{{3,40}})['’]s name\b|{_GERMAN_ROLE}", re.IGNORECASE
)
# "Who painted …", "who has painted …".
_GERMAN_DEED = (
    r"^wer (?:hat|haben|wird|darf|muss|kann|soll) .{1,80} (?P<german>[^\W\d_]{3,40})[?]?$|^wer (?P<does>[^\W\d_]{3,40}t)\b"
)
_DEED = regex(rf"{_WHO} (?:(?:is|are|has|have|does|was|were) )?(?!not\b)(?P<deed>[a-z]{{2,40}})\b|{_GERMAN_DEED}", re.IGNORECASE)
_ANYBODY = frozenset(tokenize("person people one man woman"))
# A section ("44.2170") or an exact figure: a question about it does not mean its neighbour.
_DOTTED = regex(r"(?<![\w.])\d{1,10}\.\d{1,10}(?![\w.]*\d)")


@dataclass(frozen=True, slots=True)
class QuestionTerms:
    """The terms of a question: the identifiers and names that must be met, and all other words.

    `kinds` are the words among them for the kind of thing the answer is; a match speaks for a fact, a miss does not speak
    against it. `numbers` distinguish things of one name: a question about lift 2 does not mean the other lift, nor one about 5 km
    7 of them. `roles` and `deeds` identify the person in question: a fact about other staff does not answer a question about the
    director.
    """

    identifiers: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]
    kinds: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    deeds: frozenset[str] = frozenset()
    named: tuple[Name, ...] = ()
    """The names one by one: a fact has to be about one of them."""
    aliases: frozenset[str] = frozenset()
    """Other identifiers of what is asked about: a fact that has one names it as well."""


@remembered(64)
def asked_of(question: str) -> QuestionTerms:
    """The terms of a question, sorted by how much they must be met."""
    named = [terms_in(name) for name in entities(question)]
    dated = frozenset(term for moment in moments(question) for term in tokenize(moment.text))
    coded = [terms for terms in named if any(_is_code(term) for term in terms - dated)]
    dotted = [terms_in(number) for number in _DOTTED.findall(question)]
    coded += [terms for terms in dotted if not terms & dated]
    identifiers = frozenset(term for terms in coded for term in terms if _is_code(term))
    # All nouns of German begin with a capital.
    kinds = _terms(_KIND, question) | _terms(_WHERE, question)
    proper = [] if is_german(question) else [terms for terms in named if terms not in coded and not terms <= kinds]
    names: frozenset[str] = frozenset().union(*proper)
    specific = dated.union(*coded, names)
    implied = _IMPLIED if _WHY.match(question) else frozenset()
    words = content_terms(question, (phrase_terms(question) - specific - _FORM_WORDS) | implied)
    numbers = (frozenset(_NUMBERED.findall(question)) | frozenset(filter(str.isdigit, names))) - dated
    # "Is the port 8443?" is answered by another number as well.
    numbers |= frozenset() if intent_of(question).kind is Kind.YES_NO else figures_in(question) - dated
    roles, deed_terms = _terms(_ROLE, question) - _ANYBODY, _terms(_DEED, without_phrases(question))
    deeds = frozenset(term for term in deed_terms if not is_had(term))
    return QuestionTerms(identifiers, names, words, (kinds | implied) & words, numbers, roles, deeds, tuple(proper))


def _terms(pattern: re.Pattern[str], question: str) -> frozenset[str]:
    """The terms of all that a pattern names in a question."""
    captured = (part for match in pattern.finditer(question) for part in match.groupdict("").values())
    return frozenset(term for part in captured for term in tokenize(part))


def _is_code(term: str) -> bool:
    """A term with digits that is more than a number: "inc-2024-001", "v2", "10.0.0.1"."""
    return _DIGIT.search(term) is not None and not term.isdigit()
