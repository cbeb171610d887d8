"""Figures in one form: 12,500 is 12500, 2TB is 2 TB, 09:30 is 9:30, 9.30 Uhr and half past nine, v2.1.0 is 2.1.0.

A search and a comparison of statements read the same number alike, however it was written. Codes, dates and addresses stay: of a
run that goes on with another sign and a digit, nothing is known.
"""

import re
from collections.abc import Callable, Mapping

from hive_mind.regex import regex

_ENGLISH = "zero one two three four five six seven eight nine ten eleven twelve".split()
_GERMAN = "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
NUMERALS: Mapping[str, int] = {word: number for number, word in enumerate([*_ENGLISH, *_TEENS])} | {
    **{word: number for number, word in enumerate(_GERMAN, 2)},
    **{word: 10 * number for number, word in enumerate(_TENS, 2)},
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
_UNIT = regex(rf"{_UNITS}|euros?|eur|usd|gbp|chf|uhr", re.IGNORECASE)
# Beyond it a run of digits is a key and no number.
_DIGITS = r"\d{1,15}"
_GROUPED = r"\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,4})?|\d{1,3}(?:(?P<gap>[ '’])\d{3})(?:(?P=gap)\d{3}){0,4}"
# No price has three decimals.
_DOTTED = r"\d{1,3}(?:\.\d{3}){1,4}(?:,\d{1,2}(?![\d.,])|(?= ?(?:€|euros?\b|eur\b|kr\b|lei\b|zł|tl\b)))"
_NUMBER = rf"{_GROUPED}|{_DIGITS}(?:[.,]\d{{1,6}})?"
_OF_DAY = r"(?:[01]?\d|2[0-3])"
_FIGURE = regex(
    r"(?<![\w.,:/+-])(?:v(?=\d{1,5}\.\d)"
    rf"|(?P<spoken>{_OF_DAY}(?:[:.][0-5]\d)? ?Uhr\b|{_OF_DAY} ?h ?[0-5]\d\b|(?:1[0-2]|[1-9]) o['’]clock\b)"
    rf"|(?P<clock>{_OF_DAY}:[0-5]\d)(?![\w:]|\.\d)(?: ?(?P<half>[ap])\.?m\b\.?)?"
    r"|(?P<hour>1[0-2]|0?[1-9]) ?(?P<noon>[ap])\.?m\b"
    rf"|(?P<dotted>{_DOTTED})"
    rf"|(?P<number>{_NUMBER})(?: ?(?P<unit>{_UNITS}))?(?![\w°]|[.,:/-]\d))",
    re.IGNORECASE,
)
# Digits by themselves, as most are: before a bracket, the end, or a word that is no unit.
_ALONE = r"[.,]?(?:[)\]\n\x1e]|\Z| (?:[A-Za-z]{5}|(?:and|at|for|in|is|of|on|or|the|to|was)\b))"
# Each pattern begins with a set, which is quickly looked for.
_DIGIT_RUN = regex(rf"\d(?<!\d\d)\d*+(?!{_ALONE})")
_SAYS_HOUR = ("past ", "quarter to ", "noon", "midnight", "'clock", "’clock", "halb ", "iertel ")
_TOLD = regex(
    rf"\b(?:(?P<part>half past|quarter (?:past|to)) (?P<hour>{'|'.join(_HOURS)})\b"
    rf"(?: (?:in the (?:morning|(?P<later>afternoon|evening)))\b)?|(?P<full>{'|'.join(_HOURS)}) o['’]clock\b"
    rf"|(?P<teil>halb|viertel (?:nach|vor)) (?P<stunde>eins|{'|'.join(_GERMAN)})\b(?: Uhr\b)?|(?P<middle>noon|midnight)\b)",
    re.IGNORECASE,
)
# Of years there is more to say than that they are in a text.
_YEAR = regex(r"(?:1[5-9]|20)\d\d")
_LARGE = 1000
_COUNTED_IN = regex(r"\s?(?:euros?|dollars?|pounds?|francs?|eur|usd|gbp|chf|percent|per cent|%|°)", re.IGNORECASE)
_MINUTES = {"half past": 30, "quarter past": 15, "quarter to": -15, "halb": -30, "viertel nach": 15, "viertel vor": -15}
_IN_GROUPS = regex(_GROUPED)
_DIGITS_IN = regex(r"\d+")
_DECIMAL_COMMA = regex(r"\d+,(?:\d{1,2}|\d{4,})")


def is_unit(word: str) -> bool:
    """Whether a word behind a figure is what it counts: a unit, or a currency."""
    return _UNIT.fullmatch(word) is not None


def plain_number(number: str) -> str:
    """A number without the signs between its thousands, and with a point before its decimals."""
    if _IN_GROUPS.fullmatch(number):
        return re.sub("[,'’ ]", "", number)
    return number.replace(",", ".") if _DECIMAL_COMMA.fullmatch(number) else number


def plain_figures(text: str) -> str:
    """A text with each figure in the form that all ways of writing it share. Units stand apart, and once more with it."""
    text = _rewritten(text, _plain)
    return _TOLD.sub(lambda told: f"{told[0]} {_clock_told(told)}", text) if any(part in text for part in _SAYS_HOUR) else text


def figures_alike(text: str) -> str:
    """A text with times of day, versions and numbers whose thousands are parted by points in one form, and in no other."""
    return _TOLD.sub(_clock_told, _rewritten(text, _alike))


def _rewritten(text: str, plain: Callable[[re.Match[str]], str]) -> str:
    pieces: list[str] = []
    end = 0
    may_have_digits = not text.isascii() or len(text.encode().translate(None, b"0123456789")) < len(text)
    # Where digits begin, and nowhere else, may a figure stand, with its v before them.
    for digits in _DIGIT_RUN.finditer(text) if may_have_digits else ():
        start = digits.start() - (text[max(digits.start() - 1, end) : digits.start()] in ("v", "V"))
        if start >= end and (match := _FIGURE.match(text, start)):
            pieces += [text[end:start], plain(match)]
            end = match.end()
    return "".join([*pieces, text[end:]]) if pieces else text


def figures_in(text: str) -> frozenset[str]:
    """The figures that say by themselves what is meant: times of day, amounts with a unit or a currency, and large numbers."""
    told = (_clock_told(match) for match in _TOLD.finditer(text))
    return frozenset([*told, *(figure for match in _FIGURE.finditer(text) if (figure := _telling(match)))])


def _telling(match: re.Match[str]) -> str:
    if clock := _clock(match):
        return clock
    if not (match["number"] or match["dotted"]):
        return ""
    number = _plain_dotted(match["dotted"]) if match["dotted"] else plain_number(match["number"])
    if match["unit"]:
        return f"{number}{match['unit'].lower()}"
    is_large = len(number.partition(".")[0]) >= len(str(_LARGE)) and not _YEAR.fullmatch(number)
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
    if match["hour"] or match["half"] or match["spoken"]:
        said = plain_clock(match["clock"] or match[0])
        return said if said.startswith(_clock(match)) else f"{said} {_clock(match)}"
    return _alike(match)


def _alike(match: re.Match[str]) -> str:
    """A figure in one form; the v of a version goes."""
    return _clock(match) or (_plain_dotted(match["dotted"]) if match["dotted"] else match["number"] and match[0]) or ""


def _plain_dotted(number: str) -> str:
    return number.replace(".", "").replace(",", ".")


def _clock(match: re.Match[str]) -> str:
    """The time of day that a figure is, in hours and minutes; "" for others."""
    clock = match["clock"] or match["hour"] or match["spoken"]
    if not clock:
        return ""
    hour, minutes = [*map(int, _DIGITS_IN.findall(clock)), 0][:2]
    half = (match["half"] or match["noon"] or "").lower()
    return f"{hour % 12 + 12 * (half == 'p') if half and hour <= 12 else hour}:{minutes:02}"


def _clock_told(match: re.Match[str]) -> str:
    if match["middle"]:
        return "12:00" if match["middle"].lower() == "noon" else "0:00"
    if match["teil"]:
        hour, part = _GERMAN.index(match["stunde"].lower()) + 2 if match["stunde"].lower() != "eins" else 1, match["teil"]
    else:
        hour, part = _HOURS.index((match["hour"] or match["full"]).lower()) + 1, match["part"] or ""
    minutes = hour % 12 * 60 + _MINUTES.get(part.lower(), 0) + (12 * 60 if match["later"] else 0)
    return f"{minutes // 60 % 24 or 12}:{minutes % 60:02}"
