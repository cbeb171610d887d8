"""Likelihood: how likely a fact answers a question, by a small model that was calibrated on questions with known answers.

A search ranks and doesn't judge. This weighs a few figures of a fact and its question: how much of the question it says, by its
rare words; whether a name is asked for that nothing found has; whether it holds the form of answer that is wanted; how close it
is to the best; how far its meaning stands out, where facts are embedded; and what a second look says, where one was taken. The
weights stand in `calibration`.

Rarity is seen in the facts found: a search brings the facts that have a rare word first, so a word that none of them has is in
no fact, and one that all have says little.
"""

import math
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields
from itertools import pairwise

from hive_mind.cognition.answering.answer_forms import lacks_form
from hive_mind.cognition.answering.calibration import MEANING, SECOND_LOOK, WORDS
from hive_mind.cognition.answering.headings import VERSION, dated, headings_of, is_version_in, projects_named, titles_of, unsaid
from hive_mind.cognition.answering.question_terms import PRESENT_WORDS
from hive_mind.cognition.answering.relevance import YEAR, Relevant
from hive_mind.cognition.answering.subject import question_replied_to, tells_of_oneself
from hive_mind.cognition.answering.wordings import (
    LIKENESS_MIN,
    bent_terms,
    degree_in,
    function_terms,
    is_german,
    likeness,
    measure_terms,
    measured_in,
    met_in,
    phrases_of,
    with_phrases,
)
from hive_mind.cognition.extraction.statements import is_question
from hive_mind.cognition.temporal import moments
from hive_mind.model.fact import Fact
from hive_mind.model.query import Hit
from hive_mind.ranking.tokens import terms_in, tokenize
from hive_mind.regex import regex
from hive_mind.remembered import remembered

# A question has some ten terms; a text pasted into one must not be compared word by word.
_TERMS_MAX = 40
FACTS_MIN = 12
"""Facts by which rarity is estimated: more of them are about other things."""
FEW, MANY = 8, 45
"""Facts in a memory. The weights hold for many and more; of fewer each is as much likelier to be the one that is asked for, down
to a few. At the odds of large memories those of single paragraphs would decline half of what they know (SQuAD)."""

