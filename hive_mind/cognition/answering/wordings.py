"""Wordings: the words of a question that carry its meaning, and their synonyms.

People ask in other words than texts use. Words that every question has ("go", "need", "hat") say little, and a fact may lack
them; of those that say much, some have synonyms: a fact that gives the price answers a question about the cost.

Measures: what a figure with its unit tells without saying so: 833 kilos are a weight, and 47 seconds a time. Texts give a
quantity and seldom its name. So a fact with the unit meets the words that people ask for such a quantity with.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import chain, zip_longest

from hive_mind.cognition.answering.other_languages import LITTLE, asking_words, measure_words
from hive_mind.cognition.extraction.statements import without_asking
from hive_mind.model.figures import NUMERAL, NUMERAL_ELSEWHERE
from hive_mind.ornament import ornament
from hive_mind.ranking.tokens import chunks_of, is_english, terms_in, tokenize
from hive_mind.ranking.words import LEANS, is_marked, says_nothing
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
    (
        r"people|persons|employees|members of staff",
        "headcount staff team crew personnel worker employee guest visitor participant attendee",
    ),
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
# Other figures and names tell a sum, when something is open, and on which day.
_SHOWN = (
    (regex(r"[$€£]\s?\d|\b(?:EUR|USD|GBP|CHF)\s?\d"), _MONEY),
    (
        regex(
            r"\b\d{1,2}(?:[:.]\d\d)?\s?(?:[ap]\.?m\.?|h|Uhr)?\s?(?:[-–]|to|till|until|bis|à)\s?\d{1,2}(?:[:.]\d\d)?\b(?![-/])",
            re.IGNORECASE,
        ),
        "hours open opening",
    ),
    (regex(r"\b(?:Mon|Tue|Tues|Wed|Wednes|Thu|Thur|Thurs|Fri|Sat|Satur|Sun)(?:days?)?\b"), "day"),
)


@remembered(256)
def measured_in(text: str) -> frozenset[str]:
    """The terms for what the figures of a text measure."""
    units = set(_UNIT_IN.findall(text))
    words = [words for pattern, words in _MEASURED if any(map(pattern.match, units))] if units else []
    words += [shown_words for pattern, shown_words in _SHOWN if pattern.search(text)]
    return frozenset(tokenize(" ".join(words)))


# Verbs and prepositions that say little without what stands beside them, and words for anything or anybody.
_LIGHT = frozenset(
    tokenize("""
    go goes going went gone come comes came get gets got take takes took taken need needs needed use uses used find finds
    found put puts give gives gave keep keeps kept let lets want wants wanted may happen happens happened used needed taken
    found given kept said has having keeps thing things something anything people person exactly actually there here soon
    now do done around towards somebody someone anybody anyone after behind between during since through under until without
    set sets
    """)
)
_HAD = frozenset(tokenize("got gets get took takes take hold holds habe hat ist war do does did")) | {
    "ist",
    "hat",
    "sind",
    "war",
    "wird",
}
_GERMAN = """
der das den dem des ein eine einen einem einer eines und oder aber ist sind waren wird werden wurde wurden haben hatte im auf
aus bei mit nach von vom zu zum zur für über unter um ab bis durch gegen ohne seit vor welche welcher welches welchem welchen
wie viel viele wer wem wen wo wann warum weshalb wieso steht stehen liegt liegen befindet tun tut machen macht bekomme bekommen
bekommt es er sie ich wir ihr mich mir uns euch sich nicht kein keine auch noch nur schon denn dass als wenn darf dürfen kann
können muss müssen soll sollen hier mein meine meinen meiner unser unsere heißt heisst gibt lautet oft
"""
# They are words of English as well.
_GERMAN_TOO = "die was war man so will am hat an in du lange lang"
# "Woraus", "womit", "wohin".
_BEHIND_WO = "an auf aus bei durch für gegen her hin in mit nach über um unter von vor zu".split()
_GERMAN += " ".join(f"wo{link}{word}" for word in _BEHIND_WO for link in ("", "r"))
_GERMAN_WORD = regex(rf"\b(?:{'|'.join(_GERMAN.split())})\b", re.IGNORECASE)
_GERMAN_TERMS = frozenset(tokenize(f"{_GERMAN} {_GERMAN_TOO}"))

REFERRING = frozenset(
    "it its they them their this that these those he she his her there then so er sie es das dies dort dann diese dieser".split()
)
"""A text that begins with one of these goes on about the text before it."""

# Shorter ones are in many words by chance.
_PART_LETTERS_MIN = 4
_HIRAGANA = regex("[\u3041-\u309f]")
_JOINT = regex("['’-]")
# "What", "when", "how many": all questions of Japanese and Chinese are made of them.
_ASKED_SIGNS = "何誰哪什么麼谁怎吗嗎呢"
# Little words of Chinese, which stand within words of Japanese.
_CHINESE_SIGNS = "是的在有多"
_KANA = regex("[\u3041-\u30ff]")

# Shorter beginnings are shared by chance.
_KIN_LETTERS_MIN = 3
# "inspector"; "database" is no form of data.
_ENDINGS = frozenset("r er or ed ing ion ment e s t en te ter erin ung y al ant ist".split())

# Each line means much the same to somebody who asks. Kept to what is asked of anything: where it is, what it costs, who runs it.
_SAME = """
cost costs price fee fare charge expensive pay paid pays preis kostet kosten gebühr
cuesta vale precio
max maximum
min minimum
start starts begin begins began open opens opened launch anfang beginnt beginn
end ends stop stops stopped finish close closes closed shut
arrive arrives visit visits come comes reach reaches delivery
leave leaves depart departs departure sail sails go goes
make makes made maker produce produced build built construct constructed erected
buy bought purchase purchased
sell sold sells
repair repaired fix fixed fixes mend mended repairs solve solved resolve resolved remedy
replace replaces replaced replacement change changed exchange exchanged swap swapped instead successor
check checked inspect inspected inspection inspector test tested examine examined audit survey surveyed surveyor
send sends sent ship ships shipped deliver delivers delivered supply supplies supplier vendor
own owns owner owned belongs belong
drive drives drove driven driver
write writes wrote written author
lead leads led leader direct director head manage manages manager run runs command commands commander captain
executive ceo director boss
master skipper chief lead leads leader head manager director boss responsible run runs
carry carries carried cargo load loaded freight
break broke broken fail failed fails failure crash crashed defect damage damaged
delete deletes deleted remove removed removes drop dropped
harvest harvested pick picked picking
accept accepts accepted receive received take taken
keep keeps kept keeper
teach teaches teacher coach coaches train trainer
phone telephone call ring hotline
need needs needed require requires required requirement
licence licences license licenses licensed licensing
disable disables disabled
enable enables enabled
acronym abbreviation abbreviated contraction
last final
allow allowed permit permitted may
expire expires expired valid
refuse refuses refused reject rejected denied deny
weigh weighs weight heavy
burn burns burnt burned
size large big area
harbour port destination
location located locate place site stands town city
cause causes caused reason root trouble wrong
suffer suffered affect affected impact consequence consequences damage damaged
insurance insured insure insurer cover covers covered
staff personnel employee employees team headcount crew
discover discovered detect detected find found
spare spares replacement parts
noise noisy loud sound sounds whine whining hum humming rattle rattling
child children kid kids pupil pupils schoolchildren class
"""

_CALENDAR = (
    "monday tuesday wednesday thursday friday saturday sunday "
    "january february march april june july august september october november december"
)

# Phrases of several words, and the one word that means as much.
_SWITCHING = ("turn", "turns", "turned", "switch", "switches", "switched")
_PHRASES = {
    "in charge": "responsible",
    "at most": "maximum",
    "at least": "minimum",
    "look after": "responsible",
    "looks after": "responsible",
    "put up": "built",
    "in vain": "refused",
    "not let in": "refused",
    "no right": "refused",
    "turned away": "refused",
    "come out": "released",
    "came out": "released",
    **dict.fromkeys(("at once", "at the same time", "in parallel", "simultaneously", "simultaneous"), "concurrent"),
    **dict.fromkeys(("right now", "as of now", "at this point", "at this late point", "at the moment", "at present"), "now"),
    **dict.fromkeys(("in favour of", "in favor of"), "replaced"),
    "stand for": "acronym",
    "stands for": "acronym",
    **{f"{verb} off": "disabled" for verb in _SWITCHING},
    **{f"{verb} on": "enabled" for verb in _SWITCHING},
}
_PHRASE = regex(rf"\b(?:{'|'.join(_PHRASES)})\b", re.IGNORECASE)


# "200 litres" is 200 l.
_SYMBOLS = {"lit": "l", "kilog": "kg", "kilos": "kg", "kilom": "km", "met": "m"}
_UNIT_TOLD = regex(r"(?<=\d) ?(?P<unit>lit|kilog|kilom|met|kilos)(?:ramm?e?s?|res?|ers?)?\b", re.IGNORECASE)


def without_phrases(text: str) -> str:
    """A text without what `phrase_terms` takes for one term: its words by themselves mean something else."""
    return _PHRASE.sub(" ", text)


@remembered(512)
def phrase_terms(text: str) -> frozenset[str]:
    """The terms of a text, with one term for a phrase such as "in charge"."""
    return terms_in(with_phrases(text))


def with_phrases(text: str) -> str:
    """A text with one word for a phrase such as "in charge", and the symbol of a unit."""
    # A pattern that ignores case takes "ı" and "İ" for "i", which no table does: such a text stays as it is.
    text = _UNIT_TOLD.sub(lambda told: f" {_SYMBOLS.get(told['unit'].casefold(), told[0].strip())}", text)
    return _PHRASE.sub(lambda phrase: _PHRASES.get(phrase[0].casefold(), phrase[0]), text)


def content_terms(question: str, terms: frozenset[str]) -> frozenset[str]:
    """Of the terms of a question those that say what it is about; all of them where none does."""
    german = _GERMAN_TERMS if is_german(question) else frozenset()
    light = _LIGHT | german | degree_in(question)
    asking = terms - terms_in(rest) if (rest := without_asking(question)) != question else frozenset()
    asking |= function_terms(question)
    content = terms - asking - light
    return (content - bent_terms(question)) or terms


@remembered(64)
def bent_terms(question: str) -> frozenset[str]:
    """Pairs of characters that say nothing: what is written in hiragana bends the words between, and some signs ask."""
    signs = _ASKED_SIGNS if _KANA.search(question) else f"{_ASKED_SIGNS}{_CHINESE_SIGNS}"
    written = (term for term in terms_in(question) if not term.isascii())
    return frozenset(term for term in written if _HIRAGANA.search(term) or any(sign in term for sign in signs))


# "Can't" as a term: that something is denied is looked for apart.
# "Which versions can I use it with?": somebody who asks uses things and needs them.
_DONE_BY_ASKER = regex(r"\b(?:can|could|do|should|may|must) (?:i|we|you) (use|need|have|get|want|find)\b", re.IGNORECASE)
_DENIED = regex(r"(?:ca|do|does|did|is|are|was|were|wo|would|could|should|has|have|had|must)nt|cannot")


@remembered(64)
def function_terms(question: str) -> frozenset[str]:
    """The terms of the little words of a question, as "can't", and of one in another language: "cuándo es la", "когда"."""
    runs, leans = _runs(question), leaning(question)
    speaks_english = leans > 0 or (leans == 0 and not is_marked(question) and not asking_words(question))
    little_elsewhere = frozenset[str]() if speaks_english else _little_elsewhere()
    little = {term for run in runs if says_nothing(run, speaks_english) or run in little_elsewhere for term in tokenize(run)}
    done_by_asker = map(tokenize, _DONE_BY_ASKER.findall(question))
    return frozenset(little.union(filter(_DENIED.fullmatch, tokenize(question)), *done_by_asker))


def leaning(text: str) -> int:
    """How many more function words of English than of other languages a text has."""
    return sum(LEANS.get(run, 0) for run in _runs(text))


def _runs(text: str) -> list[str]:
    return [run for chunk in chunks_of(text) for run in _JOINT.split(chunk)]


@remembered(1)
def _little_elsewhere() -> frozenset[str]:
    """As they are folded, with the prepositions and conjunctions of a letter."""
    return frozenset(chunks_of(" ".join(LITTLE.values()))).union("aeikosuvwyz")


@remembered(64)
def measure_terms(question: str) -> frozenset[str]:
    """The terms for the quantity that a question of another language than English asks for, where it has others besides."""
    measured = terms_in(measure_words(question))
    return measured if terms_in(question) - measured - function_terms(question) else frozenset()


def phrases_of(*texts: str) -> frozenset[str]:
    """The terms of several texts. Each is remembered by itself: a long one is read once, whatever stands beside it."""
    return frozenset[str]().union(*map(phrase_terms, texts))


@remembered(64)
def is_german(question: str) -> bool:
    """As far as the little words tell."""
    return _GERMAN_WORD.search(question) is not None


def is_in_compound(term: str, terms: frozenset[str]) -> bool:
    """Whether a German word is part of a word of the fact, or contains one."""
    parts = [part for part in terms if len(part) >= _PART_LETTERS_MIN] if len(term) >= _PART_LETTERS_MIN else []
    return any(part in term or term in part for part in parts)


def is_had(term: str) -> bool:
    """Whether a term is a verb for having or being, whose subject any named person can be."""
    return term in _HAD


def met_in(terms_asked: Iterable[str], terms: frozenset[str]) -> frozenset[str]:
    """The asked terms that the fact has, itself or as a synonym."""
    return frozenset(term for term in terms_asked if term in terms or not _same().get(term, frozenset()).isdisjoint(terms))


def is_stated(term: str, terms: frozenset[str]) -> bool:
    """In this or another wording or form of the word."""
    return bool(met_in((term,), terms)) or not kin_of(term).isdisjoint(terms)


LIKENESS_MIN = 0.5
"""Of less likeness, words are not forms of one."""
_ALIKE_LETTERS_MIN = 4
_ENDING_MAX, _SHORT_NAME = 2, 5
_DIGIT = regex(r"\d")


def likeness(term: str, terms: frozenset[str]) -> float:
    """Share of common groups of three letters with the term most like it, 0 for little: other endings, letters left out."""
    if len(term) < _ALIKE_LETTERS_MIN or _DIGIT.search(term):
        return 0.0
    groups = _groups(term)
    words_alike = (_groups(word) for word in terms if len(word) >= _ALIKE_LETTERS_MIN)
    best = max(
        (2 * len(groups & groups_of_word) / (len(groups) + len(groups_of_word)) for groups_of_word in words_alike), default=0.0
    )
    return best if best >= LIKENESS_MIN else 0.0


def letters_in(terms: frozenset[str]) -> float:
    """Of words written without their vowels (Hebrew, Arabic, Syriac) a letter tells as much as one and a half elsewhere."""
    return sum(len(term) * (1.5 if "\u0590" <= term < "\u0780" else 1.0) for term in terms)


def is_form_in(question: str, term: str, terms: frozenset[str]) -> bool:
    """Whether a word of a question that is not English stands there in a compound, or with another ending."""
    if is_german(question):
        return is_in_compound(term, terms)
    return likeness(term, terms) > 0 and not is_english(question)


def is_inflected(name: str, terms: frozenset[str]) -> bool:
    """Whether some term is a name with another ending: "Wójcika", "Петровны"."""
    stems = [
        name[:length]
        for length in range(max(_KIN_LETTERS_MIN, len(name) - (_ENDING_MAX if len(name) > _SHORT_NAME else 1)), len(name) + 1)
    ]
    return any(term.startswith(stem) and len(term) <= len(stem) + _ENDING_MAX for stem in stems for term in terms)


@remembered(4096)
def _groups(term: str) -> frozenset[str]:
    return frozenset(f" {term} "[start : start + 3] for start in range(len(term)))


@remembered(256)
def kin_of(term: str) -> frozenset[str]:
    """A term with every ending, and without its own: "own" and "owner". The stemmer keeps a deed apart from who does it."""
    longer = {term + ending for ending in _ENDINGS} if len(term) >= _KIN_LETTERS_MIN else set()
    shorter = {term.removesuffix(ending) for ending in _ENDINGS if term.endswith(ending)}
    return frozenset({term, *longer, *(short for short in shorter if len(short) >= _KIN_LETTERS_MIN)})


@ornament(lambda _: "")
def other_words(question: str) -> str:
    """The other words for those of a question."""
    synonyms = (sorted(_same().get(term, ())) for term in sorted(phrase_terms(question)))
    # A stem is a word like any other to who searches for it, and may have a stem of its own: "licens" of "licence".
    terms = filter(None, chain.from_iterable(zip_longest(*synonyms)))
    return " ".join(_words().get(term, term) for term in terms)


@remembered(1)
def _words() -> dict[str, str]:
    """A word by its stem, where a search would take the stem for another."""
    words = {stem: word for word in reversed(_SAME.split()) if len(stems := tokenize(word)) == 1 for stem in stems}
    return {stem: word for stem, word in words.items() if tokenize(stem) != [stem]}


@remembered(1)
def _same() -> dict[str, frozenset[str]]:
    synonyms: dict[str, frozenset[str]] = {}
    for line in _SAME.strip().splitlines():
        terms = frozenset(tokenize(line))
        synonyms |= {term: synonyms.get(term, frozenset()) | terms for term in terms}
    # A day or a month that is asked for may stand there with its first letters.
    synonyms |= {term: terms_in(name[:3]) for name in _CALENDAR.split() for term in tokenize(name)}
    return synonyms
