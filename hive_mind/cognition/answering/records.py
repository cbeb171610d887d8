"""Records: whether a row of a table, or a field such as "port: 8443", is the very one that a question asks for.

Tables and settings don't say what somebody does: "heron;Salt Pan;Goran" tells who saw the heron below "observer", and "broker =
10.0.0.7" what the broker's address is.
"""

import re

from hive_mind.cognition.answering.answer_forms import form_of, lacks_form, may_answer
from hive_mind.cognition.answering.headings import titles_of
from hive_mind.cognition.answering.intent import Kind, intent_of
from hive_mind.cognition.answering.question_terms import LIGHT, QuestionTerms, focus_of
from hive_mind.cognition.answering.wordings import is_stated, likeness, phrases_of
from hive_mind.cognition.extraction.fields import setting_in
from hive_mind.cognition.extraction.separated import fields_of
from hive_mind.model.fact import Fact
from hive_mind.ranking.tokens import is_english, terms_in, tokenize
from hive_mind.regex import regex

# "What is the password of the broker?"
_OF_NOUN = regex(r"(?:what|which)(?:['’]s| is| are| was| were)\b", re.IGNORECASE)
# Nothing but its verb says what is asked for: "What does Sam earn?"
_OF_DEED = regex(r"what (?:does|do|did|will|can)\b", re.IGNORECASE)
_OF = regex(r"\bof (?:(?:the|an?|our|your|my) )?([\w.-]+)", re.IGNORECASE)
_UNITS = frozenset(tokenize("seconds minutes hours days mb gb kb ms percent eur usd kg"))
_PEOPLE = regex(
    r"(?!number|order|server|power|folder|letter|paper|filter|counter)\b\w{3,}(?:er|or|ee|ist|ant|eur|euse|ore|rice)s?\b|"
    r"\b(?:contact|name|who|by|lead|staff|person|people|responsible)\b"
)
_NOBODY = regex(r"(?:nobody|no one|none|niemand|keine?r?|nadie|personne|nessuno|n/?a|[-–—?])?", re.IGNORECASE)
# Below other titles a number is no year, unless the question has their words: "built".
_YEARS_BELOW = regex(r"year|jahr|année|año|anno|date|datum", re.IGNORECASE)
_SWITCHED = frozenset(tokenize("enabled disabled active activated switched turned"))
# Shorter numbers are counts and ordinals, which name nothing, and shorter words are prepositions.
_NUMBER_DIGITS, _WANTED_LETTERS = 4, 3


def is_field_asked(question: str, asked: QuestionTerms, fact: Fact) -> bool:
    """Whether a question names a whole cell of a row, or the key of a field, and asks for nothing but what that holds."""
    terms, fields = terms_in(question), fields_of(fact)
    keys = list(fields.values()) if fields else [key_in(fact)]
    # A short number is named with the title of its column: "41 hours".
    counted = [terms_in(cell) for title, cell in fields.items() if terms & terms_in(title)]
    named = (key - _UNITS for key in map(terms_in, keys) if key in counted or not all(map(_is_short_number, key)))
    form = form_of(question)
    is_formed = form is not None
    if not any(key and all(_is_like(term, terms) for term in key) for key in named) or (is_formed and lacks_form(question, fact)):
        return False
    around = phrases_of(fact.content, fact.concept, fact.before) | titles_of(fact)
    wanted = (asked.words | asked.names | asked.identifiers) - asked.kinds - LIGHT - _SWITCHED
    left = {term for term in wanted if len(term) >= _WANTED_LETTERS and not _is_like(term, around)}
    focus = focus_of(question) - terms_in(" ".join(_OF.findall(question)))
    is_of_noun, is_of_deed = _OF_NOUN.match(question) is not None, _OF_DEED.match(question) is not None
    left -= asked.deeds | (focus if not is_of_deed and (is_formed or not is_of_noun) else frozenset())
    # A deed is somebody's, whom only a title for people is above.
    told = [(title, cell) for title, cell in fields.items() if not terms_in(cell) <= terms]
    if asked.deeds and fields and not any(_PEOPLE.search(title) and not _NOBODY.fullmatch(cell) for title, cell in told):
        return False
    dated = [cell for title, cell in told if not cell.isdigit() or _YEARS_BELOW.search(title) or terms & terms_in(title)]
    if form is not None and form.is_time and fields and not may_answer(question, "; ".join(dated)):
        return False
    is_titled = not fields or any(terms & terms_in(title) for title, _ in told)
    # In other languages a verb is not told from other words.
    is_verb_left = len(left) == 1 and not is_formed and not is_english(question)
    return (is_verb_left or not left) and (is_titled or is_formed or intent_of(question).kind is Kind.YES_NO)


def key_in(fact: Fact) -> str:
    """The key of a field, "" for any other fact, also for what somebody says: "Ana: it is oiled"."""
    return "" if fact.speaker else setting_in(fact.content)


def _is_like(term: str, terms: frozenset[str]) -> bool:
    return is_stated(term, terms) or likeness(term, terms) > 0


def _is_short_number(term: str) -> bool:
    return term.isdigit() and len(term) < _NUMBER_DIGITS
