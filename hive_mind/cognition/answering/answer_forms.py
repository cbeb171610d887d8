"""Forms of answers: what a fact must hold to answer a question of a kind at all: a sum for a price, a name for "who".

A fact that shares all words of a question and holds nothing of the form that is asked for speaks about the thing and does not
answer. Questions of other kinds, and in most other languages, have no form, and any fact may answer them.
"""

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from hive_mind.cognition.answering.headings import value_of
from hive_mind.cognition.answering.measures import (
    COUNTING,
    CURRENCIES,
    EXTENT,
    LASTING,
    MEASURED,
    NUMBER_OF,
    PERIODS,
    SIZE,
    SPANNED,
    SPEED,
    WARMTH,
    WEIGHT,
    has_amount,
    has_count,
    has_length,
    has_number,
    is_counted,
)
from hive_mind.cognition.answering.other_languages import ACCOUNT, FIGURE, MEASURES, PEOPLE, SOMEBODY, TIME, has_figure, has_time
from hive_mind.cognition.answering.subject import said_in
from hive_mind.cognition.answering.wordings import HOW
from hive_mind.cognition.extraction.fields import setting_in
from hive_mind.cognition.extraction.separated import is_record, message_of
from hive_mind.memory.entities import entities
from hive_mind.model.fact import Fact
from hive_mind.model.figures import NUMERAL, NUMERAL_ELSEWHERE
from hive_mind.ranking.tokens import is_english, terms_in
from hive_mind.regex import regex
from hive_mind.remembered import remembered

_AMOUNT = rf"(?:\d++[.,]*+|{COUNTING}|{NUMERAL_ELSEWHERE})"
_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december|januar|februar|märz|mai|juni|juli|"
    "oktober|dezember"
)
_DAYS = (
    "(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays?|weekends?|today|tomorrow|yesterday|tonight|noon|midnight|"
    "(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|heute|morgen|gestern|mitternachts?|(?:vor|nach)?mittags?"
)
# Figures that tell a time, and no other: a year, a day of a month, a time of day.
_TIMES = (
    r"\b[12]\d{3}\b|\b\d{1,2}(?:st|nd|rd|th)\b|\b\d{1,2}:\d\d|(?<![\d.])\d{1,2}[./](?:0?[1-9]|1[0-2])[./](?!\d\b)|\b\d{1,2}\s?[ap]\.?m\b|"
    r"\b(?:at|by|um) \d|\bUhr\b|\b(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b|\b(?-i:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b"
)
_MOMENTS = "christmas|easter|now|soon|after|before|until|when|since|never|always|forever|indefinitely|nie|immer"
_HOUR_BEFORE = "at|by|from|to|till|until|past|before|after|about|around|um|ab|bis|gegen|vor|nach|halb"
_QUANTITIES = (
    "headcount|pressure|weight|load|temperature|voltage|speed|power|output|consumption|volume|capacity|distance|length|height|width|"
    "depth|size|age|budget|amount|number|percentage|share"
)
_SERVING = "listen\\w*|servers?|services?|gateways?|relays?|brokers?|proxy|apis?|https?|clients?|dashboard|database|endpoint"
# Things that an office or a maker numbers.
_NUMBERED = "licen[cs]e|permit|authori[sz]ation|registration|invoice|serial"
_COLOURS = (
    r"red|green|blue|yellow|black|white|gr[ae]y|brown|orange|pink|purple|violet|silver|gold\w*|beige|turquoise|cyan|magenta|"
    r"rot\w*|grün\w*|blau\w*|gelb\w*|schwarz\w*|weiß\w*|grau\w*|braun\w*|farb\w*|hell\w*|dunkel\w*|light|"
    r"colou?r\w*|paint\w*|dark|bright|transparent"
)
# The person meant need not have a name.
_PEOPLE = (
    "i(?:['’](?:ll|m|ve|d))?|team|staff|crew|committee|guard|deputy|(?:any|every|no|some)(?:body|one)|(?:grand)?(?:mother|father)|uncle|aunt|neighbou?rs?|people|"
    "users?|root|caretaker|porter|brother|sister|wife|husband|son|daughter|child(?:ren)?|friends?|colleagues?|boss|mayor|"
    "apprentices?|trainees?|interns?|nurses?|chair|clerks?|landlord|tenants?|customers?|students?|captain|president|minister|"
    "(?:engine|manag|offic|driv|teach|own|found|build|keep|buy|sell|farm|bak|paint|work|play|lead|sing|writ|lawy)ers?|"
    r"(?:direct|operat|doct|auth|edit|inspect|vend|visit|act|supervis|spons)ors?|\w{3,20}(?:ist|ian|man|woman|men|women)s?"
)
_WORD = regex(r"[^\W\d_][\w'’-]*")


