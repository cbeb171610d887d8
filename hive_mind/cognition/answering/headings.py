"""Headings: what only a heading, a file or a folder says of a fact: "Handle the end of a stream." under "1.0.5" in "plover-1.2".

Such a fact answers a question for plover 1.0.5, and a quote of it says what it stands under. Under a heading that is nothing
but a version stands what was changed, added, fixed or released in it, whether or not a line says so; under a function, what it
does and returns.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, takewhile

from hive_mind.cognition.answering.intent import QUESTION_CHARS_MAX
from hive_mind.cognition.answering.other_languages import TIME
from hive_mind.cognition.answering.question_terms import asked_of
from hive_mind.cognition.answering.wordings import met_in, phrases_of
from hive_mind.cognition.extraction.separated import REFERRED, heads_of
from hive_mind.cognition.extraction.stanzas import signed_in
from hive_mind.cognition.extraction.statements import is_question
from hive_mind.cognition.temporal import is_day, moments
from hive_mind.model.fact import Fact, places_in
from hive_mind.ranking.tokens import terms_in, tokenize
from hive_mind.regex import regex
from hive_mind.remembered import remembered

# Folders further up are about more than one thing. A shorter number is part of a version.
_FOLDERS_MAX, _YEAR_DIGITS = 3, 4
_BETWEEN = ": "
_SENTENCE_ENDS = (".", "!", "?", "。")
_STATES = regex(r"\w: |\w ?= ?\w")
# Against scores up to 1: a docstring comes before all that mentions its function. A question above is seldom the same question.
_FUNCTION_BONUS, _QUESTION_BONUS = 1.0, 0.3
VERSION = regex(r"\d{1,10}(?:\.\d{1,10}){1,5}")
"""Such as "1.0.5"."""
_VERSION_OF = regex(rf"(?P<thing>[^\W\d_][\w-]{{0,40}}) (?:(?:version|release) )?v?(?P<version>{VERSION.pattern})", re.IGNORECASE)
_OF_VERSIONS = frozenset(tokenize("version release unreleased"))
# All of a version is one of these; what was removed or deprecated says so.
_DEEDS = frozenset(tokenize("fixed changed added new improved introduced released out"))
# It asks what happened, and for no thing by its name: "What was fixed in …", "What changed in …", "When did … come out?"
_HAPPENED = regex(
    r"^(?:and |so |but )?(?:(?P<when>when)|what)(?:['’]s new\b|(?: (?:was|were|is|are|has|have|had|did)\b"
    r"(?! (?:the|an?|my|our|your|its|their)\b)| [a-z]{2,20}ed\b))",
    re.IGNORECASE,
)
# "What does nlargest return?", of which "nlargest(n, iterable)" is the heading.
_CALLED = regex(
    r"^(?:and |so |but )?what (?:does|do|did|will) (?:[\w.]*\.)?(?P<name>\w+)(?:\(\))? (?P<deed>do|return|yield|give)\b",
    re.IGNORECASE,
)
# A name in a name, as programs write it, and no address.
_DOTTED = regex(r"(?<![\w@./:-])[^\W\d_]\w+(?:\.[^\W\d]\w+)+(?![\w@/:-])")
# "--dry-run", "map_size"
_CODED = regex(r"(?<![\w@./:-])(?:--[^\W\d_][\w-]+|[^\W\d_]+(?:_[^\W_]+)+)(?![\w@/:-])")
_WHEN = regex(rf"^(?:and |so |but )?(?:when|wann|which day|what day)\b|{TIME}", re.IGNORECASE)
_NO_WORD = regex(r"[\W_]+")

# A reference says who wrote what, and a line of a log that something went wrong, without these words.
_UNSAID_IN = (
    (
        REFERRED,
        frozenset(tokenize("write wrote written publish published publisher author authors appear appeared year paper book")),
    ),
    (
        regex(r"^\W?\d.{10,80}\b(?:ERROR|FATAL|CRITICAL)\b"),
        frozenset(tokenize("fail failed fails failure error crash crashed wrong")),
    ),
)
_SIGNING = frozenset(
    tokenize(
        "write wrote written sign signed send sent sender author geschrieben schrieb unterschrieben unterschrieb écrit signé"
    )
)
_NAME_PART = regex(r"\w+")
# A setting with its value; a release with its date is none.
_SETTING = regex(
    r"(?:`?(?=[\w-]{0,60}[_.-][^\W\d])[^\W\d][\w.-]{0,80}`?|\S.{0,60}(?= \(default\b)) \((?:default )?(?P<value>[^()]{1,80})\)"
)
# A term that is a name in a program: "-n, --dry-run", "`timeout`", "map_size".
_TERM = regex(r"-|`[^`]{1,80}`|(?=[^\s(]{0,80}[_(=<])[a-z]", re.IGNORECASE)


def title_of(source: str) -> str:
    """A file's name without its ending: what all of it is about."""
    return source.rsplit("/", 1)[-1].rsplit(".", 1)[0]


