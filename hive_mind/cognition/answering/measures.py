"""Counts and measures: whether a text tells how many there are of what a question counts, and how long or heavy a thing is."""

import re

from hive_mind.cognition.answering.wordings import DEGREES, measured_in
from hive_mind.model.figures import NUMERAL, NUMERAL_ELSEWHERE
from hive_mind.ranking.tokens import terms_in, tokenize
from hive_mind.regex import regex

COUNTING = f"(?:{NUMERAL}|one|once|twice|dozen|nothing|none|no)"
# By itself: the 7 of "fa7f3f17", "pumps-7" and "#7" counts nothing.
FIGURE = regex(rf"(?<![\w#/.])(?<!\w-)\d[\d.,:/]*|\b{COUNTING}\b", re.IGNORECASE)
_COUNT_WORD = regex(r"[\w.,'-]+")
_COUNT = regex(rf"\d[\d.,]*|{COUNTING}|{NUMERAL_ELSEWHERE}|keine?")
NUMBER_OF = r"(?:what|which)(?:['’]s| is| was| are) the (?:\w+ )?number of (?!(?:the|an?|our|my|its|their|your)\b)"
_NO_NOUN = (
    r"(?:is|are|was|were|be|been|do|does|did|has|have|had|can|could|will|would|may|might|must|should|shall|i|you|we|they|he|she|it|"
    r"the|an?|my|our|your|of|in|on|at|to|for|from|with|by|per|ago|there|came|come|went|go|took|take|left|fit|\w+ed|"
    r"gibt|hat|haben|sind|waren|war|ist|kann|können|darf|muss|der|die|das|in|im|am|auf|für|von|wurden|werden)\b"
)
_COUNTED = regex(
    rf"\b(?:how many|wie ?viele?)\s+(?P<noun>[\w-]+(?:\s(?!{_NO_NOUN})[\w-]+){{0,2}})|^{NUMBER_OF}"
    r"(?P<nouns>[\w-]+(?: [\w-]+){0,2}?)(?= (?:in|of|on|at|for|per|that|which|a)\b|\W*$)",
    re.IGNORECASE,
)
_COUNTED_HERE = regex(r"\b(?:(?:this|that|so) many|number of)\s+(?P<nouns>[\w-]+(?:\s[\w-]+){0,2})", re.IGNORECASE)
_OF_THEM = regex(rf"(?:\d|\b{COUNTING}) of (?:them|these|those)\b", re.IGNORECASE)
# "three colonies of bees", "stock: 12", "clients, defaults to 32".
_TOTAL = regex(
    r"[:=] ?\d[\d.,]*$|\.{4} ?\d|\b(?:defaults? (?:to|is|of|value is)|default:|limit(?:ed)? (?:to|is|of)|at most|up to|"
    r"(?:maximum|minimum) (?:is|of)) [`'\"]?\d",
    re.IGNORECASE,
)
_COUNTED_WORDS = 3
_SYMBOLS = """
tonne t|ton t|litre l|liter l|kilo kg|kilogram kg|gram g|metre m|meter m|kilometre km|mile mi|minute min|second s|hour h|watt w
"""
_SYMBOL_OF = dict(pair.split() for pair in _SYMBOLS.split("|"))
_ANYBODY = frozenset(("people", "persons", "personen", "leute", "times", "times.", "mal"))


def _pattern(pattern: str) -> re.Pattern[str]:
    return regex(pattern, re.IGNORECASE)