class _Form(NamedTuple):
    """Questions of this kind, and whether a text may answer one."""

    asked: re.Pattern[str]
    holds: Callable[[str, str], bool]
    is_time: bool = False
    is_figure: bool = False
    titles: re.Pattern[str] | None = None
    """One of which a column has, where a bare field of its row may answer."""
    is_distinctive: bool = False
    """Texts of this form are rare: where a thing has one, it is the one that is asked for."""
    least: Callable[[str, str], bool] | None = None
    """The least that a text needs, where many tell it in another form."""


def may_answer(question: str, text: str, *, is_row: bool = False, titles: str = "", value: str = "") -> bool:
    """Whether a text holds what a question of this kind is answered with; the time in front of a log line only tells when.

    `is_row`: a field of a table is a figure by itself; what it counts, or that it is a price, stands above it, in `titles`.
    `value` is that of the setting that the text explains.
    """
    form = form_of(question)
    if form is None:
        return True
    message = text if form.is_time else message_of(text)
    if form.least is not None and not _DIGIT.search(value):
        return form.least(message, question)
    if _DIGIT.search(value) and (form.is_figure or form.is_time or form.is_distinctive or form.holds is has_number):
        return form.holds is not has_count or is_counted(text, question)
    is_row = is_row and (form.titles is None or form.titles.search(titles) is not None)
    if is_row and form.holds is _has_site:
        return True
    reply = _REPLY.search(message)
    # "It goes to the museum, right? Yes."
    answer = reply["reply"] if reply and not _AGREED.search(message) else message
    # A field of a table, and a reply, need not say again what they count.
    if is_row and form.holds is _has_sum and _PRICED.search(titles):
        return has_number(answer, question)
    is_bare = is_row or (reply is not None and len(answer.split()) <= _REPLY_WORDS)
    if form.is_figure and (is_bare or (titles.endswith("?") and form_of(titles) is form)) and _DIGIT.search(answer):
        return True
    return form.holds(answer, question) or (form.is_time and is_bare and not is_row and has_number(answer, question))


def lacks_form(question: str, fact: Fact) -> bool:
    """Whether a fact holds nothing of what such a question is answered with."""
    form = form_of(question)
    is_of_people = form is not None and form.holds is _has_somebody
    said = said_in(fact) if is_of_people else fact.content.removeprefix(f"{fact.speaker}: ")
    key_terms = frozenset[str]() if fact.speaker or is_record(fact) else terms_in(setting_in(fact.content))
    if form is not None and key_terms & terms_in(question):
        # A setting has what its key is asked for: "warehouse: Gdynia" tells where the warehouse is.
        is_whole = form.holds in (_has_site, _has_name) and key_terms <= terms_in(question)
        return not (is_whole or may_answer(question, said, is_row=True, titles=setting_in(fact.content), value=value_of(fact)))
    return not may_answer(question, said, is_row=is_record(fact), titles=fact.before, value=value_of(fact))


def holds_distinctive(question: str, text: str) -> bool:
    """Whether a text holds what the question wants, and few texts do: a colour, a weight, the number of a ticket."""
    form = form_of(question)
    return form is not None and form.is_distinctive and form.holds(text, question)


def is_somebody(text: str) -> bool:
    """Whether words are for people: "the deputy", "a person in charge"."""
    return _SOMEBODY.search(text) is not None or _PERSON.search(text) is not None


@remembered(64)
def form_of(question: str) -> _Form | None:
    """The form that only what answers such a question has; None where any text may."""
    return next((form for form in _FORMS if form.asked.search(question)), None)


def _has(pattern: re.Pattern[str], text: str, question: str) -> bool:
    del question
    return pattern.search(text) is not None


