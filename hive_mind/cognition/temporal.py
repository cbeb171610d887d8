"""Points in time that a text names, written in ISO 8601 and as precisely as the text is.

"Yesterday" means something only against the time the text itself was said, so that time is an argument. A text that
could mean two things ("next Friday" said on a Monday, 03/04/2024) is left out: a missing date does less harm than a wrong one.
Any string is fine.

Rules of what is relative ("last Friday", "two weeks ago", "March 5") get that time and stay silent where it is not known
precisely enough, or where people disagree about the words: seasons, "a few days ago", "on Friday" without a past tense.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from operator import itemgetter

from hive_mind.cognition import iso
from hive_mind.cognition.iso import (
    CLOCK_PATTERN,
    DAY_PATTERN,
    MONTH,
    MONTH_PATTERN,
    Anchor,
    Grain,
    Rule,
    Value,
    compiled,
    month_number,
    time_of,
    value_of,
)
from hive_mind.model.figures import NUMERALS
from hive_mind.ornament import ornament
from hive_mind.regex import regex

_WEEKDAYS = "mon tue wed thu fri sat sun".split()
_NUMBERS = {**NUMERALS, "a": 1, "an": 1, "a couple of": 2, "couple of": 2}
_STEPS = {"last": -1, "past": -1, "previous": -1, "this": 0, "current": 0, "next": 1, "coming": 1}
_DAYS = {
    "the day before yesterday": -2,
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "tomorrow": 1,
    "the day after tomorrow": 2,
}

# Further away a day without a year could as well belong to the other year.
_NEAR_DAYS_MAX = 150


def _day_word(match: re.Match[str], anchor: Anchor) -> Value | None:
    return _day(anchor, _DAYS[" ".join(match.group().lower().split())])


def _ago(match: re.Match[str], anchor: Anchor) -> Value | None:
    return _shifted(anchor, -_count(match), match["unit"].lower())


def _ahead(match: re.Match[str], anchor: Anchor) -> Value | None:
    return _shifted(anchor, _count(match), match["unit"].lower())


def _neighbour(match: re.Match[str], anchor: Anchor) -> Value | None:
    step, unit = _STEPS[match["which"].lower()], match["unit"].lower()
    if unit == "quarter":
        if anchor.grain == "year":
            return None
        index = anchor.day.year * 4 + (anchor.day.month - 1) // 3 + step
        return iso.written_quarter(index // 4, index % 4 + 1)
    if unit == "weekend":
        # Said from Monday to Friday, "next weekend" is this one for some and the one after for others.
        if not anchor.knows_day or (step > 0 and anchor.day.weekday() < 5):
            return None
        saturday = anchor.day + timedelta(days=5 - anchor.day.weekday())
        return iso.written_weekend(saturday + timedelta(weeks=step))
    return _shifted(anchor, step, unit)


def _weekday(match: re.Match[str], anchor: Anchor) -> Value | None:
    weekday, today = _WEEKDAYS.index(match["weekday"][:3].lower()), anchor.day.weekday()
    step = _STEPS[match["which"].lower()]
    if step < 0:
        return _day(anchor, -((today - weekday) % 7 or 7))
    if step == 0:
        return _day(anchor, weekday - today) if weekday >= today else None
    # "Next Friday" said on a Monday is in four days for some and in eleven for others; said on a Friday all agree.
    return _day(anchor, 7 + weekday - today) if weekday <= today else None


def _weekday_past(match: re.Match[str], anchor: Anchor) -> Value | None:
    """ "It was buried on Friday": the last one."""
    return _day(anchor, -((anchor.day.weekday() - _WEEKDAYS.index(match["weekday"][:3].lower())) % 7 or 7))


def _day_without_year(match: re.Match[str], anchor: Anchor) -> Value | None:
    # Without a capital "may 8" is more often a verb and a number.
    if not match["month"][0].isupper() or not anchor.knows_day:
        return None
    month, day, year = month_number(match["month"]), int(match["day"]), anchor.day.year
    candidates = [date(y, month, day) for y in (year - 1, year, year + 1) if 1 <= y <= 9999]
    nearest = min(candidates, key=lambda candidate: abs(candidate - anchor.day))
    return iso.written_day(nearest) if abs((nearest - anchor.day).days) <= _NEAR_DAYS_MAX else None


def _shifted(anchor: Anchor, count: int, unit: str) -> Value | None:
    if unit in ("minute", "hour"):
        return _clock(anchor, timedelta(minutes=count) if unit == "minute" else timedelta(hours=count))
    if unit == "year":
        return iso.written_year(anchor.day.year + count)
    if unit == "month":
        return None if anchor.grain == "year" else iso.written_month(_months_later(anchor.day, count))
    if unit == "day":
        return _day(anchor, count)
    return iso.written_week(anchor.day + timedelta(weeks=count)) if anchor.knows_day else None


def _clock(anchor: Anchor, step: timedelta) -> Value | None:
    return None if anchor.clock is None else ((anchor.clock + step).isoformat(timespec="minutes"), "time")


def _day(anchor: Anchor, step_days: int) -> Value | None:
    return iso.written_day(anchor.day + timedelta(days=step_days)) if anchor.knows_day else None


def _months_later(day: date, count: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + count, 12)
    return date(year, month + 1, 1)


def _count(match: re.Match[str]) -> int:
    word = " ".join(match["count"].lower().split())
    return int(word) if word.isdigit() else _NUMBERS[word]


_COUNT = rf"(?P<count>\d{{1,4}}|(?:a )?couple of|{'|'.join(word for word in _NUMBERS if ' ' not in word)})"
_UNIT = r"(?P<unit>minute|hour|day|week|month|year)s?"
_WEEKDAY = r"(?P<weekday>mon(?:day)?|tues?(?:day)?|wed(?:nesday)?|thu(?:rs?)?(?:day)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
_MONTH_AND_DAY = rf"(?:{MONTH_PATTERN} {DAY_PATTERN})\b(?!:\d)"
# Events that have happened already. "Was due on Friday" may be still to come.
_HAPPENED = (
    r"(?:was|were|had|came|went|took|met|left|made|bought|sold|held|saw|got|began|started|ended|arrived|happened|finished)"
)
_NOT_YET = r"(?!due\b|supposed\b|planned\b|scheduled\b|expected\b|meant\b|going\b|to\b|not\b|never\b)"


def _rule(pattern: str, meaning: Callable[[re.Match[str], Anchor], Value | None]) -> Rule:
    return Rule(compiled(pattern), meaning, is_relative=True)


_NEAR = (
    _rule(rf"\b(?:{'|'.join(_DAYS)})\b", _day_word),
    _rule(rf"\b{_COUNT} {_UNIT} ago\b", _ago),
    _rule(rf"\bin {_COUNT} {_UNIT}\b(?! time)", _ahead),
    _rule(rf"\b{_COUNT} {_UNIT} from (?:now|today)\b", _ahead),
    _rule(
        r"\b(?P<which>last|past|previous|this|current|next|coming) (?P<unit>week|weekend|month|quarter|year)\b",
        _neighbour,
    ),
    _rule(rf"\b(?P<which>last|past|this|next) {_WEEKDAY}\b", _weekday),
    _rule(rf"\b{_HAPPENED} (?:{_NOT_YET}[a-z]{{1,15}} ){{0,3}}on {_WEEKDAY}\b(?! (?:morning|night)s\b)", _weekday_past),
)
_WITHOUT_YEAR = (
    _rule(rf"\b{_MONTH_AND_DAY}", _day_without_year),
    _rule(rf"\b{DAY_PATTERN}(?: of)? {MONTH_PATTERN}(?!,? \d{{4}})", _day_without_year),
)
# All rules of a kind need these: a text without them needs no look for each rule.
RULES = (
    ((compiled(r"yesterday|today|tonight|tomorrow|\b(?:ago|last|past|previous|this|current|next|coming|in|from|on)\b"),), _NEAR),
    ((MONTH, compiled(r"\d")), _WITHOUT_YEAR),
)


# People write a time stamp in a few words; a megabyte of digits is none.
_STAMP_CHARS_MAX = 200

# A statement about more days than these is a calendar.
_RESOLVED_MAX = 8

_BARE_CLOCK = compiled(CLOCK_PATTERN)


@dataclass(frozen=True, slots=True)
class Moment:
    """`iso` is ISO 8601 as precise as `grain`: "2023-05", "2023-W19", "2024-07/2024-09". `text` is how it was written."""

    iso: str
    grain: Grain
    text: str


@ornament(lambda *_: ())
def moments(text: str, anchor: str = "") -> tuple[Moment, ...]:
    """The points in time a text names, in its order. Relative ones need `anchor`: ISO 8601 and as precise as they are."""
    return tuple(map(itemgetter(0), _resolved(text, anchor)))


@ornament(lambda *_: ())
def relative_moments(text: str, anchor: str) -> tuple[Moment, ...]:
    """Those that only `anchor` tells, such as "yesterday"; a written date says itself when it is."""
    return tuple(moment for moment, rule in _resolved(text, anchor) if rule.is_relative)


@ornament(lambda *_: ())
def resolved_dates(text: str, said_at: str) -> tuple[str, ...]:
    """The dates that "yesterday" and the like stand for in a text said then: those its own words don't hold, each once."""
    moments = list(_resolved(text, said_at)) if said_at else []
    times = {moment.iso for moment, rule in moments if not rule.is_relative}
    resolved = dict.fromkeys(moment.iso for moment, _ in moments if moment.iso not in times)
    return tuple(resolved)[:_RESOLVED_MAX]