PERIODS = (
    "weeks?|months?|years?|days?|hours?|minutes?|spring|summer|autumn|winter|morning|afternoon|evening|night|christmas|easter|"
    "tage?n?|wochen?|monate?n?|jahre?n?|stunden?|minuten?"
)
_YEARS = regex(r"(?<![\w.,/-])(?:1\d|20)\d\d(?![\w,/-])(?!\.\d)")
# "20 minutes" are no amount of stock, and "three months' rent" is no sum.
SPANNED = regex(rf"\b(?:\d[\d.,]{{0,9}}|{COUNTING})[ -](?:{PERIODS}|seconds?)\b", re.IGNORECASE)
_OF_TIME = regex(r"\b(?:time|longer|earlier|later|older|younger|notice|leave|holiday|sleep)\b", re.IGNORECASE)
CURRENCIES = "euros?|pounds?|dollars?|cents?|pence|francs?|kron(?:or|er)|yen|rupees?|EUR|USD|GBP|CHF"
LENGTHS = r"mm|cm|m|km|metres?|meters?|metern?|kilomet\w+|mi|miles?|nautical|feet|foot|ft|inch\w*|yards?"
LENGTH = _pattern(rf"(?:\d\s?|\b{COUNTING}\s)(?:{LENGTHS})\b")
DIMENSIONS = {
    kind: _pattern(rf"\b(?:{DEGREES[kind]}|{kind}|{nouns})\b")
    for kind, nouns in (("length", "länge"), ("width", "breite|span"), ("height", "high|hoch|höhe"), ("depth", "tiefe"))
}
LASTING = _pattern(
    rf"(?<!\bnext )(?<!\blast )(?<!\bthis )(?:\b|_)(?:{PERIODS}|seconds?|ms|milliseconds?|sekunden?|decades?|centuries)\b|"
    rf"\b(?:until|till|since|bis|seit|always|forever)\b|"
    rf"(?:\d\s?|\b{NUMERAL}\s)(?:s|min|h(?:\d\d)?|d|{LENGTHS}|meter)\b(?!/)|\blength\W{{1,5}}\d|"
    # The key of a setting says that its figure is a time: "CACHE_TTL=3600", "requestTimeoutMs: 8000".
    r"(?:ttl|time_?-?out|period|interval|retention|delay|duration|expiry|lifetime|age|seconds|minutes|hours|days|(?-i:Ms|Sec|_ms|_s))"
    r"(?:_?[a-z]{1,12})?[\"']?\s?[:=]\s?[\"']?\d"
)
WEIGHT = _pattern(
    r"\d\s?(?:kg|g|mg|t|lbs?|kilos?|kilogram\w*|grams?|gramm|tonnes?|tons?|tonnen|pounds?|stone)\b|\bweigh\w*\b.{0,60}\d"
)
SIZE = _pattern(
    rf"\d\s?(?:[kmgt]i?b|bytes?|lit(?:re|er)s?|cubic|square|quadrat\w*|m²|m³|hectares?|hektar|acres?|pages?|seats?|people|persons|members|{LENGTHS})\b|"
    r"\b(?:size|large|big|small|huge|tiny|groß|klein)\b.{0,60}\d|\d.{0,60}\b(?:size|large|big|groß)\b"
)
# "The skew was 2.4 s", "a harvest of 9 kg".
MEASURED = _pattern(
    rf"{SIZE.pattern}|[:=] ?\d[\d.,]*$|\d\s?(?:[a-zµ]{{1,3}}|{PERIODS}|{CURRENCIES}|%|°\w?)(?!\w)|"
    rf"\b{NUMERAL} (?:{PERIODS}|{CURRENCIES}|{LENGTHS})\b|[$€£¥]\s?\d"
)
SPEED = _pattern(
    r"\d\s?(?:km/h|mph|knots?|[a-z]{1,4}/s|ms|s|kbit\S*|mbit\S*|gbit\S*|%|seconds?|minutes?|times)(?!\w)|"
    r"\d.{0,60} (?:per|an|a) (?:second|minute|hour|day)\b"
)
WARMTH = _pattern(rf"(?:\d|\b{COUNTING})\s?(?:°|degrees?\b|grad\b|celsius\b|kelvin\b|[CFK]\b)")
EXTENT = _pattern(
    rf"{LASTING.pattern}|\d\s?(?:bytes?|bits|char(?:acter)?s?|letters|digits|words|lines|pages)\b|char\w{{0,10}}\(\d"
)
"""How long a text, a field or a time may be."""


def counted_in(question: str) -> str:
    """The words for what a question counts, "" where it counts nothing."""
    match = _COUNTED.search(question)
    return (match["noun"] or match["nouns"]) if match else ""


def has_count(text: str, question: str) -> bool:
    """A number before what is counted, or after its label. A reply in a few words need not say again what it counts."""
    numbers_asked = set(FIGURE.findall(question.casefold()))
    words = _COUNT_WORD.findall(text.casefold())
    counts = {n for n, word in enumerate(words) if _COUNT.fullmatch(word) and word.rstrip(".,") not in numbers_asked}
    nouns = counted_in(question)
    first = next(iter(nouns.casefold().split()), "")
    noun_terms = frozenset[str]() if first in _ANYBODY else terms_in(nouns)
    at = [number for number, word in enumerate(words) if noun_terms.intersection(tokenize(word))]
    # "7.5 t" tells how many tonnes.
    symbol = _SYMBOL_OF.get(first.rstrip("s"))
    if symbol and any(word.rstrip(".,") == symbol and n - 1 in counts for n, word in enumerate(words)):
        return True
    if not noun_terms or _OF_THEM.search(text) or noun_terms & measured_in(text):
        return bool(counts)
    return bool(at and _TOTAL.search(text)) or any(0 < number - count <= _COUNTED_WORDS for number in at for count in counts)


def is_counted(text: str, question: str) -> bool:
    """Whether a text that tells of what its value counts means what is asked for: "this many seconds" are no workers."""
    counted, nouns = _COUNTED_HERE.search(text), terms_in(counted_in(question))
    return not nouns.isdisjoint(terms_in(counted["nouns"] if counted else text))


def has_number(text: str, question: str) -> bool:
    """A number that the question does not hold already."""
    numbers_asked = set(FIGURE.findall(question.casefold()))
    return any(number not in numbers_asked for number in FIGURE.findall(text.casefold()))


def has_amount(text: str, question: str) -> bool:
    """A number that is no year, and no span of time where no time is asked for."""
    text = text if measured_in(text) else _YEARS.sub(" ", text)
    return has_number(text if _OF_TIME.search(question) else SPANNED.sub(" ", text), question)


def has_length(text: str, question: str) -> bool:
    """A length, and where the text says of what, of the dimension that is asked for."""
    dimensions = {name for name, words in DIMENSIONS.items() if words.search(text)}
    names = {name for name, words in DIMENSIONS.items() if words.search(question)}
    return LENGTH.search(text) is not None and (not dimensions or not names or not dimensions.isdisjoint(names))