def _has_moment(text: str, question: str) -> bool:
    """A time, and one that is over for what has happened."""
    return _WHEN.search(_YET.sub(" ", text) if _HAPPENED.search(question) else text) is not None


def _has_telephone(text: str, question: str) -> bool:
    """Digits to dial, and no ticket, date or release."""
    del question
    digits_min = 3 if _TELEPHONE.search(text) else _DIALLED_MIN
    numbers = (match["number"] for match in _DIALLED.finditer(text))
    return any(sum(map(str.isdigit, number)) >= digits_min and not _NOT_DIALLED.fullmatch(number) for number in numbers)


def _has_release(text: str, question: str) -> bool:
    """A version, and where the thing is named, its own: "Python 3.11 and above"."""
    thing = _OF_WHICH.match(question)
    return any(
        not thing or thing["name"].casefold() in text[max(0, release.start() - _NEAR_CHARS) : release.start()].casefold()
        for release in _RELEASED.finditer(text)
    )


def _has_name(text: str, question: str) -> bool:
    """A name that the question does not hold already."""
    terms = terms_in(question)
    return any(not terms_in(name) <= terms for name in _proper(text, [*entities(text), *_NAMED.findall(text)]))


def _proper(text: str, names: Iterable[str]) -> list[str]:
    """Without German nouns, days and months, and what only programs write."""
    ordinary = set(_AFTER_ARTICLE.findall(text))
    return [
        name for name in dict.fromkeys(names) if not all(part in ordinary or _NO_NAME.fullmatch(part) for part in name.split())
    ]


def _has_sum(text: str, question: str) -> bool:
    """Money: a sum, or a figure where a price is spoken of."""
    return _MONEY.search(text) is not None or (
        _PRICED.search(text) is not None and has_number(SPANNED.sub(" ", _NO_SUM.sub(" ", text)), question)
    )


def _has_somebody(text: str, question: str) -> bool:
    """A name, or a word for people, that the question does not hold already."""
    terms = terms_in(question)
    text = _NO_PROSE.sub(" ", text)
    words = _WORD.findall(text)
    # The first word of a sentence is a name where somebody does something: "Ana sold it", not "Run it"; so in other languages.
    is_foreign = not (is_english(text) and is_english(question))
    is_subject = len(words) == 1 or is_foreign or _DOING.fullmatch(" ".join(words[1:2]))
    capitals = [word for word in words[0 if is_subject else 1 :] if word[0].isupper()]
    names = dict.fromkeys((*_proper(text, [*entities(text), *capitals]), *_SOMEBODY.findall(text), *PEOPLE.findall(text)))
    if _ROLE.match(question):
        names = {name: None for name in names if not (_SOMEBODY.fullmatch(name) and _ANYBODY_OF_MANY.fullmatch(name))}
    return any(not terms_in(name) <= terms for name in names)


def _has_site(text: str, question: str) -> bool:
    """A place that the question does not hold already: something after a preposition, a path or an address; or a place's name."""
    terms = terms_in(question)
    if any(site["at"] is None or terms_in(site["at"]) - terms for site in _SITE.finditer(text)):
        return True
    if _LISTED.fullmatch(text):
        return True
    return _PLACED.search(text) is not None and (_has_name(text, question) or has_number(text, question))


def _pattern(pattern: str) -> re.Pattern[str]:
    return regex(pattern, re.IGNORECASE)


