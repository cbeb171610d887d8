"""Figures in one form: 12,500 is 12500, 2TB is 2 TB, 09:30 is 9:30 and half past nine, v2.1.0 is 2.1.0.

A search and a comparison of statements read the same number alike, however it was written. Codes, dates and addresses stay: of a
run that goes on with another sign and a digit, nothing is known.
"""

import re
from collections.abc import Mapping

from hive_mind.regex import regex

_ENGLISH = "zero one two three four five six seven eight nine ten eleven twelve".split()
NUMERALS: Mapping[str, int] = {word: number for number, word in enumerate(_ENGLISH)} | {
    word: number for number, word in enumerate("zwei drei vier fünf sechs sieben acht neun zehn elf zwölf".split(), 2)
}
"""Numbers in words. Those of other languages are other words in English: "once", "due"."""
NUMERAL = f"(?:{'|'.join(_ENGLISH[2:])}|twenty|thirty|forty|fifty|hundred|thousand|million|half)"
"""An expression for numbers in words from two on."""
NUMERAL_ELSEWHERE = (
    "(?:zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwanzig|dreißig|vierzig|fünfzig|hundert|tausend|deux|trois|quatre|"
    "cinq|sept|huit|neuf|dix|onze|douze|vingt|trente|quarante|cinquante|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce|"
    "veinte|treinta)"
)
"""The same in German, French and Spanish, where a unit or a currency stands behind it."""
_HOURS = _ENGLISH[1:]
_UNITS = (
    "[kmgtp]i?b|[kmgt]?bit/s|[kmgt]bps|[kmg]?hz|km/h|mph|m/s|km|cm|mm|nm|kg|mg|lbs?|oz|ft|[kmg]?wh?|kv|mv|ma|ms|ml|cl|hl|bar|hpa|"
    "psi|kpa|[vmgltw]|min"
)
# Beyond it a run of digits is a key and no number.
_DIGITS = r"\d{1,15}"
_GROUPED = r"\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,4})?|\d{1,3}(?:(?P<gap>[ '’])\d{3})(?:(?P=gap)\d{3}){0,4}"
_NUMBER = rf"{_GROUPED}|{_DIGITS}(?:[.,]\d{{1,6}})?"
_FIGURE = regex(
    r"(?<![\w.,:/+-])(?:v(?=\d{1,5}\.\d)"
    r"|(?P<clock>(?:[01]?\d|2[0-3]):[0-5]\d)(?![\w:]|\.\d)(?: ?(?P<half>[ap])\.?m\b\.?)?"
    r"|(?P<hour>1[0-2]|0?[1-9]) ?(?P<noon>[ap])\.?m\b"
    rf"|(?P<number>{_NUMBER})(?: ?(?P<unit>{_UNITS}))?(?![\w°]|[.,:/-]\d))",
    re.IGNORECASE,
)
# Digits by themselves, as most are: before a bracket, the end, or a word that is no unit.
_ALONE = r"[.,]?(?:[)\]\n\x1e]|\Z| (?:[A-Za-z]{5}|(?:and|at|for|in|is|of|on|or|the|to|was)\b))"
# Each pattern begins with a set, which is quickly looked for.
_DIGIT_RUN = regex(rf"\d(?<!\d\d)\d*+(?!{_ALONE})")
_TOLD = regex(rf"(?P<part>[Hh](?<!\w.)(?i:alf past)|[Qq](?<!\w.)(?i:uarter (?:past|to))) (?P<hour>(?i:{'|'.join(_HOURS)}))\b")
# Of years there is more to say than that they are in a text.
_YEAR = regex(r"(?:1[5-9]|20)\d\d")
_LARGE = 1000
_COUNTED_IN = regex(r"\s?(?:euros?|dollars?|pounds?|francs?|eur|usd|gbp|chf|percent|per cent|%|°)", re.IGNORECASE)
_MINUTES = {"half past": "30", "quarter past": "15", "quarter to": "45"}
_IN_GROUPS = regex(_GROUPED)
_DECIMAL_COMMA = regex(r"\d+,(?:\d{1,2}|\d{4,})")


def plain_number(number: str) -> str:
    """A number without the signs between its thousands, and with a point before its decimals."""
    if _IN_GROUPS.fullmatch(number):
        return re.sub("[,'’ ]", "", number)
    return number.replace(",", ".") if _DECIMAL_COMMA.fullmatch(number) else number


def plain_figures(text: str) -> str:
    """A text with each figure in the form that all ways of writing it share. Units stand apart, and once more with it."""
    pieces: list[str] = []
    end = 0
    may_have_digits = not text.isascii() or len(text.encode().translate(None, b"0123456789")) < len(text)
    # Where digits begin, and nowhere else, may a figure stand, with its v before them.
    for digits in _DIGIT_RUN.finditer(text) if may_have_digits else ():
        start = digits.start() - (text[max(digits.start() - 1, end) : digits.start()] in ("v", "V"))
        if start >= end and (match := _FIGURE.match(text, start)):
            pieces += [text[end:start], _plain(match)]
            end = match.end()
    text = "".join([*pieces, text[end:]]) if pieces else text
    return _TOLD.sub(_clock_told, text) if "past " in text or "quarter to " in text else text


def figures_in(text: str) -> frozenset[str]:
    """The figures that say by themselves what is meant: times of day, amounts with a unit or a currency, and large numbers."""
    text = _TOLD.sub(_clock_told, text)
    return frozenset(figure for match in _FIGURE.finditer(text) if (figure := _telling(match)))


def _telling(match: re.Match[str]) -> str:
    if match["clock"] or match["hour"]:
        return _plain(match).rpartition(" ")[2]
    if not match["number"]:
        return ""
    number = plain_number(match["number"])
    if match["unit"]:
        return f"{number}{match['unit'].lower()}"
    is_large = len(number.partition(".")[0]) >= len(str(_LARGE)) and not _YEAR.fullmatch(match["number"])
    return number if is_large or _COUNTED_IN.match(match.string, match.end()) else ""


def plain_clock(time: str) -> str:
    return time[1:] if time[0] == "0" and time[1] != ":" else time


def _plain(match: re.Match[str]) -> str:
    if number := match["number"]:
        plain = plain_number(number)
        # A list of numbers, or one number: as it is, and as one.
        said = f"{number} {plain}" if match["gap"] == " " else plain
        unit = match["unit"] or ""
        return f"{said} {unit} {plain}{unit}" if unit else said
    if clock := match["clock"]:
        plain = plain_clock(clock)
        return plain if match["half"] is None else f"{plain} {_of_day(plain, match['half'])}"
    if hour := match["hour"]:
        return f"{match[0]} {_of_day(f'{int(hour)}:00', match['noon'])}"
    # The v of a version.
    return ""


def _of_day(clock: str, half: str) -> str:
    hour, minutes = clock.split(":")
    hours = int(hour) % 12 + 12 * (half.lower() == "p") if int(hour) <= 12 else int(hour)
    return f"{hours}:{minutes}"


def _clock_told(match: re.Match[str]) -> str:
    part, hour = match["part"].lower(), _HOURS.index(match["hour"].lower()) + 1
    if part == "quarter to":
        hour = hour - 1 or 12
    return f"{match[0]} {hour}:{_MINUTES[part]}"
