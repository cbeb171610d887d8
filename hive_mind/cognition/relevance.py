"""Relevance: whether a found fact speaks about what was asked at all, so that an agent can say "not known".

Every search finds something; its scores rank and don't judge. This judges by what the question and the fact share: the
identifiers and names asked for, and the share of the question's other words. It never changes an order.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hive_mind.cognition.entities import entities
from hive_mind.cognition.temporal import moments
from hive_mind.model.query import Hit
from hive_mind.ranking.tokens import tokenize


@dataclass(frozen=True, slots=True)
class RelevanceSettings:
    """`covered_share_min`: raise it to hear "not known" more often, lower it to hear off-topic quotes more often.

    On the development half of LoCoMo with keyword search, 0.45 keeps nine in ten quotes that hold the evidence and refuses
    six in ten questions about topics that nobody spoke of. `similar_min`: a cosine from here on is relevant even where the
    words differ. With MiniLM the best of five off-topic facts stays below 0.46 nine times in ten; raise it for models whose
    cosines are all high.
    """

    covered_share_min: float = 0.45
    similar_min: float = 0.55


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks for, as terms: the identifiers and names that must be met, and all other words."""

    identifiers: frozenset[str]
    names: tuple[frozenset[str], ...]
    words: frozenset[str]


# Added to what was asked, in letters: half of a short question is weaker evidence than half of a long one.
_DOUBT_LETTERS = 4

# They say what kind of answer is wanted (see `intent`), not what it is about.
_FORM_WORDS = frozenset(
    tokenize(
        "before previous previously former formerly original originally initial initially current currently now latest today "
        "still list all every many much often long ever kind kinds type types different various tell know say please name"
    )
)

_DIGIT = re.compile(r"\d")


def asked_of(question: str) -> Asked:
    """The terms of a question, sorted by how much they must be met."""
    named = [frozenset(tokenize(name)) for name in entities(question)]
    dated = frozenset(term for moment in moments(question) for term in tokenize(moment.text))
    coded = [terms for terms in named if any(_is_code(term) for term in terms - dated)]
    identifiers = frozenset(term for terms in coded for term in terms if _is_code(term))
    names = tuple(terms for terms in named if terms and terms not in coded)
    told = dated.union(*coded, *names)
    return Asked(identifiers, names, frozenset(tokenize(question)) - told - _FORM_WORDS)


def coverage(asked: Asked, hit: Hit) -> float | None:
    """The share of what was asked that a hit speaks about, in [0, 1]; None where it misses the identifier or all names.

    A word counts by its length: long words are rarer, and rare words tell more.
    """
    fact = hit.fact
    own = frozenset(tokenize(" ".join((fact.content, fact.concept, fact.speaker, *fact.entities))))
    must = asked.identifiers.union(*asked.names)
    if (asked.identifiers and not asked.identifiers & own) or (asked.names and not must & own):
        return None
    # What was said just before is what a short answer answers.
    met_words = asked.words & (own | frozenset(tokenize(fact.before)))
    if not met_words and (asked.words or not must):
        # The right person and nothing of what was asked about them; with an identifier that is still the right thing.
        return _share(asked.identifiers & own, asked.words | must)
    return _share(met_words | (must & own), asked.words | must)


def is_relevant(covered: float | None, hit: Hit, settings: RelevanceSettings) -> bool:
    """Whether a hit that covers this share of a question may be used to answer it."""
    if covered is None:
        return False
    similar = hit.components.semantic is not None and hit.components.semantic >= settings.similar_min
    return similar or covered >= settings.covered_share_min


def relevant(question: str, hits: Sequence[Hit], settings: RelevanceSettings) -> list[tuple[Hit, float]]:
    """The hits that speak about what was asked with their coverage, in their own order."""
    asked = asked_of(question)
    judged = [(hit, coverage(asked, hit)) for hit in hits]
    return [(hit, covered or 0.0) for hit, covered in judged if is_relevant(covered, hit, settings)]


def _share(met: frozenset[str], wanted: frozenset[str]) -> float:
    if met == wanted:
        return 1.0 if wanted else 0.0
    return _letters(met) / (_letters(wanted) + _DOUBT_LETTERS)


def _is_code(term: str) -> bool:
    """A term with digits that is more than a number: "inc-2024-001", "v2", "10.0.0.1"."""
    return _DIGIT.search(term) is not None and not term.isdigit()


def _letters(terms: frozenset[str]) -> int:
    return sum(map(len, terms))
