"""Documents as facts: the facts a memory is given to keep, and the documents a fact stands for afterwards."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from hive_mind.evals.arms.base import Progress
from hive_mind.evals.arms.dealing import deal_by
from hive_mind.evals.datasets import Document, LabelledQuestion, Scope
from hive_mind.evals.experiments.values import Cell
from hive_mind.memory.base import Memory
from hive_mind.memory.intake import new_fact, statement
from hive_mind.model.content import Candidate
from hive_mind.model.fact import CONFIDENCE, Fact
from hive_mind.model.ids import fact_id
from hive_mind.model.query import Hit

STORE_BATCH = 256
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


def lessons(cell: Cell, scope: Scope, progress: Progress | None = None) -> Iterator[tuple[int, Scope]]:
    """The documents of each agent of a cell, by its number, in order. Of documents with the same text only the first is taught.

    So every arm holds the same facts with the same dates and surroundings, each vouched for by one agent, as one memory does that
    gets everything from one source. A second agent with the same fact would confirm it and raise its rank: a difference in
    learning, not a property of a topology.
    """
    first = {names[0] for names in documents_by_fact(scope.documents).values()}
    dealt = deal_by(cell.arm.deal, cell.seed)(scope.documents, cell.arm.agents)
    taught = [(number, tuple(one for one in documents if one.id in first)) for number, documents in enumerate(dealt)]
    taught = [(number, documents) for number, documents in taught if documents]
    for done, (number, some) in enumerate(taught, start=1):
        yield number, Scope(scope.name, some, ())
        if progress:
            progress(f"{scope.name}: lessons", done, len(taught))


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
    documents = [document for document in worded(scope.documents) if document.id in first]
    for start in range(0, len(documents), STORE_BATCH):
        candidates = [candidate_of(document) for document in documents[start : start + STORE_BATCH]]
        await memory.store_facts(candidates, source=scope.name)
        if progress:
            progress(f"{scope.name}: documents", min(start + STORE_BATCH, len(documents)), len(documents))
    return named


def _confidence_of(document: Document) -> float:
    try:
        said = float(document.meta.get("confidence", CONFIDENCE))
    except ValueError:
        return CONFIDENCE
    return said if 0.0 <= said <= 1.0 else CONFIDENCE


def firsts_of(documents: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """For each document the first one of the same text, which counts once; `documents` are given by the fact they became.

    Counted as documents, ten copies of one text would fill the first ten, and finding nine of ten would be a miss.
    """
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