_DIGIT = regex(r"\d")
# The answer behind a question: "Is it shut? Bob: No."
_REPLY = regex(r"\?\s++(?:[^\W\d_][\w .'-]{0,40}: )?(?P<reply>[^?]++)$")
_AGREED = regex(
    r"\b(?:right|correct|oder|n['’]t (?:it|they|we))\?\s++(?:[^\W\d_][\w .'-]{0,40}: )?(?:yes|right|ja)\b", re.IGNORECASE
)
_REPLY_WORDS = 8
_DOING = regex(
    r"[a-z]+(?:ed|s)|sold|wrote|made|took|gave|did|had|got|went|came|bought|built|told|said|won|led|ran|and|or|will|can|you"
)
# By the name of an account, as logs tell who did something: "deployed by huang".
_SOMEBODY = _pattern(rf"\b(?:{_PEOPLE})\b|(?<!\S)@\w[\w-]+|(?<=[a-z]{{3}}ed by )[\w.-]+(?=\W{{0,2}}$)|{ACCOUNT}")
_NO_PROSE = regex(r"(?<!\S)(?:--?\w|(?=\S{0,200}?(?:://|\w=)))\S+")
# One is meant, by name or as somebody's uncle: "operators" is no director.
_ROLE = _pattern(
    r"^(?:(?:and |so |but )?who(?:['’]s| is| was)|wer (?:ist|war)) "
    r"(?:.{1,60}['’]s|the|our|your|my|his|her|their|der|die|das|unsere?)\b"
)
_ANYBODY_OF_MANY = _pattern(r"people|root|(?:any|every|no|some)(?:body|one)|\w+(?<!s)s|\w*men|children|team|staff|crew")
_PERSON = _pattern(r"\b(?:person|head|chief|contact)\b")
_WHEN = _pattern(
    rf"{_TIMES}|[年月日時分]|\b(?:{_MONTHS}|{_DAYS}|{PERIODS}|{_MOMENTS})\b|"
    rf"\b(?:{_HOUR_BEFORE}) (?:{NUMERAL}|{NUMERAL_ELSEWHERE}|one)\b|\bo['’]clock\b|"
    # A program does things since a version.
    r"\b(?:version|release|(?:added|introduced|new|changed|removed|deprecated|available) in) v?\d+\.\d"
)
_HAPPENED = _pattern(r"\b(?:was|were|did|wurden?|war|waren)\b")
_YET = _pattern(r"\b(?:now|soon|tomorrow)\b")
# "Built in 1961", "born", "two years old", "she is 12"; a guarantee of ten years is no age.
_AGE = _pattern(
    rf"\b(?:1[0-9]|20)\d\d\b|\b(?:aged?|born|built|alter|geboren|gebaut|baujahr)\b|\b(?:{PERIODS})[ -](?:old|of age|alt)\b|"
    rf"\b(?:is|are|was|were|turn\w{{0,3}}|ist|sind|war|waren|wird)\s(?:\w+\s){{0,2}}(?:\d{{1,3}}|{COUNTING})(?:\s(?:{PERIODS})\b|[.,;!]|$)"
)
# A sum of an invoice need not say its currency.
_MONEY = _pattern(
    rf"[$€£¥]|(?<![\d.,:])\d{{1,6}}(?:[.,]\d{{3}}){{0,3}}[.,]\d\d(?![\w,:%]|\.\d|\s[a-z°%])|"
    rf"\b{_AMOUNT}\s?(?:{CURRENCIES})\b|\b(?:for free|free of charge|half|gratis|nothing)\b|\bfree\."
)
# Neither a share of a fee nor the number of a clause is one.
_NO_SUM = regex(r"(?<!\d)\d{1,9}(?:[.,]\d{1,9})?\s?%|\A\d{1,2}(?:\.\d{1,2}){1,3}\s")
_COLOUR = _pattern(rf"\b(?:{_COLOURS})\b")
_IP_ADDRESS = _pattern(r"\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[0-9a-f]{1,4}(?::[0-9a-f]{0,4}){3,7}")
_IN = (
    "in|at|on|under|behind|near|to|from|into|onto|next to|beside|inside|outside|above|below|by|opposite|between|off|via|over|"
    "beneath|underneath|within|among|along|beyond|"
    "through|im|am|ins|auf|an|unter|hinter|neben|aus|bei|beim|zum|zur|vor|nach|vom|über"
)
_ARTICLE = "the|an?|our|my|its|their|your|de[mrsn]|die|das|eine[mrn]?"
_SITE = _pattern(
    rf"\b(?:{_IN})\s+(?!(?:{_DAYS}|{_MONTHS})\b)(?P<at>(?:(?:{_ARTICLE})\s+)?[\w'’./-]+(?:\s[\w'’.-]+)?)|[/\\~]\w+[/\\]|"
    r"(?<![\w.])(?:\.{0,2}|~)/\.?\w|://|"
    r"\b(?:room|hall|gate|stage|platform|berth|floor|desk|shelf|aisle|dock|raum|saal|halle|gleis|zimmer)\s(?:\d{1,4}[a-z]?|[b-z])\b|"
    r"\b(?:university|college|school|institute|hospital|clinic|academy) of \w"
)
# An entry of a list names places without a preposition: "2016 Internship, CERN, Geneva".
_LISTED = regex(r"\W{0,3}\w[^,.;:!?]{0,80}(?:, [^\W\d_][^,.;:!?]{0,60}){1,5}, (?=[^\W\d_a-z])[^,.;:!?]{1,60}")
_PLACE = _pattern(r"\d|@|://|\b(?:street|road|avenue|lane|square|platz|stra(?:ss|ß)e)")
_PRICED = _pattern(
    r"\b(?:eur|usd|gbp|chf|price|cost|fee|fare|rent|salary|wage|cents?|insured|\w*preis|kosten|gebühr|\w*miete|pacht)s?\b"
)
_OFTEN = _pattern(
    r"interval\w{0,20} ?[:=] ?\d|\b(?:jede[nrs]?|alle|täglich|wöchentlich)\b|"
    r"\b(?:every|each|once|twice|times|daily|weekly|monthly|hourly|yearly|always|never|often)\b|"
    rf"\b(?:(?<!\d )(?:{PERIODS})|{_DAYS})\b"
)
_WEIGHT_TITLES = _pattern(r"weigh|\bmass\b|gewicht|\bk?g\b|tonne")
_OFTEN_TITLES = _pattern(r"every|interval|often|frequen|\btimes\b|turnus|takt|\bdays?\b|\btage?\b")
_PLACE_TITLES = _pattern(
    r"place|where|locat|\b(?:city|town|country|address|room|office|desk|shelf|bay|berth|dock|floor|building|site|stand|stall|area|"
    r"street|from|to|via|port|path|host|url|house|hall|gate|platform|stop|region|village|home)\b|\b(?:ort|stadt|land|adresse|raum|"
    r"zimmer|regal|halle|platz|straße|haltestelle|von|nach|ab|an|gleis|lage)\b"
)
_CODE = _pattern(r"\b(?=[\w-]{0,80}?\d)[\w-]{3,}")
# Two numbers may be an amount, "13.2 bar".
_VERSION = _pattern(
    r"(?<![\w.])(?:\d+(?:\.\d+){2,3}|v\d+(?:\.\d+)*|\d+\.\d+(?=[,;)]|\.?$|\+| (?:and|or) \w))(?:-[a-z]\w*)?(?!\w|\.\w)"
)
# "MO-1187", "IMR 44.2170".
_NUMBER_OF_OFFICE = regex(r"\b[A-Z]{1,6}[- ]?\d[\d./-]*\d\b")
_CODED = _pattern(r"\b(?=[\w./-]{0,80}?\d)(?:[a-z]+-[\w./-]+|#?\d{3,}[\w-]*)")
_PLACED = _pattern(r"\b(?:shelf|drawer|location|place|site|address|venue|town|city|ort|lage|adresse|standort)\b")
_TELEPHONE = _pattern(
    r"\b(?:(?:tele)?phones?|tel|call|dial|ring|extension|ext|hot ?line|mobile|telefon|anrufen|durchwahl|apparat)\b|☎"
)
_DIALLED = regex(r"(?<![\w#:./-])(?P<number>[+(]?\d(?:[ ()/-]{0,2}\d){2,14})(?![\w:%-]|[./,]\d)")
_NOT_DIALLED = regex(r"\d{1,4}([-/ ])\d{1,2}\1\d{1,4}|(?:(?:19|20)\d\d[ /-]?)+")
_DIALLED_MIN = 7
_OF_WHICH = regex(r"(?:[Ww]hich|[Ww]hat) (?P<name>[A-Z][\w.+-]{0,30}) (?:version|release)s?\b")
_NEAR_CHARS = 40
_RELEASED = _pattern(r"(?<![\w#/])v?\d|\b(?:latest|newest|any version|all versions|called|named|codenamed|neueste\w*)\b")
_PORT = _pattern(r"(?<![\w#./-])\d{2,5}(?![\w%]|[.:/-]\d)|(?<=\w):\d{2,5}\b")
# As programs write them.
_RAISED = regex(r"\b[A-Z]\w*(?:[a-z][A-Z]|Error|Exception|Warning)\w*")
_VARIABLE = regex(r"\b[A-Z][A-Z\d]*_[A-Z\d_]+\b|[$`][A-Z][A-Z\d]*\b")
_SECRET = _pattern(r"\bpass\w+\b[^.?!]{0,40}?(?:\bis\b|:|=|\blautet\b)\s*\S")
_NO_NAME = _pattern(
    rf"(?:{_MONTHS}|{_DAYS}|seit|ab|bis|am|um|von|zum|zur|der|die|das|(?:k|m|d|s)?ein(?:e[nmrs]?)?|ihre?|unsere?|er|sie|es|ja|nein|nicht|[A-Z]+(?:_[A-Z0-9]+)+|\W*\d[\d\W]*)"
)
# German nouns begin with a capital too.
_AFTER_ARTICLE = regex(
    r"(?:\b(?:der|die|das|den|dem|des|ein|eine|einen|einem|einer|zum|zur|im|am|vom|(?:k|m|d|s)?ein(?:e[nmrs]?)?|ihre?[nmrs]?|unsere?[nmrs]?|pro|je|zwei|drei|vier|fünf|sechs|acht|zehn)|(?<!\d)\d{1,3}(?:[.,]\d+)?\.?)\s((?:[A-ZÄÖÜ][\wäöüß-]+))",
    re.IGNORECASE,
)
_NAMED = regex(
    r"(?<=[a-zäöüß,:] )[A-ZÄÖÜ][\wäöüß-]+|[“\"][^”\"]+[”\"]|(?:called|named|heißt) \w+|(?:\b[nN]|[a-z]N)ame[\"']?\s?[:=]\s?\S+"
)

