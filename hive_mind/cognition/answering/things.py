"""Things: whether a fact says what a thing is, or has the very row or field of it that a question asks for.

Definitions: "What is a bollard?" is answered by a fact whose subject a bollard is, and not by one that mentions it. Any fact
about the harbour's crane may answer "What is the harbour's crane?", so only a name without an article, or with an indefinite
one, asks for a definition. A name with digits says little by itself: any fact about it will do.

Records: tables and settings don't say what somebody does. "heron;Salt Pan;Goran" tells who saw the heron below "observer", and
"broker = 10.0.0.7" what the broker's address is.
"""

import re
from typing import NamedTuple

from hive_mind.cognition.answering.answer_forms import form_of, lacks_form, may_answer
from hive_mind.cognition.answering.headings import title_of, titles_of
from hive_mind.cognition.answering.intent import Kind, intent_of
from hive_mind.cognition.answering.question_terms import LIGHT, QuestionTerms, focus_of
from hive_mind.cognition.answering.wordings import REFERRING, is_stated, likeness, phrases_of
from hive_mind.cognition.extraction.fields import setting_in
from hive_mind.cognition.extraction.separated import fields_of
from hive_mind.model.fact import Fact
from hive_mind.model.ids import HAN
from hive_mind.ranking.tokens import is_english, terms_in, tokenize
from hive_mind.regex import regex
from hive_mind.remembered import remembered

_NOUNS = r"(?P<nouns>[^\W\d_][^\W\d_'’-]*(?:[ -][^\W\d_]+){0,2})"
_A = r"(?P<article>an?|eine?)\s+"
_ASKED = tuple(
    regex(pattern, re.IGNORECASE)
    for pattern in (
        rf"^(?:what|was)(?:['’]s| is| are| ist| sind)\s+(?:{_A})?{_NOUNS}$",
        rf"^define\s+(?:{_A})?{_NOUNS}$",
        rf"^what (?:does|do)\s+(?:{_A})?{_NOUNS}\s+(?:mean|stand for)$",
        rf"^was bedeute[nt]*\s+(?:{_A})?{_NOUNS}$",
    )
)
_JAPANESE = regex(rf"^(?P<nouns>[\u30a1-\u30fa\u30fc{HAN}]{{2,}})(?:とは|って)(?:何|なん)?")
# With one of these it is no noun that is asked about: "What is new in Porto?", "What is a ticket worth?", "What is the plan?"
_OTHER = frozenset(
    """
    the this that these those there it its my your our his her their der die das den dem mein dein unser of for in at on from to
    with by per under over between about after before without than as im am auf aus bei mit nach von vom zu zum zur für über
    worth called named like made used needed going wrong new left next now today here and or und oder not
    """.split()
)
_WORD = regex(r"[^\W_][\w'’.-]*")
_MARKS = regex(r"[*`_“”„\"]+")
_SENTENCE_ENDS = regex(r"(?<=[.!?;])\s+")
# Words before a subject: "A heavy mooring dolphin is …".
_BEFORE_MAX = 3
_ARTICLES = frozenset("a an the ein eine der die das".split())
_NO_SUBJECT = frozenset(
    "of for in at on from to with by per under over between about after before without has have had is are was were im am auf "
    "aus bei mit nach von vom zu zum zur für über".split()
)
_SAYS = regex(
    r"\s*(?:$|[:=(,–—-]|(?:is|are|was|were|means?|stands?|refers?|can|may|must|will|has|have|ist|sind|bedeutet|heißt|dient)\b)",
    re.IGNORECASE,
)
_DOES = regex(r"\s*[a-z]{2,}(?:s|t|ed)\b")
_EXPLAINED = regex(r"\s*(?:\(|, (?:an?|the|ein|eine|der|die|das)\b)")
_CALLED = regex(r"(?:\b(?:called|named|known as|heißt|nennt man)(?: an?| eine?)?|:)\s*$", re.IGNORECASE)
_QUESTION_CHARS_MAX = 120


