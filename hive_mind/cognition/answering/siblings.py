"""Siblings: facts under two items of one list, or two headings, of which a question names one.

"Opens at nine" under winter answers when it opens in winter, and "opens at six" under spring does not, though both say as much.
"""

from collections.abc import Sequence

from hive_mind.cognition.answering.question_terms import QuestionTerms
from hive_mind.cognition.answering.wordings import met_in, phrase_terms
from hive_mind.model.query import Hit
from hive_mind.ornament import ornament

_BETWEEN = ": "


@ornament(lambda _, hits: frozenset(hit.fact.id for hit in hits))
def under_what_is_named(asked: QuestionTerms, hits: Sequence[Hit]) -> frozenset[str]:
    """Ids of the hits without those under a sibling of what the question names."""
    wanted = asked.words | asked.names | asked.identifiers
    paths = {hit.fact.id: hit.fact.concept.rpartition(_BETWEEN) for hit in hits if _BETWEEN in hit.fact.concept}
    named: dict[str, list[frozenset[str]]] = {}
    for parent, _, title in paths.values():
        named.setdefault(parent, []).append(met_in(wanted, phrase_terms(title)))
    kept = set[str]()
    for hit in hits:
        parent, _, title = paths.get(hit.fact.id, ("", "", ""))
        met = met_in(wanted, phrase_terms(title))
        # It may say itself what its title does not.
        own = met | met_in(wanted, phrase_terms(hit.fact.content))
        if not any(met < other and not other <= own for other in named.get(parent, ())):
            kept.add(hit.fact.id)
    return frozenset(kept)