_LENGTH_TITLES = _pattern(r"length|width|height|depth|distance|span|läng|breite|höhe|tiefe")

# The first that a question is of.
_FORMS = (
    _Form(_pattern(rf"^(?:(?:and |so |but )?who(?:m|se)?|wer|wem|wen|wessen)\b|{SOMEBODY}"), _has_somebody),
    *(
        _Form(_pattern(asked), partial(_has, _pattern(told)), is_figure=True, titles=_pattern(named))
        for named, asked, told in MEASURES
    ),
    _Form(_pattern(TIME), has_time, is_time=True),
    _Form(_pattern(FIGURE), has_figure, is_figure=True),
    _Form(
        _pattern(
            r"(?m:^)(?>.*?\b(?:what|which)\b).*\bcalled\b|(?m:^)(?>.*?\bwhat(?:['’]s| is| was)\b).*\bname\b|^wie hei(?:ß|ss)"
        ),
        _has_name,
    ),
    _Form(_pattern(r"\b(?:tele)?phone number\b|\btelefonnummer\b"), _has_telephone, is_figure=True, titles=_TELEPHONE),
    _Form(
        _pattern(r"^(?!.*\b(?:what|which) (?:\w+ )?address\b).*(?:\bpass(?:word|phrase)\b|\bpasswort\b)"), partial(_has, _SECRET)
    ),
    _Form(
        _pattern(r"\b(?:what|which) (?:is |was )?(?:the |its |their )?(?:\w+ )?(?:pin|code)\b(?! (?:is|does|do) )"),
        partial(_has, _CODE),
    ),
    # A name as people, firms and towns have one, and no code.
    _Form(
        _pattern(r"\b(?:which|what) (?:company|firm|town|city|village|country|employee|person|colleague)\b"),
        lambda text, question: _has_name(_NUMBER_OF_OFFICE.sub(" ", text), question),
    ),
    _Form(
        _pattern(r"\b(?:which|what)(?: is| was)?(?: the)? (?:case|ticket|incident|reference)(?: number| id)?\b(?! of)"),
        lambda text, question: any(code.casefold() not in question.casefold() for code in _CODED.findall(text)),
        is_distinctive=True,
    ),
    _Form(
        _pattern(rf"\b(?:which|what)(?: is| was)?(?: the)?(?: number of the)? (?:{_NUMBERED})(?: number)?\b"),
        partial(_has, _NUMBER_OF_OFFICE),
        is_distinctive=True,
        least=lambda *_: True,
    ),
    _Form(
        _pattern(
            r"^(?!.*\bdate\b)(?:.{0,20} )?(?:which|what)(?:['’]s| is| was)?(?: the| its)? "
            r"(?:(?!an? |the )[\w-]+ ){0,2}(?:version|release)s?\b(?! do\b)"
        ),
        partial(_has, _VERSION),
        is_distinctive=True,
        least=_has_release,
    ),
    _Form(_pattern(r"\b(?:which|what) exceptions?\b"), partial(_has, _RAISED)),
    _Form(_pattern(r"\b(?:which|what) environment variables?\b"), partial(_has, _VARIABLE)),
    _Form(_pattern(r"(?m:^)(?>.*\bIP(?: address)?\b)(?!.*\b(?:range|block)\b)"), partial(_has, _IP_ADDRESS), is_distinctive=True),
    _Form(_pattern(r"\b(?:what|which) (?:is |was )?.{0,40}\baddress\b"), partial(_has, _PLACE)),
    _Form(
        _pattern(
            r"\bon (?:which|what) port\b|"
            rf"\b(?:which|what)\b.{{0,40}}\bport\b.{{0,60}}\b(?:{_SERVING})\b|\b(?:{_SERVING}|default|tcp|udp)\b.{{0,40}}\bport\b"
        ),
        partial(_has, _PORT),
        is_figure=True,
    ),
    _Form(
        _pattern(r"\b(?:price|costs?|fees?|fare|expensive|salary|wage|earn)\b|^was kostet|\b(?:preis|pacht|miete)\b"), _has_sum
    ),
    _Form(_pattern(r"(?m:^)(?>.*\bhow much (?:is|are|was|were) (?:a|an|the|one)\b)(?!.*\b(?:left|load|of)\b)"), _has_sum),
    _Form(
        _pattern(
            rf"{HOW['height']}|{HOW['width']}|{HOW['depth']}|{HOW['thickness']}|{HOW['distance']}|^wie lang\b|"
            r"\b(?:height|width|depth) of\b"
        ),
        has_length,
        is_figure=True,
        titles=_LENGTH_TITLES,
    ),
    _Form(_pattern(r"['’]s (?:height|width|depth)\b"), has_length, is_distinctive=True),
    _Form(
        _pattern(r"\b(?:what|which)(?:['’]s| is| are| was| were)?(?: the)? colou?rs?\b|\bfarbe\b"),
        partial(_has, _COLOUR),
        is_distinctive=True,
    ),
    _Form(_pattern(rf"{HOW['age']}|\bwhat age\b"), partial(_has, _AGE)),
    _Form(_pattern(rf"\bhow many\b|^wie ?viele\b|^{NUMBER_OF}"), has_count, is_figure=True),
    _Form(
        _pattern(rf"{HOW['weight']}|\bweighs?\b"),
        partial(_has, WEIGHT),
        is_figure=True,
        titles=_WEIGHT_TITLES,
        is_distinctive=True,
    ),
    _Form(_pattern(HOW["speed"]), partial(_has, SPEED), is_distinctive=True),
    _Form(_pattern(rf"{HOW['temperature']}|\b(?:what|which) temperature\b"), partial(_has, WARMTH), is_distinctive=True),
    _Form(_pattern(r"\bhow long (?:may|can|must|should) .{1,80}\bbe\b"), partial(_has, EXTENT), is_time=True),
    _Form(_pattern(r"\b(?:for )?how long\b|^wie lange\b"), partial(_has, LASTING), is_time=True),
    _Form(_pattern(r"\bhow often\b|^wie oft\b"), partial(_has, _OFTEN), is_figure=True, titles=_OFTEN_TITLES),
    _Form(_pattern(HOW["size"]), partial(_has, SIZE), is_distinctive=True, least=partial(_has, MEASURED)),
    _Form(
        _pattern(rf"{HOW['level']}|\bhow much\b|^wie viel\b"),
        has_amount,
    ),
    _Form(
        _pattern(
            rf"^(?:what|which)(?: |(?:['’]s| is| are| was| were) (?:(?:the|its|their) )?(?:\w+ )?)(?:\w+ )?(?:{_QUANTITIES})\b"
        ),
        has_number,
    ),
    _Form(_pattern(r"^(?:and |so |but )?(?:when|wann)\b|\b(?:from|until|since) when\b|\bwhat time\b"), _has_moment, is_time=True),
    _Form(_pattern(r"^(?:and |so |but )?(?:where|wo|wohin|woher)\b"), _has_site, titles=_PLACE_TITLES),
)
