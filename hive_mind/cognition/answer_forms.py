"""Forms of answers: what a fact must hold to answer a question of a kind at all: a sum for a price, a name for "who".

A fact that shares all words of a question and holds nothing of the form that is asked for speaks about the thing and does not
answer. Questions of other kinds, and in other languages, have no form, and any fact may answer them.
"""

import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

from hive_mind.cognition.entities import entities
from hive_mind.cognition.logs import message_of
from hive_mind.ranking.tokens import tokenize

_NUMERAL = (
    "(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|thousand|million|half|"
    "once|twice|dozen|nothing|none|no)"
)
_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december|januar|februar|märz|mai|juni|juli|"
    "oktober|dezember"
)
_DAYS = (
    "(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays?|weekends?|today|tomorrow|yesterday|tonight|noon|midnight|"
    "(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|heute|morgen|gestern"
)
# Figures that tell a time, and no other: a year, a day of a month, a time of day.
_TIMES = (
    r"\b[12]\d{3}\b|\b\d{1,2}(?:st|nd|rd|th)\b|\b\d{1,2}:\d\d|\b\d{1,2}[./]\d{1,2}[./]|\b\d{1,2}\s?[ap]\.?m\b|"
    r"\b(?:at|by|um) \d|\d Uhr\b"
)
_SPANS = (
    "weeks?|months?|years?|days?|hours?|minutes?|spring|summer|autumn|winter|morning|afternoon|evening|night|christmas|easter|"
    "tage?n?|wochen?|monate?n?|jahre?n?|stunden?|minuten?"
)
_MOMENTS = "christmas|easter|now|soon|past|after|before|until|when|since|once"
_CURRENCIES = "euros?|pounds?|dollars?|cents?|pence|francs?|kron(?:or|er)|yen|rupees?|EUR|USD|GBP|CHF"
_LENGTHS = r"mm|cm|m|km|metres?|meters?|kilomet\w+|miles?|feet|foot|ft|inch\w*|yards?"
_COLOURS = (
    r"red|green|blue|yellow|black|white|gr[ae]y|brown|orange|pink|purple|violet|silver|gold\w*|beige|turquoise|cyan|magenta|"
    r"colou?r\w*|paint\w*|dark|bright|transparent"
)
# Who is meant need not have a name.
_PEOPLE = (
    "team|staff|crew|committee|guard|deputy|everybody|nobody|somebody|(?:grand)?(?:mother|father)|uncle|aunt|neighbou?rs?|people|"
    "users?|root|they|caretaker|porter|we|i|brother|sister|wife|husband|son|daughter|child(?:ren)?|friends?|colleagues?|boss|mayor|"
    "apprentices?|trainees?|interns?|nurses?|chair|clerks?|landlord|tenants?|customers?|students?|captain|president|minister|"
    "(?:engine|manag|offic|driv|teach|own|found|build|keep|buy|sell|farm|bak|paint|work|play|lead|sing|writ|lawy)ers?|"
    r"(?:direct|operat|doct|auth|edit|inspect|vend|visit|act|supervis|spons)ors?|\w{3,20}(?:ist|ian|man|woman|men|women)s?"
)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_NUMBER = re.compile(rf"\d[\d.,:/]*|\b{_NUMERAL}\b", re.IGNORECASE)


class _Form(NamedTuple):
    """Questions of this kind, and whether a text may answer one."""

    asked: re.Pattern[str]
    holds: Callable[[str, str], bool]
    is_time: bool = False


def may_answer(question: str, text: str) -> bool:
    """Whether a text holds what a question of this kind is answered with; the time in front of a log line only tells when."""
    form = _form_of(question)
    return form is None or form.holds(text if form.is_time else message_of(text), question)


@lru_cache(maxsize=64)
def _form_of(question: str) -> _Form | None:
    return next((form for form in _FORMS if form.asked.search(question)), None)


def _has(pattern: re.Pattern[str], text: str, question: str) -> bool:
    del question
    return pattern.search(text) is not None


def _has_number(text: str, question: str) -> bool:
    """One that the question does not hold already."""
    asked = set(_NUMBER.findall(question.casefold()))
    return any(number not in asked for number in _NUMBER.findall(text.casefold()))


def _has_somebody(text: str, question: str) -> bool:
    """A name, or a word for people, that the question does not hold already."""
    asked = set(tokenize(question))
    words = _WORD.findall(text)
    # What begins a sentence is a name where somebody does something: "Ana sold it", and not "Run it".
    is_subject = len(words) > 1 and _DOING.fullmatch(words[1]) is not None
    capitals = [word for word in words[0 if is_subject else 1 :] if word[0].isupper()]
    return any(not set(tokenize(name)) <= asked for name in (*entities(text), *capitals, *_SOMEBODY.findall(text)))


def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_DOING = re.compile(
    r"[a-z]+(?:ed|s)|sold|wrote|made|took|gave|did|had|got|went|came|bought|built|told|said|won|led|ran|and|or|will|can"
)
_SOMEBODY = _pattern(rf"\b(?:{_PEOPLE})\b")
_WHEN = _pattern(rf"{_TIMES}|[年月日時分]|\b(?:{_MONTHS}|{_DAYS}|{_SPANS}|{_MOMENTS}|{_NUMERAL})\b|\bo['’]clock\b")
_AGE = _pattern(r"\b(?:1[0-9]|20)\d\d\b|\b(?:years?|months?|weeks?|aged?|born|built)\b")
_MONEY = _pattern(
    rf"[$€£¥]|\b(?:\d[\d.,]*|{_NUMERAL})\s?(?:{_CURRENCIES})\b|\b(?:for free|free of charge|half|gratis|nothing)\b|\bfree\."
)
_LENGTH = _pattern(rf"\d\s?(?:{_LENGTHS})\b")
_COLOUR = _pattern(rf"\b(?:{_COLOURS})\b")
_IP_ADDRESS = _pattern(r"\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[0-9a-f]{1,4}(?::[0-9a-f]{0,4}){3,7}")
_PLACE = _pattern(r"\d|@|://|\b(?:street|road|avenue|lane|square|platz|stra(?:ss|ß)e)")

# The first that a question is of.
_FORMS = (
    _Form(_pattern(r"\bIP address\b"), partial(_has, _IP_ADDRESS)),
    _Form(_pattern(r"\b(?:what|which) (?:is |was )?(?:the |its |their )?(?:\w+ )?address\b"), partial(_has, _PLACE)),
    _Form(_pattern(r"\b(?:price|costs?|fare|expensive|salary|wage)\b"), partial(_has, _MONEY)),
    _Form(_pattern(r"\bhow (?:tall|high|wide|far|deep|thick|thin)\b|\b(?:height|width|depth) of\b"), partial(_has, _LENGTH)),
    _Form(_pattern(r"['’]s (?:height|width|depth)\b"), partial(_has, _LENGTH)),
    _Form(_pattern(r"\b(?:what|which) colou?r\b"), partial(_has, _COLOUR)),
    _Form(_pattern(r"\bhow old\b|\bwhat age\b"), partial(_has, _AGE)),
    _Form(_pattern(r"\bhow (?:many|much|heavy|big|large|warm|hot|cold|fast|long|often)\b|^wie ?viele?\b"), _has_number),
    _Form(_pattern(r"^(?:(?:and |so |but )?who(?:m|se)?|wer|wem|wen|wessen)\b"), _has_somebody),
    _Form(
        _pattern(r"^(?:and |so |but )?(?:when|wann)\b|\b(?:from|until|since) when\b|\bwhat time\b"),
        partial(_has, _WHEN),
        is_time=True,
    ),
)