# "What is billiard?", "Billiard is a fork of …"
_WHAT_IS = regex(r"^what(?:['’]s| is| are) (?:an? )?(?P<thing>[\w.-]+)\W*$", re.IGNORECASE)
_IS = regex(r"^\W{0,8}(?:(?:an?|the) )?(?P<thing>\w[\w.-]{0,60})\W{1,8}(?:is|are) (?:an?|the)\b", re.IGNORECASE)
_DEFINING_BONUS = 0.3


def defining_bonus(question: str, fact: Fact) -> float:
    """An addition to the score of a fact that begins with what the thing is that is asked about."""
    what, said = _WHAT_IS.match(question), _IS.match(fact.content)
    return _DEFINING_BONUS * bool(what and said and what["thing"].casefold() == said["thing"].casefold())


class _Asked(NamedTuple):
    """The thing to define, word by word. `is_kind`: any of its kind."""

    words: tuple[str, ...]
    is_kind: bool


def may_define(question: str, fact: Fact) -> bool:
    """Whether a fact may answer: it says what the thing is, or no definition is asked for."""
    one_line = " ".join(question[:_QUESTION_CHARS_MAX].split()).rstrip("?!.。？ ")
    if japanese := _JAPANESE.match(one_line):
        return re.search(rf"{re.escape(japanese['nouns'])}(?:とは|は|って|が|:|：)", fact.content) is not None
    term_asked = _asked(one_line)
    if term_asked is None:
        return True
    if fields := fields_of(fact).values():
        return any(tuple(tokenize(field)) == term_asked.words for field in fields)
    return _is_titled(term_asked, fact) or any(_says(term_asked, part) for part in _SENTENCE_ENDS.split(_statement_text(fact)))


@remembered(64)
def _asked(question: str) -> _Asked | None:
    match = next(filter(None, (pattern.match(question) for pattern in _ASKED)), None)
    if match is None:
        return None
    words = match["nouns"].replace("-", " ").split()
    is_kind = match["article"] is not None or match.re.pattern != _ASKED[0].pattern
    # "What is forbidden?" asks for no definition, and looks the same as what asks for one.
    if not _OTHER.isdisjoint(word.casefold() for word in words) or not (is_kind or words[0][0].isupper()):
        return None
    terms = tuple(" ".join(tokenize(word)) for word in words)
    return _Asked(terms, is_kind) if all(terms) else None


def _statement_text(fact: Fact) -> str:
    return _MARKS.sub("", fact.content.removeprefix(f"{fact.speaker}: "))


def _is_titled(term_asked: _Asked, fact: Fact) -> bool:
    """Whether what a fact stands under, or the "it" in it, is what is to be defined."""
    terms = frozenset(term_asked.words)
    # A fact that names the thing itself is about it.
    if terms <= terms_in(_statement_text(fact)):
        return False
    titles = (fact.concept, *map(title_of, fact.sources))
    first = next(iter(fact.content.split(maxsplit=1)), "").casefold()
    refers = first in REFERRING and terms <= terms_in(fact.before)
    return refers or any(terms_in(title) == terms for title in titles)


def _says(term_asked: _Asked, sentence: str) -> bool:
    words = list(_WORD.finditer(sentence.replace("-", " ")))
    terms = [" ".join(tokenize(word[0])) for word in words]
    size = len(term_asked.words)
    return any(
        tuple(terms[at : at + size]) == term_asked.words and _is_subject(term_asked, sentence, words, at)
        for at in range(len(words) - size + 1)
    )


def _is_subject(term_asked: _Asked, sentence: str, words: list[re.Match[str]], at: int) -> bool:
    """Whether a sentence says of the words at a place what they are."""
    before, after = sentence[: words[at].start()], sentence[words[at + len(term_asked.words) - 1].end() :]
    if _CALLED.search(before) or _EXPLAINED.match(after):
        return True
    ahead = [word[0].casefold() for word in words[:at]]
    if len(ahead) > _BEFORE_MAX or not _NO_SUBJECT.isdisjoint(ahead) or (set(ahead[1:]) & _ARTICLES):
        return False
    return not term_asked.is_kind or _SAYS.match(after) is not None or _DOES.match(after) is not None


