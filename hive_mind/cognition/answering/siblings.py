"""Siblings: facts under two items of one list, or two headings, of which a question names one; or about the other one of a pair.

"Opens at nine" under winter answers when it opens in winter, and "opens at six" under spring does not, though both say as much.
"""

from collections.abc import Sequence

from hive_mind.cognition.answering.counterparts import is_of_another
from hive_mind.cognition.answering.question_terms import asked_of
from hive_mind.cognition.answering.wordings import met_in, phrase_terms
from hive_mind.model.query import Hit
from hive_mind.ornament import ornament

_BETWEEN = ": "


@ornament(lambda _, hits: frozenset(hit.fact.id for hit in hits))
def about_what_is_named(question: str, hits: Sequence[Hit]) -> frozenset[str]:
    """Ids of the hits without those about a sibling of what the question names."""
    terms = asked_of(question)
    terms_asked = terms.words | terms.names | terms.identifiers
    paths = {hit.fact.id: hit.fact.concept.rpartition(_BETWEEN) for hit in hits if _BETWEEN in hit.fact.concept}
    terms_by_parent: dict[str, list[frozenset[str]]] = {}
    for parent, _, title in paths.values():
        terms_by_parent.setdefault(parent, []).append(met_in(terms_asked, phrase_terms(title)))
    ids = set[str]()
    for hit in (hit for hit in hits if not is_of_another(question, hit.fact)):
        parent, _, title = paths.get(hit.fact.id, ("", "", ""))
        met = met_in(terms_asked, phrase_terms(title))
        # It may say itself what its title does not.
        own_terms = met | met_in(terms_asked, phrase_terms(hit.fact.content))
        if not any(met < sibling and not sibling <= own_terms for sibling in terms_by_parent.get(parent, ())):
            ids.add(hit.fact.id)
    return frozenset(ids)
