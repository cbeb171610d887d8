"""The content of a statement, as far as its words tell: its subject, its values, whether it denies.

No parser and no model: word lists and positions, the same on every node. Good enough to tell "port 8443" from "port 9443" and
"Alice moved" from "Bob moved", "ferry A" from "ferry B"; meant for `contradiction`, which only marks and never deletes.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

from hive_mind.model.figures import NUMERALS, figures_alike, plain_clock, plain_number
from hive_mind.model.ids import UNSPACED, normal
from hive_mind.ornament import ornament
from hive_mind.ranking.tokens import tokenize
from hive_mind.regex import regex
from hive_mind.remembered import remembered

# Longer is no single statement, and two of them don't contradict each other by sharing words.
CHARACTERS_MAX = 2_000

# Letters of scripts without spaces are letters like others to a pattern.
# Where such a text goes over into figures or Latin letters, and around the marks of a topic behind a name: は and 是.
_SEAMS = regex(
    rf"(?<=[{UNSPACED}])(?=[0-9A-Za-z])|(?<=[0-9A-Za-z])(?=[{UNSPACED}])"
    r"|(?<=[\u30a0-\u30ff\u3400-\u9fff0-9A-Za-z])(?=[は是])|(?<=[\u30a0-\u30ff\u3400-\u9fff0-9A-Za-z][は是])"
)

# "users_3", "INC-2024-001", "LH123" and "2b" are names and stay whole, "12h" is an amount.
# "C++", "A+" and "C#" are names, and so is a picture; letters of India have their vowels as marks, which no pattern takes for
# letters.
_TOKEN = regex(
    r"[^\W\d_]++(?:[_-][^\W\d_]++){0,12}+[_-]?\d+\w*(?:-\w+)*|\d+[abcefABCEF]\b"
    r"|(?:(?<![\w.)])[-−+])?\d+(?:[.,:/\-]\d+)*|[^\W\d_]{1,20}+(?:\+{1,2}|\#)(?![\w+\#])"
    r"|(?:[^\W\d_]|[\u0900-\u0dff])+(?:['’][^\W\d_]+)*|\w+|[\u2190-\u2bff\U0001f000-\U0001faff]"
)
_MARKED = regex(r"[\u0900-\u0dff\u2190-\u2bff\U0001f000-\U0001faff]|[+\#]$")
_HEADING = regex(r"[^:]{1,60}?(?=:\s|\s=\s)")
_CLOCK = regex(r"\d{1,2}:[0-5]\d")
_NOUGHTS = regex(r"(?<=\d)\.0+$|(?<=\d)(\.\d*[1-9])0+$")
# Of a version, "3.10" is another than "3.1".
_VERSIONED = frozenset("version v release python kernel".split())
_DATE = regex(r"(?:19|20)\d\d|\d{4}-\d\d(?:-\d\d)?|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|\d{1,2}:\d\d(?::\d\d)?")
_DATED = frozenset(
    "january february march april june july august september october november december monday tuesday wednesday thursday friday "
    "saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays yesterday today tomorrow".split()
)
# Units in one spelling: 2 TB are not 2 GB, and 5 kilograms are 5 kg.
_UNITS = dict(
    zip(
        "kilograms kilogrammes kilos kilometres kilometers millimetres centimetres grams".split(),
        "kg kg kg km km mm cm grammes".split(),
        strict=True,
    )
) | {unit: unit for unit in "kb mb gb tb pb kg mg km cm mm ms kw mw kwh bar psi".split()}
_OPPOSITES = frozenset(
    "on off true false yes enabled disabled open closed up down active inactive allowed forbidden public private online offline "
    "passed failed alive dead hot cold always sometimes before after left right increased decreased "
    "locked unlocked full empty".split()
)
_DENIALS = frozenset(
    "not no never cannot without neither nor none nicht kein keine keinen keinem keiner nie niemals pas jamais nunca jamás não "
    "ningún ninguna non mai niet geen nooit inte ikke aldrig nie не нет никогда ні немає değil yok δεν όχι nu nem không "
    "chưa tidak bukan nincs لا ليس ليست لم لن नहीं नही मत 안 않는다 않습니다 않다 없다 없습니다 아니다 아닙니다".split()
)
# "No longer", "not any more": they say no more than "not". "Now" and "actually" say that it was otherwise, and not what is.
_SAID_ANEW = frozenset(
    "longer anymore mehr now actually instead jetzt ahora maintenant już больше teraz теперь artık acum".split()
)
# "Ne travaille plus", "nu mai lucrează"; "ne" and "mai" by themselves stand beside other denials.
_NO_MORE = regex(r"(\b(?:ne |n['’])[^\W\d_]{1,30}) plus\b|\b(nu) mai\b", re.IGNORECASE)
_COMPOSED = regex(
    rf"\b(?:(?P<tens>{'|'.join(word for word, number in NUMERALS.items() if number >= 20)})-(?P<ones>[a-z]{{3,5}})"
    r"|(?P<count>an?|[a-z]{3,5}) (?P<scale>hundred|thousand|million))\b",
    re.IGNORECASE,
)
_ORDINAL = regex(r"(?<=\d)(?:st|nd|rd|th)\b")
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
# "No, it is on Thursday" denies nothing that it says itself.
_OPENERS = regex(
    r"(?:(?:no|nope|oh|sorry|oops|wait|correction|update|actually|nein|doch|non|perdón)\s?[,:;.!–—-]{1,3}\s+){1,3}", re.IGNORECASE
)
_FIRST_PERSON = frozenset("i i'm i've i'd i'll me my mine myself we we're we've our ours us".split())
_TOPIC_MARKS = frozenset("は 是".split())
_COPULAS = frozenset("is are was were be been am".split()) | _TOPIC_MARKS
_VERBS = _COPULAS | frozenset(
    "has have had does do did will would can could may might must shall should went ran sold bought won lost made took gave paid "
    "cost met left began built held kept spent sent set saw said told came became found grew rose fell wrote hit got drove ate "
    "lives hold run use own cost need want like know speak "
    "ist sind hatte haben wird läuft liegt steht kostet est sont était avait es está están tiene è é são tem".split()
)
# End as verbs do and are counted: "every two weeks".
_MEASURES = frozenset(
    "seconds minutes hours days weeks months years times euros dollars cents grams litres liters metres meters degrees points "
    "requests bytes tours jours heures revoluciones horas grados volts amperes watts".split()
)


@dataclass(frozen=True, slots=True)
class Wording:
    """One statement. `subject` and `predicate` are what stands before the first verb and from it on, without words that say
    little; both are empty where no verb was found. `frame` is everything in order with its values left out."""

    words: frozenset[str]
    frame: tuple[str, ...]
    values: tuple[str, ...]
    dated: frozenset[int]
    """Which of the values are dates or times."""
    subject: frozenset[str]
    predicate: tuple[str, ...]
    is_identity: bool
    """Of the form "… is the …": then what stands first is as much a value as what stands last."""
    denies: bool
    is_first_person: bool


# Some 2 kB each. A fact that is shown is compared with others of its concept, again and again with the same.
@remembered(16_384)
@ornament(lambda *_: None)
def wording(content: str, speaker: str = "") -> Wording | None:
    """How a statement is worded; None for questions, for texts too long to be one statement, and where there are no words."""
    text = content.removeprefix(f"{speaker}: ") if speaker else content
    if len(text) > CHARACTERS_MAX or text.rstrip().endswith("?"):
        return None
    text = _SEAMS.sub(" ", _unshortened(_ORDINAL.sub("", figures_alike(_COMPOSED.sub(_composed, normal(text))))))
    opener = _OPENERS.match(text)
    text = text[opener.end() :] if opener else text
    tokens = _TOKEN.findall(text)
    raw = _labelled([_plain(token, before) for before, token in pairwise(["", *tokens])])
    verb = _verb_at(raw) or _heading_end(text, raw)
    # A heading with nothing behind it says nothing: "emptyDir: {}".
    verb = verb if verb < len(raw) else 0
    terms = [(place, term) for place, token in enumerate(raw) for term in _terms(token)]
    if not terms:
        return None
    values = [term for _, term in terms if _is_value(term)]
    return Wording(
        words=frozenset(term for _, term in terms),
        frame=tuple("#" if _is_value(term) else term for _, term in terms),
        values=tuple(values),
        dated=frozenset(number for number, value in enumerate(values) if _is_date(value)),
        subject=frozenset(term for place, term in terms if place < verb),
        predicate=tuple(term for place, term in terms if place >= verb) if verb else (),
        is_identity=bool(verb) and raw[verb] in _COPULAS and raw[verb + 1 : verb + 2] == ["the"],
        denies=sum(token in _DENIALS for token in raw) % 2 == 1,
        is_first_person=any(token in _FIRST_PERSON for token in raw),
    )


def _unshortened(text: str) -> str:
    """ "isn't" is "is not"; "can't" and "won't" lose a letter more."""
    text = _NO_MORE.sub(lambda denied: denied[2] or f"{denied[1]} pas", text)
    text = text.replace("’", "'").replace("can't", "can not").replace("won't", "will not").replace("N'T", "n't")
    return text.replace("n't", " not")


def _composed(match: re.Match[str]) -> str:
    """A number of two words, in digits: "twenty-five", "two hundred"."""
    if match["tens"]:
        ones = NUMERALS.get(match["ones"].lower(), 0)
        return str(NUMERALS[match["tens"].lower()] + ones) if 0 < ones < 10 else match[0]
    count = 1 if match["count"].lower() in ("a", "an") else NUMERALS.get(match["count"].lower(), 0)
    return str(count * _SCALES[match["scale"].lower()]) if count else match[0]


def _labelled(tokens: list[str]) -> list[str]:
    """In lower case, and single letters that tell things apart marked, so that none is taken for an article: "ferry A"."""
    lower = [token.casefold() for token in tokens]
    following = [*lower[1:], ""]
    letters = {place for place, token in enumerate(tokens) if place and _is_letter(token, following[place])}
    return [f"={word}" if place in letters else word for place, word in enumerate(lower)]


def _is_letter(word: str, after: str) -> bool:
    return len(word) == 1 and word.isalpha() and word != "I" and (word.isupper() or _is_verb(after))


def _heading_end(text: str, raw: list[str]) -> int:
    """Where a statement without a verb begins to say something: behind a colon, else behind its first value if it has another."""
    if heading := _HEADING.match(text):
        return len(_TOKEN.findall(heading[0]))
    values = [place for place, token in enumerate(raw) if _is_value(token)]
    return values[0] + 1 if len(values) > 1 else 0


def _plain(token: str, before: str) -> str:
    """Numbers in one form: 1,000 is 1000, 5.0 is 5 and 0.50 is 0.5, seven is 7, 09:30 is 9:30."""
    if (amount := NUMERALS.get(token.casefold())) is not None:
        return str(amount)
    if not token[-1].isdigit():
        return _UNITS.get(token.casefold(), token) if before[-1:].isdigit() else token
    if _CLOCK.fullmatch(token):
        return plain_clock(token)
    number = plain_number(token).replace("−", "-")
    if number.count(".") != 1 or (not number.endswith(".0") and (before.casefold() in _VERSIONED or before[:1].isupper())):
        return number
    return _NOUGHTS.sub(lambda match: match[1] or "", number)


def _verb_at(raw: list[str]) -> int:
    """Where the first verb stands, 0 for none. The first word is never taken for one: it may be a plural."""
    return next((place for place, token in enumerate(raw) if place and _is_verb(token)), 0)


@remembered(16_384)
def _is_verb(token: str) -> bool:
    if token in _VERBS:
        return True
    is_inflected = len(token) > 3 and token.endswith(("s", "ed")) and not token.endswith(("ss", "us", "is", "'s"))
    return is_inflected and token not in _DATED and token not in _MEASURES and token.isalpha()


@remembered(16_384)
def _terms(token: str) -> tuple[str, ...]:
    """As they are compared: values and letters as they are, other words stemmed, those that say little left out, denials too."""
    if token.startswith("=") or _is_value(token):
        return (token.removesuffix("s") if token in _DATED else token,)
    if _MARKED.search(token):
        return (token,)
    said = token in _DENIALS or token in _SAID_ANEW or token in _TOPIC_MARKS
    return () if said else tuple(tokenize(token.removesuffix("'s")))


def _is_value(term: str) -> bool:
    is_word_of_value = term in _OPPOSITES or term in _DATED or f"{term}s" in _DATED or term in _UNITS
    return is_word_of_value or any(character.isdigit() for character in term)


def _is_date(value: str) -> bool:
    return f"{value}s" in _DATED or value in _DATED or _DATE.fullmatch(value) is not None