def normalised(stamp: str, anchor: str = "") -> str:
    """A time stamp as ISO 8601, or "" where it names no time or more than one. ISO 8601 comes back as it is."""
    stamp = stamp.strip()[:_STAMP_CHARS_MAX]
    if iso.is_iso(stamp):
        return stamp
    if clock := _BARE_CLOCK.fullmatch(stamp):
        anchor_moment, time = iso.anchor_of(anchor.strip()[:_STAMP_CHARS_MAX]), time_of(clock)
        return f"{anchor_moment.day.isoformat()}T{time}" if anchor_moment and anchor_moment.knows_day and time else ""
    times = {moment.iso for moment in moments(stamp, anchor)}
    return times.pop() if len(times) == 1 else ""


def _resolved(text: str, anchor: str) -> Iterator[tuple[Moment, Rule]]:
    """The points in time a text names, each with the rule that tells it."""
    anchor_moment = iso.anchor_of(anchor.strip()[:_STAMP_CHARS_MAX]) if anchor else None
    matches, end = list[tuple[re.Match[str], Rule]](), 0
    for hints, rules in (*iso.RULES, *RULES):
        # Most texts name no time, so a look for what all rules of a kind need comes before each of some twenty patterns.
        if all(hint.search(text) for hint in hints):
            matches += [(match, rule) for rule in rules for match in rule.pattern.finditer(text)]
    for match, rule in sorted(matches, key=_leftmost_longest):
        if match.start() < end:
            continue
        # A text that a longer rule took and could not resolve stays unknown: its parts would tell something else.
        end = match.end()
        if (value := value_of(rule, match, anchor_moment)) is not None:
            yield Moment(*value, match.group()), rule


