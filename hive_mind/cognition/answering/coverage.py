"""Coverage: the few facts that together say most of what a question asks, and nothing twice.

The best three by score are often the same thing three times. Here each further quote is chosen for what it adds: words of the
question that no quote before it has. Facts that answer by themselves come before those that only share a word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from hive_mind.cognition.answering.aliases import long_codes
from hive_mind.cognition.answering.measures import measured_in
from hive_mind.cognition.answering.question_terms import QuestionTerms
from hive_mind.cognition.answering.relevance import Relevant
from hive_mind.cognition.answering.wordings import met_in
from hive_mind.model.fact import Fact
from hive_mind.ranking.tokens import terms_in, tokenize
from hive_mind.regex import regex

# Scores go up to 1: an answer comes before what is merely near, and all words together are worth as much as a perfect match.
# A bonus of 0.15 loses half a point of `benchmarks.learning`; half the gain, or a bonus of 0.5, changes nothing there.
_ANSWER_BONUS = 0.3
_GAIN = 1.0
# Of two that add the same, the one that shares more with the question, also where another has said that already.
_SHARE_BONUS = 0.3

# The facts worth reading among those that only name an identifier: a sentence with a few words besides.
_SENTENCE_BONUS, _DETAIL_MIN = 0.2, 4
_SENTENCE_ENDS = (".", "!", "。")

# "Reminder: the pump remains at 5 bar", "Data point: the pump is at 5 bar".
_LEAD = regex(r"^(?:[^\W\d_][\w'-]{0,20} ){0,2}[^\W\d_][\w'-]{0,20}: ")
_SAID_ANEW = frozenset(
    tokenize("remain remains stay stays still again remind reminder note now currently unchanged keep keeps update")
)
_ALIKE_SHARE = 0.75
_DIGIT = regex(r"\d")


@dataclass(frozen=True, slots=True)
class _Offered:
    one: Relevant
    score: float
    terms: frozenset[str]


def chosen(
    terms: QuestionTerms, ranked: Sequence[tuple[Relevant, float]], quotes_max: int, parts: Sequence[QuestionTerms] = ()
) -> list[Relevant]:
    """At most `quotes_max` of the ranked facts, in the order in which they are worth reading.

    Of a question that asks for several things, each of its `parts` needs a fact.
    """
    wanted = _wanted(terms)
    left = [_offered(terms, one, score) for one, score in ranked]
    taken: list[_Offered] = []
    missing, unstated = wanted, [part.words for part in parts if part.words]
    while left and len(taken) < quotes_max:
        best = max(left, key=partial(_worth, missing=missing, wanted=wanted, unstated=tuple(unstated)))
        taken.append(best)
        missing -= met_in(missing, best.terms)
        unstated = [part for part in unstated if met_in(part, best.terms) != part]
        left = [other for other in left if other is not best and not is_repeated(other.one.hit.fact, best.one.hit.fact)]
    return [offered.one for offered in taken]


def _worth(offered: _Offered, *, missing: frozenset[str], wanted: frozenset[str], unstated: Sequence[frozenset[str]]) -> float:
    """The worth of a fact after those that were taken: its score, and what it adds."""
    shares = [_share(met_in(part, offered.terms), part) for part in unstated]
    return offered.score + _GAIN * max(shares or [_share(met_in(missing, offered.terms), wanted)])


def names_only(terms: QuestionTerms, relevant: Relevant) -> bool:
    """Whether a fact has the identifier that is asked about and no other word of the question."""
    return relevant.found.is_named and bool(terms.words) and not met_in(terms.words, _terms_of(terms, relevant.hit.fact))


def _wanted(terms: QuestionTerms) -> frozenset[str]:
    """The terms that the facts should hold. All of them have the identifier, itself or by another name."""
    return (terms.words | terms.names) or terms.identifiers


def _offered(asked: QuestionTerms, relevant: Relevant, score: float) -> _Offered:
    """Of facts that only name the identifier, those that say more about it in a sentence come first."""
    terms = _terms_of(asked, relevant.hit.fact)
    if names_only(asked, relevant):
        said = relevant.hit.fact.content
        has_detail = len(terms - terms_in(" ".join((relevant.hit.fact.speaker, *long_codes(said))))) >= _DETAIL_MIN
        score = min(score, 1.0) + _SENTENCE_BONUS * (has_detail and said.endswith(_SENTENCE_ENDS))
    share = 0.0 if relevant.found.is_named else relevant.found.share
    return _Offered(relevant, score + _ANSWER_BONUS * relevant.states_more + _SHARE_BONUS * share, terms)


def is_repeated(fact: Fact, other: Fact) -> bool:
    """Whether two facts say the same in nearly the same words; with another figure it is another statement."""
    one, two = _said(fact), _said(other)
    figures = [{term for term in terms if _DIGIT.search(term)} for terms in (one, two)]
    return figures[0] == figures[1] and len(one & two) >= _ALIKE_SHARE * max(1, len(one | two))


def _said(fact: Fact) -> frozenset[str]:
    content = _LEAD.sub("", fact.content.removeprefix(f"{fact.speaker}: "))
    return terms_in(content) - _SAID_ANEW


def _terms_of(terms: QuestionTerms, fact: Fact) -> frozenset[str]:
    """The terms of a fact, of the quantities in it, and of its speaker, where asked about: "Mendes" mends nothing."""
    speaker = terms_in(fact.speaker) & (terms.words | terms.names)
    said = fact.content.removeprefix(f"{fact.speaker}: ")
    return terms_in(said) | terms_in(fact.concept) | measured_in(said) | speaker


def _share(met: frozenset[str], wanted: frozenset[str]) -> float:
    return sum(map(len, met)) / max(1, sum(map(len, wanted)))