# Logarithm of the usual score by words of a fact that answers.
_KEYWORD = 2.9
# A term that differs in an ending or a letter counts less than the term itself.
_ALIKE = 0.8
_SPEAKERS_OF_DIALOGUE = 2
# Beyond this a logit says no more.
_LOGIT_MAX, _SHARE_MIN = 10.0, 1e-9
_WORD = regex(r"[^\W_](?:[\w'’-]|(?<=\d)\.(?=\d))*")
_DIGIT = regex(r"\d")
_SPOKEN_OF = regex(
    r"\b(?:for|with|of|by|from|about)\s(?P<of>[^\W\d_][\w-]{1,40}+)|\b(?P<name>[^\W\d_][\w-]{1,40}+)(?:['’]s?\b|\s(?-i:[a-zà-ÿа-яα-ω]))"
)
_DENIAL = regex(
    r"\b(?:not|non|never|no|none|without|cannot|nicht|kein\w{0,3}|nie|ohne|pas|jamais|sans|nunca|não|senza|niet|geen|nooit|"
    r"inte|aldrig|ikke|ingen|eivät|nem|nincs\w*|değil|yok|не|нет|немає|без|fără|δεν|μην|tidak|bukan|jangan|không|لا|لم|لن|ليس\w*|"
    r"לא|אין|نیست|नहीं)\b|n['’]t\b|\b\w{2,20}m[ae]z\b|不|没|ない|ません|않|못|ไม่|ห้าม",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Figures of a fact and a question, most of them shares of the question's terms by their rarity."""

    own: float
    """Terms in the fact itself."""
    alike: float
    """Terms that it has in another form or another word."""
    headed: float
    """Terms in its heading, and in the names of its source and of the folders that this lies in."""
    keyword: float
    """Logarithm of its score by words above the usual; their parts in it are what inflected words and compounds share."""
    name_unseen: float
    """A name in the question that none of the facts found has."""
    contradicted: float
    """The fact tells another year, another number of the same ("7 km" for "5 km"), or it and its heading another version, and not
    the one that is asked about."""
    replaced: float
    """Words of the question that it lacks beside words that it has: it tells of another one of the kind."""
    denied: float
    """Only one of question and fact denies something."""
    form_missed: float
    """It holds nothing of the form that is wanted."""
    said_by_other: float
    """Somebody is asked about who speaks in these facts, and another one says this, and not of them; of many, of themselves."""
    of_other_source: float
    """Share of what is asked about by the names of sources that neither its own source nor the fact has."""
    rank: float
    """The score as a share of the best."""
    rules: float
    """The rules of `relevance` say that it answers."""
    sure: float
    """They say so because it has the code, the row or the quantity of that very thing."""
    about: float
    """They say that it belongs to the topic."""
    meaning: float
    """Its cosine above that of the tenth of the facts found that are furthest; 0 where nothing is embedded."""


FIGURES = tuple(field.name for field in fields(Evidence))


@dataclass(frozen=True, slots=True)
class _Asked:
    """The terms of a question, and those of names among them."""

    terms: tuple[str, ...]
    names: frozenset[str]
    years: frozenset[str]
    pairs: tuple[tuple[str, str], ...]
    """Terms of words that stand side by side."""
    is_denial: bool


def likelihoods(
    questions: Sequence[str], hits: Sequence[Hit], rules: Mapping[str, Relevant], searched: int = 0
) -> dict[str, float]:
    """By id of each fact the logarithm of the odds that it answers one of the questions: the whole, or a part of it.

    `rules` has the facts on topic, as the rules judge them. `searched` is the number of facts that they were found among; 0 for
    not known, which counts as many.
    """
    weights = MEANING if any(hit.components.semantic is not None for hit in hits) else WORDS
    is_looked_at = any(hit.components.second_look is not None for hit in hits)
    odds: dict[str, float] = {}
    for question in questions:
        for hit, evidence in zip(hits, evidence_of(question, hits, rules, searched), strict=True):
            value = weights["intercept"] + sum(
                weight * getattr(evidence, name) for name, weight in weights.items() if name != "intercept"
            )
            value += prior_of(searched)
            if is_looked_at:
                # A fact that was not looked at is further down than all that were.
                share = hit.components.second_look or 0.0
                logit = max(-_LOGIT_MAX, min(math.log(max(share, _SHARE_MIN) / max(1.0 - share, _SHARE_MIN)), _LOGIT_MAX))
                value = SECOND_LOOK["intercept"] + SECOND_LOOK["words"] * value + SECOND_LOOK["logit"] * logit
            odds[hit.fact.id] = max(value, odds.get(hit.fact.id, value))
    return odds


def prior_of(searched: int) -> float:
    """By how much a fact of a small memory is likelier than one of a large."""
    return math.log(MANY / max(FEW, searched)) if 0 < searched < MANY else 0.0


def evidence_of(question: str, hits: Sequence[Hit], rules: Mapping[str, Relevant], searched: int = 0) -> list[Evidence]:
    """The figures of each hit, in their order."""
    terms_of_question = _asked(question)
    own_terms = [phrases_of(hit.fact.content, hit.fact.speaker, _question_answered(hit.fact)) for hit in hits]
    lacking = [lacks_form(question, dated(question, hit.fact)) for hit in hits]
    # A text with the form of a price need not say that it is a price.
    told = [frozenset[str]() if is_lacking else measure_terms(question) for is_lacking in lacking]
    met = [
        {term: _met(term, terms | measures | measured_in(hit.fact.content)) for term in terms_of_question.terms}
        for hit, terms, measures in zip(hits, own_terms, told, strict=True)
    ]
    headed = _also_in(met, [headings_of(hit.fact) | titles_of(hit.fact) | unsaid(question, hit.fact) for hit in hits])
    near = _also_in(headed, [terms_in(hit.fact.before) for hit in hits])
    subjects = projects_named(question, terms_of_question.terms, [hit.fact for hit in hits])
    # Of a term in few of the facts more than of one in most; those of a small memory that are not found have none of them.
    nearest = near[:FACTS_MIN]
    facts = max(len(nearest), min(searched, FACTS_MIN)) if searched < MANY else len(nearest)
    having = {term: sum(shares[term] == 1.0 for shares in nearest) for term in terms_of_question.terms}
    if 0 < searched < MANY:
        # All of a short text stands under its title: a word of it that only one fact says itself tells that one apart.
        own_counts = {term: sum(shares[term] == 1.0 for shares in met[:FACTS_MIN]) for term in having}
        having = {term: count if count < len(nearest) else own_counts[term] or count for term, count in having.items()}
    rarity = {term: math.log(1.0 + (facts - count + 0.5) / (count + 0.5)) for term, count in having.items()}
    name_unseen = max((1.0 - max(shares[term] for shares in near) for term in terms_of_question.names if near), default=0.0)
    all_speakers = {hit.fact.speaker: terms_in(hit.fact.speaker) for hit in hits if hit.fact.speaker}
    speakers = frozenset[str]().union(*all_speakers.values()) & frozenset(terms_of_question.terms)
    best = max((hit.score for hit in hits), default=0.0)
    # A tenth of the facts found are below it: how near a model puts what has little to do with the question.
    cosines = sorted(hit.components.semantic for hit in hits if hit.components.semantic is not None)
    background = cosines[len(cosines) // 10] if cosines else 0.0
    result = []
    for number, hit in enumerate(hits):
        judged = rules.get(hit.fact.id)
        exact = {term: float(term in own_terms[number]) for term in terms_of_question.terms}
        own_share, met_share, headed_share = (_share(rarity, shares) for shares in (exact, met[number], headed[number]))
        result.append(
            Evidence(
                own_share,
                met_share - own_share,
                headed_share - met_share,
                math.log1p(max(0.0, hit.components.keyword)) - _KEYWORD,
                name_unseen,
                float(_contradicts(terms_of_question, hit.fact)),
                _replaced(terms_of_question, near[number]),
                float(terms_of_question.is_denial and not _denies(f"{_question_answered(hit.fact)} {hit.fact.content}")),
                float(lacking[number]),
                float(_is_of_other(speakers, hit.fact, is_dialogue=len(all_speakers) <= _SPEAKERS_OF_DIALOGUE)),
                _share({term: rarity[term] for term in subjects}, {term: not near[number][term] for term in subjects}),
                hit.score / best if best > 0 else 0.0,
                float(judged is not None and judged.answers),
                float(judged is not None and judged.answers and judged.found.is_sure),
                float(judged is not None),
                (background if hit.components.semantic is None else hit.components.semantic) - background,
            )
        )
    return result


@remembered(64)
def _asked(question: str) -> _Asked:
    words = _WORD.findall(question)
    capitals = [word for word in words[1:] if word[0].isupper() or "_" in word or _DIGIT.search(word)]
    # Where nearly all begin with a capital, as nouns of German do, it says nothing.
    is_plain = len(capitals) * 2 > len(words) or is_german(question)
    # The form tells whether a fact is that old; "old" alone is said of other things too.
    degree = degree_in(question)
    # "1.0.5" is a term, and its figures by themselves say nothing.
    parts = {part for version in VERSION.findall(question) for part in version.split(".")}
    left_out = degree | parts | function_terms(question) | bent_terms(question) | PRESENT_WORDS
    terms = tuple(dict.fromkeys(term for term in tokenize(with_phrases(question)) if term not in left_out))[:_TERMS_MAX]
    named_terms = frozenset[str]() if is_plain else frozenset(term for word in capitals for term in tokenize(word))
    pairs = tuple(pair for pair in _side_by_side(words, parts) if set(pair) <= set(terms))
    # A text seldom says the day on which it was said.
    dated = frozenset(term for moment in moments(question) for term in tokenize(moment.text))
    names = named_terms & frozenset(term for term in terms if not term.isdigit()) - dated
    return _Asked(terms, names, frozenset(YEAR.findall(question)), pairs, _denies(question))


def _side_by_side(words: Sequence[str], left_out: AbstractSet[str] = frozenset()) -> dict[tuple[str, str], None]:
    """The terms on both sides of each gap between words."""
    by_word = [[term for term in tokenize(word) if term not in left_out] for word in words]
    return dict.fromkeys((last[-1], first[0]) for last, first in pairwise(by_word) if last and first)


def _denies(text: str) -> bool:
    return _DENIAL.search(text) is not None


def _replaced(terms_of_question: _Asked, near: Mapping[str, float]) -> float:
    """How many words of the question stand beside one that the fact has, and are not in it."""
    halves = [
        pair
        for pair in terms_of_question.pairs
        if min(near[pair[0]], near[pair[1]]) < LIKENESS_MIN <= max(near[pair[0]], near[pair[1]])
    ]
    return min(1.0, len(halves) / 2)


def _also_in(shares_met: Sequence[Mapping[str, float]], terms_around: Sequence[frozenset[str]]) -> list[dict[str, float]]:
    """The shares of the terms that facts have, with those of terms around them."""
    return [
        {term: max(share, _met(term, terms)) for term, share in shares.items()}
        for shares, terms in zip(shares_met, terms_around, strict=True)
    ]


def _question_answered(fact: Fact) -> str:
    """The heading of a fact, where that is a question, which what stands under it answers; or what somebody else asked before."""
    return fact.concept if is_question(fact.concept) else question_replied_to(fact)


def _met(term: str, terms: frozenset[str]) -> float:
    """1 for the term itself, less for another form of it or another word for it."""
    if term in terms:
        return 1.0
    if VERSION.fullmatch(term):
        return _ALIKE * is_version_in(term, terms)
    return _ALIKE if met_in((term,), terms) else _ALIKE * likeness(term, terms)


def _is_of_other(names: frozenset[str], fact: Fact, *, is_dialogue: bool) -> bool:
    """Whether somebody else says a fact than those asked about, and not of them; where more than two speak, of themselves."""
    if not names or not names.isdisjoint(terms_in(fact.speaker)) or _tells_of(names, fact):
        return False
    return is_dialogue or tells_of_oneself(fact)


def _tells_of(names: frozenset[str], fact: Fact) -> bool:
    """Whether somebody is spoken of: "Mia should ring", "the code for Mia". "Thanks, Mia!" speaks to her."""
    message = fact.content.removeprefix(f"{fact.speaker}: ")
    return any(
        (name := match["name"] or match["of"])[0].isupper() and not names.isdisjoint(terms_in(name))
        for match in _SPOKEN_OF.finditer(message)
    )


def _share(rarity: Mapping[str, float], shares: Mapping[str, float]) -> float:
    return sum(rarity[term] * shares[term] for term in rarity) / max(sum(rarity.values()), 1e-9)


def _contradicts(terms_of_question: _Asked, fact: Fact) -> bool:
    """Whether a fact tells another year or version than is asked about, or another number: Papertrail 8 is not Papertrail 7."""
    years = frozenset(YEAR.findall(fact.content))
    if terms_of_question.years and years and terms_of_question.years.isdisjoint({*years, *YEAR.findall(fact.said_at)}):
        return True
    if numbered := [pair for pair in terms_of_question.pairs if _is_number(pair[0]) != _is_number(pair[1])]:
        terms, stated = terms_in(fact.content), set(map(_unnumbered, _side_by_side(_WORD.findall(fact.content))))
        if any(_unnumbered(pair) in stated and not terms.issuperset(pair) for pair in numbered):
            return True
    if versions := list(filter(VERSION.fullmatch, terms_of_question.terms)):
        versions_stated = frozenset(filter(VERSION.fullmatch, terms_in(fact.content) | headings_of(fact)))
        return bool(versions_stated) and not any(_met(version, versions_stated) for version in versions)
    return False


def _unnumbered(pair: tuple[str, str]) -> tuple[str, ...]:
    return tuple("#" if _is_number(term) else term for term in pair)


def _is_number(term: str) -> bool:
    """Whether a term is a figure or an ordinal ("5th"); a version has parts, and is compared by them."""
    return term[0].isdigit() and not VERSION.fullmatch(term)
