"""Measures: what a figure with its unit tells without saying so: 833 kilos are a weight, and 47 seconds a time.

Texts give a quantity and seldom its name. So a fact with the unit meets the words that people ask for such a quantity with.
"""

import re
from collections.abc import Mapping

from hive_mind.model.figures import NUMERAL, NUMERAL_ELSEWHERE
from hive_mind.ranking.tokens import tokenize
from hive_mind.regex import regex
from hive_mind.remembered import remembered

DEGREES: Mapping[str, str] = {
    "age": "old|alt",
    "length": "long|lang",
    "height": "tall",
    "level": "high|low|small|hoch|niedrig|klein",
    "width": "wide|broad|breit",
    "depth": "deep|tief",
    "thickness": "thick|thin|dick|dünn",
    "distance": "far|weit",
    "weight": "heavy|schwer",
    "speed": "fast|quick|schnell",
    "temperature": "warm|hot|cold|heiß|kalt",
    "size": "big|large|groß",
}
"""Each kind of measure, and the adjectives after "how" that ask for it. A text gives the figure and need not repeat them."""
HOW: Mapping[str, str] = {kind: rf"(?:\bhow|^wie) (?:{adjectives})\b" for kind, adjectives in DEGREES.items()}
"""An expression for the questions that ask for each of them."""
_DEGREE = regex(rf"\b(?:how|wie) (?P<degree>{'|'.join(DEGREES.values())})\b", re.IGNORECASE)

_MONEY = "price cost budget fund funding spend"
_SPAN = "period duration interval often"
SPANS = frozenset(tokenize(_SPAN))
"""The names of spans of time: many texts name one."""
# A unit after a figure, and the quantities that are measured in it.
_UNITS = (
    (r"kg|g|mg|kilos?|kilograms?|kilogrammes?|grams?|tonnes?|tons?|t|lbs?", "weight weigh heavy load mass"),
    (r"km|mm|cm|m|metres?|meters?|kilomet(?:re|er)s?|miles?|feet|foot|inch(?:es)?", "length distance"),
    # Before the watts that it begins with.
    (r"kwh|mwh|(?:kilo|mega)watt[ -]hours?", "energy output consumption electric electrical electricity"),
    (r"kw|mw|w|kilowatts?|megawatts?|watts?|horsepower|hp", "power output consumption electric electrical electricity"),
    (r"bar|psi|pascals?|hpa|mbar", "pressure"),
    (r"°\s?[cf]?|degrees?|celsius|kelvin", "temperature"),
    (r"volts?|kv|v", "voltage"),
    (r"l|lit(?:re|er)s?|gallons?|m³|cubic met(?:re|er)s?", "volume capacity amount"),
    (r"km/h|mph|knots|m/s", "speed"),
    (r"(?:milli)?seconds?|minutes?|hours?|days?|weeks?|months?|years?", _SPAN),
    (r"euros?|dollars?|pounds?|francs?|eur|usd|gbp", _MONEY),
    (r"%|percent|per cent", "percentage share proportion result score"),
    (r"people|persons|employees|members of staff", "headcount staff team crew personnel"),
    (r"bits?/s|[kmg]bit/s|[kmg]bps", "bandwidth speed"),
    (r"[kmgt]i?b|(?:kilo|mega|giga|tera)?bytes?", "size memory storage"),
)


@remembered(64)
def degree_in(question: str) -> frozenset[str]:
    """The terms of the adjective by which a question asks for a measure."""
    return frozenset(term for adjective in _DEGREE.findall(question) for term in tokenize(adjective))


# In one pass: a text may be long, and most have no unit or one of them many times.
_UNIT_IN = regex(
    rf"\b(?:\d++[.,]*+|{NUMERAL}|{NUMERAL_ELSEWHERE})\s?({'|'.join(unit for unit, _ in _UNITS)})(?![\w/])", re.IGNORECASE
)
_MEASURED = tuple((regex(rf"(?:{unit})(?![\w/])", re.IGNORECASE), words) for unit, words in _UNITS)
_CURRENCY = regex(r"[$€£]\s?\d")


@remembered(256)
def measured_in(text: str) -> frozenset[str]:
    """The terms for what the figures of a text measure."""
    units = set(_UNIT_IN.findall(text))
    words = [words for pattern, words in _MEASURED if any(map(pattern.match, units))] if units else []
    words += [_MONEY] * bool(_CURRENCY.search(text))
    return frozenset(tokenize(" ".join(words)))