def is_title(fact: Fact, texts_before: frozenset[str]) -> bool:
    """Whether a fact is the line above a text, which names and states nothing. `texts_before`: those that stand before facts."""
    is_first = not fact.before and not fact.speaker and fact.content in texts_before
    return is_first and not fact.content.endswith(_SENTENCE_ENDS) and not _STATES.search(fact.content)


def path_of(source: str) -> list[str]:
    """The names of the folders that a source lies in, and its title."""
    return [*source.split("/")[:-1], title_of(source)]


def value_of(fact: Fact) -> str:
    """The value that the heading of a fact gives the setting that the fact explains: 16777216 of "map_size (16777216)"."""
    match = _SETTING.fullmatch(fact.concept.rpartition(_BETWEEN)[2])
    return match["value"] if match else ""


def headings_of(fact: Fact) -> frozenset[str]:
    """The terms of all headings that it stands under."""
    return terms_in(" ".join((fact.concept, *places_in(fact.labels))))


def titles_of(fact: Fact) -> frozenset[str]:
    """The terms of the headings above its own, of the titles of its sources and of the folders next to them."""
    return name_terms(*fact.places, *_sources_near(fact)) | terms_in(" ".join(fact.places))


def _sources_near(fact: Fact) -> list[str]:
    return [name for source in fact.sources for name in path_of(source)[-_FOLDERS_MAX - 1 :]]


def name_terms(*names: str) -> frozenset[str]:
    """Their terms, also without figures at the end, and without versions: "Jinja2-3.1.2" is about "jinja"."""
    terms = terms_in(" ".join(names))
    lettered = terms | {term.rstrip("0123456789") for term in terms}
    return frozenset(term for term in lettered if term and "." not in term and not (term.isdigit() and len(term) < _YEAR_DIGITS))


def projects_named(question: str, terms: Iterable[str], facts: Sequence[Fact]) -> frozenset[str]:
    """The terms that some and not all files are about: by the folder, or the title, where their paths part.

    "requests.md" is a chapter unless the question has that as a name, or with a version.
    """
    paths = (path_of(source) for fact in facts for source in fact.sources)
    shared = sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, zip(*paths, strict=False)))
    names = asked_of(question).names.union(thing for thing, _ in _versions_of(question))
    parts = [[path_of(source)[shared:] for source in fact.sources if "/" in source] for fact in facts]
    folders = [name_terms(*chain.from_iterable(path[:1] for path in paths if len(path) > 1)) for paths in parts]
    about = [
        folder | (names & name_terms(*chain.from_iterable(path for path in paths if len(path) == 1)))
        for folder, paths in zip(folders, parts, strict=True)
    ]
    return frozenset(term for term in terms if 0 < sum(bool(met_in((term,), around)) for around in about) < len(facts))


def is_version_in(version: str, terms: frozenset[str]) -> bool:
    """Whether terms have a version itself or one of its line: "1.0.5" is of 1.0."""
    return version in terms or any(term.startswith(f"{version}.") for term in terms)


def is_of_other_version(question: str, fact: Fact) -> bool:
    """Whether a fact stands under a version that is asked for, of another thing: plover's 1.0.5 for "kestrel 1.0.5"."""
    if not (versions := _versions_of(question)):
        return False
    own, places = terms_in(fact.content), [terms_in(path) for path in (fact.concept, *places_in(fact.labels))]
    around = own | name_terms(*_sources_near(fact))
    return any(
        any(is_version_in(version, place) for place in places)
        and not is_version_in(version, own)
        and not any(is_version_in(version, place) and met_in((thing,), around | place) for place in places)
        for thing, version in versions
    )


@remembered(64)
def _versions_of(question: str) -> tuple[tuple[str, str], ...]:
    """The things in a question with their versions: "plover" with "1.0.5" in "What changed in plover version 1.0.5?"."""
    terms = asked_of(question)
    pairs = ((tokenize(match["thing"]), match["version"]) for match in _VERSION_OF.finditer(question[:QUESTION_CHARS_MAX]))
    things = (terms.words | terms.names | terms.identifiers) - _OF_VERSIONS - _DEEDS
    return tuple((words[-1], version) for words, version in pairs if words and words[-1] in things)


def _call_in(question: str, fact: Fact) -> tuple[str, str] | None:
    """The heading that is the function whose deed a question asks for, and the word for that."""
    called = _CALLED.match(question)
    if called is None:
        return None
    # "Using the session.pop_flash method" is about it as well.
    name, is_code = called["name"], "_" in called["name"]
    titles = (title.rpartition(_BETWEEN)[2] for title in (fact.concept, *places_in(fact.labels)))
    its = (title for title in titles if title.startswith(f"{name}(") or (is_code and name in _NAME_PART.findall(title)))
    return next(((title, called["deed"]) for title in its), None)


def opening_bonus(question: str, fact: Fact) -> float:
    """An addition to the score of a fact that is the first under a function, or a question, that is asked about."""
    if call := _call_in(question, fact):
        return _FUNCTION_BONUS * fact.before.endswith(call[0])
    if not (is_question(fact.concept) and fact.before.endswith(fact.concept)):
        return 0.0
    terms = asked_of(question)
    wanted = terms.words | terms.names | terms.identifiers
    return _QUESTION_BONUS * (len(met_in(wanted, headings_of(fact))) * 2 >= len(wanted))


