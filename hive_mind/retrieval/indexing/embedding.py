"""Which texts of a collection still have to be embedded, and which embeddings nobody needs any more.

What is embedded of a chunk is its text with the headings above it; the text that came before a document (a turn of a
conversation) is embedded by itself, and mixed in when the index is loaded.
"""

from collections.abc import Iterable, Mapping

from hive_mind.retrieval.indexing.chunk_file import ChunkFile, DocumentRow
from hive_mind.retrieval.indexing.memory_index import first
from hive_mind.retrieval.indexing.updating import Changes, embedded_text, text_key

Wanted = Mapping[bytes, str]
"""Texts by their keys."""


def missing(file: ChunkFile, changes: Changes, model: str) -> Wanted:
    """Texts without an embedding of this model, of everything there will be after the changes."""
    known = file.vector_keys(model)
    gone = set(changes.gone)
    kept = {row.number: row for row in file.documents() if row.number not in gone}
    numbers = [number for key, number in file.chunk_keys() if key not in known]
    wanted: dict[bytes, str] = {}
    new = {row.number: row for row in changes.documents}
    for documents, chunks in ((kept, file.chunks_at(numbers).values()), (new, changes.chunks)):
        for chunk in chunks:
            if chunk.key not in known and (document := documents.get(chunk.document)):
                wanted[chunk.key] = embedded_text(document.title, first(document, "speaker"), chunk)
        wanted |= {key: text for key, text in _befores(documents.values()).items() if key not in known}
    return wanted


def unused(file: ChunkFile, changes: Changes) -> list[bytes]:
    """Keys that only documents needed which are gone now."""
    gone = set(changes.gone)
    rows = file.documents()
    former = {chunk.key for chunk in file.chunks_in(gone)} | set(_befores(row for row in rows if row.number in gone))
    numbers = {chunk.number for chunk in file.chunks_in(gone)}
    needed = {key for key, number in file.chunk_keys() if number not in numbers} | {chunk.key for chunk in changes.chunks}
    needed |= set(_befores(row for row in rows if row.number not in gone)) | set(_befores(changes.documents))
    return sorted(former - needed)


def _befores(documents: Iterable[DocumentRow]) -> dict[bytes, str]:
    texts = (first(document, "before") for document in documents)
    return {text_key(text): text for text in texts if text}