def _leftmost_longest(pair: tuple[re.Match[str], Rule]) -> tuple[int, int]:
    return pair[0].start(), -pair[0].end()


DAYS_ELSEWHERE = (
    "lunes|martes|mi[ée]rcoles|jueves|viernes|s[áa]bado|domingo|hoy|mañana|ayer|lundi|mardi|mercredi|jeudi|vendredi|samedi|"
    "dimanche|aujourd|demain|hier|lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica|oggi|domani|ieri|segunda|terça|"
    "quarta|quinta|sexta|hoje|amanhã|ontem|luni|marți|miercuri|joi|vineri|sâmbătă|duminic|mâine|vandaag|morgen|gisteren|"
    "i ?dag|imorgon|dziś|dzisiaj|jutro|wczoraj|poniedział|wtor|środ|czwart|piąt|sobot|niedziel|pondělí|úter|střed|čtvrt|"
    "pátek|pátk|neděl|dnes|zítra|včera|понед|вторник|сред[аыу]|четвер|п['’]?ятниц|суб+от|воскрес|вівтор|серед|неділ|сегодня|"
    "завтра|вчера|сьогодні|δευτέρα|τρίτη|τετάρτη|πέμπτη|παρασκευή|σάββατο|κυριακή|σήμερα|αύριο|χθες|pazartesi|salı|çarşamba|"
    "perşembe|cuma|pazar|bugün|yarın|dün|kedd|szerd|csütört|pént|szomb|vasárn|holnap|tegnap|keskiviik|tänään|huomenna|eilen|"
    "senin|selasa|rabu|kamis|jumat|besok|kemarin|jan[uv]|janeiro|ianuar|ener|genn|f[ée]vr|fever|febr|m[aä]r[sçz]|maart|abril|avril|"
    r"april|ma[jgyi]o|maggio|ma[ij]\b|jun[ihy]|juin|juil|jul[ihy]|giug|lugl|agost|août|august|sept|set+embr|okto|octo|octu|ott|outub|"
    "novem|noviem|d[ée][cz]em|dicem|diciem|янв|фев|март|апр|ма[йяе]|ию[нл]|авг|сент|окт|ноя|дек|січ|лют|берез|квіт|трав|черв|"
    "лип|серп|верес|жовт|листоп|груд|stycz|lut[ey]|kwie|czerw|lip|sierp|wrze|paźd|listopad|grud|ocak|şubat|nisan|mayıs|haziran|"
    "temmuz|ağustos|eylül|ekim|kasım|aralık"
)
"""Days and months in other languages than English and German, and how they begin."""
_DAY_CHARS_MAX = 40
# "Quarta, 7 de maio", "5 апреля", "四月五日（土）"
_DAY_ALONE = regex(
    rf"(?=\D{{0,30}}\d)(?:(?:(?:{DAYS_ELSEWHERE}|{MONTH_PATTERN}|[^\W\d_]{{2,8}}(?:day|tag|dag)|Mittwoch)[^\W\d_]{{0,8}}+|"
    r"\d{1,2}(?:st|nd|rd|th|er)?|de|den|of|the|le|el)\W{1,3}+){2,5}|"
    r"[\d一二三四五六七八九十]{1,3}[月월] ?[\d一二三四五六七八九十]{1,3}[日号일](?:\W{0,2}[^\W\d_]{1,4})?\W{0,4}",
    re.IGNORECASE,
)


def is_day(title: str) -> bool:
    """Whether a title is a day without its year and nothing else, as entries of a diary have it."""
    return len(title) <= _DAY_CHARS_MAX and _DAY_ALONE.fullmatch(f"{title} ") is not None
