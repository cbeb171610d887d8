"""Pseudo-relevance feedback: a question is asked again with words of the passage that it found first.

"What keeps the hall dry?" finds "The pump keeps the hall dry", and asked again for the pump, too, it finds what else is said of
it. No model is needed, but a wrong first passage leads astray, so `RankingSettings.expansion` has to allow it. In a hive it costs
one fetch and one more round of questions.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import sqrt

import numpy as np

from hive_mind.model.probe import Pool, Probe
from hive_mind.ranking.related.second_hop import Passage, said_by
from hive_mind.ranking.tokens import is_english, tokenize

# More of them, of more passages, or at more weight, lose on HotpotQA what they win on LoCoMo (docs/adr/0003-ranking.md).
_TERMS_MAX = 10
# A repeated word of a question counts by the square root of how often it is there: three times as much as one that was added.
_OWN_REPEATS = 9
# A question as long as this has words enough, and its repeats would travel to everybody.
_OWN_MAX = 64


def expanded(probe: Probe, best: Passage) -> Probe | None:
    """The question with the most frequent words of its first answer, the first of them first; None where that has no others.

    None where the answer is not in English either: there the most frequent words lead astray.
    """
    message = said_by(best)
    if not is_english(message):
        return None
    frequent = [term for term, _ in Counter(tokenize(message)).most_common()]
    terms = with_more(probe.terms, frequent)
    return replace(probe, terms=terms, statistics=None, beside=None) if terms != probe.terms else None


def with_more(terms: tuple[str, ...], further_terms: Iterable[str]) -> tuple[str, ...]:
    """The terms of a question with the first of others, each at a third of the weight; as they are where none are needed."""
    if len(terms) > _OWN_MAX:
        return terms
    new_terms = tuple(dict.fromkeys(term for term in further_terms if term not in terms))[:_TERMS_MAX]
    return terms * _OWN_REPEATS + new_terms if new_terms else terms


def as_asked_once(pool: Pool, terms: Sequence[str]) -> Pool:
    """A question's pool in the scale of its own words: where they are repeated for others, every score is higher."""
    if not terms or terms.count(terms[0]) < _OWN_REPEATS:
        return pool
    return Pool(pool.ids, pool.keyword / np.float32(sqrt(_OWN_REPEATS)), pool.semantic, pool.exact)
