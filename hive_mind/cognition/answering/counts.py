"""Counts: whether a text tells how many there are of what a question counts."""

import re

from hive_mind.cognition.answering.wordings import measured_in
from hive_mind.model.figures import NUMERAL, NUMERAL_ELSEWHERE
from hive_mind.ranking.tokens import terms_in, tokenize
from hive_mind.regex import regex

COUNTING = f"(?:{NUMERAL}|one|once|twice|dozen|nothing|none|no)"
# By itself: the 7 of "fa7f3f17", "pumps-7" and "#7" counts nothing.
FIGURE = regex(rf"(?<![\w#/.])(?<!\w-)\d[\d.,:/]*|\b{COUNTING}\b", re.IGNORECASE)
_COUNT_WORD = regex(r"[\w.,'-]+")
_COUNT = regex(rf"\d[\d.,]*|{COUNTING}|{NUMERAL_ELSEWHERE}|keine?")
NUMBER_OF = r"(?:what|which)(?:['’]s| is| was| are) the (?:\w+ )?number of (?!(?:the|an?|our|my|its|their|your)\b)"
_COUNTED = regex(
    rf"\b(?:how many|wie ?viele?)\s+(?P<noun>[\w-]+)|^{NUMBER_OF}"
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
    noun_terms = frozenset[str]() if nouns.casefold() in _ANYBODY else terms_in(nouns)
    at = [number for number, word in enumerate(words) if noun_terms.intersection(tokenize(word))]
    # "7.5 t" tells how many tonnes.
    symbol = _SYMBOL_OF.get(nouns.casefold().rstrip("s"))
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
