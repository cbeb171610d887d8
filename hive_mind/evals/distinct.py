"""A text that a data set has several times counts once: it is one fact, and who finds it finds all its documents.

Counted as documents, ten copies of one text would fill the first ten, and finding nine of ten would be a miss.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from hive_mind.evals.datasets import LabelledQuestion
from hive_mind.model.query import Hit


def firsts_of(documents: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """For each document the first one of the same text; `documents` are given by the fact they became."""
    return {document: same[0] for same in documents.values() for document in same}


def by_texts(question: LabelledQuestion, firsts: Mapping[str, str]) -> LabelledQuestion:
    """The question with one judgement of each text, the best of its documents, under the first of them."""
    relevant: dict[str, int] = {}
    for document, judgement in question.relevant.items():
        first = firsts.get(document, document)
        relevant[first] = max(judgement, relevant.get(first, judgement))
    return replace(question, relevant=relevant)


def texts_found(hits: Iterable[Hit], documents: Mapping[str, Sequence[str]]) -> list[str]:
    """The first document of each hit, best first; a hit that is no document of the set is left out."""
    return [same[0] for hit in hits if (same := documents.get(hit.fact.id))]