def lacks_name_of_program(question: str, fact: Fact) -> bool:
    """Whether a fact lacks a name of a program: `Counter.most_common` is the method of no other class, which a heading may say.

    `--dry-run` and `map_size` may stand in what is before it, and be written with blanks.
    """
    question = question[:QUESTION_CHARS_MAX].casefold()
    codes, names = _CODED.findall(question), _DOTTED.findall(question)
    if not (codes or names):
        return False
    content, around = fact.content.casefold(), " ".join((fact.concept, *fact.places, *fact.sources)).casefold()
    words, *words_asked = (
        f" {' '.join(_NO_WORD.sub(' ', text).split())} " for text in (f"{content} {fact.before.casefold()} {around}", *codes)
    )
    if any(code not in words for code in words_asked):
        return True
    titles, said = frozenset(_NAME_PART.findall(around)), [f".{name}" for name in _DOTTED.findall(content)]
    return any(
        not (any(other.endswith(f".{name}") for other in said) or f"/{name}" in content)
        and not (titles.issuperset(name.split(".")[:-1]) and name.split(".")[-1] in titles.union(_NAME_PART.findall(content)))
        for name in names
    )


def unsaid(question: str, fact: Fact) -> frozenset[str]:
    """The word for what happened in a version, or what a function does, which a fact need not say, as its heading is that."""
    if call := _call_in(question, fact):
        return terms_in(call[1])
    if signed_in(fact.content):
        return _SIGNING & terms_in(question)
    if deeds := next((deeds for form, deeds in _UNSAID_IN if form.search(fact.content)), None):
        return deeds & terms_in(question)
    is_when, versions, words = _asked(question)
    headings = headings_of(fact)
    if not versions or not all(is_version_in(version, headings) for version in versions):
        return frozenset()
    # "release-notes.md" says of no release when it was.
    around = headings | (titles_of(fact) - _DEEDS)
    left = words - met_in(words, around | phrases_of(fact.content))
    if len(left) != 1 or not left <= _DEEDS:
        return frozenset()
    title, dates = fact.concept.rpartition(_BETWEEN)[2], moments(fact.concept)
    if is_when:
        return left if dates or moments(fact.content) else frozenset()
    for date in dates:
        title = title.replace(date.text, " ")
    rest = terms_in(title) - words - titles_of(fact) - _OF_VERSIONS
    is_bare = any(map(VERSION.fullmatch, rest)) and not any(map(str.isalpha, rest))
    return left if is_bare else frozenset()


@remembered(64)
def _asked(question: str) -> tuple[bool, frozenset[str], frozenset[str]]:
    """Whether a question asks when something happened, the versions in it, and its other words; none where it asks otherwise."""
    match = _HAPPENED.match(question)
    if match is None:
        return False, frozenset(), frozenset()
    terms = asked_of(question)
    versions = frozenset(filter(VERSION.fullmatch, terms.identifiers))
    return match["when"] is not None, versions, terms.words | terms.names


def dated(question: str, fact: Fact) -> Fact:
    """A fact with its heading ahead of it, where a question asks when, and the heading tells: "0.6.1 (2021-12-13)"."""
    is_told = _is_day_told(question, fact) or (_asked(question)[0] and moments(fact.concept) and unsaid(question, fact))
    return replace(fact, content=f"{fact.concept}: {fact.content}") if is_told else fact


def _is_day_told(question: str, fact: Fact) -> bool:
    """Whether a question asks when, and a fact stands under its day."""
    return _WHEN.search(question) is not None and is_day(fact.concept.rpartition(_BETWEEN)[2])


def notes_around(question: str, fact: Fact) -> list[str]:
    """The heading, and the folder or file, that a fact stands under, as far as a word of a question is only there."""
    terms = asked_of(question)
    missing = terms.words | terms.names | terms.identifiers
    missing -= met_in(missing, phrases_of(fact.content, fact.speaker, heads_of(fact)))
    notes, heading = [], terms_in(fact.concept)
    is_version_wanted = not _OF_VERSIONS.isdisjoint(tokenize(question)) and any(map(VERSION.fullmatch, heading))
    is_term = _TERM.match(fact.concept.rpartition(_BETWEEN)[2]) is not None and not heading <= terms_in(fact.content)
    has_value = value_of(fact).strip("`'\"") not in fact.content
    if not (fact.speaker or fact.content == fact.concept) and (
        (left := missing - _around(missing, heading)) != missing
        or is_version_wanted
        or is_term
        or has_value
        or _is_day_told(question, fact)
    ):
        notes.append(f"under “{fact.concept}”")
        missing = left
    paths = (path_of(source)[: -_FOLDERS_MAX - 2 : -1] for source in fact.sources if "/" in source)
    names = (*fact.places, *chain.from_iterable(paths))
    return notes + [f"in “{name}”" for name in names if _around(missing - _DEEDS, name_terms(name))][:1]


def _around(words: frozenset[str], terms: frozenset[str]) -> frozenset[str]:
    return frozenset(met_in(words, terms) | {word for word in words if VERSION.fullmatch(word) and is_version_in(word, terms)})
