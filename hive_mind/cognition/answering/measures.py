"""Measures: what a figure with its unit tells without saying so: 833 kilos are a weight, and 47 seconds a time.

Texts give a quantity and seldom its name. So a fact with the unit meets the words that people ask for such a quantity with.
"""

import re
from functools import lru_cache

from hive_mind.ranking.tokens import tokenize
from hive_mind.regex import regex

_NUMERAL = (
    r"(?:\d++[.,]*+|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|forty|fifty|hundred|thousand|million|half)"
)

_MONEY = "price cost budget fund funding spend"
_SPAN = "period duration interval often"
SPANS = frozenset(tokenize(_SPAN))
"""The names of spans of time: many texts name one."""
# A unit after a figure, and the quantities that are measured in it.
_UNITS = (
    (r"kg|g|mg|kilos?|kilograms?|kilogrammes?|grams?|tonnes?|tons?|t|lbs?", "weight weigh heavy load mass"),
    (r"km|mm|cm|m|metres?|meters?|kilomet(?:re|er)s?|miles?|feet|foot|inch(?:es)?", "length distance"),
    (r"kw|mw|w|kilowatts?|megawatts?|watts?|horsepower|hp", "power output consumption electric electrical electricity"),
    (r"kwh|mwh|(?:kilo|mega)watt[ -]hours?", "energy output consumption electric electrical electricity"),
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


def _figures_in(unit: str) -> re.Pattern[str]:
    return regex(rf"\b{_NUMERAL}\s?(?:{unit})(?![\w/])", re.IGNORECASE)


_MEASURED = tuple((_figures_in(unit), words) for unit, words in _UNITS)
# Few texts have any, and this spares the others a search for each.
_ANY = _figures_in("|".join(unit for unit, _ in _UNITS))
_CURRENCY = regex(r"[$€£]\s?\d")


@lru_cache(maxsize=256)
def measured_in(text: str) -> frozenset[str]:
    """The terms for what the figures of a text measure."""
    words = [words for unit, words in _MEASURED if unit.search(text)] if _ANY.search(text) else []
    words += [_MONEY] * bool(_CURRENCY.search(text))
    return frozenset(tokenize(" ".join(words)))