# "What is the password of the broker?"
_OF_NOUN = regex(r"(?:what|which)(?:['’]s| is| are| was| were)\b", re.IGNORECASE)
# Nothing but its verb says what is asked for: "What does Sam earn?"
_OF_DEED = regex(r"what (?:does|do|did|will|can)\b", re.IGNORECASE)
_OF = regex(r"\bof (?:(?:the|an?|our|your|my) )?([\w.-]+)", re.IGNORECASE)
_UNITS = frozenset(tokenize("seconds minutes hours days mb gb kb ms percent eur usd kg"))
_PEOPLE = regex(
    r"(?!number|order|server|power|folder|letter|paper|filter|counter)\b\w{3,}(?:er|or|ee|ist|ant|eur|euse|ore|rice)s?\b|"
    r"\b(?:contact|name|who|by|lead|staff|person|people|responsible)\b"
)
_NOBODY = regex(r"(?:nobody|no one|none|niemand|keine?r?|nadie|personne|nessuno|n/?a|[-–—?])?", re.IGNORECASE)
# Below other titles a number is no year, unless the question has their words: "built".
_YEARS_BELOW = regex(r"year|jahr|année|año|anno|date|datum", re.IGNORECASE)
_SWITCHED = frozenset(tokenize("enabled disabled active activated switched turned"))
# Shorter words are prepositions.
_WANTED_LETTERS = 3


def is_field_asked(question: str, asked: QuestionTerms, fact: Fact) -> bool:
    """Whether a question names a whole cell of a row, or the key of a field, and asks for nothing but what that holds."""
    terms, fields = terms_in(question), fields_of(fact)
    keys = list(fields.values()) if fields else [key_in(fact)]
    named = (key - _UNITS for key in map(terms_in, keys))
    form = form_of(question)
    is_formed = form is not None
    if not any(key and all(_is_like(term, terms) for term in key) for key in named) or (is_formed and lacks_form(question, fact)):
        return False
    around = phrases_of(fact.content, fact.concept, fact.before) | titles_of(fact)
    wanted = (asked.words | asked.names | asked.identifiers) - asked.kinds - LIGHT - _SWITCHED
    left = {term for term in wanted if len(term) >= _WANTED_LETTERS and not _is_like(term, around)}
    focus = focus_of(question) - terms_in(" ".join(_OF.findall(question)))
    is_of_noun, is_of_deed = _OF_NOUN.match(question) is not None, _OF_DEED.match(question) is not None
    left -= asked.deeds | (focus if not is_of_deed and (is_formed or not is_of_noun) else frozenset())
    # A deed is somebody's, whom only a title for people is above.
    told = [(title, cell) for title, cell in fields.items() if not terms_in(cell) <= terms]
    if asked.deeds and fields and not any(_PEOPLE.search(title) and not _NOBODY.fullmatch(cell) for title, cell in told):
        return False
    dated = [cell for title, cell in told if not cell.isdigit() or _YEARS_BELOW.search(title) or terms & terms_in(title)]
    if form is not None and form.is_time and fields and not may_answer(question, "; ".join(dated)):
        return False
    is_titled = not fields or any(terms & terms_in(title) for title, _ in told)
    # In other languages a verb is not told from other words.
    is_verb_left = len(left) == 1 and not is_formed and not is_english(question)
    return (is_verb_left or not left) and (is_titled or is_formed or intent_of(question).kind is Kind.YES_NO)


def key_in(fact: Fact) -> str:
    """The key of a field, "" for any other fact, also for what somebody says: "Ana: it is oiled"."""
    return "" if fact.speaker else setting_in(fact.content)


def _is_like(term: str, terms: frozenset[str]) -> bool:
    return is_stated(term, terms) or likeness(term, terms) > 0
