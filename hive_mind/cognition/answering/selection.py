"""Selection: which of the relevant facts are quoted, and in what order.

The ranking knows the question's words and not what kind of answer it wants. Two things that it can't see speak for a fact: the
one who is asked about says it, and it holds a date or a figure where a date or a figure is asked for.
"""

import re
from collections.abc import Sequence

from hive_mind.cognition.answering.intent import Kind, intent_of
from hive_mind.cognition.answering.question_terms import QuestionTerms
from hive_mind.cognition.answering.relevance import Relevant
from hive_mind.cognition.dates.temporal import moments
from hive_mind.model.query import Hit
from hive_mind.ranking.tokens import tokenize
from hive_mind.regex import regex

# Scores go up to 1. Speakers say "I" where the question has their name, so their own statements lack the word that others have.
# Enough to decide between neighbours and too little to lift a poor match; on LoCoMo either bonus brings evidence forward.
_SPEAKER_BONUS = 0.2
_FORM_BONUS = 0.2

# What answers by itself may be this much weaker than what only shares words; weaker still, it is about something else.
_TELLS_SHARE = 0.5

_WANTS_FIGURE = regex(
    r"\bhow (?:many|much|often|old|big|large|heavy|strong|fast|far|long|wide|tall|high|deep|expensive)\b|"
    r"\b(?:costs?|price|temperature|percentage|what number|which number|number of)\b",
    re.IGNORECASE,
)
# A number of its own; the digits of "T2" are a name.
_FIGURE = regex(
    r"(?<![\w-])\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|dozen|once|twice|hundred|thousand|half)\b", re.IGNORECASE
)
_WANTS_CAUSE = regex(r"^(?:and |so |but )?why\b|\b(?:cause|reason)\b|\bwhat (?:made|makes|led to|was wrong)\b", re.IGNORECASE)
_CAUSE = regex(
    r"\b(?:because|caused?|causes|reasons?|due to|thanks to|on account of|since|so that|as a result|therefore|was wrong|"
    r"trouble)\b",
    re.IGNORECASE,
)


def ordered(question: str, asked: QuestionTerms, judged: Sequence[Relevant]) -> list[tuple[Relevant, float]]:
    """Facts with a score that also knows who is asked about and what form the answer has, the best first."""
    forms = _forms_wanted(question)
    fitted = [(one, one.hit.score + _bonus(asked, forms, one.hit)) for one in judged]
    return sorted(fitted, key=lambda pair: -pair[1])


def strong(ranked: Sequence[tuple[Relevant, float]], share_min: float) -> list[tuple[Relevant, float]]:
    """Without what lies below this share of the best that answers; half of it is enough for what tells the answer itself.

    What was added for naming an identifier is left out of it: all of these facts speak about the identifier, and one that
    stands under its heading need not repeat it.
    """
    own = [score - one.hit.contributions.exact for one, score in ranked]
    best = max((score for score, (one, _) in zip(own, ranked, strict=True) if one.answers), default=0.0)
    # The best stays in any case, also where rounding has put its own part below 0.
    floor = min(best, best * share_min)
    return [
        pair
        for pair, score in zip(ranked, own, strict=True)
        if score >= floor or (pair[0].tells and score >= floor * _TELLS_SHARE)
    ]


def _bonus(asked: QuestionTerms, forms: frozenset[str], hit: Hit) -> float:
    speaks = not asked.names.isdisjoint(tokenize(hit.fact.speaker))
    return _SPEAKER_BONUS * speaks + _FORM_BONUS * _has_form(forms, hit)


def _forms_wanted(question: str) -> frozenset[str]:
    forms = {"date"} if intent_of(question).kind is Kind.TEMPORAL else set()
    forms |= {"figure"} if _WANTS_FIGURE.search(question) else set()
    return frozenset(forms | {"cause"} if _WANTS_CAUSE.search(question) else forms)


def _has_form(forms: frozenset[str], hit: Hit) -> bool:
    said = hit.fact.content.removeprefix(f"{hit.fact.speaker}: ")
    if ("figure" in forms and _FIGURE.search(said)) or ("cause" in forms and _CAUSE.search(said)):
        return True
    return "date" in forms and bool(moments(said, hit.fact.said_at))
