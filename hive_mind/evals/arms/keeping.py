"""Documents as facts: what a memory is given to keep, and which documents a fact stands for afterwards."""

from collections.abc import Iterable, Sequence

from hive_mind.evals.arms.base import Progress
from hive_mind.evals.datasets import Document, Scope
from hive_mind.memory.base import Memory
from hive_mind.memory.intake import new_fact, statement
from hive_mind.model.content import Candidate
from hive_mind.model.fact import Fact
from hive_mind.model.ids import fact_id

_STORE_BATCH = 256
_CONFIDENCE = 0.8
"""Of what a data set does not say how sure one may be, which is nearly everything: then all facts are equally sure."""


def candidate_of(document: Document) -> Candidate:
    """A document as a statement to keep. Its confidence is what its `meta` calls so, where that is a number from 0 to 1."""
    return Candidate(
        content=document.text,
        concept="",
        confidence=_confidence_of(document),
        said_at=document.said_at,
        speaker=document.speaker,
        before=document.before,
    )


def worded(documents: Iterable[Document]) -> list[Document]:
    """Those that say anything that can be kept."""
    return [document for document in documents if any(character.isalnum() for character in document.text)]


def documents_by_fact(documents: Iterable[Document]) -> dict[str, list[str]]:
    """Ids of documents by the id of the fact they become: two of the same words are one fact."""
    named: dict[str, list[str]] = {}
    for document in worded(documents):
        named.setdefault(fact_id(statement(candidate_of(document))), []).append(document.id)
    return named


def lessons(scope: Scope, dealt: Sequence[Sequence[Document]]) -> list[tuple[int, Scope]]:
    """The documents of each agent, by its number, in order. Of documents with the same text only the first is taught.

    So every arm holds the same facts with the same dates and surroundings, each vouched for by one agent, as one memory does that
    gets everything from one source. A second agent with the same fact would confirm it and raise its rank: a difference in
    learning, not a property of a topology.
    """
    first = {names[0] for names in documents_by_fact(scope.documents).values()}
    taught = ((number, tuple(one for one in some if one.id in first)) for number, some in enumerate(dealt))
    return [(number, Scope(scope.name, some, ())) for number, some in taught if some]


def facts_of(scope: Scope) -> list[Fact]:
    """A scope's documents as the facts one memory would keep, in their order; of the same words the first."""
    facts: dict[str, Fact] = {}
    for place, document in enumerate(worded(scope.documents)):
        fact = new_fact(candidate_of(document), scope.name, place)
        facts.setdefault(fact.id, fact)
    return list(facts.values())


async def keep(memory: Memory, scope: Scope, progress: Progress | None) -> dict[str, list[str]]:
    """Store a scope's documents, of the same words the first. Documents by the id of the fact they became."""
    named = documents_by_fact(scope.documents)
    first = {names[0] for names in named.values()}
    kept = [document for document in worded(scope.documents) if document.id in first]
    for start in range(0, len(kept), _STORE_BATCH):
        candidates = [candidate_of(document) for document in kept[start : start + _STORE_BATCH]]
        await memory.store_facts(candidates, source=scope.name)
        if progress:
            progress(f"{scope.name}: documents", min(start + _STORE_BATCH, len(kept)), len(kept))
    return named


def _confidence_of(document: Document) -> float:
    try:
        said = float(document.meta.get("confidence", _CONFIDENCE))
    except ValueError:
        return _CONFIDENCE
    return said if 0.0 <= said <= 1.0 else _CONFIDENCE
